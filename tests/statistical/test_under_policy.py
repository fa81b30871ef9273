"""Answers under another policy than first come, first served: from two starts, planned, swept, and at their limit.

Intervals have a confidence of 1 - 1e-6 where a truth is compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import loynes
from loynes.errors import UnstableError, UsageError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.questions.answering.orders import order_of
from loynes.questions.answering.two_starts import agreed, from_two_starts
from loynes.questions.answering.under_policy import evaluated_under
from loynes.results.records.evaluation import Evaluation
from support import SURE


def cluster(servers: int, *classes: tuple[int, float, float]) -> dict[str, Any]:
    """Need, probability and mean service of every class."""
    return {
        "servers": servers,
        "classes": [
            {"name": f"n{need}", "need": need, "probability": p, "service": {"law": "exponential", "mean": mean}}
            for need, p, mean in classes
        ],
    }


SMALL = cluster(6, (1, 0.7, 1.0), (3, 0.3, 0.5))
# Models, rates and objectives on which plans are held against trying every size.
PLANNED = [
    (cluster(4, (1, 0.6, 1.0), (4, 0.4, 0.5)), 1.2, "mean(wait) <= 0.3"),
    (SMALL, 2.5, "P(wait > 1) <= 0.05"),
    (cluster(8, (1, 0.5, 2.0), (2, 0.3, 1.0), (8, 0.2, 0.5)), 1.5, "mean(wait[n8]) <= 2"),
]


def test_strict_order_from_two_starts_is_the_exact_one() -> None:
    """The machinery for other policies, asked about the one whose answer is known."""
    model = loynes.load(SMALL)
    exact = loynes.exact(model, load=0.8)
    threshold = Estimate.exact(exact.threshold)
    found = from_two_starts(
        model, exact.rate, order_of("fcfs", {}), threshold=threshold, precision=0.1, confidence=SURE, context=Context()
    )
    mean = found.measures.overall.wait.mean
    assert exact.mean_wait is not None
    assert mean.low <= exact.mean_wait <= mean.high
    assert mean.half_width <= 0.1 * mean.estimate
    assert found.agree
    assert found.start == "stationary under fcfs"
    assert abs(found.apart.estimate) < 0.1 * mean.half_width  # pairs have the same jobs, and meet
    no_wait = found.measures.overall.no_wait
    assert exact.no_wait is not None
    assert no_wait.low <= exact.no_wait <= no_wait.high


def test_starts_that_differ_are_said_to() -> None:
    """A run of a few jobs from empty and from a line that strict order leaves at a rate it cannot take."""
    model = loynes.load(SMALL)
    threshold = loynes.exact(model).threshold
    ask: dict[str, Any] = {"rate": 1.02 * threshold, "samples": 32 * 50, "burn_in": 0, "context": Context()}
    found = evaluated_under(model, order_of("first-fit", {}), **ask)
    starts = found.details["starts"]
    assert not starts["agree"]
    assert starts["loaded_is"] == "after 4096 jobs under fcfs"
    assert starts["apart"]["low"] > 0
    assert "do not agree" in " ".join(found.warnings)
    wait = found.overall.wait.mean
    assert wait.low <= starts["empty"]["estimate"] < starts["loaded"]["estimate"] <= wait.high
    assert found.load > 1


def test_agreement() -> None:
    near, far = Estimate(1.0, 0.9, 1.1), Estimate(1.3, 1.1, 1.5)
    assert agreed(near, far, Estimate(0.19, 0.1, 0.3))
    assert not agreed(near, near, Estimate(-0.11, -0.2, 0.0))
    assert not agreed(near, near, Estimate(float("nan"), 0.0, 1.0))


def test_a_rate_beyond_what_a_policy_carries_is_refused() -> None:
    model = loynes.load(SMALL)
    with pytest.raises(UnstableError, match="seems to be unstable under least-servers-first"):
        loynes.evaluate(model, rate=0.97 * model.ideal, policy="least-servers-first")
    with pytest.raises(UnstableError, match="even unblocked"):
        loynes.evaluate(model, rate=model.ideal, policy="easy")


def test_evaluations_under_a_policy_are_simulations(tmp_path: Path) -> None:
    """Both about the same mean; the evaluation says what it is, and reads back equal."""
    found = loynes.evaluate(
        SMALL, rate=3.0, policy="easy", precision=0.05, confidence=SURE, exceeds=[1.0], slo="p95(wait) <= 1e6",
        folder=tmp_path / "run",
    )  # fmt: skip
    simulated = loynes.simulate(SMALL, rate=3.0, policy="easy", jobs=20_000, seed=5, confidence=SURE)
    one, other = found.overall.wait.mean, simulated.overall.wait.mean
    assert one.low <= other.high
    assert other.low <= one.high
    assert found.standing == "estimate"
    assert found.certificate is None
    assert found.policy == "easy"
    assert found.objectives[0].met == "yes"
    assert found.overall.exceeds[1.0].estimate > 0
    assert "estimate" in found.footer
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert document["details"]["policy"] == document["question"]["policy"] == "easy"
    assert Evaluation.from_dict(document) == found
    page = str(found.report())
    assert "nothing certifies them" in page
    assert "lower bound" not in page


@pytest.mark.parametrize(("model", "rate", "slo"), PLANNED)
def test_plans_agree_with_trying_every_size(model: dict[str, Any], rate: float, slo: str) -> None:
    """Every number of servers from the least possible on, simulated with another seed."""
    found = loynes.plan(model, rate=rate, slo=slo, policy="easy")
    least = max(c["need"] for c in model["classes"])
    answer = None
    for servers in range(least, int(found.answer) + 2):
        sized = loynes.load(model, [f"servers={servers}"])
        if rate >= sized.ideal:
            continue
        simulated = loynes.simulate(sized, rate=rate, policy="easy", jobs=40_000, slo=slo, seed=77)
        assert simulated.objectives[0].met != "unsure"
        if simulated.objectives[0].met == "yes" and answer is None:
            answer = servers
    assert found.answer == answer
    assert not found.certified
    assert "under easy (an estimate)" in found.statement
    assert found.fails_at is None or found.fails_at == found.answer - 1


def test_the_largest_rate_under_a_policy() -> None:
    """More than strict order takes, and by simulation what was asked for."""
    strict = loynes.exact(SMALL).threshold
    found = loynes.plan(SMALL, vary="rate", slo="mean(wait) <= 1", policy="easy", resolution=0.05)
    assert found.answer > 0.8 * strict
    assert found.fails_at is not None
    waits = [
        loynes.simulate(SMALL, rate=rate, policy="easy", jobs=40_000, seed=9).overall.wait.mean
        for rate in (found.answer, found.fails_at)
    ]
    assert waits[0].low <= 1.0 <= waits[1].high


def test_sweeps_under_a_policy(tmp_path: Path) -> None:
    with pytest.warns(loynes.LoynesWarning, match="1 of 2 points are unstable"):
        swept = loynes.sweep(SMALL, rates=[2.0, 1000.0], policy="easy", samples=3200, folder=tmp_path / "run")
    first, second = swept.points
    assert first.result is not None
    assert first.result.standing == "estimate"
    assert second.result is None
    assert swept.policy == "easy"
    assert "easy, estimate" in str(swept.summary)
    alone = loynes.evaluate(SMALL, rate=2.0, policy="easy", samples=3200)
    assert alone.overall == first.result.overall


@pytest.mark.parametrize(
    ("ask", "options", "said"),
    [
        ("evaluate", {"method": "perfect"}, "method perfect: means nothing under policy 'easy'"),
        ("evaluate", {"window": 3}, "window 3: means nothing to policy 'easy'"),
        ("stability", {"method": "bracket"}, "method bracket: means nothing under policy 'easy'"),
        ("evaluate", {"discipline": "random"}, "discipline 'random': is the recurrence's"),
        ("plan", {"slo": "mean(wait) <= 1", "discipline": "random"}, "discipline 'random': is the recurrence's"),
        ("sweep", {"rates": [1.0], "option": 2}, "option 2: means nothing to policy 'easy'"),
    ],
)
def test_options_that_mean_nothing(ask: str, options: dict[str, Any], said: str) -> None:
    more = {} if ask in ("sweep", "stability") else {"rate": 1.0}
    with pytest.raises(UsageError, match=said):
        getattr(loynes, ask)(SMALL, policy="easy", **more, **options)


def test_the_limit_of_a_policy() -> None:
    """Where more is known: of full jobs only, whoever is first runs; of jobs of one server, nobody is blocked."""
    full = loynes.stability(cluster(4, (4, 1.0, 0.5)), policy="easy", precision=0.1, confidence=SURE)
    assert full.threshold.low <= 2.0 <= full.threshold.high
    assert full.threshold.high - full.threshold.low <= 0.2
    found = loynes.stability(SMALL, policy="first-fit", precision=0.05)
    strict = loynes.exact(SMALL).threshold
    assert strict < found.threshold.low
    assert found.threshold.high <= found.ideal
    assert found.is_estimate
    assert "estimate" in str(found.summary)
    assert found.discipline == "first-fit"
    assert "found by watching" in str(found.report())
    assert type(found).from_dict(found.to_dict()).threshold == found.threshold
