"""Independent piles that can always be piled higher."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.execution.deadline import Stopped
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_PILE
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.engine import Engine, Pile, PileState, Regeneration, mapped
from loynes.kernels.tally import new_heap
from loynes.threshold.controls import Mix

# Jobs of a class, expected in all replicas together, from which on its controls are used.
OFTEN = 64


class Piles:
    """Replicas of the pile, all of the same length."""

    def __init__(
        self,
        table: JobTable,
        needs: Needs,
        mix: Mix,
        *,
        seed: int,
        replicas: int,
        first: int = 0,
        stream: int = STREAM_PILE,
        start: Array | None = None,
        observe: bool = True,
        engine: Engine,
    ) -> None:
        """Replicas first, first + 1, ...: flat, or all from the same heights; HOL loss is known if it is observed."""
        numbers = np.arange(first, first + replicas)
        self.table, self.mix, self.replicas = table, mix, replicas
        self.length = 0
        self.numbers, self._given = (first, stream), (needs, seed)
        self._engine, self._rows = engine, (table, seed, stream, numbers)
        # Random assignment (all servers of a job are drawn, and nobody waits his turn) has a kernel of its own, which
        # keeps track of who is where.
        random = len(table.units) == 1 and not table.demand.any() and not table.strict
        self._task = Pile(*self._rows, needs, mix.blockers, random, observe)
        heap = new_heap(replicas, len(table.need), len(mix.blocking), len(table.units))
        places = start_places(table.arrivals, seed, stream, numbers)
        heights = np.zeros((replicas, table.servers))
        self.start = start
        if start is not None:
            heights += start
        self._state = PileState(heights, places, heap)

    @property
    def jobs(self) -> int:
        return self.replicas * self.length

    @property
    def random(self) -> bool:
        """Whether servers are drawn blindly, so that heights have no order."""
        return self._task.random

    def others(self, start: Array | None) -> Piles:
        """As many replicas that know nothing of these, from other heights, and not observed."""
        needs, seed = self._given
        first, stream = self.numbers
        return Piles(
            self.table, needs, self.mix, seed=seed, replicas=self.replicas, first=first + self.replicas, stream=stream,
            start=start, observe=False, engine=self._engine,
        )  # fmt: skip

    def extend(self, length: int) -> None:
        """Pile up to `length` jobs a replica."""
        try:
            self._engine.run(self._task, self._state, self.length, length)
        except Stopped as stopped:
            self.length = stopped.at
            raise
        self.length = length

    def workload(self) -> Array:
        """The heights of every server, ascending within a kind, one row a replica."""
        heights = self._state.heights
        ordered = np.sort(heights, axis=1) if self._task.random else heights
        return np.asarray(self._state.heap.base[:, None] + ordered)

    def state(self) -> Heights:
        """The piles as they are now; top and bottom above the heights that they started from."""
        return self._heights(self._state)

    def regenerated(self) -> Heights:
        """The piles just after the first job from now on that needs all servers; the piles themselves stay."""
        state = mapped(self._state, np.copy)
        self._engine.run(Regeneration(*self._rows, self.mix.blockers, self.length), state, 0, self.replicas)
        return self._heights(state)

    def _heights(self, state: PileState) -> Heights:
        heap = state.heap
        lost = heap.loss if self._task.random else heap.loss * self._engine.look_every(self.table)
        if self.start is None:
            top, bottom = (heap.base + end for end in (state.heights.max(axis=1), state.heights.min(axis=1)))
        else:
            risen = self.workload() - self.start
            top, bottom = risen.max(axis=1), risen.min(axis=1)
        return Heights(
            self.length, top, bottom, lost.copy(), heap.jobs.copy(), heap.service.copy(), heap.blocked.copy()
        )


class Pairs:
    """The same jobs piled twice: on heights that they hardly rise above, and on such that they hardly fall below.

    Tops are those of the first, bottoms those of the second, so that both ends of a bracket come from where they are
    close. Stopped in between, the piles count as they were when both were of one length.
    """

    def __init__(self, upper: Piles, lower: Piles) -> None:
        self.table, self.mix, self.replicas, self.length = upper.table, upper.mix, upper.replicas, 0
        self._upper, self._lower, self._state = upper, lower, upper.state()

    @property
    def jobs(self) -> int:
        return self._upper.jobs + self._lower.jobs

    def extend(self, length: int) -> None:
        """Pile up to `length` jobs a replica."""
        for piles in (self._upper, self._lower):
            piles.extend(length)
        self.length, below = length, self._lower.state()
        self._state = replace(self._upper.state(), bottom=below.bottom)

    def state(self) -> Heights:
        """The piles as they are now."""
        return self._state


@dataclass(frozen=True)
class Heights:
    """The piles after `length` jobs each, or what they gained between two lengths."""

    length: int
    top: Array
    bottom: Array
    loss: Array  # [replica, kind], expected HOL loss, summed over jobs
    count: Ints
    service: Array
    blocked: Array  # longest services that blockers had to wait for, summed

    @classmethod
    def together(cls, parts: list[Heights]) -> Heights:
        """Replicas of the same length, in one."""
        length, *arrays = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(length[0], *map(np.concatenate, arrays))

    def since(self, earlier: Heights) -> Heights:
        return Heights(*(now - then for now, then in zip(vars(self).values(), vars(earlier).values(), strict=True)))

    def controls(self, mix: Mix, before: int = 0) -> Array:
        """Deviations a job, of expectation 0, of the jobs before .. before + length - 1 (see controls.py)."""
        expected = mix.longest_waited_for(before + self.length) - mix.longest_waited_for(before)
        blocked = (self.blocked - expected) / self.length
        return enough_replicas(np.hstack([self.plain_controls(mix), blocked[:, self.often(mix, mix.blocking)]]))

    def plain_controls(self, mix: Mix) -> Array:
        """Only class counts and services: also of expectation 0 at a stopping time (Wald)."""
        jobs = self.count.sum(axis=1, keepdims=True)
        counts = (self.count - jobs * mix.probability) / self.length
        services = (self.service - self.count * mix.mean) / self.length
        counted, weighed = (chosen[self.often(mix, chosen)] for chosen in (mix.counted, mix.weighed))
        return np.hstack([counts[:, counted], services[:, weighed]])

    def often(self, mix: Mix, classes: Ints) -> NDArray[np.bool_]:
        """Which of the classes all replicas together see often enough for a regression not to hang on a few of them."""
        return mix.probability[classes] * self.length * len(self.top) >= OFTEN


def enough_replicas(controls: Array) -> Array:
    """The controls, or none if there are too few replicas for a regression."""
    return controls if len(controls) >= 2 * (2 + controls.shape[1]) else controls[:, :0]
