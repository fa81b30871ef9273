"""Slow and plain computations to hold exact answers against: fifty digits, and a queue followed event by event."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from scipy.special import gammaln

import loynes
from loynes.markov import queue, saturated
from loynes.markov.phases import Stages
from loynes.markov.states import Blocked, Crews


def states_of(model: loynes.Model) -> Blocked:
    stages = Stages.of(model)
    assert not isinstance(stages, str)
    return Blocked.of(Crews.of(stages))


def exactly(matrix: Any) -> Any:
    """The same numbers, as numbers of fifty digits."""
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    return np.vectorize(lambda x: mpmath.mpf(float(x)), otypes=[object])(dense)


def inverse(matrix: Any) -> Any:
    """By elimination, in as many digits as the entries have."""
    size = len(matrix)
    work = np.hstack([matrix, exactly(np.eye(size))])
    for j in range(size):
        pivot = j + int(np.argmax([abs(x) for x in work[j:, j]]))
        work[[j, pivot]] = work[[pivot, j]]
        work[j] = work[j] / work[j, j]
        for i in range(size):
            if i != j:
                work[i] = work[i] - work[i, j] * work[j]
    return work[:, size:]


class FiftyDigits:
    """T by plain iteration from the equations of docs/exact.md, the rest by plain linear algebra: no code in common."""

    def __init__(self, model: loynes.Model, rate: float) -> None:
        states = states_of(model)
        moves, alone, crews = saturated.Moves.of(states), queue.CrewMoves.of(states), states.crews
        n, k = moves.open.shape
        lam = mpmath.mpf(rate)
        within, opened, grow, block = (
            exactly(m) for m in (moves.stay + moves.change, moves.open, moves.grow, moves.block)
        )
        base = within - np.diag(within.sum(axis=1) + opened.sum(axis=1))
        one = exactly(np.eye(n))
        landing, last = exactly(np.full((n, k), 1.0 / k)), mpmath.mpf(1)
        for _ in range(1000):
            ahead = lam * one - base - lam * landing @ block
            found = inverse(ahead) @ (opened + lam * landing @ grow)
            found = found / found.sum(axis=1)[:, None]
            change, landing = max(abs(x) for x in (found - landing).ravel()), found
            if change < mpmath.mpf(10) ** -49 or (change >= last and change < mpmath.mpf(10) ** -47):
                break
            last = change
        self.t = base + lam * landing @ block
        out = exactly(alone.leave + alone.change) + lam * (grow + block @ landing)
        out = out - np.diag(out.sum(axis=1))
        out[:, 0] = mpmath.mpf(1)  # in place of an equation that the others give: probabilities sum to 1
        free = inverse(out)[0]
        blocked = lam * (free @ block) @ inverse(-self.t)
        total = mpmath.fsum(free) + mpmath.fsum(blocked)
        self.start = blocked / total
        self.no_wait = [mpmath.fsum((free / total)[crews.fits(c)]) for c in range(len(model.classes))]
        ends = []
        for c, p in enumerate(crews.stages.probability):
            at_head = opened.sum(axis=1) * (states.head == c)
            ends.append((at_head + lam * landing @ exactly(p * crews.fits(c))) / (lam * mpmath.mpf(float(p))))
        self.ends = np.array(ends).T

    @property
    def decay(self) -> tuple[Any, Any, Any]:
        """The decay rate, and T's right and left vectors: by inverse iteration from a rough guess."""
        guess = max(np.linalg.eigvals(self.t.astype(float)).real)
        near = inverse(self.t - mpmath.mpf(guess) * (1 - mpmath.mpf(10) ** -8) * exactly(np.eye(len(self.t))))
        right = left = exactly(np.ones(len(self.t)))
        for _ in range(12):
            right, left = near @ right, left @ near
            right, left = right / right.sum(), left / left.sum()
        return -(left @ self.t @ right) / (left @ right), right, left

    @property
    def constants(self) -> Any:
        _, right, left = self.decay
        return (self.start @ right) * (left @ self.ends) / (left @ right)

    def exceeds(self, x: float) -> Any:
        """Y exp(T x) u_c / (rate p_c): T x + q x has no negative entries, so fifty digits stay about fifty."""
        halvings = max(int(math.log2(max(x, 1e-3) * float(max(-self.t.diagonal())))) + 4, 0)
        q = max(-self.t.diagonal())
        small = (self.t + q * exactly(np.eye(len(self.t)))) * (mpmath.mpf(x) / 2**halvings)
        term = total = exactly(np.eye(len(small)))
        for j in range(1, 40):
            term = term @ small / j
            total = total + term
        for _ in range(halvings):
            total = total @ total
        return (self.start @ total @ self.ends) * mpmath.exp(-q * mpmath.mpf(x))

    def moment(self, k: int) -> Any:
        once = inverse(-self.t)
        ends = self.ends
        for j in range(1, k + 1):
            ends = j * (once @ ends)
        return self.start @ ends


def step_by_step(model: loynes.Model, rate: float, x: float, most: int) -> list[float]:
    """P(wait > x) of each class with no theory but the chain's own: at most so many jobs may be waiting unshown.

    Stationary probabilities of the cut-off queue by one sparse factorisation; then a job arrives, meets one of its
    states, and waits while nobody else arrives behind it: steps of the chain at the events of a Poisson process. All of
    these are sums without subtraction, so that doubles do.
    """
    states = states_of(model)
    moves, alone, crews = saturated.Moves.of(states), queue.CrewMoves.of(states), states.crews
    n, k = moves.open.shape
    levels, up = sp.eye_array(most), sp.eye_array(most, k=1)
    down, first = sp.eye_array(most, k=-1), sp.csr_array(([1.0], ([0], [0])), shape=(1, most))
    # Blocked states with w jobs unshown; crews with w jobs to show, passed in no time; free crews are those with none.
    within = sp.kron(levels, moves.stay + moves.change) + rate * sp.kron(up, sp.eye_array(n))
    lower = sp.kron(levels, moves.open)
    shown, filled = sp.kron(down, moves.block), sp.kron(down, moves.grow)
    free = alone.leave + alone.change + rate * moves.grow
    # A crew with one job to show, which fits, is free; w = 0 after an opening is free, too.
    second = sp.csr_array(([1.0], ([1], [0])), shape=(most, 1))
    to_free = sp.csr_array(sp.vstack([sp.kron(first.T, moves.open), sp.kron(second, moves.grow)]))
    lower = sp.csr_array(lower) * (np.arange(most * k) >= k)  # with none unshown, an opening leads to a free crew
    filled = sp.csr_array(filled) * (np.arange(most * k) >= k)
    whole = sp.block_array(
        [
            [within, lower, to_free[: most * n]],
            [shown, filled, to_free[most * n :]],
            [rate * sp.kron(first, moves.block), None, free],
        ]
    )
    balance = sp.csc_array((whole - sp.diags_array(np.maximum(whole.sum(axis=1), 1e-30))).T)
    size = balance.shape[0]
    fixed = size - k  # the empty system
    keep = np.delete(np.arange(size), fixed)
    part = sp.csc_array(balance[keep][:, keep])
    rest = splu(part, "NATURAL", diag_pivot_thresh=0.0).solve(-balance[keep][:, [fixed]].toarray().ravel())
    weight = np.insert(rest, fixed, 1.0)
    blocked, alone_now = weight[: most * n].reshape(most, n), weight[-k:]
    total = blocked.sum() + alone_now.sum()
    waiting, own = blocked / total, np.zeros((len(model.classes), n))
    blocks = [sp.csr_array((np.ones(len(at)), (at, states.place[c, at])), shape=(k, n)).toarray()
              for c in range(len(own)) for at in [np.flatnonzero(~crews.fits(c))]]  # fmt: skip
    own += (alone_now / total) @ blocks
    q = float(moves.total.max())
    stay = np.asarray(((moves.stay + moves.change) / q).toarray()) + np.diag(1.0 - moves.total / q)
    opened, grow, block = moves.open.toarray() / q, moves.grow.toarray(), moves.block.toarray()
    left, count = [], int(q * x + 14.0 * math.sqrt(q * x) + 60)
    for _ in range(count):
        left.append(waiting.sum() + own.sum(axis=1))
        show, waiting, own = waiting @ opened, waiting @ stay, own @ stay
        for _ in range(int(crews.size.max()) + 1):
            own += show[0] @ blocks
            waiting[:-1] += show[1:] @ block
            show = np.vstack([show[1:] @ grow, np.zeros((1, k))])
    j = np.arange(count)
    return list(np.exp(j * math.log(q * x) - q * x - gammaln(j + 1.0)) @ np.array(left))
