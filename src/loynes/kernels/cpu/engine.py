"""The CPU backend as the rooms above see it: whole pieces of work, cut into tasks for the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.cpu.backward import backward
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.pile import pile
from loynes.kernels.cpu.threads import cores, each
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import look_every, use_runs
from loynes.kernels.tally import Heap, Tally

NAME = "cpu"

# Long enough that starting a task costs nothing, short enough that Ctrl-C and progress are prompt.
TASK_JOBS = 1 << 20

Done = Callable[[], None] | None


def run_forward(
    table: JobTable,
    needs: Needs,
    seed: int,
    stream: int,
    begin: int,
    end: int,
    observe: bool,
    W: NDArray[np.float64],
    tally: Tally,
    done: Done = None,
    workers: int | None = None,
) -> None:
    """Advance all replicas (rows of W) through jobs begin .. end-1, adding to the tally if `observe`."""
    as_runs, stride = use_runs(table), look_every(table)
    for start, stop in _stretches(begin, end):
        each(
            (
                lambda rows=rows, start=start, stop=stop: forward(  # type: ignore[misc]
                    table,
                    needs,
                    as_runs,
                    stride,
                    np.uint64(seed),
                    stream,
                    rows.start,
                    start,
                    stop,
                    observe,
                    W[rows],
                    _tally_rows(tally, rows),
                )
                for rows in _groups(len(W), stop - start, workers)
            ),
            workers,
            done,
        )


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
    as_runs = use_runs(table)
    each(
        (
            lambda rows=rows: backward(  # type: ignore[misc]
                table,
                as_runs,
                np.uint64(seed),
                stream,
                first_replica + rows.start,
                initial,
                confirmations,
                longest,
                W[rows],
                length[rows],
                doublings[rows],
            )
            for rows in _groups(len(W), 4 * initial, workers)
        ),
        workers,
        done,
    )


def run_pile(
    table: JobTable,
    needs: Needs,
    seed: int,
    stream: int,
    begin: int,
    end: int,
    H: NDArray[np.float64],
    heap: Heap,
    done: Done = None,
    workers: int | None = None,
) -> None:
    """Pile jobs begin .. end-1 on all replicas (rows of H)."""
    as_runs, stride = use_runs(table), look_every(table)
    for start, stop in _stretches(begin, end):
        each(
            (
                lambda rows=rows, start=start, stop=stop: pile(  # type: ignore[misc]
                    table,
                    needs,
                    as_runs,
                    stride,
                    np.uint64(seed),
                    stream,
                    rows.start,
                    start,
                    stop,
                    H[rows],
                    _heap_rows(heap, rows),
                )
                for rows in _groups(len(H), stop - start, workers)
            ),
            workers,
            done,
        )


def _stretches(begin: int, end: int) -> Iterator[tuple[int, int]]:
    assert begin % BLOCK == 0
    assert end % BLOCK == 0
    for start in range(begin, end, TASK_JOBS):
        yield start, min(start + TASK_JOBS, end)


def _groups(rows: int, jobs: int, workers: int | None) -> Iterator[slice]:
    """Rows to a task: about TASK_JOBS jobs, but never so many that a core would have nothing to do."""
    fill = max(1, rows // (4 * (workers or cores())))
    size = max(1, min(fill, TASK_JOBS // max(jobs, 1)))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _tally_rows(tally: Tally, rows: slice) -> Tally:
    """The same tally, only these replicas; the arrays are views."""
    columns: Any = (column[rows] for column in tally[1:])
    return Tally(tally.per_unit, *columns)


def _heap_rows(heap: Heap, rows: slice) -> Heap:
    columns: Any = (column[rows] for column in heap)
    return Heap(*columns)
