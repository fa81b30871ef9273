"""The CPU backend: tasks cut into pieces for the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from loynes.inputs.arrivals import start_places
from loynes.inputs.tables import JobTable
from loynes.kernels import engine as kinds
from loynes.kernels.cpu.backward import backward
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.pile import pile, regenerate
from loynes.kernels.cpu.pile_before import pile_before
from loynes.kernels.cpu.pile_in_time import pile_in_time
from loynes.kernels.cpu.random_pile import random_pile
from loynes.kernels.cpu.sandwich import perfect, sandwich
from loynes.kernels.cpu.slopes import slopes
from loynes.kernels.cpu.threads import Flag, cores, new_flag, run_lines
from loynes.kernels.cpu.together import TOGETHER
from loynes.kernels.engine import CUT, mapped
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import forms_of, look_every

REPLICAS = 128
# A task that goes by rows is begun with this part of them, at least one for every core.
FIRST_PART = 64

# Some rows of a task, through some jobs. It looks at the flag that it was made with.
Piece = Callable[[slice, int, int], None]


class CpuEngine:
    """Kernels release the interpreter lock: threads, as many as there are cores unless told otherwise."""

    name = "cpu"
    most_jobs = 4e9
    batch_bytes = 1 << 26
    look_every = staticmethod(look_every)

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or cores()

    def groups_of(self, replicas: int) -> int:
        return replicas

    def fitting_replicas(self, table: JobTable) -> int:
        return REPLICAS

    def first_rows(self, rows: int) -> int:
        return max(self._threads, rows // FIRST_PART)

    def run(
        self, task: kinds.Task, state: kinds.AnyState, start: int, stop: int, look: kinds.Look | None = None
    ) -> None:
        flag = new_flag()
        piece = PIECES[type(task)](task, state, flag)
        if task.by_rows:
            jobs = task.expected_jobs(start, stop) // max(stop - start, 1)
            lines = [_once(piece, rows) for rows in self._groups(start, stop, jobs)]
        else:
            assert start % BLOCK == stop % BLOCK == 0
            lines = [_line(piece, rows, start, stop) for rows in self._groups(0, task.rows, stop - start)]
        run_lines(lines, self._threads, flag, look)

    def _groups(self, first: int, last: int, jobs: int) -> Iterator[slice]:
        """Rows to a piece: about CUT jobs, but never so many that a core would have nothing to do; and as many as take
        turns, if every core has some."""
        fill = max(1, (last - first) // (4 * self._threads))
        together = min(TOGETHER, max(1, (last - first) // self._threads))
        size = max(together, min(fill, CUT // max(jobs, 1)))
        for start in range(first, last, size):
            yield slice(start, min(start + size, last))


def _once(piece: Piece, rows: slice) -> Iterator[Callable[[], None]]:
    yield partial(piece, rows, 0, 0)


def _line(piece: Piece, rows: slice, start: int, stop: int) -> Iterator[Callable[[], None]]:
    """Some rows through all jobs, one stretch after the other."""
    for first in range(start, stop, CUT):
        yield partial(piece, rows, first, min(first + CUT, stop))


def _forward(task: kinds.Forward, state: kinds.ForwardState, flag: Flag) -> Piece:
    table, forms, stride, key = task.table, forms_of(task.table), look_every(task.table), np.uint64(task.seed)

    def piece(rows: slice, start: int, stop: int) -> None:
        chains = (state.workload[rows], state.places[rows], state.tally)
        numbers = (task.replicas[rows], task.group[rows], start, stop, task.observe)
        forward(table, task.needs, forms, stride, key, task.stream, *numbers, *chains, task.controls, flag)

    return piece


def _slopes(task: kinds.Slopes, state: kinds.SlopeState, flag: Flag) -> Piece:
    key, stride = np.uint64(task.seed), look_every(task.table)

    def piece(rows: slice, start: int, stop: int) -> None:
        chains = mapped(state, lambda array: array[rows])
        numbers = (key, task.stream, task.replicas[rows], start, stop, task.observe)
        slopes(task.table, task.needs, stride, *numbers, *chains, flag)

    return piece


def _pile(task: kinds.Pile, state: kinds.PileState, flag: Flag) -> Piece:
    key, first = np.uint64(task.seed), int(task.replicas[0])
    table, forms, stride = task.table, forms_of(task.table), look_every(task.table)
    needs = task.needs if task.observe else task.needs._replace(need=task.needs.need[:0])
    drawn = table._replace(specific=np.zeros_like(table.specific))  # the kernel of random servers draws them itself

    def piece(rows: slice, start: int, stop: int) -> None:
        numbers = (key, task.stream, first + rows.start, start, stop)
        heights, places, heap = mapped(state, lambda array: array[rows])
        if task.random:
            random_pile(drawn, task.blockers, *numbers, heights, places, heap, flag)
        else:
            pile(table, needs, task.blockers, forms, stride, *numbers, heights, places, heap, flag)

    return piece


def _regeneration(task: kinds.Regeneration, state: kinds.PileState, flag: Flag) -> Piece:
    forms, key, first = forms_of(task.table), np.uint64(task.seed), int(task.replicas[0])

    def piece(rows: slice, start: int, stop: int) -> None:
        heights, _, heap = mapped(state, lambda array: array[rows])
        numbers = (key, task.stream, first + rows.start, task.begin)
        regenerate(task.table, task.blockers, forms, *numbers, heights, heap, flag)

    return piece


def _sandwich(task: kinds.Sandwich, state: kinds.PairState, flag: Flag) -> Piece:
    forms, key, first = forms_of(task.table), np.uint64(task.seed), int(task.replicas[0])

    def piece(rows: slice, start: int, stop: int) -> None:
        low, high, met, places = (array[rows] for array in state)
        numbers = (key, task.stream, first + rows.start, start, stop)
        sandwich(task.table, forms, *numbers, low, high, places, met, flag)

    return piece


def _samples(task: kinds.Backward | kinds.Perfect, state: kinds.SampleState, flag: Flag) -> Piece:
    forms, key = forms_of(task.table), np.uint64(task.seed)
    kernel: Any = backward if isinstance(task, kinds.Backward) else perfect
    options: tuple[float, ...]
    if isinstance(task, kinds.Backward):
        options = (task.initial, task.confirmations, task.longest)
    else:
        options = (task.initial, task.longest, task.ceiling, task.rise)

    def piece(rows: slice, start: int, stop: int) -> None:
        numbers = task.replicas[rows]
        places = start_places(task.table.arrivals, task.seed, task.stream, numbers)
        samples = (array[rows] for array in state)
        kernel(task.table, forms, key, task.stream, int(numbers[0]), *options, places, *samples, flag)

    return piece


def _blocks(task: kinds.BlockBefore | kinds.PileInTime, state: kinds.BlockState | kinds.SpanState, flag: Flag) -> Piece:
    forms, key, first = forms_of(task.table), np.uint64(task.seed), int(task.replicas[0])
    kernel: Any = pile_before if isinstance(task, kinds.BlockBefore) else pile_in_time
    reach = task.length if isinstance(task, kinds.BlockBefore) else task.span

    def piece(rows: slice, start: int, stop: int) -> None:
        blocks = (array[rows] for array in state)
        kernel(task.table, forms, key, task.stream, first + rows.start, reach, *blocks, flag)

    return piece


PIECES: dict[type[kinds.Task], Callable[[Any, Any, Flag], Piece]] = {
    kinds.Forward: _forward,
    kinds.Slopes: _slopes,
    kinds.Pile: _pile,
    kinds.Regeneration: _regeneration,
    kinds.Sandwich: _sandwich,
    kinds.Backward: _samples,
    kinds.Perfect: _samples,
    kinds.BlockBefore: _blocks,
    kinds.PileInTime: _blocks,
}
