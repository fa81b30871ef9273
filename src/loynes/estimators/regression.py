"""Values of independent replicas, without what controls of expectation 0 explain of them.

The mean of what comes out is the intercept of a linear regression. How far a value lies from it says how far the
intercept moves if its replica is left out, times one less than their number: centred pseudo-values (Tukey 1958), whose
standard error, as of independent values, is the jackknife's. The textbook's standard error takes all replicas to be
equally noisy, and would be too short: one that has met a very long service has the largest control, so that it draws
the line to itself, and much the most noise around the line.

A regression costs a little precision where controls explain nothing, and the jackknife shows it: values stay as they
are unless its standard error is the smaller one.
"""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array

# Replicas for each number of a regression, at least.
LEAST_PER_CONTROL = 8
# A replica with less than this part of its value free lies on the line whatever it saw: without it there is no line.
LEAST_FREEDOM = 1e-9
# What only few replicas have seen says nothing of what controls explain of it: this part of them, at least.
LEAST_SEEN = 0.5


class Regression:
    """On controls, [replica, control], the most useful first: as many of them as there are replicas enough for."""

    def __init__(self, controls: Array | None) -> None:
        self._weight: Array | None = None  # of each replica in an intercept
        self.controls = 0
        if controls is None:
            return
        rows = len(controls)
        kept = controls[:, : max(rows // LEAST_PER_CONTROL - 1, 0)]
        spread = kept.std(axis=0)
        if not (spread > 0).any():
            return
        self._design = np.hstack([np.ones((rows, 1)), kept[:, spread > 0] / spread[spread > 0]])
        self._inverse = np.linalg.pinv(self._design, rcond=1e-12)
        self._freedom = 1.0 - np.einsum("rc,cr->r", self._design, self._inverse)  # of each replica, to be off the line
        if self._freedom.min() >= LEAST_FREEDOM:
            self._weight, self.controls = self._inverse[0], self._design.shape[1] - 1

    def __call__(self, values: Array) -> Array:
        """Values of the replicas: as they are, or with the intercept as their mean and the jackknife's spread."""
        found = self._pseudo(values)
        return values if found is None else found

    def mean(self, values: Array, rows: Array) -> Array:
        """The mean of rows, one for each replica, each counted as in the mean of what comes out for these values."""
        if self._weight is None or self._pseudo(values) is None:
            return np.asarray(rows.mean(axis=0))
        return np.asarray(np.tensordot(self._weight, rows, axes=1))

    def reduction(self, values: Array) -> float:
        """How many times less variance the mean has."""
        found = self._pseudo(values)
        return 1.0 if found is None else float(np.var(values) / np.var(found))

    def _pseudo(self, values: Array) -> Array | None:
        if self._weight is None or np.count_nonzero(values != np.median(values)) < LEAST_SEEN * len(values):
            return None
        fit = self._inverse @ values
        moves = (len(values) - 1) * self._weight * (values - self._design @ fit) / self._freedom
        return np.asarray(fit[0] + moves - moves.mean()) if np.std(moves) < np.std(values) else None


AS_THEY_ARE = Regression(None)
