"""The interface that every backend has: a task says what to do, a state holds the arrays that it updates.

A task is one kind of long work on some replicas, one row each. Running it goes over a range: of jobs, through which all
rows are advanced, or (`by_rows`) of rows, each of which is worked out whole. Rows do not know of each other, and jobs
are pure functions of (seed, stream, replica, index); so a run may be cut by rows and by jobs, done elsewhere and put
together again, without changing a bit. Whoever cuts, records or spreads work needs to know nothing of its kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array as Array  # tasks' fields: had from here with them
from loynes.arrays import Ints as Ints
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.controls import NO_CONTROLS, AnyControls
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import step_cost
from loynes.kernels.tally import Blockers, Heap, Tally

# Named tuples of arrays, and of other such tuples, with a row a replica; scalars among them are no state.
AnyState = tuple[object, ...]
State = TypeVar("State", bound=AnyState)

# Called every so often while work is done; ends it by an exception, if it is to end.
Look = Callable[[], None]

# Jobs of a replica after which runs may be cut: sums of reals are put together at the same places however work is cut.
CUT = 1 << 19


def whole_blocks(jobs: int) -> int:
    """So many jobs, rounded up to a whole number of blocks, at least one."""
    return max(1, -(-jobs // BLOCK)) * BLOCK


class Engine(Protocol):
    """Runs tasks, and says what it can do at a time."""

    @property
    def name(self) -> str: ...
    @property
    def most_jobs(self) -> float:
        """How many jobs a question may take unless it says otherwise: about a minute, or a few."""

    @property
    def batch_bytes(self) -> int:
        """Bytes of samples that are made at a time."""

    def groups_of(self, replicas: int) -> int:
        """How many rows the tally of so many replicas has."""

    def fitting_replicas(self, table: JobTable) -> int:
        """Replicas that keep the backend busy, and are enough for an interval."""

    def look_every(self, table: JobTable) -> int:
        """How many jobs apart observed arrivals are."""

    def first_rows(self, rows: int) -> int:
        """Of a task that goes by rows: how many to begin with, so that the backend is busy and progress prompt."""

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        """Do the task over start .. stop - 1, updating the state in place."""


class Backend(Engine, Protocol):
    """An engine that looks, while it works, whether to go on."""

    def run(self, task: Task, state: AnyState, start: int, stop: int, look: Look | None = None) -> None:
        """The same. Where `look` ends it, rows from `start` on, or all rows of a task through jobs, are of no use."""


@dataclass(frozen=True, eq=False)
class Task:
    """What all kinds of work have: rows, one for each replica."""

    by_rows: ClassVar[bool] = False

    @property
    def rows(self) -> int:
        raise NotImplementedError

    @property
    def job_seconds(self) -> float:
        """What one job takes on one core, to an order."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """What to call it while it is under way; empty where those who asked tell more."""
        return ""

    def key(self, engine: str) -> str:
        """A digest of what is to be done, and by whom."""
        digest = hashlib.sha256(f"{engine} {type(self).__name__}".encode())
        for part in _flat(self):
            digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
            digest.update(b";")
        return digest.hexdigest()[:32]

    def expected_jobs(self, start: int, stop: int) -> int:
        """About how many jobs a run will simulate."""
        return self.rows * (stop - start)

    def jobs(self, state: AnyState, start: int, stop: int) -> int:
        """How many jobs a run simulated."""
        return self.expected_jobs(start, stop)

    def groups(self) -> list[Ints]:
        """Rows that must stay together when the work is cut."""
        return list(np.arange(self.rows)[:, None])

    def part(self, rows: Ints) -> Self:
        """The same for some rows only."""
        raise NotImplementedError

    def take(self, state: State, rows: Ints) -> State:
        """A copy of the state of some rows."""
        return mapped(state, lambda array: array[rows])

    def put(self, state: AnyState, rows: Ints, part: AnyState) -> None:
        """Write the state of some rows back."""
        for whole, piece in zip(arrays_of(state).values(), arrays_of(part).values(), strict=True):
            whole[rows] = piece

    def saved(self, state: AnyState) -> dict[str, NDArray[Any]]:
        """The state as plain arrays, by name."""
        return arrays_of(state)

    def restore(self, state: AnyState, arrays: dict[str, NDArray[Any]]) -> None:
        for name, array in self.saved(state).items():
            array[...] = arrays[name]


@dataclass(frozen=True, eq=False)
class ModelTask(Task):
    """Jobs of a model: their table, where randomness comes from, and each row's replica."""

    table: JobTable
    seed: int
    stream: int
    replicas: Ints

    @property
    def rows(self) -> int:
        return len(self.replicas)

    @property
    def job_seconds(self) -> float:
        return step_cost(self.table) * 1e-9

    def part(self, rows: Ints) -> Self:
        return replace(self, replicas=self.replicas[rows])


class ForwardState(NamedTuple):
    workload: Array  # [row, server]
    places: Ints  # [row], where the arrival process stands
    tally: Tally  # [group of rows]


@dataclass(frozen=True, eq=False)
class Forward(ModelTask):
    """Chains through a range of jobs; what arrivals would see is added to tally rows, if it is to be observed."""

    needs: Needs
    group: Ints  # [row], the tally row that it adds to
    observe: bool
    controls: AnyControls = NO_CONTROLS  # what else to add up while observing; the CPU only

    def groups(self) -> list[Ints]:
        order = np.argsort(self.group, kind="stable")
        starts = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        return np.split(order, starts[1:])

    def part(self, rows: Ints) -> Self:
        inner = np.unique(self.group[rows], return_inverse=True)[1]
        return replace(self, replicas=self.replicas[rows], group=inner.astype(np.int64))

    def take(self, state: State, rows: Ints) -> State:
        assert isinstance(state, ForwardState)
        own = np.unique(self.group[rows])
        tally = mapped(state.tally, lambda column: column[own])
        return cast(State, ForwardState(state.workload[rows], state.places[rows], tally))

    def put(self, state: AnyState, rows: Ints, part: AnyState) -> None:
        assert isinstance(state, ForwardState)
        assert isinstance(part, ForwardState)
        own = np.unique(self.group[rows])
        state.workload[rows], state.places[rows] = part.workload, part.places
        for column, piece in zip(arrays_of(state.tally).values(), arrays_of(part.tally).values(), strict=True):
            column[own] = piece

    def saved(self, state: AnyState) -> dict[str, NDArray[Any]]:
        """Tallies that nothing is added to need not be kept."""
        return {name: a for name, a in arrays_of(state).items() if self.observe or not name.startswith("tally")}


class SlopeSums(NamedTuple):
    """Sums over observed arrivals."""

    looks: Array  # [row], how many
    wait: Array  # [row, need]
    slope: Array  # [row, need, class], the wait's derivatives, and last that by the gaps


class SlopeState(NamedTuple):
    workload: Array  # [row, server]
    slopes: Array  # [row, server, class], its derivatives, and last those by the gaps
    places: Ints
    sums: SlopeSums


@dataclass(frozen=True, eq=False)
class Slopes(ModelTask):
    """Chains of the plain model that carry the derivatives of their workloads (see `reference.slopes_block`)."""

    needs: Needs
    observe: bool


class PileState(NamedTuple):
    heights: Array  # [row, server], above the base
    places: Ints
    heap: Heap


@dataclass(frozen=True, eq=False)
class Pile(ModelTask):
    """Jobs piled up without gaps; with `random`, each on servers drawn at random, and heights are in no order.

    HOL loss need not be looked at where it is not asked for; on a GPU it is.
    """

    needs: Needs
    blockers: Blockers
    random: bool = False
    observe: bool = True


@dataclass(frozen=True, eq=False)
class Regeneration(ModelTask):
    """Piles from job `begin` on until a job that needs all servers has left each of them flat; of a PileState."""

    blockers: Blockers
    begin: int

    by_rows: ClassVar[bool] = True

    def expected_jobs(self, start: int, stop: int) -> int:
        return 0  # short, as long as such jobs are not rare


class PairState(NamedTuple):
    low: Array  # [row, server]
    high: Array
    met: Ints  # [row], jobs until both were first equal, -1 while they are not
    places: Ints


@dataclass(frozen=True, eq=False)
class Sandwich(ModelTask):
    """Pairs of chains, low <= high, on the same jobs."""

    def expected_jobs(self, start: int, stop: int) -> int:
        return 2 * self.rows * (stop - start)


class SampleState(NamedTuple):
    workload: Array  # [row, server]
    length: Ints  # [row], jobs back to where the sample began; 0 where it was given up
    doublings: Ints


@dataclass(frozen=True, eq=False)
class Sampling(ModelTask):
    """One backward sample a row, from `initial` jobs ago, doubling, at most `longest`."""

    initial: int
    longest: int

    by_rows: ClassVar[bool] = True

    def expected_jobs(self, start: int, stop: int) -> int:
        return 4 * self.initial * (stop - start)

    def jobs(self, state: AnyState, start: int, stop: int) -> int:
        assert isinstance(state, SampleState)
        return sample_steps(state.length[start:stop], state.doublings[start:stop])


@dataclass(frozen=True, eq=False)
class Backward(Sampling):
    """Algorithm 1: until so many successive workloads are equal."""

    confirmations: int


@dataclass(frozen=True, eq=False)
class Perfect(Sampling):
    """Until a chain from empty and one from the ceiling, which rises with every doubling, have met."""

    ceiling: float
    rise: float


class BlockState(NamedTuple):
    places: Ints  # [row], where the arrival process stands at job 0
    height: Array  # [row]
    time: Array  # [row]
    jobs: Ints  # [row, class]


@dataclass(frozen=True, eq=False)
class BlockBefore(ModelTask):
    """The `length` jobs before job 0, given where arrivals stand then: height of their pile, their time, classes."""

    length: int

    by_rows: ClassVar[bool] = True

    def expected_jobs(self, start: int, stop: int) -> int:
        return self.length * (stop - start)


class SpanState(NamedTuple):
    height: Array  # [row]
    jobs: Ints  # [row, class]


@dataclass(frozen=True, eq=False)
class PileInTime(ModelTask):
    """All jobs that come within a time from the beginning of a cycle on: height of their pile, and their classes."""

    span: float

    by_rows: ClassVar[bool] = True

    def expected_jobs(self, start: int, stop: int) -> int:
        return int(self.span / self.table.gap_mean) * (stop - start)


def sample_steps(length: Ints, doublings: Ints) -> int:
    """Job steps that backward samples made: n + 2n + ... up to each sample's last length."""
    return int(np.sum(2 * length - (length >> doublings)))


def arrays_of(state: AnyState, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a state, however deep, by dotted names."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = value
        elif isinstance(value, tuple):
            arrays |= arrays_of(value, f"{prefix}{name}.")
    return arrays


def mapped(state: State, change: Callable[[Any], Any]) -> State:
    """The same state with every array changed; scalars stay."""

    def one(value: Any) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(one(inner) for inner in value)
        return value if isinstance(value, float | int) else change(value)

    return one(state)  # type: ignore[no-any-return]


def _flat(value: Any) -> Iterator[Any]:
    """Arrays and scalars of a task, however deep; a policy says by itself which it is."""
    if isinstance(key := getattr(value, "key", None), str):
        yield key
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _flat(getattr(value, field.name))
    elif isinstance(value, tuple):
        for inner in value:
            yield from _flat(inner)
    else:
        yield np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
