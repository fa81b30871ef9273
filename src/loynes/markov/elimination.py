"""Elimination without subtraction: linear systems in which every digit of every entry, however small, is right.

A matrix diag(excess + sums of rows) - rates, with rates between states and an excess that leaves them all (both at
least 0), is eliminated from its rates and its excess alone: these only ever grow, by products of each other, and the
diagonal is their sum (Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye 2002). Nothing is subtracted, so no digits
cancel: the relative error of every entry of a solution is a small multiple of the rounding unit, even where the matrix
is nearly singular, and right-hand sides without negative entries have solutions without.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular

from loynes.arrays import Array

# Columns that are eliminated one by one before the rest of the matrix hears of them, in one product.
PANEL = 32


class Dominant:
    """diag(excess + sums of the rows of rates) - rates, eliminated; what rates has on its diagonal does not matter."""

    def __init__(self, rates: Array, excess: Array) -> None:
        rates, excess = np.array(rates, order="F"), np.array(excess)
        size = len(rates)
        pivots = np.empty(size)
        for start in range(0, size, PANEL):
            stop = min(start + PANEL, size)
            width = stop - start
            panel = rates[start:, start:stop]
            # What leaves the panel's states for any other state that is not eliminated yet, or for good.
            out = excess[start:stop] + rates[start:stop, stop:].sum(axis=1)
            for j in range(width):
                row = panel[j, j + 1 :].copy()
                pivots[start + j] = out[j] + row.sum()
                panel[j + 1 :, j] /= pivots[start + j]
                panel[j + 1 :, j + 1 :] += np.multiply.outer(panel[j + 1 :, j], row)
                out[j + 1 :] += panel[j + 1 : width, j] * out[j]
            if stop < size:
                inside = -panel[:width]
                rates[start:stop, stop:] = solve_triangular(
                    inside, rates[start:stop, stop:], lower=True, unit_diagonal=True, check_finite=False
                )
                rates[stop:, stop:] += panel[width:] @ rates[start:stop, stop:]
                excess[start:stop] = solve_triangular(inside, excess[start:stop], lower=True, unit_diagonal=True)
                excess[stop:] += panel[width:] @ excess[start:stop]
        self._factors = -rates
        self._factors[np.diag_indices(size)] = pivots

    def solve(self, right: Array) -> Array:
        """X with A X = right."""
        return self._upper(self._lower(right, 0), 0)

    def solve_left(self, left: Array) -> Array:
        """X with X A = left."""
        return self._lower(self._upper(left.T, 1), 1).T

    def _lower(self, right: Array, transposed: Literal[0, 1]) -> Array:
        return np.asarray(
            solve_triangular(self._factors, right, trans=transposed, lower=True, unit_diagonal=True, check_finite=False)
        )

    def _upper(self, right: Array, transposed: Literal[0, 1]) -> Array:
        return np.asarray(solve_triangular(self._factors, right, trans=transposed, check_finite=False))


def stationary(rates: Array, fixed: int) -> Array:
    """Stationary weights of an irreducible chain with these rates; that of state `fixed` is 1."""
    keep = np.delete(np.arange(len(rates)), fixed)
    rest = Dominant(rates[np.ix_(keep, keep)], rates[keep, fixed])
    return np.insert(rest.solve_left(rates[fixed, keep]), fixed, 1.0)
