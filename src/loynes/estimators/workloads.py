"""What arrivals would meet in samples of the workload: the wait of every need, the HOL loss of every kind of server."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, mean_of
from loynes.inputs.arrivals import start_places
from loynes.inputs.jobs import first_jobs
from loynes.inputs.philox import STREAM_ARRIVAL, STREAM_STATIONARY, words
from loynes.inputs.tables import JobTable, Needs


class SampledWaits:
    """The wait of each distinct need in every sample, and the expected HOL loss of each kind; grows by batches."""

    def __init__(self, table: JobTable, needs: Needs, seed: int) -> None:
        self.needs = needs
        self._table, self._seed = table, seed
        level = np.arange(1, needs.need[-1])
        # Raising the level from W[i-1] to W[i] idles the i servers below, if the job needs more than i.
        self._idled = level * (needs.weight @ (needs.need[:, None] > level))
        self._waits: list[Array] = []
        self._loss: list[Array] = []
        self._overall: list[Array] = []
        self._weight: list[Array] = []
        self._jobs: list[tuple[Ints, Array]] = []
        self._count = 0

    def add(self, workload: Array) -> None:
        """Samples of the workload, one row each, in the order of their numbers."""
        weight = self._weights(len(workload))
        if self._table.plain and not self.needs.phase_weight.size:
            waits = workload[:, self.needs.need - 1]
            loss = (np.diff(workload[:, : self.needs.need[-1]], axis=1) @ self._idled)[:, None]
        else:
            waits, loss = self._several_kinds(workload, weight)
        self._waits.append(waits)
        self._loss.append(loss)
        self._weight.append(weight)
        self._overall.append(np.sum(waits * weight, axis=1))
        self._count += len(workload)

    def _weights(self, count: int) -> Array:
        """The probability of each need at the next arrivals, [sample, need]."""
        weight = np.broadcast_to(self.needs.weight, (count, len(self.needs.weight)))
        if not self.needs.phase_weight.size:
            return weight
        numbers = np.arange(self._count, self._count + count)
        if self._table.arrivals.repeat >= 0:
            job_class, service = first_jobs(self._table, self._seed, STREAM_STATIONARY, numbers)
            self._jobs.append((job_class, service))
            return np.asarray(np.eye(len(self.needs.weight))[self.needs.of_class[job_class]])
        places = start_places(self._table.arrivals, self._seed, STREAM_STATIONARY, numbers)
        return np.asarray(weight * self.needs.phase_weight[places % self._table.arrivals.phases])

    def _several_kinds(self, workload: Array, weights: Array) -> tuple[Array, Array]:
        kinds = np.split(workload, np.cumsum(self._table.units)[:-1], axis=1)
        waits, loss = np.empty((len(workload), len(self.needs.need))), np.zeros((len(workload), len(kinds)))
        for k, weight in enumerate(weights.T):
            taken = [self._taken(k, t, len(workload)) for t in range(len(kinds))]
            ends = [np.max(w, axis=1, where=mine, initial=0.0) for w, mine in zip(kinds, taken, strict=True)]
            start = np.maximum.reduce(ends)
            waits[:, k] = start
            for t, (w, mine) in enumerate(zip(kinds, taken, strict=True)):
                idle = np.maximum(start[:, None] - w, 0.0)
                loss[:, t] += weight * np.sum(idle, axis=1, where=True if self._table.strict else mine)
        return waits, loss

    def _taken(self, k: int, t: int, count: int) -> NDArray[np.bool_]:
        """Which places of kind t a job of need k takes in each of the next samples."""
        servers, a, b = int(self._table.units[t]), int(self.needs.demand[k, t]), int(self.needs.specific[k, t])
        if b == 0:
            return np.broadcast_to(np.arange(servers) < a, (count, servers))
        # The b servers with the smallest of random keys are its own; the least loaded others follow.
        index = np.arange(self._count * servers, (self._count + count) * servers)
        key = words(self._seed, STREAM_ARRIVAL, k * len(self._table.units) + t, index)[0].reshape(count, servers)
        order = np.argsort(np.argsort(key, axis=1, kind="stable"), axis=1)
        own = order < b
        return np.asarray(own | (np.cumsum(~own, axis=1) <= a) & ~own)

    @property
    def count(self) -> int:
        return self._count

    @property
    def waits(self) -> Array:
        return np.concatenate(self._waits)

    @property
    def weights(self) -> Array:
        """[sample, need]: the probability of each need, given where the arrival process stands."""
        return np.concatenate(self._weight)

    @property
    def jobs(self) -> tuple[Ints, Array] | None:
        """Class and service of the very jobs that meet the samples, where these hang together; else None."""
        if not self._jobs:
            return None
        job_class, service = zip(*self._jobs, strict=True)
        return np.concatenate(job_class), np.concatenate(service)

    @property
    def loss(self) -> Array:
        """[sample, kind]"""
        return np.concatenate(self._loss)

    def overall_wait(self, confidence: float) -> Estimate:
        """The mean wait of all jobs: cheap, for watching a run narrow."""
        return mean_of(np.concatenate(self._overall), confidence)
