"""Tails of exact waits: against fifty digits, against the queue itself step by step, and against formulas."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import loynes
from loynes.markov import closed, queue, saturated
from loynes.markov.decay import decay_rate
from loynes.markov.elimination import Dominant, stationary
from loynes.markov.waits import Waits
from loynes.questions.answering.chains import cheap_decay
from slow_and_plain import FiftyDigits, exactly, inverse, states_of, step_by_step
from support import single

EXPONENTIAL = {"law": "exponential", "mean": 1.0}
SLOW = {"law": "exponential", "mean": 2.0}
ERLANG = {"law": "erlang", "phases": 2, "mean": 1.5}
HYPER = {"law": "hyperexponential", "probabilities": [0.3, 0.7], "means": [2.0, 0.4]}


def mix(servers: int, *classes: tuple[int, float, dict[str, Any]]) -> loynes.Model:
    entries = [{"need": a, "probability": p, "service": law} for a, p, law in classes]
    return loynes.load({"servers": servers, "classes": entries})


MODELS = {
    "two classes": mix(4, (1, 0.7, EXPONENTIAL), (3, 0.3, SLOW)),
    "phases": mix(2, (1, 0.5, ERLANG), (2, 0.5, EXPONENTIAL)),
    "two resources": loynes.load(
        {
            "resources": {"cpu": 3, "gpu": 1},
            "classes": [
                {"need": {"cpu": 1, "gpu": 1}, "probability": 0.5, "service": EXPONENTIAL},
                {"need": {"cpu": 2}, "probability": 0.5, "service": SLOW},
            ],
        }
    ),
}
LOADS = {"two classes": 0.9, "phases": 0.7, "two resources": 0.5}
# s = 8, needs 1, 3, 8: the model of the method's reference values.
REFERENCE = mix(8, (1, 0.6, EXPONENTIAL), (3, 0.3, EXPONENTIAL), (8, 0.1, SLOW))
BEYOND = {"p50": "0.5", "p95": "0.05", "p99": "0.01", "p99.9": "1e-3", "p99.99": "1e-4", "p99.999": "1e-5",
          "p99.9999": "1e-6"}  # fmt: skip


@cache
def fifty(name: str) -> tuple[loynes.Exact, FiftyDigits, tuple[float, ...]]:
    """A model's exact answer by the program and in fifty digits, at depths down to 1e-100 and to 1e-290."""
    with mpmath.workdps(60):
        model = MODELS[name]
        states = states_of(model)
        rate = LOADS[name] * saturated.solve(states).threshold
        theta = decay_rate(saturated.Moves.of(states), rate).rate
        depths = (0.0, 0.1, 1.0, *(d * math.log(10.0) / theta for d in (1, 20, 100, 290)))
        return loynes.exact(model, rate=rate, exceeds=depths), FiftyDigits(model, rate), depths


def assert_right(value: float, truth: Any, digits: int = 10) -> None:
    """As printed, and as saved: the digits that are there are right, but for the last one's rounding."""
    assert f"{value:.{digits}g}" == f"{float(mpmath.nstr(truth, 17)):.{digits}g}", (value, mpmath.nstr(truth, 17))
    told = len(repr(value).split("e")[0].replace(".", "").strip("0"))
    assert abs(value / truth - 1) <= mpmath.mpf(10) ** (1 - told), (value, mpmath.nstr(truth, 17))


@pytest.mark.parametrize("name", MODELS)
def test_tails_in_fifty_digits(name: str) -> None:
    found, truth, depths = fifty(name)
    with mpmath.workdps(60):
        for x in depths:
            for one, p in zip(found.classes.values(), truth.exceeds(x), strict=True):
                assert_right(one.exceeds[x], p)
                assert x == 0 or one.exceeds[x] < one.no_wait + 1
    assert min(one.exceeds[depths[-1]] for one in found.classes.values()) < 1e-289


@pytest.mark.parametrize("name", MODELS)
def test_all_else_in_fifty_digits(name: str) -> None:
    """Decay rate, constants, means, variances, P(no wait), and percentiles: the tail at each is what it must be."""
    found, truth, _ = fifty(name)
    assert found.decay_rate is not None
    assert found.digits is not None
    assert found.digits >= 12
    with mpmath.workdps(60):
        theta, _, _ = truth.decay
        assert_right(found.decay_rate, theta)
        means, squares, constants = truth.moment(1), truth.moment(2), truth.constants
        for c, one in enumerate(found.classes.values()):
            assert one.variance is not None
            assert one.constant is not None
            assert_right(one.mean, means[c])
            assert_right(one.variance, squares[c] - means[c] ** 2)
            assert_right(one.no_wait, truth.no_wait[c])
            assert_right(one.constant, constants[c])
            for percentile in ("p50", "p99", "p99.9999"):
                x, beyond = one.percentiles[percentile], mpmath.mpf(BEYOND[percentile])
                if x == 0:
                    assert 1 - truth.no_wait[c] <= beyond
                else:
                    # What is left of the digits of x is less than the tail's fall over a unit of its last one.
                    assert abs(truth.exceeds(x)[c] / beyond - 1) < 1e-11


def test_the_reference_model() -> None:
    """needs 1, 3, 8 at load 0.9: the decay rate known beforehand, and the tail that absolute accuracy got wrong."""
    found = loynes.exact(REFERENCE, load=0.9, exceeds=(300.0,))
    assert found.decay_rate == pytest.approx(0.0674502, abs=5e-8)
    assert found.rate is not None
    assert found.decay_rate == pytest.approx(found.rate * (1 - 0.9632823) / 0.9632823, rel=3e-6)
    first = found.classes["need-1"]
    assert first.constant is not None
    assert first.exceeds[300.0] == pytest.approx(first.constant * math.exp(-300 * found.decay_rate), rel=1e-12)
    assert f"{first.exceeds[300.0]:.10g}" == "1.353552906e-09"
    data = json.loads(found.to_json())
    assert data["classes"]["need-1"]["exceeds"]["300"] == first.exceeds[300.0]
    assert data["decay_rate"] == found.decay_rate
    assert cheap_decay(REFERENCE, found.rate, found.threshold) == pytest.approx(found.decay_rate, rel=1e-13)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("depth", [0.5, 3.0, 100.0])
def test_tails_step_by_step(name: str, depth: float) -> None:
    """The theory itself: P(wait > x) of the queue followed event by event, down to 1e-100."""
    model = MODELS[name]
    states = states_of(model)
    rate = 0.4 * saturated.solve(states).threshold
    theta = decay_rate(saturated.Moves.of(states), rate).rate
    x = depth * math.log(10.0) / theta
    found = Waits(queue.solve(queue.Queue(states, rate))).exceeds(x)
    assert step_by_step(model, rate, x, 60 + int(7 * depth)) == pytest.approx(found[:-1], rel=1e-10)


# Known answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.8), (3, 2.0), (40, 12.0)])
def test_erlang_c(servers: int, rate: float) -> None:
    """M/M/s by the formula and by the chain: P(wait > x) = C exp(-(s / mean - rate) x), to the last digits."""
    model = single(EXPONENTIAL, servers)
    formula = closed.wait(model, rate)
    assert formula is not None
    assert formula.decay == servers - rate
    chain = Waits(queue.solve(queue.Queue(states_of(model), rate)))
    assert chain.decay == pytest.approx(servers - rate, rel=1e-14)
    assert chain.constants[0] == pytest.approx(formula.constant, rel=1e-13)
    for x in (0.0, 1.0, 20.0):
        assert chain.exceeds(x)[0] == pytest.approx(formula.exceeds(x), rel=2e-13)
    known = loynes.exact(model, rate=rate, exceeds=(1.0,))
    assert known.decay_rate == servers - rate
    assert known.overall is not None
    assert known.overall.constant == formula.constant
    for name, beyond in BEYOND.items():
        x, _ = chain.percentile(0, float(beyond))
        assert x == pytest.approx(known.overall.percentiles[name], rel=1e-12, abs=1e-12)
    if servers == 1:
        assert known.overall.constant == pytest.approx(rate, rel=1e-15)


def test_one_server_at_a_time() -> None:
    """M/H2/1: the formula's mean, and the decay rate that E[exp(theta service)] = 1 + theta / rate gives."""
    rate = 0.9
    model = mix(2, (2, 1.0, HYPER))
    found = loynes.exact(model, rate=rate)
    formula = closed.wait(model, rate)
    assert formula is not None
    assert formula.exceeds(1.0) is None
    assert found.mean_wait == pytest.approx(formula.mean, rel=1e-12)
    assert found.hol_loss == 0
    assert found.decay_rate is not None
    theta = found.decay_rate
    assert 0.3 / (1 - 2.0 * theta) + 0.7 / (1 - 0.4 * theta) == pytest.approx(1 + theta / rate, rel=1e-14)
    fixed = loynes.exact(mix(1, (1, 1.0, {"law": "deterministic", "value": 1.0})), rate=0.5, exceeds=(1.0,))
    assert fixed.decay_rate is None
    assert fixed.overall is not None
    assert (fixed.overall.exceeds, fixed.overall.percentiles) == ({}, {})


def test_phases_that_no_job_is_in() -> None:
    """A phase that cannot be reached, however slow, does not slow the decay."""
    used = {"law": "phase_type", "initial": [1.0], "generator": [[-1.0]]}
    unused = {"law": "phase_type", "initial": [1.0, 0.0], "generator": [[-1.0, 0.0], [1e-6, -1e-6]]}
    one, two = (loynes.exact(mix(3, (1, 0.5, law), (2, 0.5, SLOW)), load=0.5) for law in (used, unused))
    assert one.decay_rate == two.decay_rate
    assert one.states == two.states


def test_small_probabilities_are_as_right_as_large_ones() -> None:
    """At a fiftieth of the load hardly anyone waits, and that is known to as many digits."""
    found = loynes.exact(mix(30, (1, 0.9, EXPONENTIAL), (2, 0.1, EXPONENTIAL)), load=0.02, exceeds=(0.0, 1.0))
    first = found.classes["need-1"]
    assert 0 < first.exceeds[1.0] < first.exceeds[0.0] < 1e-20
    assert found.digits is not None
    assert found.digits >= 12
    assert first.percentiles["p99.9999"] == 0.0


# Elimination ----------------------------------------------------------------------------------------------------------


def test_elimination_loses_no_digits() -> None:
    """Nearly singular, with entries of all magnitudes: against fifty digits, entry by entry."""
    random = np.random.default_rng(1)
    size = 34  # more than a panel
    rates = 10.0 ** random.uniform(-12, 3, (size, size))
    excess = np.zeros(size)
    excess[0] = 1e-14
    solver = Dominant(rates, excess)
    with mpmath.workdps(80):
        exact = -exactly(rates)
        np.fill_diagonal(exact, mpmath.mpf(0))
        np.fill_diagonal(exact, exactly(excess) - exact.sum(axis=1))
        truth = inverse(exact)
    right = solver.solve(np.eye(size))
    assert max(abs(x) for x in (right / truth - 1).ravel()) < 1e-13
    np.testing.assert_allclose(solver.solve_left(np.eye(size)), right, rtol=1e-13)
    with mpmath.workdps(80):
        exact[:, 0] = mpmath.mpf(1)
        weights = inverse(exact)[0]
    found = stationary(rates, 7)
    assert max(abs(x) for x in (found / found[0]) / (weights / weights[0]) - 1) < 1e-13
