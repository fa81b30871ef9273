"""Controls of mean waits: sums are those of the jobs as they are drawn, and the standard error is the jackknife's."""

from __future__ import annotations

import numpy as np
import pytest

from loynes.estimators.chains import LEAST_PER_CONTROL, regressed
from loynes.inputs.arrivals import start_places
from loynes.inputs.jobs import draw
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.model import load
from loynes.stationary.service_controls import ServiceControls

SEED, BEGIN, END = 5, 128, 640


def test_sums_are_those_of_the_jobs() -> None:
    """Work and squares by class, a need as its part of the servers, less what the laws expect; two replicas a row."""
    lognormal = {"law": "lognormal", "mean": 2.0, "cv": 1.5}
    classes = [
        {"need": 1, "probability": 0.75, "service": lognormal},
        {"need": 3, "probability": 0.25, "service": {"law": "exponential", "mean": 1.0}},
    ]
    model = load({"servers": 4, "classes": classes})
    table, replicas, rows = job_table(model, 0.5), 4, 2
    places = start_places(table.arrivals, SEED, STREAM_STATIONARY, np.arange(replicas))
    ways = {"seed": SEED, "replicas": replicas, "rows": rows, "position": BEGIN, "places": places}
    controls = ServiceControls(model, table, engine=CpuEngine(), **ways)
    for position in (256, END):
        controls.observe(position)
    expected = np.zeros((rows, 3))
    for r in range(replicas):
        drawn = draw(table, SEED, STREAM_STATIONARY, r, np.arange(BEGIN, END))
        work = drawn.service * drawn.need / 4.0
        expected[r % rows, 0] += work.sum()
        # The class that brings more squares comes first: 0.75 x 13 / 4 and 0.25 x 3 x 2 / 4.
        for column, need in ((1, 1), (2, 3)):
            expected[r % rows, column] += (work * drawn.service)[drawn.need == need].sum()
    expected = expected / (2.0 * (END - BEGIN)) - [0.75 * 2 / 4 + 0.25 * 3 / 4, 0.75 * 13 / 4, 0.25 * 3 * 2 / 4]
    assert controls.deviations == pytest.approx(expected, rel=1e-10)


def test_a_regression_s_error_is_the_jackknife_s() -> None:
    """Mean and standard error of what comes out are the intercept, and what leaving out each replica makes of it."""
    rng = np.random.default_rng(3)
    controls = rng.normal(size=(40, 2)) * [1.0, 1e4] + [0.1, 0.0]
    values = 3.0 + controls @ [2.0, -1e-4] + rng.normal(size=40) * np.abs(controls[:, 0])
    found = regressed(values, controls)
    assert found.mean() == pytest.approx(_intercept(values, controls), rel=1e-9)
    without = np.array([_intercept(np.delete(values, i), np.delete(controls, i, axis=0)) for i in range(40)])
    error = np.sqrt(39 / 40 * np.sum((without - without.mean()) ** 2))
    assert found.std(ddof=1) / np.sqrt(40) == pytest.approx(error, rel=1e-9)


def test_without_enough_replicas_values_stay_as_they_are() -> None:
    rng = np.random.default_rng(4)
    values, controls = rng.normal(size=40), rng.normal(size=(40, 2))
    few = LEAST_PER_CONTROL * 3 - 1
    assert np.array_equal(regressed(values[:few], controls[:few]), values[:few])
    assert np.array_equal(regressed(values, None), values)
    # What one replica alone has seen says nothing of the others.
    controls[:, 1] = np.where(np.arange(40) == 7, 5.0, -0.1)
    assert np.array_equal(regressed(values, controls), values)


def _intercept(values: np.ndarray, controls: np.ndarray) -> float:
    design = np.hstack([np.ones((len(values), 1)), controls])
    return float(np.linalg.solve(design.T @ design, design.T @ values)[0])
