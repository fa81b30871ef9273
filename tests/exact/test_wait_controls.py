"""Controls of averages of waits: their sums, their expectations, what they explain, what a regression makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loynes
from loynes.estimate import mean_of
from loynes.estimators.regression import LEAST_PER_CONTROL, MUCH_WORSE, Regression
from loynes.inputs.jobs import draw
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.controls import SEEN, SERVICES, SQUARE, SURPLUS
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load
from loynes.stationary.forward import Chains
from loynes.stationary.wait_controls import WaitControls
from support import SURE

SEED = 5
LOGNORMAL = {"law": "lognormal", "mean": 2.0, "cv": 1.5}
ONE = {"servers": 1, "classes": [{"need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1.0}}]}
TWO: dict[str, Any] = {
    "servers": 4,
    "classes": [
        {"need": 1, "probability": 0.75, "service": LOGNORMAL},
        {"need": 3, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ],
}


def controlled(
    model: Model, rate: float, replicas: int, far_reaching: bool = False, workload: np.ndarray | None = None
) -> tuple[WaitControls, Chains]:
    table, engine = job_table(model, rate), CpuEngine()
    stride = engine.look_every(table)
    controls = WaitControls(model, table, threshold=model.ideal, stride=stride, far_reaching=far_reaching)
    ways: dict[str, Any] = {"seed": SEED, "replicas": np.arange(replicas), "rows": replicas, "workload": workload}
    return controls, Chains(table, needs_of(model), 1.0, controls=controls.sums, engine=engine, **ways)


@pytest.mark.parametrize("far_reaching", [False, True])
def test_sums_are_those_of_the_jobs(far_reaching: bool) -> None:
    """Job by job: the wait that every 16th job's arrival expects, and the surplus until the next such arrival."""
    model, rate, replicas, skipped, end = load(TWO), 0.6, 3, 2 * BLOCK, 9 * BLOCK
    controls, chains = controlled(model, rate, replicas, far_reaching)
    chains.skip(skipped)
    chains.observe(3 * BLOCK)
    chains.observe(4 * BLOCK)
    table, needs, stride = job_table(model, rate), needs_of(model), chains.stride
    work = 0.75 * 2.0 / 4 + 0.25 * 3 / 4
    in_time = 1.0 / (model.ideal * work)  # of a whole cluster's work
    groups = [1, 3] if far_reaching else [None]  # lognormal services bring more: 0.75 x 13 / 4, 0.25 x 3 x 2 / 4
    expected = np.zeros((replicas, SERVICES + len(groups)))
    for r in range(replicas):
        jobs = draw(table, SEED, STREAM_STATIONARY, r, np.arange(end))
        brought = in_time * jobs.service * jobs.need / 4.0
        W = np.zeros(4)
        for first in range(0, end, stride):
            chosen = slice(first, first + stride)
            if first >= skipped:
                y = W[needs.need - 1] @ needs.weight
                x = np.sum(brought[chosen] - jobs.gap[chosen]) - stride * (in_time * work - 1.0 / rate)
                expected[r, :SERVICES] += x, y * x, x * x
                for column, need in enumerate(groups, SERVICES):
                    own = (brought * jobs.service)[chosen][(jobs.need[chosen] == need) | (need is None)]
                    expected[r, column] += own.sum()
            for need, service, gap in zip(jobs.need[chosen], jobs.service[chosen], jobs.gap[chosen], strict=True):
                W = _next(W, int(need), float(service), float(gap))
    assert chains.tally.sums == pytest.approx(expected, rel=1e-9, abs=1e-9)
    variance = in_time**2 * (0.75 * 13 / 16 + 0.25 * 9 * 2 / 16 - work**2) + 1.0 / rate**2
    squares = in_time * np.array([0.75 * 13 / 4, 0.25 * 3 * 2 / 4])
    means = [0.0, 0.0, stride * variance, *(stride * (squares if far_reaching else squares.sum(keepdims=True)))]
    looks = chains.tally.looks[:, None]
    assert controls.deviations(chains.tally) == pytest.approx(expected / looks - means, rel=1e-9, abs=1e-9)


def _next(W: np.ndarray, need: int, service: float, gap: float) -> np.ndarray:
    """What a job does to the workload, then time: the book's formula."""
    v, beyond = W[need - 1] + service, np.append(W[need:], np.full(need, np.inf))
    return np.maximum(np.maximum(W, np.minimum(v, beyond)) - gap, 0.0)


def test_they_explain_all_of_a_server_that_never_idles() -> None:
    """The square of the workload grows by 2 y X + X^2 in each stretch, X the surplus and what it is on average."""
    rate, start = 0.8, 1e4
    _, chains = controlled(load(ONE), rate, 4, workload=np.full((4, 1), start))
    chains.observe(40 * BLOCK)
    tally, drift = chains.tally, chains.stride * (1.0 - 1.0 / rate)
    seen = tally.sums[:, SEEN] + drift * tally.wait[:, 0]
    squares = tally.sums[:, SQUARE] + 2.0 * drift * tally.sums[:, SURPLUS] + tally.looks * drift**2
    assert chains.workload.min() > 0
    assert 2.0 * seen + squares == pytest.approx(chains.workload[:, 0] ** 2 - start**2, rel=1e-9)


@pytest.mark.parametrize(
    ("arrivals", "controls"),
    [
        ({"process": "poisson"}, 4),
        ({"process": "renewal", "gap": {"law": "erlang", "phases": 3, "mean": 1.0}}, 4),
        ({"process": "mmpp", "generator": [[-0.1, 0.1], [0.2, -0.2]], "rates": [0.2, 2.0]}, 4),
        ({"process": "batch", "size": {"law": "uniform", "low": 0.0, "high": 4.0}}, 4),
    ],
)
def test_they_are_0_on_average_from_any_start(arrivals: dict[str, Any], controls: int) -> None:
    """Chains from empty, and short ones: far from stationary, and yet all controls have their expectations."""
    light = [one | {"service": {"law": "erlang", "phases": 2, "mean": 1.0}} for one in TWO["classes"]]
    model = load({"servers": 4, "classes": light, "arrivals": arrivals})
    known, chains = controlled(model, 0.7 * model.ideal, 4000)
    chains.observe(2 * BLOCK)
    found = known.deviations(chains.tally)
    assert found.shape == (4000, controls)
    for column in found.T:
        about = mean_of(column, SURE)
        assert about.low <= 0.0 <= about.high


def test_a_mean_wait_is_known_with_far_fewer_jobs() -> None:
    """M/M/1 at load 0.9: the exact mean, in an interval a third as long as it would be; asymptotically a seventh."""
    ways: dict[str, Any] = {"rate": 0.9, "samples": 400_000, "seed": 2, "confidence": SURE, "backend": "cpu"}
    found = loynes.evaluate(ONE, **ways)
    wait = found.overall.wait
    assert wait.mean.low <= 9.0 <= wait.mean.high
    assert wait.variance.low <= 99.0 <= wait.variance.high
    assert found.overall.no_wait.low <= 0.1 <= found.overall.no_wait.high
    assert wait.p95.low <= np.log(0.9 / 0.05) / 0.1 <= wait.p95.high
    assert found.details["controls"] == 4
    assert found.details["variance_reduction"] > 9.0


def test_a_replica_is_corrected_by_what_the_others_say_of_controls() -> None:
    """Mean and standard error of what comes out, by leaving out each replica: the larger of two spreads."""
    values, controls = _explained()
    regression = Regression(controls)
    found = regression(values)
    corrected = _corrected(values, controls)
    assert found.mean() == pytest.approx(corrected.mean(), rel=1e-9)
    assert found.mean() == pytest.approx(regression.mean(values, values), rel=1e-9)
    without = np.array([_fit(np.delete(values, i), np.delete(controls, i, axis=0))[0] for i in range(40)])
    jackknife = np.sqrt(39 / 40 * np.sum((without - without.mean()) ** 2))
    error = found.std(ddof=1) / np.sqrt(40)
    assert error == pytest.approx(max(jackknife, corrected.std(ddof=1) / np.sqrt(40)), rel=1e-9)
    assert regression.reduction(values) == pytest.approx(values.var() / found.var())
    # As skewed as what is most skewed: here the values themselves.
    values = values**3
    assert skewness(regression(values)) == pytest.approx(skewness(values))
    assert abs(skewness(_corrected(values, controls))) < skewness(values)


def test_few_replicas_whose_errors_grow_with_controls_leave_no_bias() -> None:
    """A value is what a replica began with, its control noise of that size: with one line for all it is too low."""
    rng = np.random.default_rng(11)
    means, intercepts = [], []
    for _ in range(4000):
        start = rng.exponential(size=32)
        controls = (start * rng.normal(size=32))[:, None]
        values = start + 1.0 + 2.0 * controls[:, 0]
        means.append(Regression(controls)(values).mean())
        intercepts.append(_fit(values, controls)[0])
    found, biased = (mean_of(np.array(kind), SURE) for kind in (means, intercepts))
    assert found.low <= 2.0 <= found.high
    assert found.half_width < 0.1
    assert biased.high < 2.0


def test_without_enough_replicas_there_are_fewer_controls() -> None:
    values, controls = _explained()
    few = LEAST_PER_CONTROL * 3 - 1
    assert Regression(controls[:few]).controls == 1
    assert Regression(controls[:few])(values[:few]).mean() == _approx(
        _corrected(values[:few], controls[:few, :1]).mean()
    )
    least = LEAST_PER_CONTROL * 2 - 1
    for regression in (Regression(controls[:least]), Regression(None)):
        assert regression.controls == 0
        assert np.array_equal(regression(values[:least]), values[:least])
        assert regression.mean(values[:least], values[:least]) == _approx(values[:least].mean())
        assert regression.reduction(values[:least]) == 1.0


def test_values_stay_as_they_are_where_a_regression_is_much_worse() -> None:
    """Not where it is a little worse: the better of two by chance would have too short an interval."""
    rng = np.random.default_rng(4)
    worse = 0
    for rows in (20, 40, 128):
        for _ in range(50):
            values, controls = rng.exponential(size=rows), rng.normal(size=(rows, 4))
            spread = Regression(controls)(values).std()
            assert spread < MUCH_WORSE * values.std()
            worse += spread > values.std()
    assert worse > 50
    # Only few replicas have seen anything.
    values, controls = _explained()
    rare = np.where(np.arange(40) < 19, values, 0.0)
    assert Regression(controls)(rare) is rare
    # What one replica alone has seen says nothing of the others.
    controls[:, 1] = np.where(np.arange(40) == 7, 5.0, -0.1)
    assert Regression(controls)(values) is values


def _explained() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    controls = rng.normal(size=(40, 2)) * [1.0, 1e4] + [0.1, 0.0]
    return 3.0 + controls @ [2.0, -1e-4] + 0.5 * rng.normal(size=40) * np.abs(controls[:, 0]), controls


def _approx(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def skewness(values: np.ndarray) -> float:
    return float(np.mean(((values - values.mean()) / values.std()) ** 3))


def _fit(values: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Intercept and slopes, by the normal equations."""
    design = np.hstack([np.ones((len(values), 1)), controls])
    return np.linalg.solve(design.T @ design, design.T @ values)


def _corrected(values: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Each value less what slopes of all others say of its controls."""
    slopes = [_fit(np.delete(values, i), np.delete(controls, i, axis=0))[1:] for i in range(len(values))]
    return values - np.einsum("rc,rc->r", controls, np.array(slopes))
