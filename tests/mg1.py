"""The wait in M/G/1, for any law of services: bounds of its distribution and its percentiles.

The wait is a sum of n independent residual services with probability (1 - load) load^n (Pollaczek, Khinchine), and a
residual service R has P(R <= x) = (integral of P(S > u) up to x) / E[S]. Rounded down to a grid, R is shorter, rounded
up longer, and so is the sum: bounds of the wait's distribution that come as close as the grid is fine. All that is
asked of a law is P(S > x); the integrals over the grid's cells, cut where the law jumps or bends, are Gauss's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from loynes.model.laws.law import Law

Array = NDArray[np.float64]

NODES = 4  # of Gauss's rule, in a cell
MOST_POINTS = 1 << 23


def mean_wait(rate: float, mean: float, second: float) -> float:
    """By the first two moments of a service."""
    return rate * second / (2.0 * (1.0 - rate * mean))


def geometric_sum(load: float, mass: Array) -> Array:
    """Masses at 0, h, 2 h, ... of the sum of a geometric number of summands with these masses: (1 - load) times the
    power series 1 / (1 - load mass), by Newton's method, which doubles the number of right terms."""
    series = -load * mass
    series[0] += 1.0
    inverse = np.array([1.0 / series[0]])
    while len(inverse) < len(mass):
        terms = min(2 * len(inverse), len(mass))
        size = next_fast_len(2 * terms, real=True)
        own = rfft(inverse, size)
        error = irfft(own * rfft(series[:terms], size), size)[:terms]
        error[0] -= 1.0
        correction = irfft(own * rfft(error, size), size)[:terms]
        inverse = np.concatenate([inverse, np.zeros(terms - len(inverse))]) - correction
    return (1.0 - load) * inverse


def residual_masses(law: Law, h: float, n: int) -> Array:
    """P(k h < R <= (k + 1) h) of a residual service, k < n."""
    grid = h * np.arange(n + 1)
    ends = np.unique(np.concatenate([grid, [edge for edge in law.edges if 0.0 < edge < grid[-1]]]))
    integral = sum(
        w * law.above(0.5 * (1.0 - x) * ends[:-1] + 0.5 * (1.0 + x) * ends[1:])
        for x, w in zip(*np.polynomial.legendre.leggauss(NODES), strict=True)
    )
    cell = np.searchsorted(grid, ends[:-1], side="right") - 1
    return np.bincount(cell, 0.5 * np.diff(ends) * integral, minlength=n) / law.mean


def wait_bounds(law: Law, rate: float, h: float, n: int) -> tuple[Array, Array]:
    """Lower and upper bounds of P(wait <= k h), k < n."""
    down = residual_masses(law, h, n)
    up = np.append(0.0, down[:-1])
    low, high = (np.cumsum(geometric_sum(rate * law.mean, mass)) for mass in (up, down))
    return low, high


def percentile(law: Law, rate: float, q: float, within: float = 1e-4) -> tuple[float, float]:
    """Bounds of the least x with P(wait <= x) >= q, no further apart than this part of it."""
    if q <= 1.0 - rate * law.mean:
        return 0.0, 0.0
    reach, n = 8.0 * law.mean, 1 << 12
    while n <= MOST_POINTS:
        h = reach / n
        low, high = wait_bounds(law, rate, h, n)
        least, most = (int(np.searchsorted(p, q)) for p in (high, low))
        if most == n:  # it lies further out
            reach, n = 2.0 * reach, 2 * n
        elif most - least <= within * least:
            return least * h, most * h
        else:
            reach, n = 1.02 * most * h, 2 * n
    raise ValueError(f"no grid of {MOST_POINTS} points bounds the percentile {q:g} to {within:g}")
