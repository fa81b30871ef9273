"""Values of independent replicas, without what controls of expectation 0 explain of them.

Each value is corrected by its own controls, with coefficients from a linear regression over all other replicas. These
know nothing of it, so what is taken off has expectation 0, and corrected values have the expectation of the values,
however few replicas there are (Avramidis and Wilson 1993). With coefficients from all replicas together the mean would
be off as far as errors and controls grow together: a replica that begins with long waits has large sums and much noise.

How far off the mean may be is said by two spreads, of which the larger is taken. One is that of the corrected values.
The other is the jackknife's: how far the regression's intercept moves if a replica is left out, times one less than
their number (Tukey 1958). The textbook's standard error takes all replicas to be equally noisy, and would be too short:
one that has met a very long service has the largest control, so that it draws the line to itself, and much the most
noise around the line. Intervals are extended for skewness, of which few replicas show too little, and least of it where
much was taken off: of both, and of the values as they were, the most skewed shape is given that spread.

Where controls explain nothing a regression costs a little precision. To take whichever seems the more precise, with or
without, would be to take the one that is so by chance, and its interval would be too short: values stay as they are
only where the regression is much the worse.
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
# A regression is dropped where its standard error is so many times that of the values as they are.
MUCH_WORSE = 2.0


class Regression:
    """On controls, [replica, control], the most useful first: as many of them as there are replicas enough for."""

    def __init__(self, controls: Array | None) -> None:
        self._weight: Array | None = None  # of each replica in the intercept
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
        freedom = 1.0 - np.einsum("rc,cr->r", self._design, self._inverse)  # of each replica, to be off the line
        if freedom.min() < LEAST_FREEDOM:
            return
        self._weight, self.controls = self._inverse[0], self._design.shape[1] - 1
        # Left out, a replica lies off the line by its error over its freedom. So much of that the intercept moves by,
        # times replicas less one; and so much of it is left of its value, less the intercept, once that is corrected.
        self._moved, self._left = (rows - 1) * self._weight / freedom, (1.0 - self._weight) / freedom
        left = self._left / rows
        # Of each replica in the mean of corrected values: of the intercept's and of the errors' mean.
        self._counted = self._weight + left - self._inverse.T @ (self._design.T @ left)

    def __call__(self, values: Array) -> Array:
        """Values of the replicas: as they are, or with the same expectation and less noise."""
        found = self._corrected(values)
        return values if found is None else found

    def mean(self, values: Array, rows: Array) -> Array:
        """The mean of rows, one for each replica, each counted as in the mean of what comes out for these values."""
        if self._corrected(values) is None:
            return np.asarray(rows.mean(axis=0))
        return np.asarray(np.tensordot(self._counted, rows, axes=1))

    def reduction(self, values: Array) -> float:
        """How many times less variance the mean has."""
        found = self._corrected(values)
        return 1.0 if found is None else float(np.var(values) / np.var(found))

    def _corrected(self, values: Array) -> Array | None:
        if self._weight is None or np.count_nonzero(values != np.median(values)) < LEAST_SEEN * len(values):
            return None
        errors = values - self._design @ (self._inverse @ values)
        moved, left = self._moved * errors, self._left * errors
        spread = max(np.std(moved), np.std(left))
        if not spread < MUCH_WORSE * np.std(values):
            return None
        shape = max((_standard(kind) for kind in (moved, left, values)), key=lambda away: abs(np.mean(away**3)))
        return np.asarray(self._counted @ values + spread * shape)


def _standard(values: Array) -> Array:
    """The same shape with mean 0 and variance 1; of values that are all alike nothing."""
    away, spread = values - np.mean(values), np.std(values)
    return np.asarray(away / spread if spread > 0 else 0.0 * away)


AS_THEY_ARE = Regression(None)
