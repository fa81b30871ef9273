"""Services cut at T: what is cut off, the inequality entry by entry, and where to cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.estimate import Estimate
from loynes.estimators import cuts
from loynes.estimators.measures import Measures, Spread, Waits, system_of
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.reference import clamp_step
from loynes.kernels.tally import Tally, new_tally
from loynes.model import Model, load
from loynes.stationary import cut
from support import LAWS, single


def pareto(shape: float, mean: float = 1.0) -> dict[str, Any]:
    return {"law": "pareto", "shape": shape, "mean": mean}


@pytest.mark.parametrize("shape", [2.001, 2.2, 2.5, 2.999])
@pytest.mark.parametrize("at", [3.0, 40.0, 500.0])
def test_what_is_cut_off_a_pareto_service(shape: float, at: float) -> None:
    """P(sigma > y) = (low / y)^shape: E[x] is its integral from T, E[x^2] twice that of (y - T) times it."""
    beyond = ((shape - 1.0) / shape / at) ** shape
    first = beyond * at / (shape - 1.0)
    second = 2.0 * beyond * at**2 / ((shape - 1.0) * (shape - 2.0))
    off = cut.cut_off(single(pareto(shape)), at)
    assert first <= off.first <= first * (1.0 + 1e-6) + 2e-9
    whole = single(pareto(shape)).classes[0].service.variance + 1.0
    assert second <= off.second <= second * (1.0 + 1e-6) + 2e-9 * whole


def test_only_parts_without_a_third_moment_are_cut() -> None:
    mixed = {"law": "mixture", "weights": [0.5, 0.5], "laws": [{"law": "exponential", "mean": 9.0}, pareto(2.5)]}
    model = load(
        {
            "servers": 2,
            "classes": [
                {"name": "light", "need": 1, "probability": 0.4, "service": LAWS["lognormal"]},
                {"name": "mixed", "need": 2, "probability": 0.6, "service": mixed},
            ],
        }
    )  # fmt: skip
    shorter = cut.cut_services(model, 20.0)
    assert shorter.classes[0] == model.classes[0]
    law, whole = shorter.classes[1].service, model.classes[1].service
    assert law.highest_moment == math.inf
    x = np.array([0.1, 1.0, 19.9])
    np.testing.assert_allclose(law.above(x), whole.above(x), rtol=1e-12)
    # The exponential part goes on; nothing of the other does.
    assert float(law.above(20.0)) == pytest.approx(0.5 * math.exp(-20.0 / 9.0), rel=1e-12)
    alone = cut.cut_off(single(pareto(2.5)), 20.0)
    np.testing.assert_allclose(cut.cut_off(model, 20.0), 0.3 * np.array(alone), rtol=1e-9)


jobs = st.lists(
    st.tuples(st.integers(1, 5), st.floats(0.01, 40.0), st.floats(0.0, 4.0)), min_size=1, max_size=60
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(servers=st.integers(1, 5), jobs=jobs, at=st.floats(0.1, 20.0), slack=st.floats(0.01, 0.9))
def test_cut_services_lie_below_and_with_what_is_cut_off_above(
    servers: int, jobs: list[tuple[int, float, float]], at: float, slack: float
) -> None:
    """W' <= W <= W'' + V, entry by entry, before every job."""
    W, below, above, V = np.zeros(servers), np.zeros(servers), np.zeros(servers), 0.0
    for need, service, gap in jobs:
        a, kept = min(need, servers), min(service, at)
        W = clamp_step(W, a, service, gap)
        below = clamp_step(below, a, kept, gap)
        above = clamp_step(above, a, kept, (1.0 - slack) * gap)
        V = max(V + service - kept - slack * gap, 0.0)
        assert np.all(below <= W * (1.0 + 1e-12) + 1e-12)
        assert np.all((above + V) * (1.0 + 1e-12) + 1e-12 >= W)


def test_mean_wait_of_what_is_cut_off() -> None:
    """M/G/1 by Pollaczek and Khinchine; and Kingman's bound for other gaps, which it never exceeds."""
    off, rate, slack = cut.CutOff(0.02, 0.5), 0.8, 0.1
    load = rate / slack * off.first
    assert cut.mean_wait(off, slack, rate) == pytest.approx(rate / slack * off.second / (2.0 * (1.0 - load)), rel=1e-12)
    assert cut.mean_wait(off, slack, rate, gap_variance=rate**-2) > cut.mean_wait(off, slack, rate)
    assert cut.mean_wait(off, 0.015, rate) == math.inf


def test_kingmans_bound_holds() -> None:
    """Lindley's queue of rare services with gaps of an Erlang law, simulated."""
    rng = np.random.default_rng(5)
    count, slack = 400_000, 0.3
    x = np.where(rng.random(count) < 0.05, rng.exponential(1.0, count), 0.0)
    tau = rng.gamma(2.0, 0.5, count)
    sums = np.concatenate([[0.0], np.cumsum(x - slack * tau)])
    waits = sums - np.minimum.accumulate(sums)
    bound = cut.mean_wait(cut.CutOff(0.05, 0.1), slack, 1.0, gap_variance=0.5)
    assert 0.5 * bound < waits.mean() < bound


def test_where_to_cut() -> None:
    """As high as a run sees thirty services above half of it; the slack between what is cut off and the spare time."""
    model = single(pareto(2.5))
    shorter, longer = (cut.choose(model, 0.7, 1.0, 2.1, jobs) for jobs in (1e6, 1e9))
    for found, jobs in ((shorter, 1e6), (longer, 1e9)):
        assert jobs * (0.6 / (0.5 * found.at)) ** 2.5 == pytest.approx(30.0, rel=1e-6)
        assert found.slack is not None
        off = cut.cut_off(model, found.at)
        assert 0.7 * off.first < found.slack < 0.3
        assert found.extra == pytest.approx(cut.mean_wait(off, found.slack, 0.7), rel=1e-12)
        # About the least: half or twice the slack is worse.
        cost = [
            cut.mean_wait(off, s, 0.7) + 2.1 * s / (0.3 - s)
            for s in (0.6 * found.slack, found.slack, 1.6 * found.slack)
        ]
        assert cost[1] < min(cost[0], cost[2])
        assert found.details == {"at": found.at, "slack": found.slack, "extra": found.extra, "sides": "both"}
    assert (longer.extra or math.inf) < (shorter.extra or 0.0)


@pytest.mark.parametrize(
    ("arrivals", "shape", "rate", "why"),
    [
        ({}, 1.5, 0.5, "no second moment"),
        ({}, 2.5, 0.9999, "too short for this load"),
        ({"process": "renewal", "gap": pareto(1.5)}, 2.5, 0.5, "gaps have no variance"),
        ({"process": "mmpp", "rates": [0.2, 2.0], "generator": [[-1, 1], [1, -1]]}, 2.5, 0.5, "not independent"),
        ({"process": "batch", "size": {"law": "deterministic", "value": 2.0}}, 2.5, 0.5, "not independent"),
        ({"process": "periodic", "cycle": 10.0, "rates": [0.1, 0.9]}, 2.5, 0.5, "not independent"),
    ],
)  # fmt: skip
def test_no_upper_side(arrivals: dict[str, Any], shape: float, rate: float, why: str) -> None:
    model = load(single(pareto(shape)).to_dict() | {"arrivals": arrivals})
    found = cut.choose(model, rate, 1.0, 2.0, 1e5)
    assert found.details | {"why": ""} == {"at": found.at, "slack": None, "extra": None, "sides": "lower", "why": ""}
    assert why in found.why


FOUR = load(
    {
        "servers": 4,
        "classes": [
            {"name": "small", "need": 1, "probability": 0.75, "service": pareto(2.5)},
            {"name": "wide", "need": 3, "probability": 0.25, "service": {"law": "exponential", "mean": 2.0}},
        ],
    }
)


def tally_of(small: float, wide: float, loss: float, model: Model = FOUR) -> Tally:
    """Two replicas in which the waits, and what a job idles, are always the same."""
    tally = new_tally(2, len(needs_of(model).need), 1.0, len(job_table(model, 0.5).units))
    tally.looks[:] = 1
    tally.wait[:], tally.square[:] = (small, wide), (small**2, wide**2)
    tally.loss[:] = loss
    return tally


def test_measures_between_two_constants() -> None:
    """Waits of the cut services are 1 and 3; at the higher rate 2 and 4, plus 0.5: all worked out by hand."""
    rate = 0.5
    mean = Estimate(9.0, 8.0, 10.0)
    spread = Spread(mean, mean, mean, mean, mean, mean)
    waits = Waits(spread, spread, Estimate.exact(0.5))
    plain = Measures(waits, {"small": waits, "wide": waits}, system_of(FOUR, rate, mean, mean, [Estimate.exact(1.0)]))
    # A job of need 3 idles 2 W[2] - W[0] - W[1]: here 2 of 6 below and 3 of 8 above, a quarter of all jobs.
    below, above = tally_of(1.0, 3.0, 0.5), (tally_of(2.0, 4.0, 0.75), 0.5)
    found = cuts.measures(plain, FOUR, rate, needs_of(FOUR), below, above, 0.9)
    assert found.classes["small"].wait.mean == Estimate(2.5, 1.0, 2.5)
    assert found.classes["wide"].wait.mean == Estimate(4.5, 3.0, 4.5)
    assert found.overall.wait.mean == Estimate(3.0, 1.5, 3.0)
    assert found.classes["wide"].response.mean == Estimate(6.5, 5.0, 6.5)
    assert (found.system.jobs_waiting.low, found.system.jobs_waiting.high) == (0.75, 1.5)
    assert found.classes["wide"].wait.variance == Estimate(9.0, 0.0, math.inf)
    assert found.classes["wide"].response.variance == Estimate(9.0, 4.0, math.inf)
    # f is half the wide wait: 1.5 below, 2 above, plus 0.25; g is f minus the loss: 1 below, 1.25 above, plus 0.25.
    assert (found.system.hol_loss.low, found.system.hol_loss.high) == (0.0, 0.5 * (2.25 - 1.0))
    assert found.overall.wait.p99 == mean
    one = cuts.measures(plain, FOUR, rate, needs_of(FOUR), below, None, 0.9)
    assert one.overall.wait.mean == Estimate(9.0, 1.5, math.inf)
    assert one.system.hol_loss.high == one.system.idle_servers.estimate
