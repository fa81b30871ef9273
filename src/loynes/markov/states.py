"""The states of the saturated system: who is in service, and who is blocked at the head of the line.

A crew is a set of jobs in service, counted by stage. Jobs are served in order, so at the head of the line waits a job
of a class that does not fit beside the crew; those behind it have not shown their class yet. When a job leaves and the
head starts, the next ones show their class one by one until one does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.markov.phases import Stages

Ints = NDArray[np.int64]


def count_crews(stages: Stages) -> list[int]:
    """How many crews use exactly 0, 1, ..., s servers, without listing them."""
    ways = [1] + [0] * stages.servers
    for need in stages.stage_need.tolist():
        for used in range(need, stages.servers + 1):
            ways[used] += ways[used - need]
    return ways


def count_states(stages: Stages) -> int:
    """How many states the saturated chain has: a crew, and a class that does not fit beside it."""
    too_large = [sum(1 for need in stages.need.tolist() if need > free) for free in range(stages.servers + 1)]
    return sum(n * too_large[stages.servers - used] for used, n in enumerate(count_crews(stages)))


@dataclass(frozen=True)
class Crews:
    """All crews, in an order in which a larger crew comes after those it is made of."""

    stages: Stages
    count: NDArray[np.int32]  # [crew, stage]
    used: Ints  # servers
    size: Ints  # jobs

    @classmethod
    def of(cls, stages: Stages) -> Crews:
        count = np.zeros((1, 0), np.int32)
        used = np.zeros(1, np.int64)
        for need in stages.stage_need:
            most = (stages.servers - used) // need
            rows = np.repeat(np.arange(len(used)), most + 1)
            more = np.arange(len(rows)) - np.repeat(np.cumsum(most + 1) - (most + 1), most + 1)
            count = np.column_stack([count[rows], more.astype(np.int32)])
            used = used[rows] + more * need
        size = count.sum(axis=1, dtype=np.int64)
        order = np.argsort(size, kind="stable")
        return cls(stages, count[order], used[order], size[order])

    def __len__(self) -> int:
        return len(self.used)

    @cached_property
    def _keys(self) -> tuple[Any, Any, Ints]:
        """A number for every crew, linear in its counts modulo 2^64; multipliers are drawn until no two are equal."""
        random = np.random.default_rng(0)
        while True:
            multiplier = random.integers(1, 2**64, self.count.shape[1], dtype=np.uint64)
            key = (self.count.astype(np.uint64) * multiplier).sum(axis=1, dtype=np.uint64)
            order = np.argsort(key).astype(np.int64)
            if np.all(np.diff(key[order]) > 0):
                return multiplier, key, order

    def changed(self, crews: Ints, stage: int | None, other: int | None) -> Ints:
        """The same crews less one job in `stage`, plus one in `other`; these must exist."""
        multiplier, key, order = self._keys
        wanted = key[crews]
        if stage is not None:
            wanted = wanted - multiplier[stage]
        if other is not None:
            wanted = wanted + multiplier[other]
        return np.asarray(order[np.searchsorted(key[order], wanted)])

    def fits(self, job_class: int) -> NDArray[np.bool_]:
        """Whether a job of the class can start beside each crew."""
        return np.asarray(self.used + self.stages.need[job_class] <= self.stages.servers)


@dataclass(frozen=True)
class Blocked:
    """The states proper: a crew and the class at the head of the line, which does not fit beside it."""

    crews: Crews
    crew: Ints
    head: Ints
    place: Ints  # [class, crew] -> state, or -1

    @classmethod
    def of(cls, crews: Crews) -> Blocked:
        classes = len(crews.stages.need)
        crew, head = [], []
        place = np.full((classes, len(crews)), -1, np.int64)
        total = 0
        for c in range(classes):
            stuck = np.flatnonzero(~crews.fits(c))
            place[c, stuck] = total + np.arange(len(stuck))
            crew.append(stuck)
            head.append(np.full(len(stuck), c))
            total += len(stuck)
        # By the size of their crews: the states of a level of the queue are then the first so many.
        order = np.argsort(crews.size[np.concatenate(crew)], kind="stable")
        rank = np.empty(total + 1, np.int64)
        rank[order] = np.arange(total)
        rank[-1] = -1
        return cls(crews, np.concatenate(crew)[order], np.concatenate(head)[order], rank[place])

    def __len__(self) -> int:
        return len(self.crew)
