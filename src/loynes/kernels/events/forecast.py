"""Draws of what becomes of a line: run times are drawn, and the jobs of a snapshot start as the policy lets them.

First come, first served, one draw is one pile on the jobs that run (`cpu/starts.py`), and whoever comes later does not
matter. Under other policies jobs that come later may pass: the event loop goes on from the snapshot, with arrivals that
are days of a history, drawn anew for every draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.calendar import Calendar, new_calendar
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.engine import PIECES, Piece
from loynes.kernels.cpu.starts import draw_times, starts_in_turn
from loynes.kernels.cpu.threads import Flag, heed
from loynes.kernels.engine import Task
from loynes.kernels.events.floor import (
    NOBODY,
    RUNNING,
    SPARE,
    WOKEN,
    Floor,
    admit,
    larger,
    leave_line,
    run_where_placed,
    start,
)
from loynes.kernels.events.layout import Layout
from loynes.kernels.events.loop import Arrivals, loop_of, new_observations, run_events
from loynes.kernels.events.node_order import NONE
from loynes.kernels.events.pace import Pace
from loynes.kernels.events.placing import add_piece, move_units, piece_on
from loynes.kernels.events.policies import Policy
from loynes.kernels.events.replica import floor_for
from loynes.kernels.reference import BLOCK
from loynes.traces.run_times import RunTimeLaws

STREAM_FORECAST = 32
# Jobs that come later, so many at a time, until all of the line have started.
CHUNK = 512
# What one job of one draw takes, to an order: piled up, and by events.
PILED, SERVED = 1e-7, 1e-6


NO_CLASSES = np.empty(0, np.int64)
# Numbers that stand for rows of needs.
MOST_CODES = 2**62


class Later(NamedTuple):
    """Jobs that may come later: whole days of a history, one after the other, and at which second of a day we are.

    `job_class` is what a `JobClasses` calls the need of each; empty before that is known.
    """

    submit: Array  # ascending, seconds; days begin at multiples of 86400
    need: Ints  # [job, kind]
    service: Array
    limit: Array
    first: Ints  # [day + 1], the first job of each day
    second: float  # of the day, now
    season: int  # days until the same kind of day comes again: 7, or 1 in a short history
    today: int  # which kind of day it is now
    job_class: Ints = NO_CLASSES


class JobClasses(NamedTuple):
    """Needs that differ, and which of them every job has: of the snapshot, and of those that may come later.

    On nodes classes differ in their tasks, too, and the running jobs' tasks are where they were put: those of the i-th
    on the nodes first[i] .. first[i + 1] of `node`.
    """

    demand: Ints  # [class, kind]
    now: Ints  # [job]
    later: Ints  # [later job]
    layout: Layout | None = None
    first: Ints = NO_CLASSES
    node: Ints = NO_CLASSES


def job_classes(need: Ints, later: Ints) -> JobClasses:
    """Of jobs that take units of pools alone."""
    both = np.concatenate([need, later])
    radix = both.max(axis=0, initial=0) + 1
    if np.prod(radix.astype(np.float64)) < MOST_CODES:
        code = np.ravel_multi_index(tuple(both.T), tuple(radix))
        _, row, place = np.unique(code, return_index=True, return_inverse=True)
        demand = both[row]
    else:
        demand, place = np.unique(both, axis=0, return_inverse=True)
    number = place.ravel().astype(np.int64)
    return JobClasses(np.ascontiguousarray(demand), number[: len(need)], number[len(need) :])


class ForecastState(NamedTuple):
    starts: NDArray[np.float32]  # [draw, waiting job], seconds from now; infinite beyond the horizon
    busy: Array  # [draw, edge], units of the first kind


@dataclass(frozen=True, eq=False)
class Forecast(Task):
    """One draw a row, by its number. The first `running` jobs run now, the others wait in this order."""

    seed: int
    draws: Ints  # [row]
    need: Ints  # [job, kind]
    units: Ints
    running: int
    laws: RunTimeLaws
    edges: Array  # times at which busy servers are counted, evenly spaced from 0
    policy: Policy
    option: float = 1
    later: Later | None = None
    horizon: float = np.inf
    by_events: bool = False  # also first come, first served: to hold one way against the other
    classes: JobClasses | None = None  # where there are nodes

    by_rows: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        return len(self.draws)

    @property
    def piled(self) -> bool:
        return self.policy.name == "fcfs" and not self.by_events and self.classes is None

    @property
    def job_seconds(self) -> float:
        return PILED if self.piled else SERVED

    @property
    def label(self) -> str:
        return self.policy.name

    def part(self, rows: Ints) -> Self:
        return replace(self, draws=self.draws[rows])

    def expected_jobs(self, start: int, stop: int) -> int:
        return len(self.need) * (stop - start)

    def new_state(self) -> ForecastState:
        shape = self.rows, len(self.need) - self.running
        # A pile gives every job a start; events may end before.
        starts = np.empty(shape, np.float32) if self.piled else np.full(shape, np.inf, np.float32)
        return ForecastState(starts, np.zeros((self.rows, len(self.edges))))


class _Room(NamedTuple):
    """What one thread works in."""

    word: NDArray[np.uint64]
    times: Array
    calendar: Calendar
    free: Ints


def _piece(task: Forecast, state: ForecastState, flag: Flag) -> Piece:
    jobs = len(task.need)
    if not task.piled:
        loop_of(task.policy)  # one for all threads
    none = task.need[:0]
    classes = task.classes or job_classes(task.need, none if task.later is None else task.later.need)
    later = None if task.later is None else task.later._replace(job_class=classes.later)
    draws = task.draws.astype(np.int64)

    def piece(rows: slice, begin: int, end: int) -> None:
        word, free = np.empty((4, BLOCK), np.uint64), np.empty(len(task.units), np.int64)
        room = _Room(word, np.empty(jobs), new_calendar(jobs), free)
        if task.piled:
            starts_in_turn(
                task.laws, task.need, task.units, task.running, np.uint64(task.seed), STREAM_FORECAST, draws[rows],
                *room, state.starts[rows], task.edges, state.busy[rows],
            )  # fmt: skip
            return
        pace = Pace(partial(heed, flag))
        for row in range(rows.start, rows.stop):
            _serve(pace, task, classes, later, int(draws[row]), room, state.starts[row], state.busy[row])

    return piece


PIECES[Forecast] = _piece


def _serve(
    pace: Pace,
    task: Forecast,
    classes: JobClasses,
    days: Later | None,
    draw: int,
    room: _Room,
    starts: NDArray[np.float32],
    busy: Array,
) -> None:
    """One draw, event by event, until every waiting job has started, or the horizon is reached."""
    draw_times(task.laws, np.uint64(task.seed), STREAM_FORECAST, draw, room.word, room.times)
    later = None if days is None else later_jobs(days, task.seed, draw, task.horizon)
    demand = classes.demand
    floor = floor_for(task.policy, task.units, demand, classes.layout, capacity=len(task.need) + CHUNK + 1)
    waiting = len(task.need) - task.running
    believed = np.maximum(task.laws.limit - task.laws.elapsed, room.times)
    if classes.layout is None:
        _lay_out(floor, demand, classes.now, room.times, believed, task.running)
    else:
        _lay_out_on_nodes(floor, demand, classes, room.times, believed, task.running)
    floor.counts[WOKEN] = 1
    observations = new_observations(1, len(task.units), 1.0, waiting, classes.layout is not None)
    state = np.zeros((len(task.edges), 2 + 3 * len(task.units)))
    begun, count = 0, 0 if later is None else len(later.submit)
    while True:
        some = slice(begun, min(begun + CHUNK, count))
        last = some.stop >= count
        columns = _columns(later, some) if count else _NO_JOBS
        arrivals = _closed(*columns) if last else Arrivals(*columns, np.full(some.stop - some.start, NOBODY))
        i, end = 0, len(arrivals.arrival)
        while i < end and floor.clock[0] < task.horizon:
            i = run_events(
                pace, task.policy, task.option, floor, arrivals, i, end, task.horizon, demand, waiting + begun, 0, 0,
                False, observations, task.edges, state,
            )  # fmt: skip
            if floor.counts[SPARE] == 0:
                floor = larger(floor)
        left = _write_starts(floor, observations.jobs, starts)
        begun = some.stop
        if last or floor.clock[0] >= task.horizon or (left == 0 and floor.clock[0] > task.edges[-1]):
            break
    busy[:] = state[:, 2]


_NO_JOBS = (np.empty(0), np.empty(0, np.int64), np.empty(0), np.empty(0))


def _columns(later: Later | None, some: slice) -> tuple[Array, Ints, Array, Array]:
    assert later is not None
    return later.submit[some], later.job_class[some], later.service[some], later.limit[some]


def _closed(arrival: Array, job_class: Ints, service: Array, guess: Array) -> Arrivals:
    """With one more job, at the end of time, which lets all others end."""
    return Arrivals(
        np.append(arrival, np.inf), np.append(job_class, 0), np.append(service, 0.0), np.append(guess, 0.0),
        np.full(len(arrival) + 1, NOBODY),
    )  # fmt: skip


@compiled
def _lay_out(floor, demand, job_class, times, believed, running):
    """The snapshot's jobs: the first of them on servers, the others in line; of these the i-th has row i."""
    for j in range(times.size):
        row = j - running if j >= running else NOBODY
        slot = admit(floor, demand, job_class[j], times[j], believed[j], j - running, row)
        if j < running:
            start(floor, slot)


def _lay_out_on_nodes(
    floor: Floor, demand: Ints, classes: JobClasses, times: Array, believed: Array, running: int
) -> None:
    """The same on nodes: the tasks of running jobs are where they were put."""
    _lay_out_placed(floor, demand, classes.now, times, believed, running, classes.first, classes.node)


@compiled
def _lay_out_placed(floor, demand, job_class, times, believed, running, first, node):
    for j in range(times.size):
        row = j - running if j >= running else NOBODY
        slot = admit(floor, demand, job_class[j], times[j], believed[j], j - running, row)
        if j < running:
            for k in range(first[j], first[j + 1]):
                piece = piece_on(floor.nodes, slot, node[k])
                if piece == NONE:
                    add_piece(floor.nodes, slot, node[k], 1)
                else:
                    floor.nodes.piece_tasks[piece] += 1
                move_units(floor.nodes, node[k], job_class[j], 1)
            leave_line(floor, slot)
            run_where_placed(floor, slot)


@compiled
def _write_starts(floor, ended, starts):
    """Starts of the jobs that have a row: of those that ended, and of those that run. How many have not started."""
    left = 0
    for row in range(starts.size):
        if not np.isnan(ended[row, 2]):
            starts[row] = ended[row, 0]
        else:
            left += 1
    for i in range(floor.counts[RUNNING]):
        slot = floor.jobs[i].heap
        row = floor.jobs[slot].row
        if row >= 0:
            starts[row] = floor.jobs[slot].started
            left -= 1
    return left


def later_jobs(later: Later, seed: int, draw: int, horizon: float) -> Later:
    """The jobs of one draw that come later: days of the history drawn at random, from this time of the day on."""
    rng = np.random.default_rng([seed, STREAM_FORECAST, draw])
    days = len(later.first) - 1
    wanted = min(int(np.ceil((horizon + later.second) / 86400.0)), 366) if np.isfinite(horizon) else days
    kind = (later.today + np.arange(max(wanted, 1))) % later.season
    alike = (days - kind - 1) // later.season + 1  # days of that kind: kind, kind + season, ...
    chosen = kind + later.season * (rng.random(len(kind)) * alike).astype(np.int64)
    sizes = later.first[chosen + 1] - later.first[chosen]
    ends = np.cumsum(sizes)
    index = np.arange(ends[-1]) + np.repeat(later.first[chosen] - (ends - sizes), sizes)
    shift = 86400.0 * (np.arange(len(chosen)) - chosen) - later.second
    when = later.submit[index] + np.repeat(shift, sizes)
    soon = (when > 0) & (when < horizon)
    kept = index[soon]
    return later._replace(
        submit=when[soon], need=later.need[kept], service=later.service[kept], limit=later.limit[kept],
        job_class=later.job_class[kept] if len(later.job_class) else NO_CLASSES,
    )  # fmt: skip
