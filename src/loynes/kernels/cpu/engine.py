"""The CPU backend as the rooms above see it: whole pieces of work, cut into tasks for the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import start_places
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.cpu.backward import backward
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.pile import pile, regenerate
from loynes.kernels.cpu.pile_before import pile_before
from loynes.kernels.cpu.random_pile import random_pile
from loynes.kernels.cpu.sandwich import perfect, sandwich
from loynes.kernels.cpu.threads import cores, run_lines
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import look_every, use_runs
from loynes.kernels.tally import Blockers, Heap, Tally

name = "cpu"
most_jobs = 4e9  # how many jobs a question may take, unless told otherwise: a minute or a few

# Long enough that starting a task costs nothing, short enough that Ctrl-C and progress are prompt.
TASK_JOBS = 1 << 19
REPLICAS = 128

Done = Callable[[], None] | None
# Where each replica's arrival process stands (inputs/arrivals.py), advanced in place; None for Poisson arrivals.
Places = NDArray[np.int64] | None


batch_bytes = 1 << 26  # of samples that are made at a time


def groups_of(replicas: int) -> int:
    """How many rows a tally of so many replicas has."""
    return replicas


def fitting_replicas(table: JobTable) -> int:
    """Replicas that keep all cores busy, and are enough for an interval."""
    return REPLICAS


def hold(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Workloads, one row a replica, where the kernels work on them."""
    return array.copy()


def fetch(held: NDArray[np.float64]) -> NDArray[np.float64]:
    """Workloads that are held, as an ordinary array."""
    return held.copy()


def refill(held: NDArray[np.float64], array: NDArray[np.float64]) -> None:
    """Put workloads back where the kernels work on them."""
    held[...] = array


def run_forward(
    table: JobTable,
    needs: Needs,
    seed: int,
    stream: int,
    replicas: NDArray[np.int64],
    rows: NDArray[np.int64],
    begin: int,
    end: int,
    observe: bool,
    W: NDArray[np.float64],
    tally: Tally,
    done: Done = None,
    workers: int | None = None,
    places: Places = None,
) -> None:
    """Advance the given replicas (rows of W) through jobs begin .. end-1, adding to their tally rows if `observe`."""
    as_runs, stride, key, at = use_runs(table), look_every(table), np.uint64(seed), _places(places, len(W))

    def task(part: slice, start: int, stop: int) -> None:
        numbers = (replicas[part], rows[part])
        forward(table, needs, as_runs, stride, key, stream, *numbers, start, stop, observe, W[part], at[part], tally)

    _over(begin, end, len(W), task, done, workers)


def run_pile(
    table: JobTable,
    needs: Needs,
    blockers: Blockers,
    seed: int,
    stream: int,
    begin: int,
    end: int,
    H: NDArray[np.float64],
    heap: Heap,
    done: Done = None,
    workers: int | None = None,
    places: Places = None,
    first_replica: int = 0,
) -> None:
    """Pile jobs begin .. end-1 on replicas first_replica, first_replica + 1, ... (rows of H)."""
    as_runs, stride, key, at = use_runs(table), look_every(table), np.uint64(seed), _places(places, len(H))

    def task(rows: slice, start: int, stop: int) -> None:
        part, first = Heap(*_views(heap, rows)), first_replica + rows.start
        pile(table, needs, blockers, as_runs, stride, key, stream, first, start, stop, H[rows], at[rows], part)

    _over(begin, end, len(H), task, done, workers)


def run_random_pile(
    table: JobTable,
    needs: Needs,
    blockers: Blockers,
    seed: int,
    stream: int,
    begin: int,
    end: int,
    H: NDArray[np.float64],
    heap: Heap,
    done: Done = None,
    workers: int | None = None,
    places: Places = None,
    first_replica: int = 0,
) -> None:
    """As `run_pile`, with every job's servers drawn at random; rows of H are in no order."""
    key, at = np.uint64(seed), _places(places, len(H))
    table = table._replace(specific=np.zeros_like(table.specific))  # the kernel draws them itself

    def task(rows: slice, start: int, stop: int) -> None:
        part, first = Heap(*_views(heap, rows)), first_replica + rows.start
        random_pile(table, blockers, key, stream, first, start, stop, H[rows], at[rows], part)

    _over(begin, end, len(H), task, done, workers)


def run_regeneration(
    table: JobTable,
    blockers: Blockers,
    seed: int,
    stream: int,
    begin: int,
    H: NDArray[np.float64],
    heap: Heap,
    done: Done = None,
    workers: int | None = None,
    first_replica: int = 0,
) -> None:
    """Pile on from job `begin` until a job that needs all servers has left each replica's pile flat."""
    as_runs, key = use_runs(table), np.uint64(seed)

    def task(rows: slice) -> None:
        part, first = Heap(*_views(heap, rows)), first_replica + rows.start
        regenerate(table, blockers, as_runs, key, stream, first, begin, H[rows], part)

    run_lines((iter([partial(task, rows)]) for rows in _groups(len(H), 1, workers)), workers, done)


def run_backward(
    table: JobTable,
    seed: int,
    stream: int,
    first_replica: int,
    initial: int,
    confirmations: int,
    longest: int,
    W: NDArray[np.float64],
    length: NDArray[np.int64],
    doublings: NDArray[np.int64],
    done: Done = None,
    workers: int | None = None,
) -> None:
    """One backward sample a row of W, replicas first_replica, first_replica + 1, ..."""
    as_runs, key = use_runs(table), np.uint64(seed)

    def task(rows: slice) -> None:
        first, out = first_replica + rows.start, (W[rows], length[rows], doublings[rows])
        places = start_places(table.arrivals, seed, stream, np.arange(first, first + len(out[0])))
        backward(table, as_runs, key, stream, first, initial, confirmations, longest, places, *out)

    run_lines((iter([partial(task, rows)]) for rows in _groups(len(W), 4 * initial, workers)), workers, done)


def run_sandwich(
    table: JobTable,
    seed: int,
    stream: int,
    begin: int,
    end: int,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    met: NDArray[np.int64],
    done: Done = None,
    workers: int | None = None,
    places: Places = None,
    first_replica: int = 0,
) -> None:
    """Pairs of chains low[r] <= high[r] through jobs begin .. end-1; met[r] becomes when they first were equal."""
    as_runs, key, at = use_runs(table), np.uint64(seed), _places(places, len(low))

    def task(rows: slice, start: int, stop: int) -> None:
        first, pairs = first_replica + rows.start, (low[rows], high[rows], at[rows], met[rows])
        sandwich(table, as_runs, key, stream, first, start, stop, *pairs)

    _over(begin, end, len(low), task, done, workers)


def run_perfect(
    table: JobTable,
    seed: int,
    stream: int,
    first_replica: int,
    initial: int,
    longest: int,
    ceiling: float,
    rise: float,
    W: NDArray[np.float64],
    length: NDArray[np.int64],
    doublings: NDArray[np.int64],
    done: Done = None,
    workers: int | None = None,
) -> None:
    """One perfect sample a row of W, replicas first_replica, first_replica + 1, ..."""
    as_runs, key = use_runs(table), np.uint64(seed)

    def task(rows: slice) -> None:
        first, out = first_replica + rows.start, (W[rows], length[rows], doublings[rows])
        places = start_places(table.arrivals, seed, stream, np.arange(first, first + len(out[0])))
        perfect(table, as_runs, key, stream, first, initial, longest, ceiling, rise, places, *out)

    run_lines((iter([partial(task, rows)]) for rows in _groups(len(W), 4 * initial, workers)), workers, done)


def run_driven(
    table: JobTable,
    seed: int,
    stream: int,
    length: int,
    places: NDArray[np.int64],
    height: NDArray[np.float64],
    time: NDArray[np.float64],
    workers: int | None = None,
    first_replica: int = 0,
) -> None:
    """Piles of the `length` jobs before job 0, and the time they took, for arrival processes at these places then."""
    as_runs, key = use_runs(table), np.uint64(seed)

    def task(rows: slice) -> None:
        out = (places[rows], height[rows], time[rows])
        pile_before(table, as_runs, key, stream, first_replica + rows.start, length, *out)

    run_lines((iter([partial(task, rows)]) for rows in _groups(len(places), length, workers)), workers, None)


def _places(places: Places, count: int) -> NDArray[np.int64]:
    return np.zeros(count, np.int64) if places is None else places


def _over(
    begin: int,
    end: int,
    rows: int,
    task: Callable[[slice, int, int], None],
    done: Done,
    workers: int | None,
) -> None:
    """All rows through jobs begin .. end-1, a stretch of jobs at a time."""
    assert begin % BLOCK == end % BLOCK == 0

    def line(group: slice) -> Iterator[Callable[[], None]]:
        for start in range(begin, end, TASK_JOBS):
            yield partial(task, group, start, min(start + TASK_JOBS, end))

    run_lines((line(group) for group in _groups(rows, end - begin, workers)), workers, done)


def _groups(rows: int, jobs: int, workers: int | None) -> Iterator[slice]:
    """Rows to a task: about TASK_JOBS jobs, but never so many that a core would have nothing to do."""
    fill = max(1, rows // (4 * (workers or cores())))
    size = max(1, min(fill, TASK_JOBS // max(jobs, 1)))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _views(columns: Any, rows: slice) -> Any:
    """The same arrays, only these replicas."""
    return (column[rows] for column in columns)
