"""Markovian arrival processes in numbers: a phase moves by the rates d0 (no arrival) and d1 (an arrival).

(Neuts 1979; Lucantoni 1991.) Between arrivals the phase is that just after the last one; seen at arrivals it is a
Markov chain with matrix (-d0)^-1 d1, whose stationary law arriving jobs find (the Palm law).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def stationary(chain: Array) -> Array:
    """The stationary law of a Markov chain with one recurrent class: x P = x, sum 1."""
    states = len(chain)
    system = np.vstack([chain.T - np.eye(states), np.ones(states)])
    found, *_ = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)
    clipped = np.maximum(found, 0.0)
    return np.asarray(clipped / clipped.sum())


def between_arrivals(d0: Array, d1: Array) -> Array:
    """The chain of phases just after arrivals: (-d0)^-1 d1."""
    return np.asarray(np.linalg.solve(-d0, d1))


def at_arrivals(d0: Array, d1: Array) -> Array:
    """The phase just after an arrival, in the long run."""
    return stationary(between_arrivals(d0, d1))


def rate_of(d0: Array, d1: Array) -> float:
    """Arrivals a unit of time: 1 / E[gap], with E[gap] = sum over phases of the Palm law's (-d0)^-1 1."""
    return 1.0 / float(at_arrivals(d0, d1) @ np.linalg.solve(-d0, np.ones(len(d0))))


def superposed(parts: list[tuple[Array, Array]]) -> tuple[Array, list[Array]]:
    """Independent processes side by side: rates without an arrival, and with one of each process."""
    sizes = [len(d0) for d0, _ in parts]
    d0 = sum((_beside(sizes, k, part[0]) for k, part in enumerate(parts)), np.zeros((int(np.prod(sizes)),) * 2))
    return d0, [_beside(sizes, k, part[1]) for k, part in enumerate(parts)]


def _beside(sizes: list[int], place: int, own: Array) -> Array:
    """A matrix of one process, the others standing still."""
    before, after = int(np.prod(sizes[:place])), int(np.prod(sizes[place + 1 :]))
    return np.kron(np.kron(np.eye(before), own), np.eye(after))


def problem(d0: Array, d1: Array) -> str | None:
    """What is wrong with a pair of matrices, in words; None if nothing."""
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
    reached = np.linalg.matrix_power((np.eye(len(d0)) + ((d0 + d1) > 0)) > 0, len(d0)) > 0
    if not reached.all():
        return "every phase must be reachable from every other"
    return None
