"""Plans against exact solutions, and against trying every value.

A plan's claim holds with 99%, by runs of fixed seed; objectives are set where neighbours lie percents apart.
"""

from __future__ import annotations

from typing import Any

import pytest

import loynes
from loynes.questions.answering.objectives import objectives_of


def cluster(servers: int, *classes: tuple[int, float, dict[str, Any]]) -> dict[str, Any]:
    named = [{"name": f"n{need}", "need": need, "probability": p, "service": law} for need, p, law in classes]
    return {"servers": servers, "classes": named}


EXPONENTIAL = {"law": "exponential", "mean": 1.0}
# Model, rate, objective on the mean wait.
EXACT = [
    (cluster(4, (1, 1.0, EXPONENTIAL)), 3.0, 0.1),
    (cluster(6, (1, 0.7, EXPONENTIAL), (3, 0.3, {"law": "exponential", "mean": 0.5})), 2.0, 0.05),
    (cluster(4, (1, 0.5, {"law": "erlang", "phases": 2, "mean": 1.0}), (2, 0.5, EXPONENTIAL)), 1.0, 0.3),
]


@pytest.mark.parametrize(("model", "rate", "bound"), EXACT)
def test_the_smallest_cluster_is_the_exact_one(model: dict[str, Any], rate: float, bound: float) -> None:
    found = loynes.plan(model, rate=rate, slo=f"mean(wait) <= {bound}")
    waits = [
        loynes.exact(loynes.load(model, [f"servers={int(found.answer) - less}"]), rate=rate).mean_wait
        for less in (0, 1)
    ]
    assert waits[0] is not None
    assert waits[1] is not None
    assert waits[0] <= bound < waits[1]
    assert found.fails_at == found.answer - 1
    assert found.certified


def test_the_largest_rate_is_the_exact_one() -> None:
    model, bound = EXACT[1][0], 0.5
    found = loynes.plan(model, vary="rate", slo=f"mean(wait) <= {bound}")
    assert found.fails_at is not None
    waits = [loynes.exact(model, rate=rate).mean_wait for rate in (found.answer, found.fails_at)]
    assert waits[0] is not None
    assert waits[1] is not None
    assert waits[0] <= bound < waits[1]
    assert found.fails_at - found.answer < 0.006 * loynes.exact(model).threshold


@pytest.mark.parametrize(
    ("model", "rate", "slo"),
    [("five-class-exponential", 1.0, "p95(wait) <= 8"), ("five-class-erlang", 0.8, "P(wait[T10] > 5) <= 0.05")],
)
def test_no_smaller_cluster_meets_it(model: str, rate: float, slo: str) -> None:
    """Every number of servers from the least possible on, one by one, and from another seed."""
    found = loynes.plan(model, rate=rate, slo=slo)
    (objective,) = objectives_of([slo], [c.label for c in loynes.load(model).classes])
    answer = None
    for servers in range(15, int(found.answer) + 3):
        changed, verdict = loynes.load(model, [f"servers={servers}"]), 0
        for precision in (0.1, 0.02):  # far from its bound a short run can tell
            one = loynes.evaluate(changed, rate=rate, precision=precision, exceeds=objective.exceeds, seed=77)
            verdict = verdict or objective.met_by(objective.value(one))
            if verdict:
                break
        assert verdict != 0  # nothing so near its bound that this could not tell
        if verdict == 1 and answer is None:
            answer = servers
    assert answer == found.answer
