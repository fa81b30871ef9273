"""Objectives of plans: how they are read, and what is met, not met or open, at the bound itself too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.model import load
from loynes.questions.answering.objectives import Objective, objectives_of, possible, verdict_of

MODEL = load(
    {
        "servers": 4,
        "classes": [
            {"name": "one", "need": 1, "probability": 0.75, "service": {"law": "uniform", "low": 0.0, "high": 4.0}},
            {"name": "all", "need": 4, "probability": 0.25, "service": {"law": "deterministic", "value": 6.0}},
        ],
    }
)
CLASSES = [c.label for c in MODEL.classes]


def read(text: str) -> Objective:
    return objectives_of([text], CLASSES)[0]


@pytest.mark.parametrize(
    ("text", "metric", "of", "bound", "exceeds"),
    [
        ("p95(wait) <= 600", "wait.p95", "", 600.0, ()),
        (" mean( wait [one] )  <  .5 ", "wait.mean", "one", 0.5, ()),
        ("mean(response)<=1e3", "response.mean", "", 1000.0, ()),
        ("no_wait[all] >= 0.25", "no_wait", "all", 0.25, ()),
        ("no_wait > 1", "no_wait", "", 1.0, ()),
        ("P(wait > 2.5) <= 0", "wait>2.5", "", 0.0, (2.5,)),
        ("P( wait[one]>0 ) <= 0.1", "wait>0", "one", 0.1, (0.0,)),
        ("p99.9(wait) <= 30", "wait>30", "", pytest.approx(0.001), (30.0,)),
        ("p75(wait[all]) <= 2", "wait>2", "all", 0.25, (2.0,)),
        ("utilization <= 0.9", "utilization", "", 0.9, ()),
        ("jobs_waiting <= 9", "jobs_waiting", "", 9.0, ()),
    ],
)
def test_read(text: str, metric: str, of: str, bound: float, exceeds: tuple[float, ...]) -> None:
    found = read(text)
    assert (found.metric.name, found.of, found.bound, found.exceeds) == (metric, of, bound, exceeds)
    assert found.text == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p95(wait) >= 3", "must be written with <="),
        ("no_wait <= 0.3", "must be written with >="),
        ("p95(wait) = 3", "must be written with <="),
        ("wait <= 3", "'wait' is not known; there are mean(wait), p50(wait)"),
        ("p95(wait[T7]) <= 3", "no class 'T7'; there are one, all"),
        ("variance(wait) <= 3", "variance of the wait need not fall"),
        ("hol_loss <= 3", "need not fall"),
        ("p95(wait)", "must be written like"),
        ("p95(wait) <= -1", "at least 0"),
        ("p95(wait) <= 1e999", "finite"),
        ("no_wait >= 1.2", "at most 1"),
        ("utilization <= 1.1", "at most 1"),
        ("p42(response) <= 3", "of responses there are mean(response), variance(response), p50(response)"),
        ("p100(wait) <= 3", "between 0 and 100"),
        ("p0(wait) <= 3", "between 0 and 100"),
        ("P(wait > -1) <= 0.1", "a wait is never below 0"),
        ("utilization[one] <= 0.5", "utilization is of the whole cluster, not of a class"),
    ],
)
def test_wrong_ones_are_named(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        read(text)
    assert said in str(error.value)
    assert str(error.value).startswith(f"objective {text!r}: ")


def test_none_at_all() -> None:
    with pytest.raises(UsageError, match="no objective"):
        objectives_of([], CLASSES)
    assert "variance" not in possible()
    assert "no_wait, utilization, jobs_in_system, jobs_waiting, any other percentile" in possible()


@pytest.mark.parametrize(
    ("low", "high", "most", "least"),
    [
        (1.0, 2.0, 1, 0),  # the bound is 2: at most 2 surely; at least 2 cannot be told
        (1.0, 1.9, 1, -1),
        (2.0, 3.0, 0, 1),
        (2.1, 3.0, -1, 1),
        (1.0, 3.0, 0, 0),
        (2.0, 2.0, 1, 1),
    ],
)
def test_verdicts(low: float, high: float, most: int, least: int) -> None:
    value = Estimate(0.5 * (low + high), low, high)
    assert read("mean(wait) <= 2").met_by(value) == most
    falls = Objective("no_wait >= 2", read("no_wait >= 1").metric, "", 2.0)
    assert falls.at_least
    assert not read("mean(wait) <= 2").at_least
    assert falls.met_by(value) == least


def result(overall: float, one: float, use: float) -> Any:
    def waits(mean: float) -> Any:
        return SimpleNamespace(wait=SimpleNamespace(mean=Estimate.exact(mean)))

    system = SimpleNamespace(utilization=Estimate(use, use - 0.1, use + 0.1))
    return SimpleNamespace(overall=waits(overall), classes={"one": waits(one)}, system=system)


def test_the_worst_verdict_counts() -> None:
    both = objectives_of(["mean(wait) <= 2", "mean(wait[one]) <= 1", "utilization <= 0.5"], CLASSES)
    assert [float(goal.value(result(3.0, 4.0, 0.3))) for goal in both] == [3.0, 4.0, 0.3]
    assert verdict_of(both, result(2.0, 1.0, 0.4)) == 1
    assert verdict_of(both, result(2.0, 1.0, 0.45)) == 0
    assert verdict_of(both, result(2.0, 1.1, 0.45)) == -1
    assert verdict_of((), result(0.0, 0.0, 0.0)) == 1


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("mean(response) <= 2.9", 3.0),  # 0.75 x 2 + 0.25 x 6
        ("mean(response) <= 3", None),
        ("mean(response[one]) <= 1.5", 2.0),
        ("mean(response[one]) <= 2", None),
        ("p50(response) <= 2.6", 8 / 3),  # 0.75 x / 4 = 0.5
        ("p50(response) <= 2.7", None),
        ("p90(response[one]) <= 3.5", 3.6),
        ("p99(response[all]) <= 5", 6.0),
        ("jobs_in_system <= 5.9", 6.0),  # rate 2
        ("jobs_in_system <= 6", None),
        ("jobs_waiting <= 0", None),
        ("no_wait >= 1", None),
        ("mean(wait) <= 0", None),
        ("P(wait > 1) <= 0", None),
        ("utilization <= 0.01", None),  # not known
    ],
)
def test_what_not_even_an_empty_cluster_meets(text: str, alone: float | None) -> None:
    said = read(text).unreachable(MODEL, 2.0)
    if alone is None:
        assert said == ""
    else:
        assert said.startswith(f"{text}: cannot be met: even if no job had to wait it would be ")
        assert float(said.rpartition(" ")[2]) == pytest.approx(alone, rel=1e-5)
