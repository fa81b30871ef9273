"""One replica: its jobs as they come, its floor, and what is observed on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.inputs.arrivals import POISSON, start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.kernels.engine import whole_blocks
from loynes.kernels.events.changes import Changes, announce_losses, apply
from loynes.kernels.events.floor import SPARE, WOKEN, Floor, larger, new_floor
from loynes.kernels.events.histograms import Gathered, Histograms
from loynes.kernels.events.history import put_running_in_line, run_history
from loynes.kernels.events.layout import RESTART, Layout, Rules
from loynes.kernels.events.loop import Arrivals, Observations, draw, new_observations, occupy, run_events
from loynes.kernels.events.nodes import announce
from loynes.kernels.events.pace import Pace
from loynes.kernels.events.policies import Policy
from loynes.kernels.events.predictions import guessed
from loynes.kernels.reference import BLOCK

if TYPE_CHECKING:
    from loynes.kernels.events.engine import Events

# Jobs that are drawn at a time, and slots to begin with.
CHUNK = 1 << 14
CAPACITY = 1 << 10
# Jobs that may arrive until the last that is observed has ended, as a multiple of those that are.
AFTERWARDS = 4
# Steps of a timetable that there always is room for, beside those of jobs.
MOST_ANNOUNCED = CAPACITY
# The number of a job that is not known yet.
UNKNOWN = 2**62


@dataclass
class ReplicaRecord:
    """Observations of one replica, and its state at given moments."""

    observations: Observations  # but for what became histograms
    waits: Histograms
    responses: Histograms
    moments: Array  # [moment, 2 + 3 kinds]: jobs waiting, in the system; by kind, busy and lost servers, work to do
    arrived: int
    observed: int
    overrun: bool  # the line grew without end


def floor_for(
    policy: Policy,
    units: Ints,
    demand: Ints,
    layout: Layout | None = None,
    rules: Rules | None = None,
    capacity: int | None = None,
) -> Floor:
    """An empty floor with what a policy needs, for jobs of classes that need `demand`: [class, kind]."""
    if rules is not None:
        quotas, priorities = bool((np.asarray(rules.holder) >= 0).any()), len(np.unique(rules.priority)) > 1
        _check(policy.refuses(quotas=quotas, restarts=rules.preemption == RESTART, priorities=priorities))
    size = demand.sum(axis=1)
    extreme = demand[[size.argmin(), size.argmax()]] if len(demand) else None
    classes = len(demand) if policy.by_class else 0
    slots = CAPACITY if capacity is None else capacity
    return new_floor(slots, units, classes, policy.timetable, extreme, layout, rules, policy.promises, policy.seeks)


def _check(refusal: str) -> None:
    if refusal:
        raise UsageError(refusal)


def with_announced(floor: Floor, policy: Policy, changes: Changes) -> Floor:
    """The floor, on which it is known beforehand when servers, or nodes, will be away."""
    _check(policy.refuses(announced=True))
    if sum(change.announced for change in changes.of_servers) > MOST_ANNOUNCED:
        raise UsageError(f"scenario: more than {MOST_ANNOUNCED} announced losses and returns are too many")
    if floor.nodes == ():
        return announce_losses(floor, changes)
    return floor._replace(nodes=announce(floor.nodes, changes.announced))


class ArrivalSource:
    """A replica's jobs, a chunk at a time, in the time of the scenario."""

    def __init__(self, events: Events, replica: int) -> None:
        self._events, self._replica = events, replica
        self._place = self.begins = int(
            start_places(events.table.arrivals, events.seed, STREAM_STATIONARY, np.array([replica]))[0]
        )
        self._when = 0.0
        # Time 0 of a stationary start is any time, and the next job comes a gap later; else the first comes then.
        begun = events.workload is not None or events.history is not None
        self._later = begun and events.table.arrivals.process == POISSON
        self._gap, self._service = np.empty(CHUNK), np.empty(CHUNK)
        self._job_class = np.empty(CHUNK, np.int64)

    def next(self, number: int, count: int) -> Arrivals:
        """The jobs from the number-th on."""
        events, gap = self._events, self._gap
        self._place = draw(
            events.table, np.uint64(events.seed), STREAM_STATIONARY, self._replica, number, count, self._place, gap,
            self._job_class, self._service,
        )  # fmt: skip
        arrival = self._when + np.concatenate([[0.0], np.cumsum(gap[:count])])
        self._when = float(arrival[-1])
        arrival = events.changes.real(arrival[1:] if self._later else arrival[:-1])
        service = self._service[:count]
        guess = guessed(service, events.inflation, events.overestimate, events.seed, self._replica, number)
        return Arrivals(arrival, self._job_class[:count], service, guess, np.full(count, -1))


def jobs_before(events: Events, replica: int, horizon: float) -> Arrivals:
    """The jobs of a replica that arrive before a time."""
    source, number = ArrivalSource(events, replica), 0
    parts: list[Arrivals] = []
    while not parts or parts[-1].arrival[-1] < horizon:
        part = source.next(number, CHUNK)
        parts.append(part._replace(job_class=part.job_class.copy(), service=part.service.copy()))
        number += CHUNK
    whole = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    count = int(np.searchsorted(whole[0], horizon))
    return Arrivals(*(column[:count] for column in whole))


class Replica:
    """A floor and the observations on it, from time 0 until every observed job has ended."""

    def __init__(self, events: Events, replica: int, workload: Array | None, history: int, pace: Pace) -> None:
        self._pace = pace
        table, kinds = events.table, len(events.table.units)
        self._events, self._replica = events, replica
        self._demand = np.ascontiguousarray(table.demand, dtype=np.int64)
        self._floor = floor_for(
            events.policy, np.asarray(table.units, np.int64), self._demand, events.layout, events.rules
        )
        while len(self._floor.jobs) <= 2 * table.servers:
            self._floor = larger(self._floor)
        self._arrivals = ArrivalSource(events, replica)
        if events.layout is not None and (workload is not None or history):
            raise UsageError("a cluster of nodes starts empty: a stationary start does not say which node is busy")
        if workload is not None:
            occupy(self._floor, workload)
        if history:
            self._floor = run_history(
                self._floor, table, events.seed, replica, self._arrivals.begins, history, events.inflation,
                events.overestimate, pace,
            )  # fmt: skip
            if events.policy.keeps_place:
                put_running_in_line(self._floor)
            self._floor.counts[WOKEN] = 1  # the policy is another from now on
        if events.changes.is_announced:
            self._floor = with_announced(self._floor, events.policy, events.changes)
        self._observations = new_observations(
            len(table.need), kinds, events.unit, 0, events.layout is not None, events.shortest
        )
        self._gathered = Gathered(), Gathered()  # waits, responses
        self._state = np.full((len(events.at), 2 + 3 * kinds), np.nan)
        self._number = 0  # of the first job of the chunk
        # Which jobs are observed; with a horizon the last is known only when it has been passed.
        self._first = events.burn_in
        self._last = events.burn_in + events.jobs_observed if events.horizon is None else UNKNOWN
        self._rows = 0
        self._changes = list(reversed(events.changes.of_servers))
        self._given = events.given(replica)

    def run(self) -> ReplicaRecord:
        events = self._events
        moments_end = events.at[-1] + events.soon if len(events.at) else 0.0
        while True:
            arrivals = self._arrivals.next(self._number, self._chunk())
            if events.horizon is not None and self._last == UNKNOWN and arrivals.arrival[-1] >= events.horizon:
                self._last = self._number + int(np.searchsorted(arrivals.arrival, events.horizon))
            self._make_room(len(arrivals.arrival))
            self._rows = _give_rows(events, arrivals, self._number, self._last, self._rows)
            if self._rows > len(self._observations.jobs):
                self._observations = self._observations._replace(jobs=_longer(self._observations.jobs, self._rows))
            arrived = self._let_arrive(arrivals)
            self._gather()
            self._number += arrived
            observed = min(self._last, self._number) - self._first
            if arrived < len(arrivals.arrival):
                return self._record(observed, True)
            all_came = self._number >= self._last and arrivals.arrival[-1] > moments_end
            if all_came and not events.to_the_end:
                return self._record(observed, False)
            all_ended = self._observations.ended >= observed
            complete = all_came and all_ended and not np.isnan(self._observations.jobs[: self._rows, 2]).any()
            if complete or self._number >= self._last + max(AFTERWARDS * observed, 1 << 20):
                return self._record(observed, not complete)

    def _make_room(self, arriving: int) -> None:
        """For the bins of all jobs that may end before the next look, where they are not counted in place."""
        present = len(self._floor.jobs) - int(self._floor.counts[SPARE])
        if not len(self._observations.bins) and len(self._observations.hits) < present + arriving:
            hits = np.empty((2 * (present + arriving), 3), np.int64)
            self._observations = self._observations._replace(hits=hits)

    def _gather(self) -> None:
        """Take over the bins that were written down."""
        observations = self._observations
        if not len(observations.bins):
            hits = observations.hits[: observations.hit[0]]
            for gathered, column in zip(self._gathered, (1, 2), strict=True):
                gathered.add(hits[:, 0], hits[:, column])
            observations.hit[0] = 0

    def _record(self, observed: int, overrun: bool) -> ReplicaRecord:
        """All that is kept of the replica."""
        seen = self._observations
        if len(seen.bins):
            waits, responses = (Histograms.of(bins) for bins in (seen.bins, seen.response_bins))
        else:
            waits, responses = (gathered.counted() for gathered in self._gathered)
        kept = seen._replace(bins=seen.bins[:0].copy(), response_bins=seen.bins[:0].copy(), hits=seen.hits[:0].copy())
        return ReplicaRecord(kept, waits, responses, self._state, self._number, observed, overrun)

    def _chunk(self) -> int:
        """How many jobs to draw."""
        if self._last == UNKNOWN:
            assert self._events.horizon is not None
            left = 1.1 * (self._events.horizon - self._floor.clock[0]) / self._events.table.gap_mean
        else:
            left = self._last - self._number
        return min(CHUNK, max(whole_blocks(int(left)), 4 * BLOCK))

    def _let_arrive(self, arrivals: Arrivals) -> int:
        """All jobs of a chunk, with the changes that fall between them; how many did before the line was too long."""
        events, i = self._events, 0
        while i < len(arrivals.arrival):
            cut, until, counted = self._stretch(i, len(arrivals.arrival))
            i = run_events(
                self._pace, events.policy, self._given, self._floor, arrivals, i, cut, until, self._demand,
                self._number, self._first, self._last, counted, self._observations, events.at, self._state,
            )  # fmt: skip
            while self._changes and self._floor.clock[0] >= self._changes[-1].time:
                change = self._changes.pop()
                rng = np.random.default_rng([events.seed, self._replica, change.number])
                apply(change, self._floor, events.policy.keeps_place, rng)
            if i < cut and self._floor.counts[SPARE] == 0:
                if len(self._floor.jobs) >= events.limit:
                    return i
                self._floor = larger(self._floor)
        return i

    def _stretch(self, i: int, count: int) -> tuple[int, float, bool]:
        """Until which job and which time nothing changes from outside, and whether that time counts.

        It does from the arrival of the first observed job to that of the last, or from 0 to the horizon.
        """
        until = self._changes[-1].time if self._changes else np.inf
        if self._events.horizon is None:
            number = self._number + i
            cuts = [n - self._number for n in (self._first + 1, self._last) if n > number]
            return min([*cuts, count]), until, self._first < number < self._last
        counted = bool(self._floor.clock[0] < self._events.horizon)
        return count, min(until, self._events.horizon) if counted else until, counted


def _give_rows(events: Events, arrivals: Arrivals, number: int, last: int, rows: int) -> int:
    """Say which jobs' waits are kept, all or those that arrive soon after a moment; how many are so far."""
    numbers = number + np.arange(len(arrivals.row))
    if events.each:
        wanted = (numbers >= events.burn_in) & (numbers < last)
    elif len(events.at):
        latest = np.searchsorted(events.at, arrivals.arrival, side="right") - 1
        wanted = (latest >= 0) & (arrivals.arrival < events.at[latest] + events.soon)
    else:
        return 0
    kept = int(wanted.sum())
    arrivals.row[wanted] = rows + np.arange(kept)
    return rows + kept


def _longer(jobs: Array, rows: int) -> Array:
    longer = np.full((max(rows, 2 * len(jobs)), jobs.shape[1]), np.nan)
    longer[: len(jobs)] = jobs
    return longer
