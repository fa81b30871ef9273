"""Sessions: thresholds worked out by hand, waits against batches and against runs that share no code with ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.model import Model, load
from support import SURE, assert_holds

ONE = {"law": "exponential", "mean": 1.0}


def sessions(size: float, repeat: float = 0.0, gap: float = 0.1, rate: float = 0.1) -> dict[str, Any]:
    """All of one size."""
    return {
        "process": "sessions",
        "size": {"law": "deterministic", "value": size},
        "gap": {"law": "exponential", "mean": gap},
        "of": {"process": "poisson", "rate": rate},
        "repeat": repeat,
    }


def one_or_all(size: float, small: dict[str, Any], repeat: float = 0.0) -> Model:
    """Jobs that need one of four servers, and one in four that needs all."""
    big = {"law": "exponential", "mean": 0.5}
    classes = [{"need": 1, "probability": 0.75, "service": small}, {"need": 4, "probability": 0.25, "service": big}]
    return load({"servers": 4, "arrivals": sessions(size, repeat), "classes": classes})


@pytest.mark.parametrize("size", [1, 3, 4, 10])
def test_threshold_of_constant_small_jobs(size: int) -> None:
    """A session of big jobs is preceded by m sessions of small ones with probability q^m p; those take as many rounds
    of all four servers as m times their jobs fill. So a big session brings E[ceil(m L / 4)] + L / 2 to the pile, and
    L / p jobs. Sessions of four small jobs leave no server idle: there, the threshold is the ideal."""
    rounds = math.fsum(0.75**m * 0.25 * math.ceil(m * size / 4) for m in range(400))
    growth = 0.25 / size * (rounds + 0.5 * size)
    model = one_or_all(size, {"law": "deterministic", "value": 1.0})
    if size == 4:
        assert 1.0 / growth == pytest.approx(model.ideal)
    found = loynes.stability(model, precision=0.01, confidence=SURE, seed=size).threshold
    assert_holds(1.0 / growth, found, 0.006)


def test_threshold_of_small_jobs_that_repeat() -> None:
    """Four jobs of one length side by side, whatever that is: again the ideal, while jobs of their own lengths lose."""
    together = loynes.stability(one_or_all(4, ONE, 1.0), precision=0.01, confidence=SURE, seed=3).threshold
    assert_holds(one_or_all(4, ONE, 1.0).ideal, together, 0.006)
    apart = loynes.stability(one_or_all(4, ONE, 0.0), precision=0.01, confidence=SURE, seed=3).threshold
    assert apart.high < together.low


def test_threshold_of_long_sessions_is_that_of_their_classes_apart() -> None:
    """Of four servers, small jobs take one each and pile up by 1 / 4, big ones three and pile up by 1: 1 / 0.625 in the
    limit, but for what is running at a change of class, below 3 services in a session of 2000 jobs. Independent jobs
    run beside each other: exactly 1 / 0.6."""
    classes = [{"need": n, "probability": 0.5, "service": ONE} for n in (1, 3)]
    long = load({"servers": 4, "arrivals": sessions(2000), "classes": classes})
    found = loynes.stability(long, precision=0.02, confidence=SURE, seed=4).threshold
    assert found.low <= 1.6
    assert found.high >= 1.6 / (1.0 + 3.0 / 1250.0)
    assert found.relative <= 0.011
    short = load({"servers": 4, "arrivals": sessions(1), "classes": classes})
    one = loynes.stability(short, precision=0.01, confidence=SURE, seed=4).threshold
    assert_holds(loynes.exact(load({"servers": 4, "classes": classes})).threshold, one, 0.006)
    assert found.high < one.low


def test_one_class_fills_its_channels_whatever_repeats() -> None:
    """Two jobs that need three of eight servers at a time: 2 / mean."""
    classes = [{"need": 3, "probability": 1.0, "service": ONE}]
    for repeat in (0.0, 1.0):
        model = load({"servers": 8, "arrivals": sessions(5, repeat), "classes": classes})
        assert_holds(2.0, loynes.stability(model, precision=0.02, confidence=SURE, seed=5).threshold, 0.011)


def single(arrivals: dict[str, Any]) -> Model:
    return load({"servers": 1, "arrivals": arrivals, "classes": [{"need": 1, "probability": 1.0, "service": ONE}]})


def test_sessions_without_gaps_are_batches() -> None:
    """M^X/M/1 with batches of 3, but for gaps of 1e-9; and single jobs, which are Poisson."""
    expected = {3: (0.6 + (9.0 - 3.0) / 6.0) / 0.4, 1: 0.6 / 0.4}
    for size, wait in expected.items():
        model = single(sessions(size, gap=1e-9, rate=0.2))
        with pytest.warns(loynes.LoynesWarning, match="jobs of a session are alike, and"):
            found = loynes.evaluate(model, rate=0.6, precision=0.02, confidence=SURE, seed=6)
        assert found.certificate is None
        assert_holds(wait, found.overall.wait.mean, 0.03)


MIXED = {
    "servers": 4,
    "arrivals": {"process": "sessions", "size": {"law": "empirical", "values": [1.0, 2.0, 6.0]},
                 "gap": {"law": "uniform", "low": 0.0, "high": 0.4}, "of": {"process": "poisson", "rate": 0.6},
                 "repeat": 0.7},
    "classes": [{"name": "small", "need": 1, "probability": 0.6, "service": ONE},
                {"name": "big", "need": 3, "probability": 0.4, "service": {"law": "exponential", "mean": 0.5}}],
}  # fmt: skip


def simulated(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrival times, classes and services, session by session."""
    times, kinds, services, now = [], [], [], 0.0
    while len(times) < count:
        now += rng.exponential(1.0 / 0.6)
        kind = int(rng.random() < 0.4)
        first = rng.exponential(0.5 if kind else 1.0)
        for k in range(int(rng.choice([1, 2, 6]))):
            if k:
                now += rng.uniform(0.0, 0.4)
            again = k == 0 or rng.random() < 0.7
            times.append(now)
            kinds.append(kind)
            services.append(first if again else rng.exponential(0.5 if kind else 1.0))
    return np.array(times), np.array(kinds), np.array(services)


def waits_of(times: np.ndarray, kinds: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Four servers' free times, in turn."""
    free, before, waits = [0.0] * 4, 0.0, np.empty(len(times))
    for n, (now, kind, service) in enumerate(zip(times, kinds, services, strict=True)):
        need = 3 if kind else 1
        free.sort()
        start = max(now, before, free[need - 1])
        free[:need] = [start + service] * need
        waits[n], before = start - now, start
    return waits


def test_waits_and_responses_against_a_run_of_its_own() -> None:
    """Mean waits of both classes, and variance and 90th percentile of the response, in which a service hangs together
    with the wait: chains, backward samples and events against 40 runs, at 5 standard errors of both together: twelve
    comparisons, below one false alarm in 100,000."""
    model = load(MIXED)
    assert model.rate == pytest.approx(3.0 / (1.0 / 0.6 + 2.0 * 0.2))
    rng, seen, together = np.random.default_rng(9), [], []
    for _ in range(40):
        times, kinds, services = simulated(10_000, rng)
        waits = waits_of(times, kinds, services)[1000:]
        kinds, response = kinds[1000:], waits + services[1000:]
        by_class = [waits[kinds == k].mean() for k in (0, 1)]
        seen.append([*by_class, response.var(), np.quantile(response, 0.9)])
        together.append(response.var() - waits.var() - services[1000:].var())
    expected, error = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / math.sqrt(len(seen))
    with pytest.warns(loynes.LoynesWarning, match="jobs of a session are alike, and"):
        chains = loynes.evaluate(model, precision=0.01, seed=7)
    samples = loynes.evaluate(model, method="backward", samples=8_000, initial_length=2048, seed=8)
    events = loynes.simulate(model, policy="fcfs", jobs=50_000, replicas=32, seed=9)
    for found in (chains, samples, events):
        by_class = [found.classes[name].wait.mean for name in ("small", "big")]
        response = found.overall.response
        for k, one in enumerate([*by_class, response.variance, response.p90]):
            assert abs(one.estimate - expected[k]) <= 5.0 * math.hypot(error[k], one.half_width / 2.576)
    # Services and waits do hang together; runs of ours are longer, their own error is below that of the others.
    apart = 0.6 * 2.0 + 0.4 * 0.5 - 0.8**2
    assert np.mean(together) > 5.0 * np.std(together, ddof=1) / math.sqrt(len(together))
    for found in (chains, events):
        covariance = found.overall.response.variance.estimate - found.overall.wait.variance.estimate - apart
        assert abs(covariance - np.mean(together)) <= 7.0 * np.std(together, ddof=1) / math.sqrt(len(together))


def test_exact_answers_are_refused() -> None:
    with pytest.raises(loynes.UsageError, match="jobs that do not depend on one another, not for sessions"):
        loynes.exact(load(MIXED))
