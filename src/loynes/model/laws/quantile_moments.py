"""Moments of a law from its quantile function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loynes.arrays import Array

# Beyond these logits lies 1e-17 of the law, or, for heavy tails, nothing a double can say.
NEAR, FAR = 40.0, 700.0
AGREED = 1e-11
# Intervals this small hold nothing that counts.
HALVINGS = 45


def moments(log_quantile: Callable[[Array], Array], far: bool) -> tuple[float, float]:
    """Mean and variance as integrals over the logit of u.

    The trapezoidal rule converges exponentially for a function that is smooth over the whole line. Where the coarser
    of two rules disagrees, the quantile function has a corner, and the integrals are done piece by piece.
    """
    reach, count = (FAR, 22400) if far else (NEAR, 2560)
    logit = np.linspace(-reach, reach, count + 1)
    value = np.exp(log_quantile(logit))
    weight = 2.0 * reach / count / (2.0 + 2.0 * np.cosh(np.minimum(np.abs(logit), 709.0)))
    weight /= weight.sum()
    coarse = 2.0 * weight[::2]
    mean, again = float(weight @ value), float(coarse @ value[::2])
    variance = float(weight @ (value - mean) ** 2)
    spread = float(coarse @ (value[::2] - mean) ** 2)
    if abs(mean - again) <= AGREED * mean and abs(variance - spread) <= AGREED * (variance + mean * mean):
        return mean, variance
    return _piece_by_piece(log_quantile, reach, mean)


def _piece_by_piece(log_quantile: Callable[[Array], Array], reach: float, centre: float) -> tuple[float, float]:
    """Gauss and Legendre on intervals that are halved until halving changes nothing.

    Not scipy.integrate.quad: the last bits of a truncated law's mean, and with them recorded results, would change.
    """
    node, weight = np.polynomial.legendre.leggauss(16)

    def integrals(left: Array, width: float) -> Array:
        logit = left[:, None] + 0.5 * width * (1.0 + node)
        value = np.exp(log_quantile(logit.ravel())).reshape(logit.shape) - centre
        density = 0.25 * width / (1.0 + np.cosh(np.minimum(np.abs(logit), 709.0)))
        return np.stack([(density * value) @ weight, (density * value * value) @ weight])

    left, width, total = np.arange(-reach, reach), 1.0, np.zeros(2)
    whole = integrals(left, width)
    for _ in range(HALVINGS):
        width *= 0.5
        halves = integrals(np.column_stack([left, left + width]).ravel(), width).reshape(2, len(left), 2)
        change = np.abs(halves.sum(axis=2) - whole) / np.array([[centre], [centre * centre]])
        agreed = (change <= 1e-14).all(axis=0)
        total += halves[:, agreed].sum(axis=(1, 2))
        left = np.column_stack([left, left + width])[~agreed].ravel()
        whole = halves[:, ~agreed].reshape(2, -1)
        if not left.size:
            break
    offset, square = (float(x) for x in total + whole.sum(axis=1))
    return centre + offset, square - offset * offset
