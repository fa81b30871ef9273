"""Models of a log: what they are tested on, and by which rule they pass."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import TraceError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.questions.answering import candidates
from loynes.questions.answering.candidates import (
    CONFIDENCE,
    REPLICAS,
    RESAMPLES,
    HeldOut,
    Shown,
    arrivals_named,
    dispersion_of,
    held_out,
    inflation_of,
    log_policy,
    simulated_waits,
    waits_under,
)
from loynes.questions.answering.log_cluster import on_servers
from loynes.questions.answering.orders import order_of
from loynes.traces.trace import Trace

MONTH = Path(__file__).parents[1] / "recorded" / "month.csv"
# On two servers: the second of a pair needs both and waits for the first to end, while the third would fit beside it.
LINE = {"submit": [0.0, 1.0, 2.0], "need": [1, 2, 1], "service": [100.0, 10.0, 50.0]}


def log(**more: Any) -> Trace:
    return loynes.read_trace(LINE | more)


def test_dispersion_is_variance_over_mean() -> None:
    assert dispersion_of(np.array([1.0, 3.0, 5.0])) == pytest.approx(4.0 / 3.0)
    assert dispersion_of(np.array([7.0])) == 1.0
    assert dispersion_of(np.zeros(3)) == 0.0


def test_how_long_run_times_are_believed() -> None:
    """By the jobs that say so; one that ran longer than it asked for counts as it ran."""
    assert inflation_of(log()) == 1.0
    assert inflation_of(log(requested_time=[200.0, np.nan, 30.0])) == pytest.approx(250.0 / 150.0)
    assert inflation_of(log(requested_time=[50.0, np.nan, np.nan])) == 1.0


@pytest.mark.parametrize(
    ("recorded", "policy"),
    [([0.0, 99.0, 108.0], "fcfs"), ([0.0, 99.0, 0.0], "easy"), ([np.nan, np.nan, 2.0], "easy"), ([np.nan] * 3, "fcfs")],
)
def test_the_policy_of_a_log(recorded: list[float], policy: str) -> None:
    assert log_policy(log(wait=recorded), on_servers(2)) == policy


def test_waits_under_a_policy() -> None:
    assert waits_under(log(), on_servers(2), order_of("fcfs", {})).tolist() == [0.0, 99.0, 108.0]
    assert waits_under(log(), on_servers(2), order_of("easy", {})).tolist() == [0.0, 99.0, 0.0]
    # A job that asked for so long that it would delay the head of the line has to wait for it.
    late = log(requested_time=[100.0, 10.0, 99.0])
    assert waits_under(late, on_servers(2), order_of("easy", {})).tolist() == [0.0, 99.0, 108.0]


def test_a_model_passes_where_its_means_lie_in_the_logs_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end belongs to its interval. The model is run at the log's work: 1.5 servers, and a job takes 3."""
    job = {"need": 1, "probability": 1.0, "service": {"law": "exponential", "mean": 3.0}}
    model = loynes.load({"servers": 2, "classes": [job]})
    seen: list[tuple[Any, ...]] = []

    def shown(*given: Any) -> Shown:
        seen.append(given)
        return Shown(1.0, 2.0, 0.5, 4.0)

    monkeypatch.setattr(candidates, "_shown", shown)
    names = ("mean wait", "p95 of waits", "utilization", "dispersion of daily counts")
    intervals = [Estimate(2.0, 1.0, 3.0), Estimate(1.0, 0.0, 2.0), Estimate(0.6, 0.51, 0.7), Estimate(3.0, 2.0, 3.9)]
    targets = dict(zip(names, intervals, strict=True))
    order = order_of("fcfs", {})
    checked = HeldOut(log(), on_servers(2), order, 1.5, targets).check(model, 7)
    assert [(one.name, one.log) for one in checked] == list(targets.items())
    assert [one.model.estimate for one in checked] == [1.0, 2.0, 0.5, 4.0]
    assert [one.passed for one in checked] == [True, True, False, False]
    assert seen == [(model, 0.5, order, log().span, 7, k) for k in range(REPLICAS)]
    # More work than 98% of the servers is not run at all, and passes nothing.
    full = HeldOut(log(), on_servers(2), order, 1.96, targets).check(model, 7)
    assert [(one.model.estimate, one.passed) for one in full] == [(np.inf, False)] * 4
    assert len(seen) == REPLICAS


def test_what_is_too_short_to_test_on() -> None:
    one = loynes.read_trace({"submit": [0.0], "need": [1], "service": [1.0]})
    at_once = loynes.read_trace({"submit": [5.0, 5.0], "need": [1, 1], "service": [1.0, 1.0]})
    for trace in (one, at_once):
        with pytest.raises(TraceError, match="is too short to test a model on"):
            held_out(trace, on_servers(2), order_of("fcfs", {}), 1, Context())


def test_a_log_is_held_out_with_the_intervals_of_its_resamples() -> None:
    trace = loynes.read_trace(MONTH)
    held = held_out(trace, on_servers(10), order_of("fcfs", {}), 1, Context())
    found = loynes.evaluate(trace, servers=10, resamples=RESAMPLES, confidence=CONFIDENCE)
    assert held.targets["mean wait"] == found.overall.wait.mean
    assert held.targets["p95 of waits"] == found.overall.wait.p95
    assert held.targets["utilization"] == found.system.utilization
    assert held.work == pytest.approx(trace.work / trace.span)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("poisson", "plain poisson"),
        ("renewal", "plain renewal"),
        ("batch", "plain batch"),
        ("mmpp", "plain mmpp"),
        ("mmpp4", "more phases"),
        ("periodic", "cycles"),
        ("sessions", "sessions"),
        ("phases4", "4 phases"),
        ("phases8", "8 phases"),
    ],
)
def test_every_name_has_its_own_arrivals(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: dict[str, Any] = {
        "burstiness": lambda trace: SimpleNamespace(together=0.5),
        "arrival_table_of": lambda trace, measured, name: {"way": f"plain {name}"},
        "more_phases": lambda trace, measured: {"way": "more phases"},
        "cycle_table": lambda trace, group: {"way": "cycles"},
        "session_table": lambda trace, group, session: {"way": "sessions"},
        "phases_table": lambda trace, group, phases: {"way": f"{phases} phases"},
    }
    for function, stub in ways.items():
        monkeypatch.setattr(candidates, function, stub)
    assert arrivals_named(name, log(), np.zeros(3, np.int64)) == {"way": way}


def test_mean_waits_of_a_simulated_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all jobs, and of each class by its own jobs; a class without any does not wait."""
    names = ("often", "once", "never")
    jobs = [
        {"name": name, "need": 1, "probability": share, "service": {"law": "exponential", "mean": 3.0}}
        for name, share in zip(names, (0.5, 0.25, 0.25), strict=True)
    ]
    model = loynes.load({"servers": 2, "classes": jobs})
    arrived: Any = SimpleNamespace(job_class=np.array([0, 1, 0]))
    times = np.array([[1.0, 2.0], [7.0, 8.0], [4.0, 5.0]])
    monkeypatch.setattr(candidates, "_run", lambda *_: (arrived, times, None))
    found = simulated_waits(log(), model, order_of("fcfs", {}), 0.9, 1)
    assert {name: value.estimate for name, value in found.items()} == {
        "all jobs": 4.0, "often": 2.5, "once": 7.0, "never": 0.0,
    }  # fmt: skip
