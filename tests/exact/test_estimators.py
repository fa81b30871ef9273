"""Estimators on tallies and jobs made by hand, whose figures can be worked out on paper."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loynes.errors import UsageError
from loynes.estimate import Estimate, mean_of, student
from loynes.estimators import events
from loynes.estimators.jobs import average_in_windows, seen_of, spread_of, system_over
from loynes.estimators.measures import NOTHING_MORE, Resource, System, bracket, system_of
from loynes.estimators.metrics import Metric, metric, metrics, of_system, register, tail, unregister
from loynes.estimators.pairs import ChainTallies, _percentile, _Pool, _pool, difference, system_difference
from loynes.inputs.tables import needs_of
from loynes.kernels.tally import bin_edges, new_tally
from loynes.model import Model, load

LOOKS = np.array([10, 20])


def two_classes(servers: int, wide_mean: float) -> Model:
    return load(
        {
            "servers": servers,
            "classes": [
                {"name": "small", "need": 1, "probability": 0.75, "service": {"law": "exponential", "mean": 1.0}},
                {"name": "wide", "need": 3, "probability": 0.25, "service": {"law": "exponential", "mean": wide_mean}},
            ],
        }
    )


def chains(model: Model, *parts: tuple[list[list[float]], list[list[float]], list[float]]) -> ChainTallies:
    """Two replicas, of which each tally has mean waits, shares that do not wait (by class) and mean losses."""
    tallies = []
    for wait, none, loss in parts:
        empty = new_tally(2, 2, 1.0)
        looks = LOOKS[:, None]
        made = empty._replace(
            looks=LOOKS,
            wait=np.array(wait) * looks,
            none=np.round(np.array(none) * looks).astype(np.int64),
            loss=np.array(loss)[:, None] * looks,
        )
        made.bins[:, :, 0] = made.none
        made.bins[:, :, 3000] = looks - made.none
        tallies.append(made)
    return ChainTallies(model, 0.8, needs_of(model), tuple(tallies))


A = chains(two_classes(4, 2.0), ([[1.0, 3.0], [2.0, 1.0]], [[0.5, 0.2], [0.5, 0.2]], [1.0, 1.0]))
B = chains(two_classes(5, 1.0), ([[0.5, 1.0], [1.0, 1.0]], [[0.6, 0.4], [0.8, 0.4]], [0.5, 1.0]))


def of_two(first: float, second: float) -> Any:
    """The interval of the mean of two values at confidence 0.9."""
    half = student(0.9, 2) * abs(first - second) / 2.0
    mean = (first + second) / 2.0
    return Estimate(*(pytest.approx(x, abs=1e-12) for x in (mean, mean - half, mean + half)))


def test_differences_are_second_minus_first() -> None:
    small = difference(A, B, ([0], [0]), 0.9)
    assert small.wait["mean"] == small.response["mean"] == of_two(-0.5, -1.0)
    assert small.no_wait == of_two(0.1, 0.3)
    assert small.means == (of_two(1.0, 2.0), of_two(0.5, 1.0))
    wide = difference(A, B, ([1], [1]), 0.9)
    assert wide.wait["mean"] == of_two(-2.0, 0.0)
    assert wide.response["mean"] == of_two(-3.0, -1.0)
    assert list(wide.wait) == ["mean", "p50", "p90", "p95", "p99"]
    overall = difference(A, B, ([0, 1], [0, 1]), 0.9)
    assert overall.wait["mean"] == of_two(-0.875, -0.75)
    assert overall.response["mean"] == of_two(-1.125, -1.0)
    crossed = difference(A, B, ([0], [1]), 0.9)
    assert crossed.wait["mean"] == crossed.response["mean"] == of_two(0.0, -1.0)


def test_differences_of_systems() -> None:
    """Busy shares 0.8 x 2.25 / 4 and 0.8 x 1.5 / 5; jobs by Little's law, of the classes that are there."""
    both = system_difference(A, B, [0, 1], [0, 1], 0.9)
    assert both["utilization"] == of_two(0.24 - 0.45, 0.24 - 0.45)
    assert both["hol_loss"] == of_two(-0.4, 0.0)
    assert both["jobs_waiting"] == of_two(-0.7, -0.6)
    assert both["jobs_in_system"] == of_two(-0.9, -0.8)
    without = system_difference(A, B, [0, 1], [0], 0.9)
    assert without["jobs_waiting"] == of_two(-0.9, -0.8)
    assert without["jobs_in_system"] == of_two(-1.3, -1.2)


def test_differences_of_chains_that_have_not_met() -> None:
    """Between the lowest of the one less the highest of the other, and the reverse."""
    none = [[0.5, 0.2], [0.5, 0.2]]
    a = chains(A.model, ([[1.0, 0.0], [2.0, 0.0]], none, [0.0, 0.0]), ([[2.0, 0.0], [3.0, 0.0]], none, [0.0, 0.0]))
    b = chains(B.model, ([[0.5, 0.0], [1.0, 0.0]], none, [0.0, 0.0]), ([[1.5, 0.0], [2.0, 0.0]], none, [0.0, 0.0]))
    found = difference(a, b, ([0], [0]), 0.9)
    value, low, high = found.wait["mean"], of_two(-1.5, -2.0), of_two(0.5, 0.0)
    assert value == Estimate(pytest.approx(-0.75), low.low, high.high)
    assert found.means[0] == Estimate(pytest.approx(2.0), of_two(1.0, 2.0).low, of_two(2.0, 3.0).high)
    met = ChainTallies(b.model, b.rate, b.needs, b.tallies[:1])
    value = difference(a, met, ([0], [0]), 0.9).wait["mean"]
    assert value == Estimate(pytest.approx(-1.25), of_two(-1.5, -2.0).low, of_two(-0.5, -1.0).high)


def test_quantiles_of_bins() -> None:
    """Four of ten do not wait, two wait up to 1, none to 2, and four to 4; in between, straight lines."""
    ends = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    pool = _Pool(np.array([[2.0, 0.0, 4.0]]), np.array([4.0]), np.array([10.0]), *ends)
    for q, value in ((0.1, 0.0), (0.4, 0.0), (0.5, 0.5), (0.6, 1.0), (0.8, 3.0), (1.0, 4.0)):
        assert pool.quantile(q) == pytest.approx(value, abs=1e-12)
    two = _Pool(np.array([[2.0, 0.0, 4.0], [0.0, 10.0, 0.0]]), np.array([4.0, 0.0]), np.array([10.0, 10.0]), *ends)
    assert two.quantile(0.5) == pytest.approx(1.4)
    assert two.quantile(0.5, np.array([True, False])) == pytest.approx(0.5)
    assert two.quantile(0.5, np.array([False, True])) == pytest.approx(1.5)


def test_pools_of_a_tally() -> None:
    """Waits of zero are counted in the first bin too, and not twice; the last bin is no wider than it is far."""
    tally = new_tally(1, 2, 2.0)._replace(looks=np.array([10]), none=np.array([[3, 1]]))
    tally.bins[0, 0, [0, 7]] = 5, 5
    tally.bins[0, 1, [0, 9]] = 1, 9
    pool = _pool(tally, np.array([0.75, 0.25]))
    assert pool.zero.tolist() == [2.5]
    assert pool.mass[0, [0, 7, 9]].tolist() == [1.5, 3.75, 2.25]
    edges = bin_edges(2.0)
    assert (pool.low[0], pool.high[0], pool.low[-1]) == (0.0, edges[1], edges[-2])
    assert pool.high[-2] == pool.low[-1]
    assert pool.high[-1] <= 2.0 * pool.low[-1]


def in_bins(means: list[float]) -> ChainTallies:
    """Replicas whose waits are all in one bin each."""
    edges = bin_edges(1.0)
    tally = new_tally(len(means), 2, 1.0)
    tally = tally._replace(looks=np.full(len(means), 10))
    for row, mean in enumerate(means):
        tally.bins[row, :, int(np.searchsorted(edges, mean, side="right")) - 1] = 10
    return ChainTallies(A.model, 0.8, needs_of(A.model), (tally,))


@pytest.mark.parametrize("replicas", [2, 5, 16, 32])
def test_intervals_of_percentiles_are_those_of_a_jackknife(replicas: int) -> None:
    """As many groups as there are replicas, sixteen at most; a Student interval of the groups' pseudo-values."""
    rng = np.random.default_rng(replicas)
    a, b = (in_bins([float(x) for x in rng.exponential(size=replicas)]) for _ in range(2))
    weight = np.array([1.0, 0.0])
    value = _percentile(a, b, weight, weight, 0.5, 0.9)
    pools = [_pool(one.tallies[0], weight) for one in (a, b)]

    def of(chosen: Any) -> float:
        return pools[1].quantile(0.5, chosen) - pools[0].quantile(0.5, chosen)

    groups = np.array_split(np.arange(replicas), min(replicas, 16))
    count, whole = len(groups), of(slice(None))
    others = [np.setdiff1d(np.arange(replicas), group) for group in groups]
    pseudo = np.array([count * whole - (count - 1) * of(np.isin(np.arange(replicas), kept)) for kept in others])
    half = student(0.9, count) * float(np.std(pseudo, ddof=1)) / math.sqrt(count)
    assert half > 0
    assert value == Estimate(whole, pytest.approx(whole - half), pytest.approx(whole + half))


def test_spread_of_jobs() -> None:
    """Percentiles are values that occurred: the 50th, 90th, 95th and 99th of 1..100; of three values, their ranks."""
    spread = spread_of(np.arange(100.0, 0.0, -1.0))
    found = [float(getattr(spread, name)) for name in ("mean", "variance", "p50", "p90", "p95", "p99")]
    assert found == [50.5, 833.25, 50.0, 90.0, 95.0, 99.0]
    assert float(spread_of(np.array([3.0, 1.0, 2.0])).p50) == 2.0
    assert float(spread_of(np.array([3.0])).p50) == 3.0
    seen = seen_of(np.array([0.0, 0.0, 3.0, 1.0]), (0.0, 1.0, 2.0, 3.0), NOTHING_MORE, np.empty(9))
    assert (seen.none, seen.beyond, float(seen.spread.mean)) == (0.5, (0.5, 0.25, 0.25, 0.0), 1.0)
    values = np.random.default_rng(1).lognormal(0.0, 3.0, 4099)
    assert float(spread_of(values).variance) == np.var(values)


def test_time_averages_of_a_span() -> None:
    found = system_over(4, 10.0, 25.0, 5.0, 2.0, 30.0)
    values = [value.estimate for value in vars(found).values() if isinstance(value, Estimate)]
    assert values == [2.5, 0.625, 1.5, 0.5, 3.0, 0.2]


def test_averages_in_windows() -> None:
    """[0.5, 3.5) of weight 2 and [1, 1.5) of weight 4, in windows [0, 1), [1, 2), [2, 4)."""
    edges = np.array([0.0, 1.0, 2.0, 4.0])
    found = average_in_windows(np.array([0.5, 1.0]), np.array([3.5, 1.5]), np.array([2.0, 4.0]), edges)
    assert found.tolist() == [1.0, 4.0, 1.5]
    touching = average_in_windows(np.array([1.0]), np.array([2.0]), np.array([1.0]), edges)
    assert touching.tolist() == [0.0, 1.0, 0.0]
    at_the_end = average_in_windows(np.array([4.0]), np.array([4.0]), np.array([1.0]), edges)
    assert at_the_end.tolist() == [0.0, 0.0, 0.0]


def test_brackets_are_hulls() -> None:
    low, high = Estimate(1.0, 0.5, 1.5), Estimate(2.0, 1.0, 4.0)
    assert bracket(low, high) == Estimate(1.5, 0.5, 4.0)
    assert bracket(Estimate(1.0, 0.5, 5.0), Estimate(2.0, 0.1, 4.0)) == Estimate(1.5, 0.1, 5.0)
    assert bracket(low, low) is low
    assert bracket({"a": low}, {"a": high}) == {"a": Estimate(1.5, 0.5, 4.0)}


def test_systems_follow_from_rates() -> None:
    """Work 2.25 a job at rate 0.8 on four servers: 1.8 busy, 2.2 idle; a loss is never more than what idles."""
    wait, response, loss = Estimate(2.0, 1.0, 3.0), Estimate(4.0, 3.0, 5.0), Estimate(1.0, -1.0, 9.0)
    found = system_of(A.model, 0.8, wait, response, [loss])
    exact = [(found.busy_servers, 1.8), (found.utilization, 0.45), (found.idle_servers, 2.2)]
    for value, by_hand in exact:
        assert value.low == value.high == value.estimate == pytest.approx(by_hand)
    assert found.hol_loss == Estimate(0.8, 0.0, pytest.approx(2.2))
    assert found.jobs_waiting == wait.scaled(0.8)
    assert found.jobs_in_system == response.scaled(0.8)
    assert found.resources == {}
    assert [name for name, _ in found.rows] == [
        "busy servers", "utilization", "idle servers", "hol loss", "jobs in system", "jobs waiting",
    ]  # fmt: skip


def test_rows_of_several_resources() -> None:
    one = Resource(*(Estimate.exact(float(k)) for k in range(4)))
    system = System(*(Estimate.exact(float(10 + k)) for k in range(6)), resources={"gpu": one})
    names = ["gpu busy", "gpu utilization", "gpu idle", "gpu hol loss", "jobs in system", "jobs waiting"]
    assert [name for name, _ in system.rows] == names
    assert [float(value) for _, value in system.rows] == [0.0, 1.0, 2.0, 3.0, 14.0, 15.0]
    assert float(of_system(system)["gpu.hol_loss"]) == 3.0
    assert float(of_system(system)["jobs_waiting"]) == 15.0


def test_what_grows_with_the_load() -> None:
    """Objectives lean on it: waits, responses, jobs and use grow; P(no wait) falls; variances and losses do either."""
    grows = {one.name: one.grows for one in metrics()}
    assert {name for name, sign in grows.items() if sign == 0} == {
        "wait.variance", "response.variance", "busy_servers", "idle_servers", "hol_loss",
    }  # fmt: skip
    assert {name for name, sign in grows.items() if sign < 0} == {"no_wait"}
    assert tail(2.5).grows == 1
    assert metric("wait>2.5").name == "wait>2.5"
    assert metric("wait.p95").column == "p95"
    assert metric("wait.mean").column == "mean wait"
    assert len(metrics()) == len(metrics("class")) + len(metrics("system")) == 20
    register(Metric("mine", "mine", "time", lambda waits: waits.no_wait, 0))
    assert metrics()[-1].name == "mine"
    unregister("mine")
    assert len(metrics()) == 20


# Replicas of the event-driven simulation: sums by class are ended, wait, wait^2, none, response, response^2, slowdown.
def replica(
    sums: list[list[float]], time: list[float], jobs: list[list[float]] | None = None, overrun: bool = False
) -> Any:
    seen = SimpleNamespace(sums=np.array(sums), time=np.array(time), jobs=np.array(jobs or np.zeros((0, 3))))
    return SimpleNamespace(observations=seen, overrun=overrun, moments=np.array([[1.0, 2.0, 3.0, 0.5, 9.0]]))


ONE = replica([[4, 8.0, 0, 1, 0, 0, 0], [1, 2.0, 0, 0, 0, 0, 0]], [10.0, 5.0, 20.0, 30.0, 2.0])
TWO = replica([[5, 5.0, 0, 1, 0, 0, 0], [5, 15.0, 0, 0, 0, 0, 0]], [20.0, 20.0, 60.0, 40.0, 10.0])
NOBODY = replica([[0.0] * 7] * 2, [0.0] * 5)


def test_means_of_replicas() -> None:
    assert events.mean_wait([ONE, TWO, NOBODY], 0.9) == of_two(2.0, 2.0)
    assert events.paired_difference([ONE, TWO], [TWO, TWO], 0.9) == of_two(0.0, 0.0)
    longer = replica([[5, 20.0, 0, 0, 0, 0, 0]], [0.0])
    assert events.paired_difference([longer, longer], [ONE, TWO], 0.9) == of_two(2.0, 2.0)
    endless = replica([[5, 20.0, 0, 0, 0, 0, 0]], [0.0], overrun=True)
    assert events.paired_difference([ONE], [endless], 0.9) is None
    assert events.paired_difference([endless], [ONE], 0.9) is None


def test_time_averages_of_replicas() -> None:
    found = events.system(A.model, [ONE, TWO, NOBODY], 0.9)
    assert found.busy_servers == of_two(3.0, 2.0)
    assert found.utilization == of_two(0.75, 0.5)
    assert found.idle_servers == of_two(1.0, 2.0)
    assert found.hol_loss == Estimate(pytest.approx(0.35), 0.0, pytest.approx(0.35 + student(0.9, 2) * 0.15))
    assert found.jobs_waiting == of_two(0.5, 1.0)
    assert found.jobs_in_system == of_two(2.0, 3.0)
    with pytest.raises(UsageError, match="too few jobs"):
        events.system(A.model, [ONE, NOBODY], 0.9)


def test_ratios_are_linearised() -> None:
    """Six in four jobs: 1.5, with values 1.5 + (2 - 1.5) / 2 and 1.5 + (4 - 4.5) / 2."""
    assert events._ratio(np.array([2.0, 4.0]), np.array([1, 3]), 0.9) == of_two(1.75, 1.25)


def test_jobs_that_come_soon() -> None:
    """From a moment on, until a span later: the one who comes then is in, the one who comes at the end is not."""
    jobs = np.array([[7.0, 0.0, 0.9], [1.0, 0.0, 1.0], [2.0, 0.0, 2.9], [8.0, 0.0, 3.0]])
    assert events._soon(jobs, 1.0, 2.0).tolist() == [1.0, 2.0]


def test_waits_at_a_moment() -> None:
    """Ten mean gaps long; of waits 0..9 in each of two replicas alike, nothing is uncertain."""
    jobs = [[float(k), 0.0, 5.0 + k] for k in range(10)]
    alike = [replica([[1.0] * 7], [1.0] * 5, jobs) for _ in range(2)]
    (found,) = events.moments(A.model, 1.0, np.array([5.0]), alike, 0.9)
    assert (found.wait, found.wait_p50, found.time) == (Estimate.exact(4.5), Estimate.exact(4.5), 5.0)
    states = [found.jobs_waiting, found.jobs_in_system, found.busy_servers, found.hol_loss]
    assert [float(value) for value in states] == [1.0, 2.0, 3.0, 0.5]
    (found,) = events.moments(A.model, 10.0, np.array([5.0]), alike, 0.9)
    assert float(found.wait or 9.0) == 0.0
    (found,) = events.moments(A.model, 1.0, np.array([50.0]), alike, 0.9)
    assert (found.wait, found.wait_p50, found.wait_p95) == (None, None, None)


def test_percentiles_at_a_moment() -> None:
    """Woodruff: the pooled quantiles at 0.5 give or take the half-width of the share below the median."""
    waits = [np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 7.0])]
    mean, median, high = events._spread(waits, 0.5)
    assert mean == mean_of(np.array([1.5, 4.0]), 0.5)
    half = student(0.5, 2) * abs(0.75 - 0.25) / 2.0
    pooled = np.sort(np.concatenate(waits))
    assert median.estimate == 2.5
    assert (median.low, median.high) == pytest.approx(tuple(np.quantile(pooled, [0.5 - half, 0.5 + half])))
    assert high.estimate == pytest.approx(6.3)
    assert high.high == math.inf
