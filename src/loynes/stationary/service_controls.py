"""What the jobs of each replica brought, beyond what they bring on average: controls of mean waits where services vary.

A job of length x keeps others waiting for about x, each of them about as long: it adds about x^2 to a sum of waits, and
in a single-server queue the mean wait is rate E[x^2] / (2 (1 - load)). Where a few long services bring most of the
second moment, they bring most of the noise of a mean wait, too, and a regression on the sum of the squares takes it
out. How many others a job keeps waiting depends on its need: the classes that bring most, weighted by the part of the
servers that they need, have a control each, all others one together. Their means are known: the laws'.

The same jobs are drawn once more for it; they need not be run.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.engine import Array, Engine, Ints, ServiceState, ServiceSums
from loynes.model.cluster import Model

# Classes that have a control of their own.
MOST_ALONE = 8


class ServiceControls:
    """Sums over the services of the jobs that replicas have been observed for, by rows of their tally."""

    def __init__(
        self,
        model: Model,
        table: JobTable,
        *,
        seed: int,
        replicas: int,
        rows: int,
        position: int,
        places: Ints,
        engine: Engine,
    ) -> None:
        taken = np.array([np.add(model.demand(c), model.specific(c)) for c in model.classes])
        weight = (taken / np.array(model.units)).max(axis=1)
        share = np.array([c.probability for c in model.classes]) * weight
        means = np.array([c.service.mean for c in model.classes])
        squares = share * (means**2 + np.array([c.service.variance for c in model.classes]))
        alone = np.argsort(-squares, kind="stable")[:MOST_ALONE]
        group = np.full(len(share), len(alone))
        group[alone] = np.arange(len(alone))
        groups = np.bincount(group, weights=squares)
        self._means = np.concatenate([[share @ means], groups])
        self.position, self._rows, self._begin, self._engine = position, rows, position, engine
        self._task = ServiceSums(table, seed, STREAM_STATIONARY, np.arange(replicas), weight, group)
        self._state = ServiceState(places.copy(), np.zeros((replicas, len(self._means))))

    def observe(self, position: int) -> None:
        """Add the jobs up to this one."""
        if position == self.position:
            return
        self._engine.run(self._task, self._state, self.position, position)
        self.position = position

    @property
    def deviations(self) -> Array:
        """[row, control], averages over jobs minus their expectations; squares only where they have one."""
        known = np.isfinite(self._means)
        group = self._task.replicas % self._rows
        sums = np.zeros((self._rows, len(known)))
        np.add.at(sums, group, self._state.sums)
        jobs = np.bincount(group, minlength=self._rows)[:, None] * float(self.position - self._begin)
        return np.asarray(sums[:, known] / jobs - self._means[known])
