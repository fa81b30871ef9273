"""Replicas of the event-driven simulation, each on a core of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import POISSON, start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.threads import run_lines
from loynes.kernels.events.changes import Changes, apply
from loynes.kernels.events.floor import SPARE, WOKEN, Floor, larger, new_floor
from loynes.kernels.events.loop import (
    BY_CLASS,
    PLANNING,
    POLICIES,
    SERVER_FILLING,
    Coming,
    Seen,
    draw,
    events,
    new_seen,
    occupy,
)
from loynes.kernels.events.past import line_up, relive
from loynes.kernels.reference import BLOCK, whole_blocks

# Jobs that are drawn at a time, and slots to begin with.
CHUNK = 1 << 14
CAPACITY = 1 << 10
# A line longer than this will not be served any more.
MOST_PRESENT = 1 << 22
# Jobs that may arrive until the last that is observed has ended, as a multiple of those that are.
AFTERWARDS = 4
# The number of a job that is not known yet.
UNKNOWN = 2**62

Array = NDArray[np.float64]


@dataclass
class Simulated:
    """What one replica saw, and its state at the moments asked for."""

    seen: Seen
    moments: Array  # [moment, 2 + 3 kinds]: jobs waiting, in the system; by kind, busy and lost servers, work to do
    arrived: int
    observed: int
    overrun: bool  # the line grew without end


@dataclass(frozen=True)
class Plan:
    """What every replica is to do: observe so many jobs after a burn-in, or all that arrive before a horizon."""

    table: JobTable
    policy: str
    option: int = 1
    inflation: float = 1.0  # a scheduler's guess of a run time over the truth
    seed: int = 1
    burn_in: int = 0
    jobs: int = 0
    unit: float = 1.0
    horizon: float | None = None
    at: Array = field(default_factory=lambda: np.empty(0))
    soon: float = 0.0  # waits of jobs that arrive so soon after a moment are kept
    # To begin with, for each of the replicas that are run: a row of workloads, or how many jobs of the past to relive.
    workload: Array | None = None
    past: NDArray[np.int64] | None = None
    each: bool = False  # keep every job's wait
    changes: Changes = field(default_factory=Changes)
    limit: int = MOST_PRESENT
    to_the_end: bool = True  # of every observed job, or only of the horizon


def simulate(
    plan: Plan, replicas: int, done: Callable[[], None] | None = None, workers: int | None = None, first: int = 0
) -> list[Simulated]:
    """Independent replicas from the first on; replica r has the jobs that replica r of the recurrence has."""
    found: list[Simulated | None] = [None] * replicas

    def task(place: int) -> None:
        workload = None if plan.workload is None else plan.workload[place]
        past = 0 if plan.past is None else int(plan.past[place])
        found[place] = _Replica(plan, first + place, workload, past).run()

    def lines() -> Iterator[Iterator[Callable[[], None]]]:
        for place in range(replicas):
            yield iter([partial(task, place)])

    run_lines(lines(), workers, done)
    return [one for one in found if one is not None]


def floor_for(policy: str, units: NDArray[np.int64], classes: int) -> Floor:
    """An empty floor with what a policy needs."""
    return new_floor(CAPACITY, units, classes if policy in BY_CLASS else 0, policy in PLANNING)


class _Arrivals:
    """A replica's jobs, a chunk at a time, in the time of the scenario."""

    def __init__(self, plan: Plan, replica: int) -> None:
        self._plan, self._replica = plan, replica
        self._place = self.begins = int(
            start_places(plan.table.arrivals, plan.seed, STREAM_STATIONARY, np.array([replica]))[0]
        )
        self._when = 0.0
        # Time 0 of a stationary start is any time, and the next job comes a gap later; else the first comes then.
        begun = plan.workload is not None or plan.past is not None
        self._later = begun and plan.table.arrivals.process == POISSON
        self._gap, self._service = np.empty(CHUNK), np.empty(CHUNK)
        self._job_class = np.empty(CHUNK, np.int64)

    def next(self, number: int, count: int) -> Coming:
        """The jobs from the number-th on."""
        plan, gap = self._plan, self._gap
        self._place = draw(
            plan.table, np.uint64(plan.seed), STREAM_STATIONARY, self._replica, number, count, self._place, gap,
            self._job_class, self._service,
        )  # fmt: skip
        arrival = self._when + np.concatenate([[0.0], np.cumsum(gap[:count])])
        self._when = float(arrival[-1])
        arrival = plan.changes.real(arrival[1:] if self._later else arrival[:-1])
        service = self._service[:count]
        return Coming(arrival, self._job_class[:count], service, plan.inflation * service, np.full(count, -1))


class _Replica:
    """A floor and what has been seen on it, from time 0 until every observed job has ended."""

    def __init__(self, plan: Plan, replica: int, workload: Array | None, past: int) -> None:
        table, kinds = plan.table, len(plan.table.units)
        self._plan, self._replica = plan, replica
        self._floor = floor_for(plan.policy, np.asarray(table.units, np.int64), len(table.need))
        while len(self._floor.jobs) <= 2 * table.servers:
            self._floor = larger(self._floor)
        self._arrivals = _Arrivals(plan, replica)
        if workload is not None:
            occupy(self._floor, workload)
        if past:
            started = (table, plan.seed, replica, self._arrivals.begins, past, plan.inflation)
            self._floor = relive(self._floor, *started)
            if POLICIES[plan.policy] == SERVER_FILLING:
                line_up(self._floor)
            self._floor.counts[WOKEN] = 1  # the policy is another from now on
        self._seen = new_seen(len(table.need), kinds, plan.unit)
        self._state = np.full((len(plan.at), 2 + 3 * kinds), np.nan)
        self._demand = np.ascontiguousarray(table.demand, dtype=np.int64)
        self._number = 0  # of the first job of the chunk
        # Which jobs are observed; with a horizon the last is known only when it has been passed.
        self._first = plan.burn_in
        self._last = plan.burn_in + plan.jobs if plan.horizon is None else UNKNOWN
        self._rows = 0
        self._changes = list(reversed(plan.changes.of_servers))

    def run(self) -> Simulated:
        plan = self._plan
        moments_end = plan.at[-1] + plan.soon if len(plan.at) else 0.0
        while True:
            coming = self._arrivals.next(self._number, self._chunk())
            if plan.horizon is not None and self._last == UNKNOWN and coming.arrival[-1] >= plan.horizon:
                self._last = self._number + int(np.searchsorted(coming.arrival, plan.horizon))
            self._rows = _give_rows(plan, coming, self._number, self._last, self._rows)
            if self._rows > len(self._seen.jobs):
                self._seen = self._seen._replace(jobs=_longer(self._seen.jobs, self._rows))
            arrived = self._let_arrive(coming)
            self._number += arrived
            observed = min(self._last, self._number) - self._first
            if arrived < len(coming.arrival):
                return Simulated(self._seen, self._state, self._number, observed, True)
            past = self._number >= self._last and coming.arrival[-1] > moments_end
            if past and not plan.to_the_end:
                return Simulated(self._seen, self._state, self._number, observed, False)
            complete = past and self._seen.done >= observed and not np.isnan(self._seen.jobs[: self._rows, 2]).any()
            if complete or self._number >= self._last + max(AFTERWARDS * observed, 1 << 20):
                return Simulated(self._seen, self._state, self._number, observed, not complete)

    def _chunk(self) -> int:
        """How many jobs to draw."""
        if self._last == UNKNOWN:
            assert self._plan.horizon is not None
            left = 1.1 * (self._plan.horizon - self._floor.clock[0]) / self._plan.table.gap_mean
        else:
            left = self._last - self._number
        return min(CHUNK, max(whole_blocks(int(left)), 4 * BLOCK))

    def _let_arrive(self, coming: Coming) -> int:
        """All jobs of a chunk, with the changes that fall between them; how many did before the line was too long."""
        plan, code, i = self._plan, POLICIES[self._plan.policy], 0
        while i < len(coming.arrival):
            cut, until, counted = self._stretch(i, len(coming.arrival))
            i = int(
                events(code, plan.option, self._floor, coming, i, cut, until, self._demand, self._number, self._first,
                       self._last, counted, self._seen, plan.at, self._state)
            )  # fmt: skip
            while self._changes and self._floor.clock[0] >= self._changes[-1].time:
                change = self._changes.pop()
                rng = np.random.default_rng([plan.seed, self._replica, change.number])
                apply(change, self._floor, code == SERVER_FILLING, rng)
            if i < cut and self._floor.counts[SPARE] == 0:
                if len(self._floor.jobs) >= plan.limit:
                    return i
                self._floor = larger(self._floor)
        return i

    def _stretch(self, i: int, count: int) -> tuple[int, float, bool]:
        """Until which job and which time nothing changes from outside, and whether that time counts.

        It does from the arrival of the first observed job to that of the last, or from 0 to the horizon.
        """
        until = self._changes[-1].time if self._changes else np.inf
        if self._plan.horizon is None:
            number = self._number + i
            cuts = [n - self._number for n in (self._first + 1, self._last) if n > number]
            return min([*cuts, count]), until, self._first < number < self._last
        counted = bool(self._floor.clock[0] < self._plan.horizon)
        return count, min(until, self._plan.horizon) if counted else until, counted


def _give_rows(plan: Plan, coming: Coming, number: int, last: int, rows: int) -> int:
    """Say which jobs' waits are kept, all or those that arrive soon after a moment; how many are so far."""
    numbers = number + np.arange(len(coming.row))
    if plan.each:
        wanted = (numbers >= plan.burn_in) & (numbers < last)
    elif len(plan.at):
        latest = np.searchsorted(plan.at, coming.arrival, side="right") - 1
        wanted = (latest >= 0) & (coming.arrival < plan.at[latest] + plan.soon)
    else:
        return 0
    kept = int(wanted.sum())
    coming.row[wanted] = rows + np.arange(kept)
    return rows + kept


def _longer(jobs: Array, rows: int) -> Array:
    longer = np.full((max(rows, 2 * len(jobs)), jobs.shape[1]), np.nan)
    longer[: len(jobs)] = jobs
    return longer


def run_jobs(
    units: NDArray[np.int64],
    arrival: Array,
    need: NDArray[np.int64],
    service: Array,
    policy: str,
    option: int = 1,
    guess: Array | None = None,
    edges: Array | None = None,
) -> tuple[Array, Array]:
    """Given jobs (need: [job, kind]) on an empty floor, until the last has ended.

    The first array has wait and response of each job; the second, sums over time between `edges` as in Seen.time. No
    guess is shorter than the truth: schedulers end jobs that take longer than was said.
    """
    count = len(arrival)
    demand, job_class = np.unique(np.ascontiguousarray(need, dtype=np.int64), axis=0, return_inverse=True)
    seen = new_seen(len(demand), len(units), 1.0, count)
    floor = floor_for(policy, np.asarray(units, np.int64), len(demand))
    guess = service if guess is None else np.maximum(guess, service)
    # One more job, at the end of time, lets all others end.
    coming = Coming(
        np.append(arrival, np.inf),
        np.append(job_class.ravel(), 0).astype(np.int64),
        np.append(service, 0.0).astype(np.float64),
        np.append(guess, 0.0).astype(np.float64),
        np.append(np.arange(count), -1),
    )
    nothing, state = np.empty(0), np.empty((0, 2 + 3 * len(units)))
    sums, done = [], 0
    for until in [*([] if edges is None else edges), np.inf]:
        before = seen.time.copy()
        while done <= count and floor.clock[0] < until:
            done = int(
                events(POLICIES[policy], option, floor, coming, done, count + 1, float(until), demand, 0, 0, count,
                       bool(until < np.inf), seen, nothing, state)
            )  # fmt: skip
            if floor.counts[SPARE] == 0:
                floor = larger(floor)
        sums.append(seen.time - before)
    return np.asarray(seen.jobs[:, :2]), np.array(sums[1:-1]).reshape(-1, len(seen.time))
