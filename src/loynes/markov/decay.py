"""How fast tails of waits decay: P(wait > x) ~ C exp(-theta x), with theta from sparse matrices alone.

While all servers have work, jobs start as in the saturated chain. Give every start the weight z: of the weighted chain,
let k(z) be the Perron root, the rate at which E[z^(starts until t)] grows. Then theta > 0 is the one root of
k(rate / (rate + theta)) + theta (docs/exact.md has the proof). This function of theta is convex, 0 at 0, and falls
there as long as the rate is below the threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from loynes.arrays import Array
from loynes.errors import SamplingError
from loynes.markov.saturated import Moves

# Newton's steps, and steps towards a Perron vector; each is quadratic once it is near.
MOST_STEPS, MOST_TURNS, FEW_TURNS = 200, 60, 8
# Bounds of the Perron root, relative to theta, when a Perron vector is good enough: the root's error is its square.
NEAR_ENOUGH = 1e-9
# Newton's steps below this are rounding.
LEAST = 4e-16
# Roundings of a term of the root's sum, and some to spare.
ROUNDINGS = 8.0


@dataclass(frozen=True)
class Decay:
    """theta, and about its relative error."""

    rate: float
    doubt: float


class WeightedStarts:
    """The saturated chain with starts weighted, and theta on the diagonal: its Perron root, as a function of theta."""

    def __init__(self, moves: Moves, rate: float) -> None:
        self._moves, self._rate = moves, rate
        self._within = sp.coo_array(moves.stay + moves.change)
        self._open, self._grow, self._block = (sp.coo_array(m) for m in (moves.open, moves.grow, moves.block))
        self.most = float(moves.total.min())  # no root lies above the slowest state's rate
        states, crews = moves.open.shape
        # Right and left vectors: states first, then the crews that are passed through.
        self._right, self._left = np.ones(states + crews), np.ones(states + crews)
        self.rounding = 0.0  # about the error of the last root

    def value(self, theta: float) -> tuple[float, float]:
        """The Perron root and its derivative."""
        self._turn(theta)
        states = len(self._moves.total)
        u, psi = self._right[:states], self._right[states:]
        v, phi = self._left[:states], self._left[states:]
        less = theta / (self._rate + theta)  # 1 - weight of a start
        terms = []
        # Differences of entries in place of entries on the diagonal, which are sums of all the others: what matters is
        # small beside these, and would drown in their rounding.
        for matrix, left, right, here, there in (
            (self._within, v, u, u, 0.0),
            (self._open, v, psi, u, less),
            (self._block, phi, u, psi, 0.0),
            (self._grow, phi, psi, psi, less),
        ):
            i, j = matrix.coords
            terms.append(left[i] * matrix.data * ((right[j] - here[i]) - there * right[j]))
        starts = math.fsum(self._open.data * v[self._open.coords[0]] * psi[self._open.coords[1]])
        starts += math.fsum(self._grow.data * phi[self._grow.coords[0]] * psi[self._grow.coords[1]])
        time = math.fsum(v * u)
        root = theta + math.fsum(np.concatenate(terms)) / time
        slope = 1.0 - self._rate / (self._rate + theta) ** 2 * starts / time
        self.rounding = ROUNDINGS * 2.0**-53 * math.sqrt(math.fsum(np.concatenate(terms) ** 2)) / time
        return root, slope

    def _turn(self, theta: float) -> None:
        """Both vectors towards the Perron vectors: inverse iteration, shifted to the root's upper bound (Noda 1971)."""
        moves, states = self._moves, len(self._moves.total)
        weight = self._rate / (self._rate + theta)
        shift = theta  # all weights are at most 1, and rows of the unweighted chain sum to 0
        nearest = math.inf
        fill = sp.eye_array(len(self._right) - states) - weight * moves.grow
        for turn in range(MOST_TURNS):
            diagonal = sp.diags_array(moves.total + (shift - theta))
            factors = splu(
                sp.csc_array(
                    sp.block_array([[diagonal - moves.stay - moves.change, -weight * moves.open], [-moves.block, fill]])
                )
            )
            before = self._right[:states].copy()
            self._right = _solved(factors, self._right, states, "N")
            self._left = _solved(factors, self._left, states, "T")
            ratio = before / self._right[:states]
            self._right /= self._right.max()
            self._left /= self._left.max()
            low, high = shift - ratio.max(), shift - ratio.min()
            # Small entries of a vector may never settle, but then they do not matter.
            if high - low <= NEAR_ENOUGH * theta or (high - low > 0.9 * nearest and turn >= FEW_TURNS):
                return
            nearest = min(nearest, high - low)
            # A little above the bound: at the root itself there would be nothing to solve.
            shift = high + 1e-3 * NEAR_ENOUGH * theta


def _solved(factors: Any, vector: Array, states: int, transposed: str) -> Array:
    """Without negative entries, but for rounding, which is turned around."""
    right = np.zeros(len(vector))
    right[:states] = vector[:states]
    return np.asarray(np.abs(factors.solve(right, transposed)))


def decay_rate(moves: Moves, rate: float) -> Decay:
    """theta of P(wait > x) ~ C exp(-theta x), at a rate below the threshold; right to about fifteen digits."""
    chain = WeightedStarts(moves, rate)
    low, high = 0.0, chain.most
    theta = high
    for _ in range(MOST_STEPS):
        root, slope = chain.value(theta)
        if root > 0:
            high = min(high, theta)
        else:
            low = max(low, theta)
        # Newton's step for root / theta, which grows and has no zero at 0.
        step = theta * root / (theta * slope - root) if theta * slope > root else math.inf
        if abs(step) <= LEAST * theta or high - low <= LEAST * high:
            return Decay(theta - step, LEAST + chain.rounding / (theta * slope - root))
        theta = theta - step if low < theta - step < high else 0.5 * (low + high)
    raise SamplingError(f"the decay rate at rate {rate:g} had not converged after {MOST_STEPS} steps")
