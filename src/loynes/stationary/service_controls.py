"""What the jobs of each replica brought, beyond what they bring on average: controls of mean waits where services vary.

A job of length x keeps others waiting for about x, each of them about as long: it adds about x^2 to a sum of waits, and
in a single-server queue the mean wait is rate E[x^2] / (2 (1 - load)). Where a few long services bring most of the
second moment, they bring most of the noise of a mean wait, too, and a regression on the sum of the squares takes it
out. The sums are weighted by the part of the servers that a class needs, so that there are two controls however many
classes there are. Their means are known: the laws'.

The same jobs are drawn once more for it; they need not be run.
"""

from __future__ import annotations

import math

import numpy as np

from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.engine import Array, Engine, Ints, ServiceState, ServiceSums
from loynes.model.cluster import Model


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
        self.position, self._rows, self._begin, self._engine = position, rows, position, engine
        self._task = ServiceSums(table, seed, STREAM_STATIONARY, np.arange(replicas), weight)
        self._state = ServiceState(places.copy(), np.zeros((replicas, 2)))
        share = np.array([c.probability for c in model.classes]) * weight
        means = np.array([c.service.mean for c in model.classes])
        squares = means**2 + np.array([c.service.variance for c in model.classes])
        self._means = np.array([share @ means, share @ squares])

    def observe(self, position: int) -> None:
        """Add the jobs up to this one."""
        self._engine.run(self._task, self._state, self.position, position)
        self.position = position

    @property
    def deviations(self) -> Array:
        """[row, control], averages over jobs minus their expectations; squares only where they have one."""
        known = [k for k in (0, 1) if math.isfinite(self._means[k])]
        group = self._task.replicas % self._rows
        sums = np.zeros((self._rows, 2))
        np.add.at(sums, group, self._state.sums)
        jobs = np.bincount(group, minlength=self._rows)[:, None] * float(self.position - self._begin)
        return np.asarray(sums[:, known] / jobs - self._means[known])
