"""Quantiles of distribution functions: secants before the bisection change no number, whatever the function is like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from loynes.estimators.chains import _solve

Distribution = Callable[[float], float]


def bisected(distribution: Distribution, q: float) -> float:
    """The same by bisection alone."""
    if q >= 1.0:
        return math.inf
    if q <= distribution(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while distribution(high) < q:
        low, high = high, 2.0 * high
    while high - low > 1e-8 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if distribution(middle) < q else (low, middle)
    return high


def smooth(rng: np.random.Generator, scale: float) -> Distribution:
    at, mass = np.sort(rng.exponential(scale, 50)), rng.dirichlet(np.ones(50))
    return lambda x: float(mass @ -np.expm1(-3.0 * np.maximum(x - at, 0.0) / scale))


def heavy(rng: np.random.Generator, scale: float) -> Distribution:
    shape = rng.uniform(0.5, 3.0)
    return lambda x: 1.0 - (1.0 + x / scale) ** -shape


def steps(rng: np.random.Generator, scale: float) -> Distribution:
    at = np.sort(rng.exponential(scale, 4))
    return lambda x: float(np.sum(x >= at)) / 4.0


@pytest.mark.parametrize("kind", [smooth, heavy, steps])
def test_as_by_bisection(kind: Callable[[np.random.Generator, float], Distribution]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        distribution = kind(rng, 10.0 ** rng.uniform(-4.0, 5.0))
        for q in (0.5, 0.99, rng.uniform()):
            assert _solve(distribution, q) == bisected(distribution, q)


def test_smooth_ones_take_at_most_half_the_looks() -> None:
    looks = {_solve: 0, bisected: 0}
    for way in looks:
        distribution = smooth(np.random.default_rng(2), 3.0)

        def counted(x: float, way: Distribution = way, inner: Distribution = distribution) -> float:
            looks[way] += 1
            return inner(x)

        way(counted, 0.95)
    assert 2 * looks[_solve] <= looks[bisected]


@pytest.mark.parametrize("q", [0.25, 0.5, 0.9])
def test_a_function_that_reaches_q_but_for_rounding(q: float) -> None:
    """Below the quantile it is the next smaller number, which has the same logarithm."""

    def distribution(x: float) -> float:
        return 0.0 if x <= 0.0 else q if x >= 3.0 else float(np.nextafter(q, 0.0))

    assert _solve(distribution, q) == bisected(distribution, q) == pytest.approx(3.0, rel=1e-7)
