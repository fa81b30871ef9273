"""Replicas of the event-driven simulation, each on a core of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.inputs.arrivals import POISSON, start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import class_probabilities
from loynes.kernels.cpu.engine import PIECES, Piece
from loynes.kernels.engine import AnyState, Engine, ModelTask, State, whole_blocks
from loynes.kernels.events.changes import Changes, ServerChange, apply
from loynes.kernels.events.floor import SPARE, WOKEN, Floor, larger, new_floor
from loynes.kernels.events.histograms import Gathered, Histograms
from loynes.kernels.events.history import put_running_in_line, run_history
from loynes.kernels.events.layout import Layout, Rules
from loynes.kernels.events.loop import Arrivals, Observations, draw, loop_of, new_observations, occupy, run_events
from loynes.kernels.events.mix import Mix, recorded_mix
from loynes.kernels.events.nodes import announce
from loynes.kernels.events.policies import Policy, find_policy
from loynes.kernels.events.predictions import Beliefs, guessed, predicted
from loynes.kernels.reference import BLOCK

# Jobs that are drawn at a time, and slots to begin with.
CHUNK = 1 << 14
CAPACITY = 1 << 10
# A line longer than this will not be served any more.
MOST_PRESENT = 1 << 22
# Jobs that may arrive until the last that is observed has ended, as a multiple of those that are.
AFTERWARDS = 4
# The number of a job that is not known yet.
UNKNOWN = 2**62
# What is kept of a replica's observations, but for histograms and single jobs.
OBSERVED = ("sums", "time")
HISTOGRAMS = ("waits", "responses")


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


class EventState(NamedTuple):
    records: list[ReplicaRecord | None]  # a row each, None until it has been run


@dataclass(frozen=True, eq=False)
class Events(ModelTask):
    """Replicas event by event: each observes so many jobs after a burn-in, or all that arrive before a horizon."""

    policy: Policy
    option: float = 1
    inflation: float = 1.0  # a scheduler's guess of a run time over the truth
    burn_in: int = 0
    jobs_observed: int = 0
    unit: float = 1.0
    horizon: float | None = None
    at: Array = field(default_factory=lambda: np.empty(0))
    soon: float = 0.0  # waits of jobs that arrive so soon after a moment are kept
    # To begin with, for each row: workloads, or how many jobs before job 0 to run.
    workload: Array | None = None
    history: Ints | None = None
    each: bool = False  # keep every job's wait
    changes: Changes = field(default_factory=Changes)
    limit: int = MOST_PRESENT
    to_the_end: bool = True  # of every observed job, or only of the horizon
    shortest: float = 0.0  # services count as at least so long in bounded slowdowns
    overestimate: float = 0.0  # guesses are longer by up to so many times the truth, at random
    layout: Layout | None = None  # nodes, else every kind of servers is one pool
    rules: Rules | None = None
    # Of every class: mean service, and how long one that runs still runs; for policies that are computed from them.
    service: Array | None = None
    residual: Array | None = None

    by_rows: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return self.policy.name

    def expected_jobs(self, start: int, stop: int) -> int:
        each = self.burn_in + self.jobs_observed if self.horizon is None else int(self.horizon / self.table.gap_mean)
        return each * (stop - start)

    def jobs(self, state: AnyState, start: int, stop: int) -> int:
        assert isinstance(state, EventState)
        return sum(record.arrived for record in state.records[start:stop] if record is not None)

    def given(self, replica: int) -> Any:
        """What the policy gets beside the floor, made anew for each replica: it may hold what the policy remembers."""
        if self.policy.prepare is None:
            return self.option
        if self.service is None or self.residual is None:
            raise UsageError(f"policy {self.policy.name!r}: is computed from the mean services of all classes")
        table = self.table
        rate = class_probabilities(table) / table.gap_mean
        units, demand = np.asarray(table.units, np.int64), np.ascontiguousarray(table.demand, dtype=np.int64)
        return self.policy.given(Mix(units, demand, rate, self.service, self.residual, self.option, self.seed, replica))

    def part(self, rows: Ints) -> Self:
        workload = None if self.workload is None else self.workload[rows]
        history = None if self.history is None else self.history[rows]
        return replace(self, replicas=self.replicas[rows], workload=workload, history=history)

    def take(self, state: State, rows: Ints) -> State:
        assert isinstance(state, EventState)
        return cast(State, EventState([state.records[row] for row in rows]))

    def put(self, state: AnyState, rows: Ints, part: AnyState) -> None:
        assert isinstance(state, EventState)
        assert isinstance(part, EventState)
        for row, record in zip(rows, part.records, strict=True):
            state.records[row] = record

    def saved(self, state: AnyState) -> dict[str, NDArray[Any]]:
        """The rows that have been run, as plain arrays; of the rows for jobs, those that are used."""
        assert isinstance(state, EventState)
        records = [record for record in state.records if record is not None]
        seen = [record.observations for record in records]
        rows = [one.jobs[~np.isnan(one.jobs[:, 2])] for one in seen]
        arrays = {name: np.array([getattr(one, name) for one in seen]) for name in OBSERVED}
        numbers = [
            (r.arrived, r.observed, r.overrun, len(kept), len(r.waits.place), len(r.responses.place))
            for r, kept in zip(records, rows, strict=True)
        ]
        for name in HISTOGRAMS:
            place, times = zip(*(getattr(record, name) for record in records), strict=True)
            arrays |= {f"{name}_place": np.concatenate(place), f"{name}_times": np.concatenate(times)}
        return arrays | {
            "moments": np.array([record.moments for record in records]),
            "numbers": np.array(numbers, np.int64),
            "jobs": np.concatenate(rows),
        }

    def restore(self, state: AnyState, arrays: dict[str, NDArray[Any]]) -> None:
        assert isinstance(state, EventState)
        ends = np.cumsum(arrays["numbers"][:, 3:], axis=0)[:-1]
        jobs = np.split(arrays["jobs"], ends[:, 0])
        seen = [
            [Histograms(*pair) for pair in zip(*(np.split(arrays[f"{name}_{part}"], ends[:, column])
             for part in Histograms._fields), strict=True)]
            for column, name in enumerate(HISTOGRAMS, start=1)
        ]  # fmt: skip
        for row, (arrived, observed, overrun, *_) in enumerate(arrays["numbers"].tolist()):
            sums = {name: arrays[name][row] for name in OBSERVED}
            observations = new_observations(0, 0, self.unit, shortest=self.shortest)._replace(jobs=jobs[row], **sums)
            state.records[row] = ReplicaRecord(
                observations, seen[0][row], seen[1][row], arrays["moments"][row], arrived, observed, bool(overrun)
            )


def run_replicas(events: Events, engine: Engine) -> list[ReplicaRecord]:
    """All rows of a task, in order."""
    state = EventState([None] * events.rows)
    engine.run(events, state, 0, events.rows)
    return [record for record in state.records if record is not None]


def _piece(events: Events, state: EventState) -> Piece:
    run = loop_of(events.policy)  # one for all threads
    assert run is not None

    def piece(rows: slice, start: int, stop: int) -> None:
        for row in range(rows.start, rows.stop):
            workload = None if events.workload is None else events.workload[row]
            history = 0 if events.history is None else int(events.history[row])
            state.records[row] = _Replica(events, int(events.replicas[row]), workload, history).run()

    return piece


PIECES[Events] = _piece


def floor_for(
    policy: Policy,
    units: Ints,
    demand: Ints,
    layout: Layout | None = None,
    rules: Rules | None = None,
    capacity: int = CAPACITY,
) -> Floor:
    """An empty floor with what a policy needs, for jobs of classes that need `demand`: [class, kind]."""
    if rules is not None and policy.keeps_place and (np.asarray(rules.holder) >= 0).any():
        raise UsageError(f"policy {policy.name!r}: it stops jobs by itself, and knows no quotas")
    size = demand.sum(axis=1)
    extreme = demand[[size.argmin(), size.argmax()]] if len(demand) else None
    classes = len(demand) if policy.by_class else 0
    return new_floor(CAPACITY, units, classes, policy.timetable, extreme, layout, rules, policy.promises, policy.seeks)


class _ArrivalSource:
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
    source, number = _ArrivalSource(events, replica), 0
    parts: list[Arrivals] = []
    while not parts or parts[-1].arrival[-1] < horizon:
        part = source.next(number, CHUNK)
        parts.append(part._replace(job_class=part.job_class.copy(), service=part.service.copy()))
        number += CHUNK
    whole = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    count = int(np.searchsorted(whole[0], horizon))
    return Arrivals(*(column[:count] for column in whole))


class _Replica:
    """A floor and the observations on it, from time 0 until every observed job has ended."""

    def __init__(self, events: Events, replica: int, workload: Array | None, history: int) -> None:
        table, kinds = events.table, len(events.table.units)
        self._events, self._replica = events, replica
        self._demand = np.ascontiguousarray(table.demand, dtype=np.int64)
        self._floor = floor_for(
            events.policy, np.asarray(table.units, np.int64), self._demand, events.layout, events.rules
        )
        if any(change.announced for change in events.changes.of_servers):
            if events.layout is None:
                raise UsageError("maintenance can be announced of nodes only: say which of [[nodes]] will be away")
            if events.policy.timetable:
                raise UsageError(f"policy {events.policy.name!r}: it does not plan around announced maintenance")
            self._floor = self._floor._replace(nodes=announce(self._floor.nodes, events.changes.announced))
        while len(self._floor.jobs) <= 2 * table.servers:
            self._floor = larger(self._floor)
        self._arrivals = _ArrivalSource(events, replica)
        if events.layout is not None and (workload is not None or history):
            raise UsageError("a cluster of nodes starts empty: a stationary start does not say which node is busy")
        if workload is not None:
            occupy(self._floor, workload)
        if history:
            self._floor = run_history(
                self._floor, table, events.seed, replica, self._arrivals.begins, history, events.inflation,
                events.overestimate,
            )  # fmt: skip
            if events.policy.keeps_place:
                put_running_in_line(self._floor)
            self._floor.counts[WOKEN] = 1  # the policy is another from now on
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
                events.policy, self._given, self._floor, arrivals, i, cut, until, self._demand, self._number,
                self._first, self._last, counted, self._observations, events.at, self._state,
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


def run_jobs(
    units: Ints,
    arrival: Array,
    need: Ints,
    service: Array,
    policy: str | Path | Policy | Callable[..., Any],
    option: float | None = None,
    guess: Array | None = None,
    edges: Array | None = None,
    **more: Any,
) -> tuple[Array, Array]:
    """Given jobs (need: [job, kind]) on an empty floor, until the last has ended.

    The first array has wait and response of each job; the second, sums over time between `edges` as in
    Observations.time. No guess is shorter than the truth: schedulers end jobs that take longer than was said. More
    options are those of `run_classes`.
    """
    demand, job_class = np.unique(np.ascontiguousarray(need, dtype=np.int64), axis=0, return_inverse=True)
    guess, rule = service if guess is None else guess, find_policy(policy)
    option = rule.default_option if option is None else option
    return run_classes(units, arrival, job_class.ravel(), demand, service, guess, rule, option, edges, **more)


def run_classes(
    units: Ints,
    arrival: Array,
    job_class: Ints,
    demand: Ints,
    service: Array,
    guess: Array,
    policy: Policy,
    option: float = 1,
    edges: Array | None = None,
    layout: Layout | None = None,
    rules: Rules | None = None,
    beliefs: Beliefs | None = None,
    lost: tuple[ServerChange, ...] = (),
    seed: int = 1,
) -> tuple[Array, Array]:
    """The same for jobs whose needs are those of their classes, `demand`: [class, kind].

    With `beliefs` run times are predicted, and guesses are for users of whom too little is known. Servers may be lost
    and come back, in order of time; those that fail are drawn by the seed.
    """
    count = len(arrival)
    # Every job has a row; nothing is summed up by class, of which there may be as many as jobs.
    observations = new_observations(1, len(units), 1.0, count, layout is not None)
    given = option
    if policy.prepare is not None:
        given = policy.given(recorded_mix(units, arrival, job_class, demand, service, option))
    floor = floor_for(policy, np.asarray(units, np.int64), demand, layout, rules)
    # One more job, at the end of time, lets all others end.
    arrivals: Any = Arrivals(
        np.append(arrival, np.inf),
        np.append(job_class, 0).astype(np.int64),
        np.append(service, 0.0).astype(np.float64),
        np.append(np.maximum(guess, service), 0.0).astype(np.float64),
        np.append(np.arange(count), -1),
    )
    if beliefs is not None:
        if layout is not None:
            raise UsageError("predict: is for pools of servers, not for nodes")
        arrivals = predicted(arrivals, beliefs)
    nothing, state = np.empty(0), np.empty((0, 2 + 3 * len(units)))
    sums, i, coming = [], 0, list(reversed(lost))
    for until in [*([] if edges is None else edges), np.inf]:
        before = observations.time.copy()
        while i <= count and floor.clock[0] < until:
            while coming and floor.clock[0] >= coming[-1].time:
                change = coming.pop()
                apply(change, floor, policy.keeps_place, np.random.default_rng([seed, 0, change.number]))
            stretch = min(float(until), coming[-1].time) if coming else float(until)
            i = run_events(
                policy, given, floor, arrivals, i, count + 1, stretch, demand, 0, count, count,
                bool(until < np.inf), observations, nothing, state,
            )  # fmt: skip
            if floor.counts[SPARE] == 0:
                floor = larger(floor)
        sums.append(observations.time - before)
    return np.asarray(observations.jobs[:, :2]), np.array(sums[1:-1]).reshape(-1, len(observations.time))
