"""The jobs that come, in a few numbers: what a policy is told that is computed for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.arrays import Array, Ints


class Mix(NamedTuple):
    """Servers and classes, a replica's own numbers, and the option a policy was given."""

    units: Ints  # [kind]
    demand: Ints  # [class, kind]
    rate: Array  # [class], jobs per time
    service: Array  # [class], means
    residual: Array  # [class], how long a running job has still to run on average: E[S^2] / (2 E[S])
    option: float = 1
    seed: int = 0
    replica: int = 0

    @property
    def mean_service(self) -> float:
        """Of all jobs."""
        total = float(self.rate.sum())
        return float(self.rate @ self.service) / total if total > 0 else 1.0


def recorded_mix(units: Ints, arrival: Array, job_class: Ints, demand: Ints, service: Array, option: float) -> Mix:
    """The mix of given jobs. Where all come at once, their rate is that of all in the mean time one takes."""
    count = np.bincount(job_class, minlength=len(demand)).astype(np.float64)
    sums = [np.bincount(job_class, service**power, minlength=len(demand)) for power in (1, 2)]
    mean = np.divide(sums[0], count, out=np.zeros(len(demand)), where=count > 0)
    residual = np.divide(sums[1], 2.0 * sums[0], out=np.zeros(len(demand)), where=sums[0] > 0)
    span = float(arrival[-1] - arrival[0]) if len(arrival) else 0.0
    span = span if span > 0 else float(service.mean()) if len(service) and service.any() else 1.0
    return Mix(np.asarray(units, np.int64), np.asarray(demand, np.int64), count / span, mean, residual, option)
