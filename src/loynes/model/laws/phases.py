"""Laws of phase type as phases: the time until a small Markov chain stops.

Distribution functions and quantiles are accurate in both tails: a generator plus a multiple of the identity has no
negative entry, and neither have products of such matrices. Nothing cancels, so every entry of the exponential below,
the smallest included, is right to many digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loynes.arrays import Array

# Terms of the series for an argument of at most 1/16, after which squaring takes over.
SERIES = 12
SMALL = 1.0 / 16.0


class Phases(NamedTuple):
    """Initial probabilities and rates between phases; what a row lacks to 0 is its rate of stopping."""

    initial: Array
    generator: Array

    @property
    def stopping(self) -> Array:
        return np.asarray(np.maximum(-self.generator.sum(axis=1), 0.0))

    @classmethod
    def mixed(cls, parts: Sequence[tuple[float, Phases | None]]) -> Phases | None:
        """One of several chains, the i-th with probability weight_i; None if one of them is not known."""
        from scipy.linalg import block_diag

        known = [(weight, phases) for weight, phases in parts if phases is not None]
        if len(known) < len(parts):
            return None
        return cls(np.concatenate([w * p.initial for w, p in known]), block_diag(*(p.generator for _, p in known)))

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        first = np.linalg.solve(-self.generator, np.ones(len(self.initial)))
        second = 2.0 * np.linalg.solve(-self.generator, first)
        mean = float(self.initial @ first)
        return mean, max(float(self.initial @ second) - mean * mean, 0.0)

    def distribution(self, x: Array) -> tuple[Array, Array, Array]:
        """P(X <= x), P(X > x) and the density, for an array of x >= 0."""
        n = len(self.initial)
        stopping = self.stopping
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = self.generator, stopping
        after = np.einsum("i,xij->xj", self.initial, _exponential(whole, x)[:, :n])
        below, above = after[:, n], after[:, :n].sum(axis=1)
        # Squaring adds up rounding; the smaller of the two keeps its digits, and gives the other one.
        cdf, tail = np.where(above < 0.5, 1.0 - above, below), np.where(below < 0.5, 1.0 - below, above)
        return cdf, tail, after[:, :n] @ stopping

    def log_quantile(self, logit: Array) -> Array:
        """log Q(u) at u = 1/(1+exp(-logit)), each tail computed from its own side.

        All quantiles at once, by a table and four steps of Newton's method; scipy.optimize.newton would stop each of
        them elsewhere, and change the last bits of services.
        """
        from scipy.special import log_expit

        mean = self.moments()[0]
        low, high = np.log(mean) - 45.0, np.log(mean) + 1.0
        while self.distribution(np.exp([high]))[1][0] > 1e-17:
            high += 0.5
        grid = np.linspace(low, high, 4001)
        below, above, _ = self.distribution(np.exp(grid))
        with np.errstate(divide="ignore"):
            place = np.interp(logit, np.log(below) - np.log(above), grid)
        for _ in range(4):
            x = np.exp(place)
            below, above, density = self.distribution(x)
            left = logit < 0
            # Newton in log x on the logarithm of whichever side is small.
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.where(left, np.log(below) - log_expit(logit), log_expit(-logit) - np.log(above))
                slope = x * density / np.where(left, below, above)
                step = np.where(slope > 0, error / slope, 0.0)
            place = place - np.clip(step, -0.5, 0.5)
        return place


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
    for squared in range(int(squarings.max(initial=0))):
        again = squarings > squared
        result[again] = result[again] @ result[again]
    return result


def problem(initial: tuple[float, ...], generator: tuple[tuple[float, ...], ...]) -> str | None:
    """What is wrong with an initial vector and a sub-generator, in words; None if nothing."""
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


# Probabilities over time are squared until the fastest phase is gone through step by step: so many steps lose as many
# of the sixteen digits.
MOST_APART = 1e12


def too_far_apart(phases: Phases) -> str | None:
    """What is wrong with rates of which some are very much faster than the whole; None if nothing."""
    fastest, mean = float(np.max(-np.diag(phases.generator))), phases.moments()[0]
    if fastest * mean <= MOST_APART:
        return None
    return (
        f"rates of up to {fastest:g} beside a mean of {mean:g} leave too few digits; the fastest rate times the mean "
        f"must be at most {MOST_APART:g}"
    )
