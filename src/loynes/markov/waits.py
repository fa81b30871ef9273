"""Waits of each class, exactly, from a solved queue.

Jobs are served in order, so how long one waits depends only on those ahead of it. Its wait is the time until it shows
its class, the same for all classes, and then the time until enough of the crew it finds has left. Means need only the
law of that crew. Variances and tails need both together: a recursion over the number of jobs ahead that have not shown
their class yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from loynes.markov.queue import Solved

Array = NDArray[Any]

# The recursion ends where what is left of the probability is below this.
NEGLIGIBLE = 1e-15
# Numerical inversion (Abate and Whitt's Euler algorithm): the error is about exp(-ACCURACY), plus rounding.
ACCURACY = 24.0
TERMS, AVERAGED = 30, 14
# Multiplications that a recursion may take, and steps that all the recursions of a tail may take.
MOST_MULTIPLICATIONS = 4e10
MOST_STEPS = 1_000_000
MOST_BYTES = 1 << 30
TRANSFORMS = TERMS + AVERAGED


@dataclass(frozen=True)
class Means:
    """Per class: the mean wait and the probability of none."""

    wait: Array
    no_wait: Array


def means(solved: Solved, mean_wait: float) -> Means:
    """Mean waits of the classes, given that of all jobs."""
    stages, crews = solved.queue.crews.stages, solved.queue.crews
    shown, free = solved.shown_beside(), solved.free_probability()
    after = np.array([shown @ _drained(solved, c, 1)[0] for c in range(len(stages.need))])
    before = mean_wait - float(stages.probability @ after)
    no_wait = np.array([math.fsum(free[crews.fits(c)]) for c in range(len(stages.need))])
    return Means(before + after, no_wait)


def _drained(solved: Solved, job_class: int, moments: int) -> list[Array]:
    """E[T], E[T^2], ... of the time T until a job of the class fits beside each crew, if nobody else starts."""
    alone, crews = solved.queue.alone, solved.queue.crews
    short = np.flatnonzero(~crews.fits(job_class))
    moved = (alone.leave + alone.change)[short][:, short]
    solver = splu(sp.csc_array(sp.diags_array(alone.total[short]) - moved)) if short.size else None
    results, right = [], np.ones(len(short))
    for k in range(1, moments + 1):
        value = np.zeros(len(crews))
        if solver is not None:
            value[short] = solver.solve(k * right)
        right = value[short]
        results.append(value)
    return results


def steps(solved: Solved) -> int:
    """How many jobs ahead the recursion has to look back on."""
    pi = solved.levels[-1] / solved.levels[-1].sum()
    fall = 0.0
    for _ in range(200):
        following = pi @ solved.fall
        fall = float(following.sum())
        pi = following / fall if fall > 0 else following
    if fall <= 0:
        return solved.top + 1
    return solved.top + 2 + int(math.log(NEGLIGIBLE) / math.log(min(fall, 1 - 1e-12)))


def multiplications(solved: Solved, columns: int) -> float:
    """Multiplications of one recursion with so many columns, about."""
    moves = solved.queue.moves
    entries = sum(m.nnz for m in (moves.stay, moves.change, moves.open, moves.grow, moves.block))
    return steps(solved) * (len(solved.fall) ** 2 + 4.0 * columns * (entries + len(solved.fall)))


def remembered(solved: Solved) -> bool:
    """Whether there is room for the probabilities that the recursion runs over."""
    return 8 * steps(solved) * len(solved.fall) <= MOST_BYTES


def moments(solved: Solved) -> tuple[Array, Array]:
    """E[wait] and E[wait^2] of each class; the first equals that of `means`, computed another way."""
    queue, classes = solved.queue, len(solved.queue.crews.stages.need)
    moves, free = queue.moves, solved.free_probability()
    solver = splu(sp.csc_array(sp.diags_array(moves.total) - moves.stay - moves.change))
    drained = [_drained(solved, c, 2) for c in range(classes)]
    first = np.column_stack([d[0] for d in drained])
    second = np.column_stack([d[1] for d in drained])
    total_1, total_2 = free @ first, free @ second
    for chance in _ahead(solved):
        blocked_1 = solver.solve(1.0 + moves.open @ first)
        blocked_2 = solver.solve(2.0 * blocked_1 + moves.open @ second)
        total_1, total_2 = total_1 + chance @ blocked_1, total_2 + chance @ blocked_2
        first = moves.grow @ first + moves.block @ blocked_1
        second = moves.grow @ second + moves.block @ blocked_2
    return total_1, total_2


def tails(solved: Solved, x: float) -> Array:
    """P(wait > x) of each class, x > 0, by numerical inversion of its Laplace transform."""
    total: Array = np.zeros(1)
    partial, ahead = [], _ahead(solved)
    for k in range(TRANSFORMS):
        s = (ACCURACY + 2j * math.pi * k) / (2.0 * x)
        value = ((1.0 - _transform(solved, s, ahead)) / s).real
        total = total + (0.5 if k == 0 else (-1) ** k) * value
        partial.append(total)
    weights = np.array([math.comb(AVERAGED - 1, j) for j in range(AVERAGED)]) / 2.0 ** (AVERAGED - 1)
    euler = weights @ np.array(partial[TERMS:])
    return np.asarray(np.clip(math.exp(0.5 * ACCURACY) / x * euler, 0.0, 1.0))


def _transform(solved: Solved, s: complex, ahead: Array) -> Array:
    """E[exp(-s wait)] of each class; `ahead` is that of `_ahead`."""
    queue, crews = solved.queue, solved.queue.crews
    moves, alone = queue.moves, queue.alone
    columns = []
    for c in range(len(crews.stages.need)):
        value = np.ones(len(crews), complex)
        short = np.flatnonzero(~crews.fits(c))
        if short.size:
            moved = alone.leave + alone.change
            ready = np.flatnonzero(crews.fits(c))
            system = sp.csc_array(sp.diags_array(alone.total[short] + s) - moved[short][:, short])
            value[short] = splu(system).solve(moved[short][:, ready] @ np.ones(len(ready), complex))
        columns.append(value)
    at_crew = np.column_stack(columns)
    total = solved.free_probability() @ at_crew
    solver = splu(sp.csc_array(sp.diags_array(moves.total + s) - moves.stay - moves.change))
    for chance in ahead:
        at_state = solver.solve(moves.open @ at_crew)
        total = total + chance @ at_state
        at_crew = moves.grow @ at_crew + moves.block @ at_state
    return np.asarray(total)


def _ahead(solved: Solved) -> Array:
    """[w, state]: the probability that an arrival meets a blocked state with w unshown jobs ahead of it."""
    queue = solved.queue
    size = queue.crews.size[queue.states.crew]
    count, longest = steps(solved), int(size[-1])
    by_level = np.zeros((count + longest + 1, len(size)))
    pi = solved.levels[-1]
    for level in range(1, len(by_level)):
        if level <= solved.top:
            b = queue.blocked(level)
            by_level[level, :b] = solved.levels[level][len(solved.levels[level]) - b :]
        else:
            pi = pi @ solved.fall
            by_level[level] = pi
    # A state with a crew of that size, its head, and w behind it is a level of w + size + 1 jobs.
    chance = np.empty((count, len(size)))
    edges = np.searchsorted(size, np.arange(longest + 2))
    for jobs in range(longest + 1):
        part = slice(edges[jobs], edges[jobs + 1])
        chance[:, part] = by_level[jobs + 1 : jobs + 1 + count, part]
    return chance
