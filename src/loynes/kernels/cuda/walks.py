"""Walks of arrivals that have a memory: gaps and places for the jobs that a kernel is about to run, a window at a time.

A place follows from the one before, so a thread walks a row's jobs one after the other (walk.cu) and leaves what they
need in the device's memory, laid out for the kernel that reads it: threads read the same job of neighbouring rows,
warps neighbouring jobs of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.arrays import Ints
from loynes.kernels.cuda.compiled import walk_shape
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.cuda.walked import WALKED
from loynes.kernels.engine import ModelTask
from loynes.kernels.reference import BLOCK

# What windows may take of the device's memory, and how many jobs of a row they hold at most.
MOST_BYTES = 1 << 30
MOST_JOBS = 1 << 16


class Walks:
    """The arrival processes of some rows, for a kernel; where they have no memory there is nothing to walk."""

    def __init__(self, kernel: Kernel, task: ModelTask, rows: int, jobs: int) -> None:
        """Room for so many rows, each of which is to be run through so many jobs."""
        shape = kernel.shape
        self._kernel, self._stream, self._places = kernel, np.uint32(task.stream), np.zeros(0, np.int64)
        self._walk: Kernel | None = None
        self.window = 1 << 40
        if not shape.arriving.walked:
            return
        cp = cupy()
        self._walk = Kernel("walk", walk_shape(shape), task.table, task.seed)
        gap, told = not shape.saturated, shape.arriving.told
        block = BLOCK * rows * (shape.bits // 8 * gap + 4 * told)
        self.window = BLOCK * max(1, min(MOST_BYTES // block, MOST_JOBS // BLOCK, jobs // BLOCK))
        self._layout = (1, rows) if shape.lanes == 1 else (self.window, 1)
        self._gap = cp.zeros(rows * self.window if gap else 1, shape.real)
        self._told = cp.zeros(rows * self.window if told else 1, np.int32)

    def take(self, replicas: Ints, places: Ints) -> None:
        """These rows; each place is that of the job that is walked from next."""
        self._places = places
        if self._walk is not None:
            cp = cupy()
            self._replicas, self._held = cp.asarray(replicas.astype(np.uint32)), cp.asarray(places)

    def go(self, first: int, last: int, keep: bool = True) -> None:
        """Walk jobs first .. last - 1, into the past the last one first; what is kept is for the next launch."""
        if self._walk is None:
            return
        rows = len(self._places)
        jobs = (np.int64(first), np.int64(last), np.int32(rows), np.int32(keep))
        layout = (np.int64(step) for step in self._layout)
        self._walk(rows, self._stream, self._replicas, *jobs, self._held, self._gap, self._told, *layout)
        if keep:
            pointers = (array.data.ptr for array in (self._gap, self._told, self._replicas))
            self._kernel.fill("walked", np.array((*pointers, first, *self._layout), WALKED).tobytes())

    def places(self) -> Ints:
        """Where the rows stand now."""
        held: Any = self._held if self._walk is not None else None
        return self._places if held is None else np.asarray(held.get(), np.int64)
