"""Replicas of the event-driven simulation, each on a core of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.inputs.tables import class_probabilities
from loynes.kernels.cpu.engine import PIECES, Piece
from loynes.kernels.cpu.threads import Flag, heed
from loynes.kernels.engine import AnyState, Engine, Look, ModelTask, State
from loynes.kernels.events.changes import Changes, ServerChange, apply
from loynes.kernels.events.floor import RUNNING, SPARE, Floor, larger
from loynes.kernels.events.histograms import Histograms
from loynes.kernels.events.layout import Layout, Rules
from loynes.kernels.events.loop import Arrivals, loop_of, new_observations, run_events
from loynes.kernels.events.mix import Mix, recorded_mix
from loynes.kernels.events.node_order import NONE
from loynes.kernels.events.pace import Pace, go_on
from loynes.kernels.events.policies import Policy, find_policy
from loynes.kernels.events.predictions import Beliefs, predicted
from loynes.kernels.events.replica import Replica, ReplicaRecord, floor_for, with_announced

# A line longer than this will not be served any more.
MOST_PRESENT = 1 << 22
# What is kept of a replica's observations, but for histograms and single jobs.
OBSERVED = ("sums", "time")
HISTOGRAMS = ("waits", "responses")


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


def _piece(events: Events, state: EventState, flag: Flag) -> Piece:
    run = loop_of(events.policy)  # one for all threads
    assert run is not None

    def piece(rows: slice, start: int, stop: int) -> None:
        pace = Pace(partial(heed, flag))
        for row in range(rows.start, rows.stop):
            workload = None if events.workload is None else events.workload[row]
            history = 0 if events.history is None else int(events.history[row])
            state.records[row] = Replica(events, int(events.replicas[row]), workload, history, pace).run()

    return piece


PIECES[Events] = _piece


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
    look: Look = go_on,
    at_edge: Callable[[Floor], None] | None = None,
) -> tuple[Array, Array]:
    """The same for jobs whose needs are those of their classes, `demand`: [class, kind].

    With `beliefs` run times are predicted, and guesses are for users of whom too little is known. Servers may be lost
    and come back, in order of time; those that fail are drawn by the seed. `look` may end the work by an exception.
    `at_edge` is shown the floor at each of the edges.
    """
    count = len(arrival)
    pace = Pace(look)
    # Every job has a row; nothing is summed up by class, of which there may be as many as jobs.
    observations = new_observations(1, len(units), 1.0, count, layout is not None)
    given = option
    if policy.prepare is not None:
        given = policy.given(recorded_mix(units, arrival, job_class, demand, service, option))
    floor = floor_for(policy, np.asarray(units, np.int64), demand, layout, rules)
    changes = Changes(of_servers=lost)
    if changes.is_announced:
        floor = with_announced(floor, policy, changes)
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
                pace, policy, given, floor, arrivals, i, count + 1, stretch, demand, 0, count, count,
                bool(until < np.inf), observations, nothing, state,
            )  # fmt: skip
            if floor.counts[SPARE] == 0:
                floor = larger(floor)
        if at_edge is not None and until < np.inf:
            at_edge(floor)
        sums.append(observations.time - before)
    return np.asarray(observations.jobs[:, :2]), np.array(sums[1:-1]).reshape(-1, len(observations.time))


def occupied(floor: Floor) -> dict[int, tuple[int, ...]]:
    """The nodes that the tasks of running jobs are on, one for each task, by the jobs' rows."""
    nodes, found = floor.nodes, {}
    for i in range(floor.counts[RUNNING]):
        slot, own = int(floor.jobs["heap"][i]), list[int]()
        piece = int(nodes.piece[slot])
        while piece != NONE:
            own += [int(nodes.piece_node[piece])] * int(nodes.piece_tasks[piece])
            piece = int(nodes.next_piece[piece])
        found[int(floor.jobs["row"][slot])] = tuple(own)
    return found
