"""Work that is ended in its midst: a task of any kind gives up when whoever waits for it is asked to.

The tasks here would take hours, or for ever. Nothing is timed: where work did not look, these tests would not end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loynes.execution.chunks import Chunked
from loynes.execution.deadline import Deadline, Stopped
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels import engine as kinds
from loynes.kernels.cpu import threads
from loynes.kernels.cpu.engine import PIECES, CpuEngine
from loynes.kernels.cpu.threads import GivenUpError, new_flag
from loynes.kernels.engine import AnyState, Task, arrays_of, mapped
from loynes.kernels.events import pace
from loynes.kernels.events.changes import Changes, ServerChange
from loynes.kernels.events.engine import Events, EventState, run_jobs, run_replicas
from loynes.kernels.events.forecast import Forecast
from loynes.kernels.events.pace import Pace
from loynes.kernels.events.policies import find_policy
from loynes.kernels.events.recorded import Recorded, RecordedJobs
from loynes.model import load
from loynes.threshold.controls import Mix
from loynes.traces.resampling import days_of
from loynes.traces.run_times import RunTimeLaws
from support import empty_chains, flat_piles, nowhere, pairs_up_to, unsampled

# More jobs than anybody will see done.
ENDLESS = 1 << 50
ROWS = 3
MODEL = load({
    "servers": 5,
    "arrivals": {"rate": 1.2},
    "classes": [
        {"need": need, "probability": 0.5, "service": {"law": "exponential", "mean": 1.0}} for need in (1, 3)
    ],
})  # fmt: skip
TABLE, NEEDS, MIX = job_table(MODEL, 1.2), needs_of(MODEL), Mix.of(MODEL)
WHO: Any = (TABLE, 1, STREAM_STATIONARY, np.arange(ROWS))


def slope_state() -> kinds.SlopeState:
    wide = (ROWS, TABLE.servers, 3)
    sums = kinds.SlopeSums(np.zeros(ROWS), np.zeros((ROWS, 2)), np.zeros((ROWS, 2, 3)))
    return kinds.SlopeState(np.zeros(wide[:2]), np.zeros(wide), nowhere(ROWS), sums)


def recorded() -> Recorded:
    """As many resamples of a log of a few jobs."""
    submit, ones = np.arange(40) * 20_000.0, np.ones(40)
    log = RecordedJobs(submit, np.zeros(40, np.int64), np.ones((1, 1), np.int64), ones, ones, *np.zeros((2, 40), int))
    return Recorded(1, np.arange(ROWS), log, days_of(submit, "log"), np.array([2]), find_policy("easy"))


def forecast() -> Forecast:
    jobs = 4
    laws = RunTimeLaws(
        np.array([[0.0, 1.0]]), np.zeros(jobs, np.int64), np.ones(jobs), np.zeros(jobs), np.zeros(jobs), np.ones(jobs)
    )
    need = np.ones((jobs, 1), np.int64)
    return Forecast(1, np.arange(ROWS), need, np.array([2]), 2, laws, np.array([0.0, 1.0]), find_policy("easy"))


EVENTS = Events(*WHO, find_policy("easy"), jobs_observed=ENDLESS)
TASKS: dict[str, tuple[Task, AnyState]] = {
    "forward": (kinds.Forward(*WHO, NEEDS, np.arange(ROWS), True), empty_chains(TABLE, NEEDS, ROWS)),
    "slopes": (kinds.Slopes(*WHO, NEEDS, True), slope_state()),
    "pile": (kinds.Pile(*WHO, NEEDS, MIX.blockers), flat_piles(TABLE, MIX, ROWS)),
    "random pile": (kinds.Pile(*WHO, NEEDS, MIX.blockers, True), flat_piles(TABLE, MIX, ROWS)),
    "regeneration": (kinds.Regeneration(*WHO, MIX.blockers, 0), flat_piles(TABLE, MIX, ROWS)),
    "sandwich": (kinds.Sandwich(*WHO), pairs_up_to(TABLE, 1e300, ROWS)),
    "backward": (kinds.Backward(*WHO, ENDLESS, 4 * ENDLESS, 1), unsampled(TABLE, ROWS)),
    "perfect": (kinds.Perfect(*WHO, ENDLESS, 4 * ENDLESS, 1e300, 1.0), unsampled(TABLE, ROWS)),
    "block before": (
        kinds.BlockBefore(*WHO, ENDLESS),
        kinds.BlockState(nowhere(ROWS), np.zeros(ROWS), np.zeros(ROWS), np.zeros((ROWS, 2), np.int64)),
    ),
    "pile in time": (
        kinds.PileInTime(*WHO, 1e300), kinds.SpanState(np.zeros(ROWS), np.zeros((ROWS, 2), np.int64))
    ),
    "events": (EVENTS, EventState([None] * ROWS)),
    "recorded": (recorded(), recorded().new_state()),
    "forecast": (forecast(), forecast().new_state()),
}  # fmt: skip
BY_EVENTS = ("events", "recorded", "forecast")


class Enough(Exception):  # noqa: N818  # somebody wants an end
    pass


def test_every_kind_is_here() -> None:
    assert {type(task) for task, _ in TASKS.values()} == set(PIECES)


@pytest.mark.parametrize("kind", TASKS)
def test_a_piece_ends_when_its_flag_is_raised(kind: str) -> None:
    """No job of MODEL needs all servers: to wait for the first such job is to wait for ever."""
    (task, state), flag = TASKS[kind], new_flag()
    flag[0] = 1
    piece = PIECES[type(task)](task, state, flag)
    if kind in BY_EVENTS:
        with pytest.raises(GivenUpError):
            piece(slice(0, ROWS), 0, 0)
    else:
        piece(slice(0, ROWS), 0, ENDLESS)


@pytest.mark.parametrize("end", [Enough, KeyboardInterrupt])
@pytest.mark.parametrize("kind", ["regeneration", "perfect", "events"])
def test_an_engine_raises_it(kind: str, end: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """While its threads are in the midst of their pieces."""
    monkeypatch.setattr(threads, "LOOK_EVERY", 0.02)

    def look() -> None:
        raise end

    with pytest.raises(end):
        CpuEngine(2).run(*TASKS[kind], 0, ROWS, look)


class Clock:
    """A second goes by whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("kind", ["perfect", "events"])
def test_a_deadline_is_seen_in_the_midst_of_a_row(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LOOK_EVERY", 0.02)
    deadline = Deadline(5.0, clock=Clock())
    with pytest.raises(Stopped) as stopped:
        Chunked(CpuEngine(2), deadline=deadline).run(*TASKS[kind], 0, ROWS)
    assert stopped.value.at == 0
    assert deadline.cut


def test_a_stretch_that_is_given_up_leaves_the_state_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LOOK_EVERY", 0.0)
    task, state = TASKS["forward"]
    before = mapped(state, np.copy)
    with pytest.raises(Stopped) as stopped:
        Chunked(CpuEngine(2), deadline=Deadline(6.0, soon=0.0, clock=Clock())).run(task, state, 0, ENDLESS)
    assert stopped.value.at == 0
    for name, array in arrays_of(state).items():
        assert np.array_equal(array, arrays_of(before)[name])


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "server-filling"])
@pytest.mark.parametrize("horizon", [None, 120.0])
def test_an_event_at_a_time_gives_the_same_bits(
    policy: str, horizon: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Averages over time, moments and servers that are lost included."""
    lost = (ServerChange(20.0, (2,), True, 0), ServerChange(45.0, (-2,), True, 1))
    task = replace(
        EVENTS, policy=find_policy(policy), jobs_observed=100, burn_in=0 if horizon else 30, horizon=horizon,
        at=np.array([10.0, 30.0]), soon=5.0, changes=Changes(of_servers=lost),
    )  # fmt: skip
    together = run_replicas(task, CpuEngine(1))
    monkeypatch.setattr(pace, "FIRST", 1)
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    for one, other in zip(run_replicas(task, CpuEngine(1)), together, strict=True):
        assert (one.arrived, one.observed, one.overrun) == (other.arrived, other.observed, other.overrun)
        assert np.array_equal(one.moments, other.moments, equal_nan=True)
        for name in ("sums", "time", "jobs"):
            mine, whole = getattr(one.observations, name), getattr(other.observations, name)
            assert np.array_equal(mine, whole, equal_nan=True)


def test_a_replay_looks_and_is_the_same_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    jobs: Any = (np.cumsum(rng.exponential(1.0, 60)), rng.integers(1, 4, (60, 1)), rng.exponential(2.0, 60), "easy")
    edges = np.array([0.0, 20.0, 70.0])
    whole = run_jobs(np.array([5]), *jobs, edges=edges)
    monkeypatch.setattr(pace, "FIRST", 1)
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    looks = []
    found = run_jobs(np.array([5]), *jobs, edges=edges, look=lambda: looks.append(1))
    assert len(looks) > 100
    for one, other in zip(found, whole, strict=True):
        assert np.array_equal(one, other)

    def look() -> None:
        raise Enough

    with pytest.raises(Enough):
        run_jobs(np.array([5]), *jobs, look=look)


def test_dear_events_are_done_few_at_a_time() -> None:
    clock = Clock()
    looks: list[int] = []
    paced = Pace(lambda: looks.append(1), clock)
    assert paced.begin() == pace.FIRST
    clock.now += 99.0  # with the second of the look, about 0.1 s an event
    paced.end(left=pace.FIRST - 1000)
    assert paced.begin() == 1
    paced.end(left=0)  # a second for one event
    assert paced.begin() == 1
    clock.now -= 1.0 - 1e-6
    paced.end(left=0)
    assert paced.begin() == pytest.approx(1e5, rel=1e-3)
    assert len(looks) == 4
