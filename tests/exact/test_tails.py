"""Distributions of waits and percentiles of any height: against exact ones, and against each other."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import loynes
from loynes.estimators.tails import RENARD, grid_to
from loynes.model import Model
from loynes.questions.answering.objectives import objectives_of

# One false alarm in a million at any x: 31 x, 4 lines and 4 methods of one seed are far from one in a hundred.
SURE = 1.0 - 1e-6
SAMPLES = {"sandwich": 40_000, "forward": 40_000, "perfect": 12_000}
MODEL = Model.model_validate(
    {
        "name": "three",
        "servers": 6,
        "classes": [
            {"name": name, "need": need, "probability": p, "service": {"law": "exponential", "mean": 1.0}}
            for name, need, p in (("T1", 1, 0.4), ("T2", 2, 0.3), ("T5", 5, 0.3))
        ],
    }
)


@pytest.fixture(scope="module")
def exact() -> loynes.Exact:
    return loynes.exact(MODEL, load=0.7, percentiles=[50, 90, 99.9], exceeds=[2.0])


@pytest.mark.parametrize("longest", [1.0, 9.99, 123.0, 3.7e-5, 8.0001, 6.3])
def test_the_grid_is_of_numbers_that_people_choose(longest: float) -> None:
    zero, *grid = grid_to(longest)
    assert zero == 0.0
    assert grid[-2] < longest <= grid[-1]
    assert len(grid) == 31
    for x in grid:
        power = math.floor(math.log10(x) + 1e-9)
        assert any(math.isclose(x, number * 10.0**power) for number in RENARD)
    assert grid_to(0.0) == (0.0,)


@pytest.mark.parametrize("method", ["sandwich", "perfect", "forward", "events"])
def test_bands_hold_the_exact_distribution(method: str, exact: loynes.Exact) -> None:
    if method == "events":
        found = loynes.simulate(MODEL, rate=exact.rate, jobs=8_000, replicas=48, confidence=SURE)
    else:
        found = loynes.evaluate(
            MODEL, rate=exact.rate, samples=SAMPLES[method], method=method, confidence=SURE, exceeds=[2.0]
        )
    assert exact.tails is not None
    assert found.tails is not None
    assert list(found.tails.classes) == ["all jobs", "T1", "T2", "T5"]
    shared = [x for x in exact.tails.x if x in found.tails.x]
    assert len(shared) > 25
    for name, chances in found.tails.classes.items():
        truth = dict(zip(exact.tails.x, exact.tails.classes[name].estimate, strict=True))
        ours = dict(zip(found.tails.x, chances.values, strict=True))
        for x in shared:
            assert ours[x].low <= truth[x] <= ours[x].high, (name, x)
            if truth[x] > 0.05:
                assert ours[x].half_width < 0.4 * truth[x], (name, x)
        assert np.all(np.diff(chances.estimate) <= 1e-12)
        # P(wait > 2) was asked for, too, and is the same.
        if method != "events":
            asked = (found.overall if name == "all jobs" else found.classes[name]).exceeds[2.0]
            assert ours[2.0].estimate == pytest.approx(asked.estimate)
            assert (ours[2.0].low, ours[2.0].high) == pytest.approx((asked.low, asked.high))


def test_exact_tails_are_those_asked_for(exact: loynes.Exact) -> None:
    assert exact.tails is not None
    place = exact.tails.x.index(2.0)
    assert exact.overall is not None
    for name, wait in {"all jobs": exact.overall, **exact.classes}.items():
        assert exact.tails.classes[name].estimate[place] == pytest.approx(wait.exceeds[2.0], rel=1e-12)
        assert exact.tails.classes[name].estimate[0] == pytest.approx(1.0 - wait.no_wait, rel=1e-9)
        assert list(wait.percentiles) == ["p50", "p90", "p99.9"]


@pytest.mark.parametrize("method", ["sandwich", "perfect"])
def test_any_percentile(method: str, exact: loynes.Exact) -> None:
    found = loynes.evaluate(
        MODEL, rate=exact.rate, samples=SAMPLES[method], method=method, confidence=SURE, percentiles=[99.9, 50, 90]
    )
    for name, wait in exact.classes.items():
        ours = found.classes[name].wait
        assert list(ours.percentiles) == ["p50", "p90", "p99.9"]
        assert ours.percentiles["p90"] == ours.p90
        for one, truth in wait.percentiles.items():
            assert ours.percentiles[one].low <= truth <= ours.percentiles[one].high
    assert found.summary.columns[2:6] == ("mean wait", "p50", "p90", "p99.9")
    metrics = {row[1] for row in found.tidy.rows}
    assert {"wait.p99.9", "response.p99.9", "wait.p95"} <= metrics
    document = json.loads(found.to_json())
    assert list(document["overall"]["wait"]["percentiles"]) == ["p50", "p90", "p99.9"]
    assert "percentiles" not in json.loads(loynes.evaluate(MODEL, load=0.5, samples=200).to_json())["overall"]["wait"]


def test_percentiles_of_recorded_jobs(tmp_path: Path) -> None:
    """One of the values: of a hundred jobs one at a time, one second each, the last waits longest."""
    lines = ["submit,need,service"] + ["0,1,1"] * 100
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    found = loynes.replay(tmp_path / "log.csv", servers=1, percentiles=[37, 99.9])
    assert found.overall.wait.percentiles["p37"].estimate == 36.0
    assert found.overall.wait.percentiles["p99.9"].estimate == 99.0
    assert found.summary.columns[5:7] == ("p37", "p99.9")
    assert found.tails is not None
    chances = dict(zip(found.tails.x, found.tails.classes["all jobs"].estimate, strict=True))
    assert chances[50.0] == 0.49
    assert found.recorded_tails is None
    # Ten jobs on each of six days: six waits of 0, of 1, ...; the 23rd of sixty is 3.
    days = [f"{86400 * day},1,1" for day in range(6) for _ in range(10)]
    (tmp_path / "days.csv").write_text("\n".join(["submit,need,service", *days]) + "\n")
    log = loynes.evaluate(tmp_path / "days.csv", servers=1, percentiles=[37.0], resamples=2, block=1.0)
    assert log.overall.wait.percentiles["p37"].estimate == 3.0
    assert log.overall.response.percentiles["p37"].estimate == 4.0


def test_percentiles_as_objectives() -> None:
    names = ["T1", "T2", "T5"]
    (response,) = objectives_of(["p99.9(response[T5]) <= 20"], names)
    assert (response.metric.name, response.percentiles, response.of) == ("response.p99.9", (99.9,), "T5")
    (wait,) = objectives_of(["p99.9(wait) <= 20"], names)  # the same as P(wait > 20) <= 0.001, which is narrower
    assert (wait.metric.name, wait.exceeds, wait.percentiles) == ("wait>20", (20.0,), ())
    with pytest.raises(loynes.UsageError, match="is not known"):
        objectives_of(["p99.9(speed) <= 1"], names)
    found = loynes.plan(MODEL, slo="p99.5(response) <= 12", rate=0.9)
    assert found.objectives[0].meets.high <= 12.0
    assert found.curve[-1].verdict == "meets"


@pytest.mark.parametrize("wrong", [[0.0], [100.0], ["high"], [50, 101]])
def test_percentiles_lie_between_0_and_100(wrong: list[object]) -> None:
    with pytest.raises(loynes.UsageError, match=r"^percentiles: must be numbers above 0 and below 100"):
        loynes.evaluate(MODEL, load=0.5, percentiles=wrong)
