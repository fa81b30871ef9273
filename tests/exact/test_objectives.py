"""Objectives of plans: how they are read, and what is met, not met or open, at the bound itself too."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.model import load
from loynes.questions.answering import axes
from loynes.questions.answering.axes import Axis, axis_of
from loynes.questions.answering.objectives import Objective, objectives_of, possible, verdict_of
from loynes.questions.answering.planning import MOST_CLAIMS, Judge, Search, Verdict
from loynes.questions.plan import AskPlan
from loynes.results.records.plan import Look, Plan

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
        ("p42(speed) <= 3", "is not known"),
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
    falls = Objective("no_wait >= 2", read("no_wait >= 1").metric, "", bound=2.0)
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
        ("p95(wait) <= 0.1", None),  # shorter than any job takes, but waits are none
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


class Judged:
    """In place of a judge that runs models: step k meets (1), fails (-1) or cannot be told (0), as is said."""

    def __init__(self, verdicts: list[int]) -> None:
        self.verdicts = verdicts
        self.asked: list[tuple[int, int, float]] = []  # step, seed, doubt
        self.tried: list[dict[str, Any]] = []
        self.looks: list[Look] = []
        self.context = Context()

    def __call__(self, k: int, seed: int, doubt: float, looks: int, context: Context) -> Verdict:
        self.asked.append((k, seed, doubt))
        wait = SimpleNamespace(mean=Estimate.exact(float(k)))
        result = SimpleNamespace(
            overall=SimpleNamespace(wait=wait), certificate="sure", standing="certified", model=MODEL
        )
        return Verdict(self.verdicts[k], cast(Any, result), "")


def searched(judge: Judged, seed: int = 1) -> Plan:
    axis = Axis(
        "servers", 0.1, lambda k: 4.0 + k, lambda value: (MODEL, 0.1), len(judge.verdicts) - 1, "least", "limit"
    )
    question = AskPlan.of(MODEL, confidence=0.9, seed=seed)
    return Search(axis, cast(Judge, judge), (read("mean(wait) <= 3"),), question).plan()


def rate_searched(judge: Judged) -> Plan:
    """Rates 1.30, 1.29, ...: within 3% there are three of them."""
    rates = ("rate", None, lambda k: 1.3 - 0.01 * k, lambda value: (MODEL, value), len(judge.verdicts) - 1)
    question = AskPlan.of(MODEL, vary="rate", confidence=0.9)
    axis = Axis(*rates, "least", "limit", 0.03)  # type: ignore[arg-type]
    return Search(axis, cast(Judge, judge), (read("mean(wait) <= 3"),), question).plan()


def test_a_rate_is_as_near_to_what_fails_as_the_resolution() -> None:
    for fails in range(1, 12):
        found = rate_searched(Judged([-1] * fails + [1] * 10))
        assert found.adjacent
        assert found.fails_at is not None
        assert 0 < found.fails_at / found.answer - 1 <= 0.03 + 1e-9
        assert found.answer <= 1.3 - 0.01 * fails + 1e-9  # the largest that meets
        assert "found to 3%" in found.footer
    # Whatever cannot be told is passed over if the pair around it is within the resolution.
    assert rate_searched(Judged([-1] * 5 + [0] + [1] * 10)).adjacent
    # Else the answer says so.
    unclear = rate_searched(Judged([-1] * 4 + [0] * 4 + [1] * 10))
    assert (unclear.answer, unclear.fails_at) == (pytest.approx(1.22), pytest.approx(1.27))
    assert not unclear.adjacent
    assert "could not be told apart" in unclear.statement
    assert "found to" not in unclear.footer


def test_a_plan_stands_between_what_fails_and_what_meets() -> None:
    found = searched(Judged([-1, -1, 1, 1]))
    assert (found.answer, found.fails_at, found.adjacent) == (6.0, 5.0, True)
    goal = found.objectives[0]
    assert [side.estimate for side in (goal.fails, goal.meets, goal.next) if side is not None] == [1.0, 2.0, 3.0]
    unclear = searched(Judged([-1, 0, 1, 1]))
    assert (unclear.answer, unclear.fails_at, unclear.adjacent) == (6.0, 4.0, False)
    least = searched(Judged([1, 1]))
    assert (least.answer, least.fails_at, least.fails_why) == (4.0, None, "least")
    assert least.warnings == ()
    open_below = searched(Judged([0, 0, 1]))
    assert (open_below.fails_at, open_below.objectives[0].next) == (None, None)
    assert open_below.warnings == ("no smaller value could be shown to fail: the answer may not be the smallest",)
    with pytest.raises(UsageError, match=r"mean\(wait\) <= 3"):
        searched(Judged([-1, 0, 0]))


def test_a_plan_that_nothing_below_decides_ends() -> None:
    many = Judged([0] * 100 + [1, 1])
    assert searched(many).fails_at is None
    claims = [k for k, seed, _ in many.asked if seed == 2]
    assert len(claims) == MOST_CLAIMS + 2  # one claim more than are allowed, and the value one further


def test_doubts_of_all_claims_sum_to_what_is_allowed() -> None:
    """The n-th has 6 / (pi n)^2 of it, whose sum over all n is 1; claims have random numbers of their own."""
    judge = Judged([-1, 0, 0, 1, 1])
    searched(judge)
    claims = [(k, doubt) for k, seed, doubt in judge.asked if seed == 2]
    assert [k for k, _ in claims] == [3, 2, 1, 0, 4]
    assert [doubt for _, doubt in claims[:4]] == pytest.approx([0.1 * 6 / (math.pi * n) ** 2 for n in (1, 2, 3, 4)])
    assert claims[4][1] == pytest.approx(0.1)  # what one more would give is no claim


def test_the_last_seed_is_followed_by_the_first() -> None:
    judge = Judged([-1, 1, 1])
    assert searched(judge, 2**64 - 1).answer == 5.0
    assert {seed for _, seed, _ in judge.asked} == {2**64 - 1, 0}


def test_rates_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A threshold of 3: steps of 0.01, half a percent of it rounded down, from the threshold or from the most."""
    known = SimpleNamespace(threshold=Estimate(3.0, 2.9, 3.1))
    monkeypatch.setattr(axes, "sampled_threshold", lambda *_, **__: known)
    free, bounded = (axis_of(AskPlan.of(MODEL, vary="rate", most=most), None, Context()) for most in (None, 2.5))
    assert (free.value(0), free.value(1), free.last, free.first_why) == (3.0, 2.99, 299, "the threshold is 3")
    assert (bounded.value(0), bounded.last, bounded.first_why) == (2.5, 249, "most is 2.5")
    assert free.limit == "rate 0.01"
    with pytest.raises(UsageError, match=r"most 0\.001: must be at least 0\.01, the first rate that is tried"):
        axis_of(AskPlan.of(MODEL, vary="rate", most=0.001), None, Context())
    assert axis_of(AskPlan.of(MODEL, vary="rate", resolution=0.1), None, Context()).value(1) == pytest.approx(2.9)
