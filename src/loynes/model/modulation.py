"""Markovian arrival processes in numbers: a phase moves by the rates d0 (no arrival) and d1 (an arrival).

(Neuts 1979; Lucantoni 1991.) Jobs find the phase not as it is at a random time, but as arrivals leave it: its Palm law.
"""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array

# Changes of phase between two arrivals that are walked through one by one; and, as changes are drawn by 32-bit words,
# the least probability that is then right to a thousandth.
MOST_CHANGES = 1e4
RAREST_MOVE = 1000 * 2.0**-32


def in_time(d0: Array, d1: Array) -> Array:
    """The phase in the long run, at a random time (Grassmann, Taksar, Heyman 1985: no subtraction, no digit lost)."""
    rates = d0 + d1 - np.diag(np.diag(d0 + d1))
    for n in range(len(rates) - 1, 0, -1):
        rates[:n, n] /= rates[n, :n].sum()
        rates[:n, :n] += np.outer(rates[:n, n], rates[n, :n])
    weight = np.zeros(len(rates))
    weight[0] = 1.0
    for n in range(1, len(rates)):
        weight[n] = weight[:n] @ rates[:n, n]
    return np.asarray(weight / weight.sum())


def at_arrivals(d0: Array, d1: Array) -> Array:
    """The phase just after an arrival, in the long run."""
    weight = in_time(d0, d1) @ d1
    return np.asarray(weight / weight.sum())


def rate_of(d0: Array, d1: Array) -> float:
    """Arrivals a unit of time."""
    return float((in_time(d0, d1) @ d1).sum())


def visits(d0: Array, d1: Array) -> Array:
    """The phase that is entered, in the long run, at an arrival or another change."""
    weight = in_time(d0, d1) * -np.diag(d0)
    return np.asarray(weight / weight.sum())


def superposed(parts: list[tuple[Array, Array]]) -> tuple[Array, list[Array]]:
    """Independent processes side by side: rates without an arrival, and with one of each process."""
    sizes = [len(d0) for d0, _ in parts]
    d0 = sum((_beside(sizes, k, part[0]) for k, part in enumerate(parts)), np.zeros((int(np.prod(sizes)),) * 2))
    return d0, [_beside(sizes, k, part[1]) for k, part in enumerate(parts)]


def _beside(sizes: list[int], place: int, rates: Array) -> Array:
    """A matrix of one process, the others standing still."""
    before, after = int(np.prod(sizes[:place])), int(np.prod(sizes[place + 1 :]))
    return np.kron(np.kron(np.eye(before), rates), np.eye(after))


def problem(d0: Array, d1: Array) -> str | None:
    """What is wrong with a pair of matrices, in words; None if nothing."""
    from scipy.sparse.csgraph import connected_components

    if d0.ndim != 2 or d0.shape[0] != d0.shape[1] or d1.shape != d0.shape:
        return "must be two square matrices of the same size"
    if (d1 < 0).any() or (d0 - np.diag(np.diag(d0)) < 0).any():
        return "rates must be at least 0 (all of d1, and d0 off its diagonal)"
    scale = np.maximum(np.abs(d0).sum(axis=1) + d1.sum(axis=1), 1e-300)
    off = np.abs((d0 + d1).sum(axis=1)) / scale
    if off.max() > 1e-9:
        row = int(np.argmax(off))
        return f"row {row}: all rates out of a phase must sum to 0, they sum to {(d0 + d1)[row].sum():.6g}"
    if not d1.any():
        return "there are no arrivals: every rate of an arrival is 0"
    if connected_components((d0 + d1) > 0, connection="strong")[0] > 1:
        return "every phase must be reachable from every other"
    leaving = -np.diag(d0)
    changes = float(in_time(d0, d1) @ leaving) / rate_of(d0, d1)
    if changes > MOST_CHANGES:
        return f"phases change {changes:.3g} times a job, at most {MOST_CHANGES:g} are followed; average them"
    likely = np.concatenate([d0 - np.diag(np.diag(d0)), d1], axis=1) / leaving[:, None]
    if likely[likely > 0].min() < RAREST_MOVE:
        row = int(np.argmin(np.where(likely > 0, likely, np.inf).min(axis=1)))
        return f"phase {row}: one of its changes has a probability below {RAREST_MOVE:.2g}, too rare to be drawn"
    return None
