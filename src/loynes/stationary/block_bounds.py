"""How short the time A can be in which a block of jobs arrives: ln E[exp(-theta A)], whatever comes after the block.

The majorant's workload is a supremum over sums into the past, so what must hold holds given the place x of the arrival
process at the block's later end, for the worst x. Independent gaps have no place; a modulated process, run backward,
has the matrix G of E[exp(-theta gap); place before | place after]; recorded gaps have finitely many places.

A rate that repeats with a cycle has a continuum of them, and an exact solution. Let r be the mean rate, Lambda(t) the
jobs expected until t and f(t) = Lambda(t) - r t, which repeats, too. From a job at t back to the one before, at t', an
exponential e = Lambda(t) - Lambda(t') passes in the time t - t' = (e - f(t) + f(t')) / r. So for h = exp(theta f / r),

    E[exp(-theta (t - t')) h(t') | t]  =  h(t) E[exp(-theta e / r)]  =  h(t) / (1 + theta / r),

and over a block of K jobs, as 1 <= h / min h, E[exp(-theta A) | t] <= (1 + theta / r)^-K max h / min h for every t. The
rate is constant in every slot, so f is largest and least where slots meet. It is as good as can be but for the last
factor: with min and max exchanged it is a lower bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import MODULATED, PERIODIC, POISSON, RECORDED, ArrivalTable, parts_of
from loynes.inputs.cells import cells, tail_edges
from loynes.inputs.tables import JobTable

Array = NDArray[np.float64]

# Cells that a renewal's gap is cut into: their smallest values shorten it by about 1 / CELLS.
CELLS = 1 << 15


class Gaps:
    """The arrivals of a table, as the certificate sees them; gaps may be shortened by an allowance for each job."""

    def __init__(self, table: JobTable, allowance: float = 0.0) -> None:
        self._table, self._arrivals, self.allowance = table, table.arrivals, allowance
        if table.arrivals.process not in (POISSON, MODULATED, RECORDED, PERIODIC):
            self._weight, self._shortest = _shortest_gaps(table)
        if table.arrivals.sizes:
            size = np.diff(parts_of(table.arrivals).size.astype(np.float64) * 2.0**-32, prepend=0.0)
            self._jobs = np.asarray(np.flatnonzero(size) + 1.0, np.float64)
            self._likely = size[size > 0]
        if table.arrivals.process == MODULATED:
            self._found = np.diff(parts_of(table.arrivals).start.astype(np.float64), prepend=0.0) > 0
            self._into, self._stop, self._stay, self._time = _reversed(table.arrivals)
        self._log = lru_cache(maxsize=256)(self._find)

    def log(self, block: int, theta: float) -> float:
        """An upper bound of ln E[exp(-theta A)], A the time of a block of jobs, given the worst place after it."""
        return float(self._log(block, theta)) + theta * block * self.allowance

    def _find(self, block: int, theta: float) -> float:
        t = self._arrivals
        if t.process == POISSON:
            return -block * math.log1p(theta * self._table.gap_mean)
        if t.process == RECORDED:
            return -theta * _shortest_window(t.time, block)
        if t.process == PERIODIC:
            return _round_a_cycle(t, block, theta, self._table.gap_mean)
        if t.process == MODULATED:
            one = self._modulated(theta)
        else:
            one = np.array([[float(self._weight @ np.exp(-theta * self._shortest))]])
        return _batches(one, self._jobs, self._likely, block) if t.sizes else _power(one, block)

    def _modulated(self, theta: float) -> Array:
        """E[exp(-theta gap); phase after job n | phase after job n + 1]."""
        shrink = 1.0 / (1.0 + theta * self._time)
        walked = np.linalg.solve(np.eye(len(shrink)) - shrink[:, None] * self._stay, np.diag(shrink * self._stop))
        # Only phases that a job can find just after an arrival.
        return np.asarray((self._into @ walked)[np.ix_(self._found, self._found)])


def _shortest_gaps(table: JobTable) -> tuple[Array, Array]:
    """A renewal's gap as a law that lies below it."""
    edges = np.unique(np.concatenate([np.linspace(0.0, 1.0, CELLS + 1)[1:-1], tail_edges(721)]))
    weight, smallest, _ = cells(table, len(table.need), edges)
    # What the cells leave out counts as no gap at all.
    missing = max(0.0, 1.0 - float(weight.sum()))
    return np.append(weight, missing), np.append(smallest, 0.0) * table.arrivals.time[0]


def _reversed(t: ArrivalTable) -> tuple[Array, Array, Array, Array]:
    """The moves of the reversed process, as they are drawn: through an arrival; its end; between phases; mean stays."""
    m, moves = t.phases, parts_of(t)
    into, stay, stop = np.zeros((m, m)), np.zeros((m, m)), np.zeros(m)
    for i in range(m):
        for row, matrix in ((2 * m + i, into), (m + i, stay)):
            mine = slice(moves.first[row], moves.first[row + 1])
            cut = moves.move[mine].astype(np.float64) * 2.0**-32
            for to, p in zip(moves.to[mine], np.diff(cut, prepend=0.0), strict=True):
                if to & 1:
                    stop[i] += p
                else:
                    matrix[i, to >> 1] += p
    return into, stop, stay, t.time


def _power(one: Array, block: int) -> float:
    """ln of the largest entry of (one^block) 1."""
    log, vector, square, scale = 0.0, np.ones(len(one)), one, 0.0
    while block:
        if block & 1:
            vector = square @ vector
            top = float(vector.max())
            vector, log = vector / top, log + math.log(top) + scale
        block >>= 1
        if block:
            square = square @ square
            top = float(square.max())
            square, scale = square / top, 2.0 * scale + math.log(top)
    return log


def _batches(one: Array, jobs: Array, likely: Array, block: int) -> float:
    """The same with batches of S jobs: at most g beta^block h, with one h = root h, h > 0, and root E[beta^-S] <= 1.

    For then, looking back over k jobs from the last of a batch, u_k = E[one u_(k-S); S <= k] + P(S > k) lies below
    g beta^k h for all k by induction, if g root h >= 1. From inside a batch the rest of it comes first.
    """
    values, vectors = np.linalg.eig(one)
    largest = int(np.argmax(values.real))
    root, h = float(values[largest].real), np.abs(vectors[:, largest].real)
    log_beta = _decay(jobs, likely, -math.log(root))
    if -log_beta * jobs[-1] > 600.0 or not h.min() > 0:  # powers that are no numbers any more
        return 0.0
    # Of a batch with r jobs still to come, S - r of the jobs before: the most that E[beta^-(S - r) | S > r] can be.
    # Between two sizes it falls with r, so 0 and the sizes themselves are enough.
    beyond = np.cumsum(likely[::-1])[::-1]
    weighed = np.cumsum((likely * np.exp(-log_beta * (jobs - jobs[-1])))[::-1])[::-1]
    first = np.concatenate([[0.0], jobs[:-1]])
    rest = float(np.max(np.log(weighed / beyond) - log_beta * (jobs[-1] - first)))
    return min(0.0, block * log_beta + math.log(h.max() / h.min()) + rest)


def _decay(jobs: Array, likely: Array, target: float) -> float:
    """ln beta with ln E[beta^-S] = target, or a little less: Newton's method from below, where it is convex."""
    x = -target / float(likely @ jobs)
    for _ in range(100):
        top = -x * jobs[-1]
        powers = likely * np.exp(-x * jobs - top)
        total = float(powers.sum())
        over = top + math.log(total) - target
        step = over * total / float(powers @ jobs)
        x += step
        if abs(step) <= 1e-13 * abs(x):
            break
    return x * (1.0 - 1e-9)


def _round_a_cycle(t: ArrivalTable, block: int, theta: float, gap_mean: float) -> float:
    mass, unit = t.time[: t.phases], float(t.time[t.phases + 1])
    even = mass.mean()
    beyond = np.concatenate([[0.0], np.cumsum(mass - even)])  # f where slots meet
    swing = float(np.ptp(beyond)) * (1.0 + 1e-9)
    # A job is at most a unit away from where it would be, and h there by what its slot's rate makes of a unit.
    rounding = unit * (2.0 + float(mass.max() / even))
    return min(0.0, theta * (gap_mean * swing + block * rounding) - block * math.log1p(theta * gap_mean))


def _shortest_window(gaps: Array, block: int) -> float:
    """The least time that a block of consecutive recorded gaps takes, round and round."""
    rounds, rest = divmod(block, len(gaps))
    total = float(gaps.sum())
    if rest == 0:
        return rounds * total
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([gaps, gaps[:rest]]))])
    window = float(np.min(sums[rest : rest + len(gaps)] - sums[: len(gaps)]))
    # Rounding of the sums must not lengthen it.
    return rounds * total + max(0.0, window - 1e-12 * float(sums[-1]))
