"""Forecasts at an instant of a log are made of what was known then: another future gives the same forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loynes.execution.context import Context
from loynes.model.nodes import Nodes
from loynes.questions.answering.backtesting import Earlier, Moment, moments
from loynes.questions.answering.forecasting import Known, asked_limits, limits_of
from loynes.questions.answering.log_nodes import LogNodes
from loynes.questions.answering.machines import Machines
from loynes.questions.answering.orders import order_of
from loynes.traces.snapshots.read import rows_in_log, snapshot_at
from loynes.traces.trace import Trace

DAY = 86400.0
NOW = 5.4 * DAY
SERVERS = Machines({"servers": 16})
NODES = LogNodes((Nodes(count=4, has={"cpu": 4}),))


def busy_week(seed: int, jobs: int = 900) -> Trace:
    """Six days of more jobs than there is room for, so that days of the past hold jobs that still wait.

    They ask for a quarter of an hour to three hours, and one in twenty outlives it.
    """
    rng = np.random.default_rng(seed)
    limit = rng.choice([900.0, 3600.0, 10800.0], jobs)
    service = limit * np.where(rng.random(jobs) < 0.05, 1.5, rng.random(jobs))
    need = rng.integers(1, 9, jobs)
    labels = {"requested_time": limit, "user": rng.integers(0, 3, jobs).astype(str)}
    demand = {"cpu": need, "node": np.zeros(jobs, np.int64)}
    submit = np.sort(rng.random(jobs)) * 6 * DAY
    return Trace(submit, need, service, np.zeros(jobs), labels, records=jobs, demand=demand, origin=1.7e9)


def forecast_at(trace: Trace, start: np.ndarray, machines: Machines, policy: str) -> Moment:
    (found,) = moments(
        trace, start, asked_limits(trace), machines, order_of(policy, {}), np.array([NOW]), draws=30, seed=3,
        context=Context(),
    )  # fmt: skip
    return found


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
@pytest.mark.parametrize("machines", [SERVERS, Machines(NODES.units, NODES)], ids=["servers", "nodes"])
def test_another_future_gives_the_same_forecast(machines: Machines, policy: str) -> None:
    """Until now two logs are one. Then jobs run longer or shorter, start at other times, and others come."""
    trace = busy_week(2)
    start = machines.replayed(trace, order_of(policy, {}), limits_of(trace), Context().deadline.look)
    rng = np.random.default_rng(7)
    open_ended, waits, comes = start + trace.service > NOW, start > NOW, trace.submit > NOW
    assert np.count_nonzero(waits & ~comes) > 3
    ran = np.where(waits, 0.0, NOW - start)
    service = np.where(open_ended, ran + rng.exponential(7200.0, trace.jobs), trace.service)
    need = np.where(comes, rng.integers(1, 9, trace.jobs), trace.need)
    submit = np.where(comes, NOW + (trace.submit - NOW) * 0.7, trace.submit)
    other = replace(trace, submit=submit, need=need, service=service, demand=trace.demand | {"cpu": need})
    later = np.where(waits, np.maximum(NOW, submit) + rng.exponential(3600.0, trace.jobs), start)
    before, after = forecast_at(trace, start, machines, policy), forecast_at(other, later, machines, policy)
    assert np.array_equal(before.drawn.values, after.drawn.values)
    assert np.array_equal(before.by_limits, after.by_limits)
    assert not np.array_equal(before.truth, after.truth)


def test_jobs_that_had_not_ended_come_again_with_drawn_run_times() -> None:
    """Between what they had run and what they may; all others as they were."""
    machines, order = SERVERS, order_of("easy", {})
    trace = busy_week(2)
    start = machines.replayed(trace, order, limits_of(trace), Context().deadline.look)
    snapshot = snapshot_at(trace, start, NOW, machines.kinds, asked_limits(trace))
    known = Known.of(trace, start, NOW, machines.kinds, NOW)
    assert known.later is not None
    found = known.while_running(snapshot, known.laws_of(snapshot, machines.kinds), 1).later
    assert found is not None
    rows = rows_in_log(snapshot)
    assert np.all(found.service[rows] >= snapshot.elapsed)
    assert np.all(found.service[rows] <= snapshot.limit + 1e-6)
    assert np.all(found.service[rows] <= found.limit[rows])
    assert not np.any(found.service[rows] == trace.service[rows])
    others = np.setdiff1d(np.arange(trace.jobs), rows)
    assert np.array_equal(found.service[others], trace.service[others])


def test_recalibration_waits_until_truths_are_known() -> None:
    """Of an instant whose last job started at 50 nothing is known at 49."""
    early, late = Earlier(), Earlier()
    for one in (early, late):
        one.add(np.linspace(0.0, 1.0, 150), 10.0)
    late.add(np.full(150, 0.9), 50.0)
    assert late.levels(5.0) is None
    assert np.array_equal(late.levels(49.0), early.levels(49.0))
    assert not np.array_equal(late.levels(50.0), early.levels(50.0))
