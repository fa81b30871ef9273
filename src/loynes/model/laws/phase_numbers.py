"""Distribution functions and quantiles of phase-type laws, accurate in both tails.

A generator plus a multiple of the identity has no negative entry, and neither have products of such matrices: nothing
cancels, so every entry of the exponential below, the smallest included, is right to many digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Terms of the series for an argument of at most 1/16, after which squaring takes over.
SERIES = 12
SMALL = 1.0 / 16.0


def stopped(initial: Array, generator: Array, x: Array) -> tuple[Array, Array, Array]:
    """P(X <= x), P(X > x) and the density, for an array of x >= 0."""
    n = len(initial)
    stopping = np.maximum(-generator.sum(axis=1), 0.0)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = generator, stopping
    after = np.einsum("i,xij->xj", initial, _exponential(whole, x)[:, :n])
    below, above = after[:, n], after[:, :n].sum(axis=1)
    # Squaring adds up rounding; the smaller of the two keeps its digits, and gives the other one.
    return np.where(above < 0.5, 1.0 - above, below), np.where(below < 0.5, 1.0 - below, above), after[:, :n] @ stopping


def _exponential(generator: Array, x: Array) -> Array:
    """exp(generator x) for every x, by the series for a small part of x and repeated squaring."""
    fastest = float(np.max(-np.diag(generator)))
    jumps = generator / fastest + np.eye(len(generator))
    with np.errstate(divide="ignore"):
        squarings = np.maximum(np.ceil(np.log2(fastest * x / SMALL)), 0.0).astype(np.int64)
    part = (fastest * x / 2.0**squarings)[:, None, None]
    term = np.broadcast_to(np.eye(len(generator)), (len(x), *generator.shape))
    result = term.copy()
    for k in range(1, SERIES + 1):
        term = term @ jumps * (part / k)
        result += term
    result *= np.exp(-part)
    for done in range(int(squarings.max(initial=0))):
        again = squarings > done
        result[again] = result[again] @ result[again]
    return result


def log_quantile(initial: Array, generator: Array, logit: Array) -> Array:
    """log Q(u) at u = 1/(1+exp(-logit)), each tail computed from its own side."""
    from scipy.special import log_expit

    mean = float(initial @ np.linalg.solve(-generator, np.ones(len(initial))))
    low, high = np.log(mean) - 45.0, np.log(mean) + 1.0
    while stopped(initial, generator, np.exp([high]))[1][0] > 1e-17:
        high += 0.5
    grid = np.linspace(low, high, 4001)
    below, above, _ = stopped(initial, generator, np.exp(grid))
    with np.errstate(divide="ignore"):
        place = np.interp(logit, np.log(below) - np.log(above), grid)
    for _ in range(4):
        x = np.exp(place)
        below, above, density = stopped(initial, generator, x)
        left = logit < 0
        # Newton in log x on the logarithm of whichever side is small.
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(left, np.log(below) - log_expit(logit), log_expit(-logit) - np.log(above))
            slope = x * density / np.where(left, below, above)
            step = np.where(slope > 0, error / slope, 0.0)
        place = place - np.clip(step, -0.5, 0.5)
    return place


def moments(initial: Array, generator: Array) -> tuple[float, float]:
    """Mean and variance."""
    first = np.linalg.solve(-generator, np.ones(len(initial)))
    second = 2.0 * np.linalg.solve(-generator, first)
    mean = float(initial @ first)
    return mean, max(float(initial @ second) - mean * mean, 0.0)


def trouble(initial: tuple[float, ...], generator: tuple[tuple[float, ...], ...]) -> str | None:
    """What is wrong with an initial vector and a sub-generator, if anything."""
    n = len(initial)
    if len(generator) != n or any(len(row) != n for row in generator):
        return f"generator must have {n} rows of {n} numbers, as initial has {n}"
    matrix = np.array(generator)
    for i in range(n):
        if not matrix[i, i] < 0:
            return f"generator[{i}][{i}] = {matrix[i, i]:g} must be below 0"
        if np.any(np.delete(matrix[i], i) < 0):
            return f"generator[{i}]: rates off the diagonal must be at least 0"
        if matrix[i].sum() > 1e-9 * -matrix[i, i]:
            return f"generator[{i}] sums to {matrix[i].sum():g}, must be at most 0"
    leaving = -matrix.sum(axis=1) > 1e-12 * -np.diag(matrix)
    reached = leaving.copy()
    for _ in range(n):
        reached |= (matrix > 0) @ reached > 0
    if not reached.all():
        return f"generator[{int(np.argmin(reached))}]: this phase never ends"
    if not math.isclose(sum(initial), 1.0, abs_tol=1e-9):
        return f"initial must sum to 1, it sums to {sum(initial):.12g}"
    return None
