"""Policies where something is known: stationary starts stay so, published orderings, and what no order can lose.

Intervals have a confidence of 1 - 1e-6 where a truth is compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import loynes

SURE = 1 - 1e-6
MODEL = "five-class-exponential"


def test_from_stationary_nothing_changes(tmp_path: Path) -> None:
    """Whoever arrives waits the exact mean, at any time; from an empty start, not at first."""
    model = {
        "servers": 8,
        "classes": [
            {"name": "small", "need": 1, "probability": 0.8, "service": {"law": "exponential", "mean": 1}},
            {"name": "big", "need": 8, "probability": 0.2, "service": {"law": "exponential", "mean": 0.5}},
        ],
    }
    exact = loynes.exact(model, load=0.7)
    ask: dict[str, Any] = {"rate": exact.rate, "at": [0, 5, 50], "replicas": 2000, "confidence": SURE, "seed": 4}
    found = loynes.simulate(model, start="stationary", **ask)
    assert exact.mean_wait is not None
    for moment in found.moments:
        assert moment.wait.low <= exact.mean_wait <= moment.wait.high
        assert moment.wait.half_width < 0.25 * exact.mean_wait
    empty = loynes.simulate(model, **ask).moments[0]
    assert empty.wait.high < exact.mean_wait
    # Workloads from a file are a start too.
    loynes.sample(model, tmp_path / "w.csv", rate=exact.rate, samples=200)
    again = loynes.simulate(model, start=tmp_path / "w.csv", **(ask | {"replicas": 200, "at": [0], "horizon": 1}))
    assert again.moments[0].wait.low > 0
    with pytest.raises(loynes.UsageError, match="has workloads of 8 servers"):
        loynes.simulate(MODEL, rate=1.0, start=tmp_path / "w.csv")


def test_fcfs_agrees_with_the_recurrence() -> None:
    """Mean wait, HOL loss over time, and jobs waiting (Little) against the exact values."""
    exact = loynes.exact("one-or-all", load=0.3)
    found = loynes.simulate("one-or-all", load=0.3, start="stationary", jobs=100_000, confidence=SURE)
    assert exact.mean_wait is not None
    assert found.overall.wait.mean.low <= exact.mean_wait <= found.overall.wait.mean.high
    assert exact.hol_loss is not None
    assert found.system.hol_loss.low <= exact.hol_loss <= found.system.hol_loss.high


def test_server_filling_loses_nothing() -> None:
    """Needs that are powers of two: stable at 95% of the ideal, where strict order is far from it (Grosof et al.)."""
    classes = [
        {"name": f"n{need}", "need": need, "probability": p, "service": {"law": "exponential", "mean": 1}}
        for need, p in ((1, 0.5), (2, 0.2), (4, 0.2), (8, 0.1))
    ]
    model = loynes.load({"servers": 8, "classes": classes})
    assert loynes.exact(model).threshold < 0.9 * model.ideal
    found = loynes.simulate(model, policy="server-filling", rate=0.95 * model.ideal, jobs=100_000, replicas=8)
    assert not found.warnings
    assert found.system.utilization.low > 0.94
    # All servers are busy, or all jobs are: nothing idles while somebody could not be served for want of order.
    assert found.system.hol_loss.high < 1.0


def test_published_orderings() -> None:
    """Backfilling beats strict order, and most servers first carries rates that strict order cannot."""
    ask: dict[str, Any] = {"load": 0.8, "jobs": 100_000, "replicas": 8}
    wait = {
        p: loynes.simulate(MODEL, policy=p, **ask).overall.wait.mean
        for p in ("fcfs", "easy", "conservative", "first-fit")
    }
    assert wait["easy"].high < wait["fcfs"].low
    assert wait["conservative"].high < wait["fcfs"].low
    assert wait["first-fit"].high < wait["fcfs"].low
    # 1.9 is above the threshold of first come, first served, 1.80086.
    with pytest.raises(loynes.UnstableError):
        loynes.simulate(MODEL, rate=1.9)
    most = loynes.simulate(MODEL, policy="most-servers-first", rate=1.9, jobs=100_000, replicas=8)
    assert not most.warnings
    one = loynes.simulate(MODEL, policy="smash", window=1, **ask)
    assert one.overall.wait.mean == wait["fcfs"]


def test_wrong_questions() -> None:
    for wrong, said in (
        ({"policy": "lottery"}, "must be one of fcfs, first-fit, easy"),
        ({"policy": "easy", "window": 3}, "means nothing to policy 'easy'"),
        ({"policy": "fcfs", "inflation": 2.0}, "means nothing"),
        ({"policy": "easy", "inflation": 0.5}, "1 or more"),
        ({"start": "nowhere.csv"}, "must be empty, stationary, or a"),
        ({"at": [-1]}, "at least 0"),
    ):
        with pytest.raises(loynes.UsageError) as error:
            loynes.simulate(MODEL, rate=1.0, **wrong)
        assert said in str(error.value)
