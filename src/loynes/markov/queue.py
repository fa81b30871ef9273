"""The queue itself as a quasi-birth-death process: levels are jobs in the system, phases who is in service and blocked.

At a level of m jobs the system is either free (all m are in service: a crew of that size) or blocked (a crew, the class
at the head of the line, and behind it jobs that have not shown their class). From the level above the largest crew on,
all levels look alike and probabilities fall by a matrix R a level; below, every level has its own matrices. Solved by
logarithmic reduction (Latouche and Ramaswami) and by elimination from the top level down.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from loynes.errors import LoynesError
from loynes.markov.saturated import Entries, Moves
from loynes.markov.states import Blocked

Array = NDArray[np.float64]

# Probabilities grow by many orders from the empty system on; they are scaled down when they pass this.
LARGE = 1e100
# Steps of plain iteration after the reduction.
POLISH = 6
# The relative error, of busy servers against what they must be, beyond which an answer is not given.
WORST = 1e-8


@dataclass(frozen=True)
class CrewMoves:
    """Moves of a crew on its own, while nobody starts: jobs leave, phases change."""

    leave: sp.csr_array
    change: sp.csr_array
    total: Array

    @classmethod
    def of(cls, states: Blocked) -> CrewMoves:
        crews, stages = states.crews, states.crews.stages
        leave, change, total = Entries(), Entries(), np.zeros(len(crews))
        for stage, rate in enumerate(stages.stopping):
            here = np.flatnonzero(crews.count[:, stage] > 0)
            speed = rate * crews.count[here, stage]
            leave.add(here, crews.changed(here, stage, None), speed)
            total[here] += speed
        for stage, other in np.argwhere(stages.change > 0):
            here = np.flatnonzero(crews.count[:, stage] > 0)
            speed = stages.change[stage, other] * crews.count[here, stage]
            change.add(here, crews.changed(here, int(stage), int(other)), speed)
            total[here] += speed
        n = len(crews)
        return cls(leave.matrix(n, n), change.matrix(n, n), total)


@dataclass(frozen=True)
class Level:
    """The matrices of one level: up, within, and down a level."""

    up: Array
    within: Array
    down: Array


class Queue:
    """The process at one arrival rate."""

    def __init__(self, states: Blocked, rate: float) -> None:
        self.states, self.crews, self.rate = states, states.crews, rate
        self.moves, self.alone = Moves.of(states), CrewMoves.of(states)
        self.largest = int(self.crews.size[-1])
        size = self.crews.size[self.states.crew]
        # Blocked states of level m: crews of fewer than m jobs. Free ones: crews of exactly m.
        self._blocked = np.searchsorted(size, np.arange(self.largest + 3), side="left")
        self._crews_below = np.searchsorted(self.crews.size, np.arange(self.largest + 4), side="left")

    def free(self, m: int) -> slice:
        """The crews of m jobs."""
        below = self._crews_below.tolist()
        return slice(below[min(m, len(below) - 1)], below[min(m + 1, len(below) - 1)])

    def blocked(self, m: int) -> int:
        """How many blocked states level m has: the first so many."""
        return int(self._blocked[min(m, len(self._blocked) - 1)])

    def width(self, m: int) -> int:
        free = self.free(m)
        return int(free.stop - free.start) + self.blocked(m)

    def filled(self, m: int) -> sp.linalg.SuperLU:
        """Solves for the crews passed through when a crew fills up at a level of m jobs in all (transposed)."""
        grow = self.moves.grow.copy()
        # At this level a crew of m has no one left to take in.
        keep = np.repeat(self.crews.size < m, np.diff(grow.indptr))
        grow.data = grow.data * keep
        return splu(sp.csc_array((sp.eye_array(len(self.crews)) - grow).T), "NATURAL", diag_pivot_thresh=0.0)

    def level(self, m: int) -> Level:
        free, above, under = self.free(m), self.free(m + 1), self.free(m - 1)
        b, b_up, b_down = self.blocked(m), self.blocked(m + 1), self.blocked(m - 1)
        f, moves, alone = free.stop - free.start, self.moves, self.alone
        up = np.zeros((self.width(m), self.width(m + 1)))
        shift = above.stop - above.start
        up[:f, :shift] = self.rate * moves.grow[free, above].toarray()
        up[:f, shift:] = self.rate * moves.block[free, :b_up].toarray()
        up[f + np.arange(b), shift + np.arange(b)] = self.rate
        within = np.zeros((self.width(m), self.width(m)))
        within[:f, :f] = alone.change[free, free].toarray()
        within[f:, f:] = moves.change[:b, :b].toarray()
        out = self.rate + np.concatenate([alone.total[free], moves.total[:b]])
        within[np.arange(len(out)), np.arange(len(out))] -= out
        down = np.zeros((self.width(m), self.width(m - 1))) if m else np.zeros((1, 0))
        if m:
            shift = under.stop - under.start
            down[:f, :shift] = alone.leave[free, under].toarray()
            if b:
                passed = self.filled(m - 1).solve(moves.open[:b].toarray().T).T
                down[f:, :shift] = passed[:, under]
                partial = passed * (self.crews.size < m - 1)
                down[f:, shift:] = moves.stay[:b, :b_down].toarray() + (moves.block.T @ partial.T).T[:, :b_down]
        return Level(up, within, down)

    @property
    def bytes(self) -> int:
        """What the solution keeps: one matrix a level, and a dozen of the largest."""
        widths = [self.width(m) for m in range(self.largest + 2)]
        return 8 * (sum(x * y for x, y in itertools.pairwise(widths)) + 12 * widths[-1] ** 2)


@dataclass(frozen=True, eq=False)
class Solved:
    """Stationary probabilities: of every state up to level `top`, and the matrix by which they fall from there on."""

    queue: Queue
    levels: list[Array]  # of levels 0 .. top
    fall: Array  # R

    @property
    def top(self) -> int:
        return len(self.levels) - 1

    @cached_property
    def beyond(self) -> Array:
        """The sum over all levels above the top."""
        rest = np.eye(len(self.fall)) - self.fall
        return np.asarray(np.linalg.solve(rest.T, self.levels[-1] @ self.fall))

    @cached_property
    def mean_jobs(self) -> float:
        rest = np.eye(len(self.fall)) - self.fall
        # The sum over j >= 1 of j pi R^j is pi R (I - R)^-2.
        more = float(np.linalg.solve(rest.T, self.beyond).sum())
        below = math.fsum(m * math.fsum(pi) for m, pi in enumerate(self.levels))
        return below + self.top * float(self.beyond.sum()) + more

    def free_probability(self) -> Array:
        """Of each crew, that it is alone in the system."""
        probability = np.zeros(len(self.queue.crews))
        for m, pi in enumerate(self.levels):
            free = self.queue.free(m)
            probability[free] = pi[: free.stop - free.start]
        return probability

    def blocked_probability(self) -> Array:
        """Of each blocked state, whatever the level."""
        probability = self.beyond.copy()
        for m, pi in enumerate(self.levels):
            b = self.queue.blocked(m)
            probability[:b] += pi[len(pi) - b :]
        return probability

    def shown_beside(self) -> Array:
        """Of each crew, the probability that a job shows its class beside it, as the next to start."""
        queue = self.queue
        shown = queue.rate * self.free_probability()
        for m, pi in enumerate(self.levels):
            b = queue.blocked(m)
            if b:
                passed = queue.filled(m - 1).solve(queue.moves.open[:b].T @ pi[len(pi) - b :])
                shown += passed * (queue.crews.size < m - 1)
        shown += queue.filled(self.top + 1).solve(queue.moves.open.T @ self.beyond)
        return shown / queue.rate

    def distribution(self, count: int) -> Array:
        """P(n jobs in the system), n = 0 .. count - 1."""
        probability = [math.fsum(pi) for pi in self.levels[:count]]
        pi = self.levels[-1]
        while len(probability) < count:
            pi = pi @ self.fall
            probability.append(float(pi.sum()))
        return np.array(probability)


def solve(queue: Queue) -> Solved:
    """Stationary probabilities; refuses to answer where rounding has eaten too much."""
    top = queue.largest + 1
    alike = queue.level(top + 1)
    fall = _fall(alike)
    factors: list[Array] = []
    down, later = alike.down, fall
    level = queue.level(top)
    for m in range(top, 0, -1):
        below = queue.level(m - 1)
        within = level.within + later @ down
        later = np.asarray(np.linalg.solve(-within.T, below.up.T).T, dtype=np.float64)
        factors.append(later)
        down, level = level.down, below
    levels = [np.ones(1)]
    for factor in reversed(factors):
        levels.append(levels[-1] @ factor)
        if levels[-1].max() > LARGE:
            levels = [pi / levels[-1].max() for pi in levels]
    solved = Solved(queue, levels, fall)
    total = math.fsum(math.fsum(pi) for pi in levels) + float(solved.beyond.sum())
    solved = Solved(queue, [pi / total for pi in levels], fall)
    wrong = error(solved)
    if not wrong <= WORST:
        raise LoynesError(
            f"rate {queue.rate:g} is too close to the threshold for exact answers: busy servers come out wrong by "
            f"a factor of {1.0 + wrong:.10g}"
        )
    return solved


def _fall(level: Level) -> Array:
    """R of the levels that look alike, from G by logarithmic reduction."""
    inverse = np.linalg.inv(-level.within)
    up, down = inverse @ level.up, inverse @ level.down
    first, ways = down.copy(), up.copy()
    identity = np.eye(len(up))
    for _ in range(64):
        both = np.linalg.inv(identity - (up @ down + down @ up))
        up, down = both @ (up @ up), both @ (down @ down)
        first += ways @ down
        ways = ways @ up
        if ways.max() < 1e-16:
            break
    # Near the threshold the reduction loses digits. Below it every level is left downwards, so rows sum to 1; a few
    # steps of the plain iteration, whose only slow direction that takes out, bring the digits back.
    for _ in range(POLISH):
        first /= first.sum(axis=1, keepdims=True)
        first = np.asarray(np.linalg.solve(-(level.within + level.up @ first), level.down), dtype=np.float64)
    first /= first.sum(axis=1, keepdims=True)
    return np.asarray(np.linalg.solve(-(level.within + level.up @ first).T, level.up.T).T)


def error(solved: Solved) -> float:
    """Busy servers against rate x E[need x service], which they must equal."""
    queue = solved.queue
    crews = queue.crews
    free, blocked = solved.free_probability(), solved.blocked_probability()
    here = crews.used[queue.states.crew]
    busy = [math.fsum(free * a) + math.fsum(blocked * b) for a, b in zip(crews.used.T, here.T, strict=True)]
    stages = crews.stages
    generator = stages.change - np.diag(stages.change.sum(axis=1) + stages.stopping)
    mean = np.linalg.solve(-generator, np.ones(len(generator)))
    work = (stages.probability[:, None] * stages.need)[stages.of_class].T @ (stages.initial * mean)
    used = work > 0
    return float(np.max(np.abs(np.array(busy)[used] / (queue.rate * work[used]) - 1.0)))
