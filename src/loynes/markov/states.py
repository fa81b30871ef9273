"""The states of the saturated system: who is in service, and who is blocked at the head of the line.

A crew is a set of jobs in service, counted by stage. Jobs are served in order, so at the head of the line waits a job
of a class that does not fit beside the crew; those behind it have not shown their class yet. When a job leaves and the
head starts, the next ones show their class one by one until one does not fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.markov.phases import Places, Stages

# Counting goes through all amounts of all resources; with more than so many, there are too many crews anyway.
MOST_AMOUNTS = 4_000_000
# Where there are more crews than these, nobody goes on counting.
MOST_COUNTED = 1e100


def count_crews(stages: Places) -> Array:
    """How many crews use exactly so much of every resource, without listing them: an array with an axis for each.

    Infinite where they are more than MOST_COUNTED.
    """
    amounts = tuple(stages.units + 1)
    if np.prod(amounts, dtype=np.float64) > MOST_AMOUNTS:
        return np.full((1,) * len(amounts), math.inf)
    ways = np.zeros(amounts)
    ways.flat[0] = 1.0
    for need, count in zip(stages.need, np.bincount(stages.of_class, minlength=len(stages.need)), strict=True):
        most = int(np.min(stages.units[need > 0] // need[need > 0]))
        if most < count * most.bit_length():
            # So many jobs in `count` stages, in comb(count + jobs - 1, jobs) ways.
            before = ways.copy()
            for jobs in range(1, most + 1):
                there, from_here = _shifted(jobs * need)
                ways[there] += min(math.comb(int(count) + jobs - 1, jobs), 2 * MOST_COUNTED) * before[from_here]
        else:
            for _ in range(count):
                # None or one more job in the stage, then none or two more, none or four more, ...: every number, once.
                for power in range(most.bit_length()):
                    there, from_here = _shifted(need << power)
                    ways[there] += ways[from_here].copy()
                if ways.max() > MOST_COUNTED:
                    break
        if ways.max() > MOST_COUNTED:
            return np.full((1,) * len(amounts), math.inf)
    return ways


def _shifted(by: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Amounts from there on, and those that they are so much more than."""
    return tuple(slice(int(n), None) for n in by), tuple(slice(None, -int(n) or None) for n in by)


def count_states(stages: Places, ways: Array) -> float:
    """How many states the saturated chain has: a crew (of which there are so many ways), and a class that does not fit
    beside it."""
    if not np.all(np.isfinite(ways)):
        return math.inf
    for axis in range(ways.ndim):
        ways = np.cumsum(ways, axis=axis)  # that use at most so much
    return math.fsum(float(ways.flat[-1] - ways[tuple(stages.units - need)]) for need in stages.need)


@dataclass(frozen=True)
class Crews:
    """All crews, in an order in which a larger crew comes after those it is made of."""

    stages: Stages
    count: NDArray[np.int32]  # [crew, stage]
    used: Ints  # [crew, resource]
    size: Ints  # jobs

    @classmethod
    def of(cls, stages: Stages) -> Crews:
        count = np.zeros((1, 0), np.int32)
        used = np.zeros((1, len(stages.units)), np.int64)
        for need in stages.stage_need:
            most = np.min((stages.units - used)[:, need > 0] // need[need > 0], axis=1)
            rows = np.repeat(np.arange(len(used)), most + 1)
            more = np.arange(len(rows)) - np.repeat(np.cumsum(most + 1) - (most + 1), most + 1)
            count = np.column_stack([count[rows], more.astype(np.int32)])
            used = used[rows] + more[:, None] * need
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
        return np.asarray(np.all(self.used + self.stages.need[job_class] <= self.stages.units, axis=1))


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


def chain_size(stages: Places) -> float:
    """The size of the larger of the two lists that the saturated chain is made of; infinite beyond MOST_COUNTED."""
    ways = count_crews(stages)
    return max(count_states(stages, ways), float(ways.sum()))


# Bytes of a state, measured: its own, those of every stage (counts, and keys while they are sorted), and those of the
# moves of every stage that a crew has jobs in.
STATE_BYTES, STAGE_BYTES, MOVE_BYTES = 40, 24, 160


def chain_bytes(stages: Places, size: float) -> float:
    """About what the saturated chain of a size takes while it is made and solved."""
    jobs = int(np.min((stages.units // np.maximum(stages.need.min(axis=0), 1)), initial=len(stages.of_class)))
    return size * (STATE_BYTES + STAGE_BYTES * len(stages.of_class) + MOVE_BYTES * min(jobs, len(stages.of_class)))
