"""The queue at an arrival rate: stationary probabilities, and the matrix T that waits are made of.

The system is free (all jobs are in service) or blocked: a crew, the class at the head of the line, and behind it w jobs
that have not shown their class. An arrival makes w one more; all else depends on w only in that no more than w jobs can
show their class. So three matrices say everything, in this order:

- where a fall ends: from each blocked state, beside which crew the jobs that have not shown their class become one
  fewer for the first time. A quasi-birth-death process, solved by logarithmic reduction (Latouche and Ramaswami 1993);
- the chain of free crews, in which a blocked time is one jump: its stationary probabilities;
- T, with y_w = y_0 R^w of blocked states with w unshown jobs and R = rate (rate - T)^-1.

docs/exact.md has the proofs. Nothing is subtracted (`elimination`), so small probabilities are as right as large ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from loynes.arrays import Array
from loynes.errors import LoynesError
from loynes.markov.decay import Decay, decay_rate
from loynes.markov.elimination import Dominant, stationary
from loynes.markov.saturated import Entries, Moves
from loynes.markov.states import Blocked

# The reduction doubles its reach a step; it ends where less than this part of all falls is beyond it.
BEYOND_REACH = 1e-18
MOST_DOUBLINGS = 64
# What a vector may still change by, relatively, in a doubling: in the next it would be the square.
ALIKE = 1e-8
# The relative error, of busy servers against what they must be, beyond which an answer is not given.
WORST = 1e-8


@dataclass(frozen=True)
class CrewMoves:
    """Moves of a crew on its own, while nobody starts: jobs leave, phases change."""

    leave: sp.csr_array
    change: sp.csr_array

    @classmethod
    def of(cls, states: Blocked) -> CrewMoves:
        crews, stages = states.crews, states.crews.stages
        leave, change = Entries(), Entries()
        for stage, rate in enumerate(stages.stopping):
            here = np.flatnonzero(crews.count[:, stage] > 0)
            leave.add(here, crews.changed(here, stage, None), rate * crews.count[here, stage])
        for stage, other in np.argwhere(stages.change > 0):
            here = np.flatnonzero(crews.count[:, stage] > 0)
            speed = stages.change[stage, other] * crews.count[here, stage]
            change.add(here, crews.changed(here, int(stage), int(other)), speed)
        n = len(crews)
        return cls(leave.matrix(n, n), change.matrix(n, n))


class Queue:
    """The process at one arrival rate."""

    def __init__(self, states: Blocked, rate: float) -> None:
        self.states, self.crews, self.rate = states, states.crews, rate
        self.moves = Moves.of(states)

    @cached_property
    def heads_start(self) -> Array:
        """[state, class]: the rate at which a head of the class starts."""
        opening = self.moves.open.sum(axis=1)
        return np.asarray(opening[:, None] * (self.states.head[:, None] == np.arange(len(self.crews.stages.need))))

    @cached_property
    def joins(self) -> Array:
        """[crew, class]: the probability that the next job to show its class is of that class, and fits."""
        stages = self.crews.stages
        return np.column_stack([p * self.crews.fits(c) for c, p in enumerate(stages.probability)])

    @property
    def bytes(self) -> int:
        """What the solution takes, about: a few matrices of states and crews, some dozens of states."""
        n, k = self.moves.open.shape
        return 8 * (6 * (n + k) ** 2 + 36 * n * n)


@dataclass(frozen=True, eq=False)
class Solved:
    """Stationary probabilities, and T, seen through the positive vector u with T u = -theta u, theta the decay rate.

    `rates` are those of the generator diag(1/u) (T + theta) diag(u), whose rows sum to 0: with it exp(T x) is
    exp(-theta x) times a matrix of probabilities, and nothing else in it shrinks with x.
    """

    queue: Queue
    decay: Decay
    free: Array  # of each crew, that it is alone in the system
    fall: Array  # [state, state]: R, by which probabilities fall for every job more that has not shown its class
    starts: Array  # [state, class]: the rate of waits that end
    weight: Array  # per state: u
    rates: Array  # [state, state], 0 on the diagonal
    residue: Array  # per state: (T u + theta u) / u, which is 0 but for rounding

    @cached_property
    def waiting(self) -> Dominant:
        """theta - generator: -T, seen through u."""
        return Dominant(self.rates, np.full(len(self.rates), self.decay.rate))

    @cached_property
    def blocked(self) -> Array:
        """Of each blocked state, its probability, whatever w is: rate (free block) (-T)^-1."""
        entered = self.queue.rate * (self.free @ self.queue.moves.block)
        return self.waiting.solve_left(entered * self.weight) / self.weight

    @cached_property
    def mean_jobs(self) -> float:
        """Those in service, the heads, and those behind them: the sum of w y_w is rate (blocked) (-T)^-1."""
        size, queue = self.queue.crews.size, self.queue
        behind = queue.rate * ((self.blocked * self.weight) @ self.waiting.solve(1.0 / self.weight))
        return math.fsum(self.free * size) + math.fsum(self.blocked * (1 + size[queue.states.crew])) + float(behind)

    def distribution(self, most: int, rest: float) -> Array:
        """P(n jobs in the system), n = 0, 1, ...: so many at most, until no more than the rest is left."""
        queue = self.queue
        size = queue.crews.size
        # A state with a crew of that size, its head, and w behind it is a level of w + size + 1 jobs.
        level = 1 + size[queue.states.crew]
        largest = int(level.max())
        found = np.zeros(most + largest + 1)
        np.add.at(found, np.minimum(size, most), self.free)
        chance, sure = self.free @ queue.moves.block, 0.0
        for w in range(most):
            chance = chance @ self.fall
            np.add.at(found, w + level, chance)
            sure += found[w]
            if sure >= 1.0 - rest:
                return found[: w + 1]
        return found[:most]


def solve(queue: Queue) -> Solved:
    """Stationary probabilities; refuses to answer where rounding has eaten too much."""
    moves, rate = queue.moves, queue.rate
    landing = falls(moves, rate)
    between = (moves.stay + moves.change).toarray() + rate * (landing @ moves.block)
    np.fill_diagonal(between, 0.0)
    starts = queue.heads_start + rate * (landing @ queue.joins)
    decay = decay_rate(moves, rate)
    # T and its rows' sums: rate minus starts.
    leaving = starts.sum(axis=1)
    fall = rate * Dominant(between, leaving).solve(np.eye(len(between)))
    weight = _positive(fall)
    rates = between * weight / weight[:, None]
    residue = rates.sum(axis=1) - between.sum(axis=1) - leaving + rate + decay.rate
    free = _free(queue, landing)
    solved = Solved(queue, decay, free, fall, starts, weight, rates, residue)
    total = math.fsum(free) + math.fsum(solved.blocked)
    solved = replace(solved, free=free / total)
    wrong = error(solved)
    if not wrong <= WORST:
        raise LoynesError(
            f"rate {rate:g} is too close to the threshold for exact answers: busy servers come out wrong by "
            f"a factor of {1.0 + wrong:.10g}"
        )
    return solved


def falls(moves: Moves, rate: float) -> Array:
    """[state, crew]: beside which crew the number of unshown jobs falls below where it started, after an arrival.

    A level of the process has the blocked states with w unshown jobs and the crews beside which the last of w + 1 is
    about to show its class: from a state it goes up by an arrival, to a crew one level down when the head starts; from
    a crew, in no time, to a state of the same level, or to a crew one level down. So steps up lead to states only,
    steps down to crews only, and matrices need only those columns. Rows of up and down sum to 1 together.
    """
    states = len(moves.total)
    block, opened = moves.block.toarray(), moves.open.toarray()
    within = Dominant((moves.stay + moves.change).toarray(), rate + opened.sum(axis=1))
    first_up, landing = within.solve(rate * np.eye(states)), within.solve(opened)
    up, down = np.vstack([first_up, block @ first_up]), np.vstack([landing, moves.grow + block @ landing])
    reach = first_up
    for _ in range(MOST_DOUBLINGS):
        whole = (up.sum(axis=1) + down.sum(axis=1))[:, None]
        up, down = up / whole, down / whole
        back = np.hstack([down @ up[states:], up @ down[:states]])
        up, down = up @ up[:states], down @ down[states:]
        both = Dominant(back, up.sum(axis=1) + down.sum(axis=1))
        up, down = both.solve(up), both.solve(down)
        landing = landing + reach @ down[:states]
        reach = reach @ up[:states]
        if reach.sum(axis=1).max() < BEYOND_REACH:
            break
    return np.asarray(landing / landing.sum(axis=1, keepdims=True))


def _positive(fall: Array) -> Array:
    """u > 0 with T u = -theta u, which is R's Perron vector, too: of R's powers, squared until only it is left."""
    weight = np.ones(len(fall))
    for _ in range(MOST_DOUBLINGS):
        before, weight = weight, fall.sum(axis=1)
        weight = weight / weight.max()
        if not weight.min() > 0:
            break
        if np.max(np.abs(before / weight - 1.0)) <= ALIKE:
            return np.asarray(weight)
        fall = fall @ fall
        fall = fall / fall.max()
    raise LoynesError("no exact waits: how likely long waits are depends too much on the state they begin in")


def _free(queue: Queue, landing: Array) -> Array:
    """Weights of the crews while nobody waits: a blocked time takes a crew to where it lands."""
    crews, stages, moves = queue.crews, queue.crews.stages, queue.moves
    alone = CrewMoves.of(queue.states)
    rates = (alone.leave + alone.change).toarray() + queue.rate * (moves.grow + moves.block @ landing)
    # Others are weighed against a crew that is as likely as any, or they might be too large for a number: the most
    # likely one if all could always start.
    load = np.log(np.maximum(queue.rate * stages.probability[stages.of_class] * stages.time, 1e-300))
    likely = crews.count @ load - gammaln(crews.count + 1.0).sum(axis=1)
    return stationary(rates, int(np.argmax(likely)))


def error(solved: Solved) -> float:
    """Busy servers against rate x E[need x service], which they must equal."""
    queue = solved.queue
    crews, stages = queue.crews, queue.crews.stages
    here = crews.used[queue.states.crew]
    busy = [
        math.fsum(solved.free * a) + math.fsum(solved.blocked * b) for a, b in zip(crews.used.T, here.T, strict=True)
    ]
    work = (stages.probability[:, None] * stages.need)[stages.of_class].T @ stages.time
    used = work > 0
    return float(np.max(np.abs(np.array(busy)[used] / (queue.rate * work[used]) - 1.0)))
