"""Independent piles that can always be piled higher, with the control variates that quieten them.

How many jobs of each class a replica happened to get, and how much service they asked for, explains most of how high
its pile is; the expectations of both are known exactly. Regressing on their deviations removes that noise (the variance
falls by a factor between a few and a few thousand).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, student
from loynes.inputs.philox import STREAM_PILE
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.backends import backend as choose
from loynes.kernels.shape import look_every
from loynes.kernels.tally import new_heap

Array = NDArray[np.float64]

# Controls are chosen by what the model says of the classes, not by the data, so choosing them adds no bias.
MOST_CONTROLLED = 8
REPLICAS_PER_CONTROL = 4
LEAST_REPLICAS = 32


@dataclass(frozen=True)
class Mix:
    """What control variates need to know of the classes: probability, mean and variance of the service, and need."""

    probability: Array
    mean: Array
    variance: Array
    need: Array

    @property
    def counted(self) -> NDArray[np.int64]:
        """The classes whose numbers matter most, by the second moment of their work; not all, as they sum to n."""
        second = np.where(np.isfinite(self.variance), self.variance, 0.0) + self.mean**2
        order = np.argsort(-self.probability * self.need**2 * second, kind="stable")
        return order[: min(MOST_CONTROLLED, len(order) - 1)]

    @property
    def weighed(self) -> NDArray[np.int64]:
        """The classes whose services matter most and have a finite variance above 0."""
        usable = np.isfinite(self.variance) & (self.variance > 0)
        spread = np.where(usable, self.probability * self.need**2 * np.where(usable, self.variance, 0.0), -1.0)
        order = np.argsort(-spread, kind="stable")[:MOST_CONTROLLED]
        return order[spread[order] > 0]

    @property
    def replicas(self) -> int:
        """Enough replicas for the regression to cost little."""
        return max(LEAST_REPLICAS, REPLICAS_PER_CONTROL * (1 + len(self.counted) + len(self.weighed)))


class Piles:
    """Replicas of the pile, all of the same length."""

    def __init__(
        self, table: JobTable, needs: Needs, mix: Mix, *, seed: int, replicas: int, backend: str = "auto"
    ) -> None:
        self.table, self.needs, self.mix, self.replicas = table, needs, mix, replicas
        self.length = 0
        self._heap = new_heap(replicas, len(table.need))
        self._H = np.zeros((replicas, table.servers))
        self._engine = choose(backend)
        self._seed = seed

    @property
    def jobs(self) -> int:
        return self.replicas * self.length

    def extend(self, length: int) -> None:
        """Pile up to `length` jobs a replica."""
        self._engine.run_pile(self.table, self.needs, self._seed, STREAM_PILE, self.length, length, self._H, self._heap)
        self.length = length

    def state(self) -> Heights:
        heap = self._heap
        return Heights(
            self.length,
            heap.base + self._H[:, -1],
            heap.base.copy(),
            heap.loss * look_every(self.table),
            heap.jobs.copy(),
            heap.service.copy(),
        )


@dataclass(frozen=True)
class Heights:
    """The piles after `length` jobs each, or what they gained between two lengths."""

    length: int
    top: Array
    bottom: Array
    loss: Array  # expected HOL loss, summed over jobs
    count: NDArray[np.int64]
    service: Array

    def since(self, earlier: Heights) -> Heights:
        return Heights(*(now - then for now, then in zip(vars(self).values(), vars(earlier).values(), strict=True)))

    def controls(self, mix: Mix) -> Array:
        """Deviations a job, of expectation 0: class counts, and services beyond what the counts explain."""
        counts = self.count / self.length - mix.probability
        services = (self.service - self.count * mix.mean) / self.length
        columns = np.hstack([counts[:, mix.counted], services[:, mix.weighed]])
        # Too few replicas for a regression: do without it.
        return columns if len(columns) >= 2 * (2 + columns.shape[1]) else columns[:, :0]


@dataclass(frozen=True)
class Regressed:
    """A mean with the controls' noise taken out."""

    estimate: Estimate
    reduction: float  # variance without controls over variance with them


def regressed_mean(values: Array, controls: Array, confidence: float) -> Regressed:
    """The intercept of a linear regression of independent values on controls of expectation 0, with its interval."""
    count = len(values)
    spreads = controls.std(axis=0)
    varied = spreads > 0
    design = np.hstack([np.ones((count, 1)), controls[:, varied] / spreads[varied]])
    inverse = np.linalg.pinv(design, rcond=1e-12)
    fit = inverse @ values
    residual = values - design @ fit
    freedom = count - int(np.linalg.matrix_rank(design))
    spread = float(residual @ residual) / freedom
    half = student(confidence, freedom + 1) * math.sqrt(spread * float(inverse[0] @ inverse[0]))
    centre = float(fit[0])
    raw = float(np.var(values, ddof=1)) / count
    kept = spread * float(inverse[0] @ inverse[0])
    return Regressed(Estimate(centre, centre - half, centre + half), raw / kept if kept > 0 else 1.0)
