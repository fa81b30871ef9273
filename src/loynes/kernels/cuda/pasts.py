"""Samples of the past where arrivals have a memory: all rows begin equally long ago, and those that are not ready yet
begin anew, twice as long ago.

The process's past is known from its end only. So the trail of places, a window apart, is kept and made longer as the
rows go back further; then windows are run from the earliest to the last, each walked again from the place after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.inputs.arrivals import start_places
from loynes.kernels import engine as kinds
from loynes.kernels.cuda.compiled import Shape
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.cuda.walks import Walks
from loynes.kernels.engine import mapped

# launch(first, last, walks, the rows' arrays): jobs first .. last - 1 of some rows.
Launch = Callable[..., None]


class Pasts:
    """Rows, and the trails of their arrivals."""

    def __init__(self, kernel: Kernel, task: kinds.Sampling, replicas: Ints, look: kinds.Look | None) -> None:
        self.kernel, self.replicas, self._look = kernel, replicas, look
        self._together = min(len(replicas), kernel.resident)
        self._walks = Walks(kernel, task, self._together, task.longest)
        self._trail = [start_places(task.table.arrivals, task.seed, task.stream, replicas)]  # [window's end][row]

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Go on with some of the rows only."""
        self.replicas, self._trail = self.replicas[rows], [places[rows] for places in self._trail]

    def run(self, n: int, launch: Launch, *state: NDArray[Any]) -> None:
        """All rows from n jobs ago until now; a row of each of the arrays is brought up to date."""
        cp, window = cupy(), self._walks.window
        windows = -(-n // window)
        while len(self._trail) < windows:
            self._trail.append(np.empty_like(self._trail[0]))
            edge = len(self._trail) - 1
            for part in self._parts():
                self._walks.take(self.replicas[part], self._trail[edge - 1][part])
                self._walks.go(-edge * window, -(edge - 1) * window, keep=False)
                self._trail[edge][part] = self._walks.places()
        stream = cp.cuda.get_current_stream()
        for part in self._parts():
            held = [cp.asarray(array[part]) for array in state]
            for edge in range(windows - 1, -1, -1):
                first, last = -min(n, (edge + 1) * window), -edge * window
                self._walks.take(self.replicas[part], self._trail[edge][part])
                self._walks.go(first, last)
                launch(first, last, len(held[0]), *held)
                stream.synchronize()
                if self._look is not None:
                    self._look()
            for array, run in zip(state, held, strict=True):
                array[part] = run.get()

    def _parts(self) -> Iterator[slice]:
        for begin in range(0, len(self.replicas), self._together):
            yield slice(begin, begin + self._together)


def backward(
    task: kinds.Backward, state: kinds.SampleState, replicas: Ints, shape: Shape, look: kinds.Look | None
) -> None:
    """Chains from empty, until so many workloads in a row are equal (kernels/cpu/backward.py)."""
    cp = cupy()
    kernel = Kernel("forward", shape, task.table, task.seed)
    pasts = Pasts(kernel, task, replicas, look)
    nothing = cp.zeros(1, np.int64)

    def launch(first: int, last: int, rows: int, replica: Any, W: Any, group: Any) -> None:
        jobs = (np.int64(first), np.int64(last), np.int32(rows), np.int32(False))
        unseen = (nothing, nothing, nothing, nothing, nothing)
        kernel(rows, np.uint32(task.stream), replica, *jobs, W, nothing, shape.real(1), group, *unseen)

    def from_empty(n: int) -> NDArray[Any]:
        W = np.zeros((len(pasts.replicas), task.table.servers), shape.real)
        group = np.zeros(len(W), np.int32)
        pasts.run(n, launch, pasts.replicas.astype(np.uint32), W, group)
        return W

    n, W = task.initial, from_empty(task.initial)
    under_way, agreed = np.arange(len(replicas)), np.zeros(len(replicas), np.int64)
    found = mapped(state, np.zeros_like)
    found.workload[...] = W
    while n < task.longest and len(under_way):
        before, n = W, 2 * n
        W = from_empty(n)
        found.doublings[under_way] += 1
        agreed = np.where(np.all(before == W, axis=1), agreed + 1, 0)
        ready = agreed == task.confirmations
        found.length[under_way[ready]] = n
        found.workload[under_way] = W
        under_way, agreed, W = under_way[~ready], agreed[~ready], W[~ready]
        pasts.keep(~ready)
    _give(kernel, found, state)


def perfect(
    task: kinds.Perfect, state: kinds.SampleState, replicas: Ints, shape: Shape, up: float, look: kinds.Look | None
) -> None:
    """Pairs from empty and from the ceiling, until they have met by now (kernels/cpu/sandwich.py); ceilings are taken
    `up` times as high."""
    kernel = Kernel("sandwich", shape, task.table, task.seed)
    pasts = Pasts(kernel, task, replicas, look)

    def launch(first: int, last: int, rows: int, low: Any, high: Any, met: Any) -> None:
        numbers = (np.uint32(task.stream), np.uint32(0))  # replicas are those of the walk
        kernel(rows, *numbers, np.int64(first), np.int64(last), np.int32(rows), low, high, met)

    n, under_way = task.initial, np.arange(len(replicas))
    found = mapped(state, np.zeros_like)
    while n <= task.longest and len(under_way):
        doublings = int(found.doublings[under_way[0]])
        low = np.zeros((len(under_way), task.table.servers), shape.real)
        high, met = np.full_like(low, task.ceiling * up + task.rise * up * doublings), np.full(len(low), -1, np.int64)
        pasts.run(n, launch, low, high, met)
        ready = met >= 0
        found.length[under_way[ready]] = n
        found.doublings[under_way[~ready]] += 1
        found.workload[under_way] = low
        n, under_way = 2 * n, under_way[~ready]
        pasts.keep(~ready)
    _give(kernel, found, state)


def _give(kernel: Kernel, found: kinds.SampleState, state: kinds.SampleState) -> None:
    """Samples into the state, if no list has run out of room."""
    kernel.see_to_room()
    for array, sampled in zip(state, found, strict=True):
        array[...] = sampled
