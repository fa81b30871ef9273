"""Pairs of chains that hold the stationary workload between them.

One chain starts empty, the other at V + (pile of one block), which lies above the stationary workload in law (see
`majorant`). The same jobs drive both, so at any time the lower chain lies below and the upper one above, and so do the
averages of whatever grows with the workload. Once a pair has met it is one chain for good; the probability that it has
not is at least the distance, in total variation, between the chain and stationarity. The number of jobs to run them for
is fixed beforehand, by a pilot: to stop a pair when it meets would be biased.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, proportion_of
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_PILOT, STREAM_START, STREAM_STATIONARY, long_uniform, words
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels.backends import backend as choose
from loynes.kernels.reference import whole_blocks
from loynes.model.cluster import Model
from loynes.stationary.certificate import Certificate
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Piles

Done = Callable[[], None] | None

# Pilot pairs; their slowest part, from which the tail of meeting times is judged; and what may be left apart.
PILOTS = 128
SLOWEST = 0.25
TARGET_DISTANCE = 1e-4


class Pairs:
    """Independent pairs of chains, all run equally far."""

    def __init__(
        self,
        model: Model,
        rate: float,
        certificate: Certificate,
        *,
        seed: int,
        replicas: int,
        stream: int = STREAM_STATIONARY,
        backend: str = "auto",
        workers: int | None = None,
    ) -> None:
        self.table: JobTable = job_table(model, rate)
        self.replicas = replicas
        self.position = 0
        self.met = np.full(replicas, -1, np.int64)  # jobs until the pair was one, -1 while it is not
        self._engine, self._seed, self._stream, self._workers = choose(backend), seed, stream, workers
        self.places = start_places(self.table.arrivals, seed, stream, np.arange(replicas))
        self._low = self._engine.hold(np.zeros((replicas, model.servers)))
        self._high = self._engine.hold(_above(model, certificate, seed, replicas, stream, backend))

    @property
    def low(self) -> NDArray[np.float64]:
        """The lower chains' workloads, one row a pair."""
        return np.asarray(self._engine.fetch(self._low))

    @property
    def high(self) -> NDArray[np.float64]:
        return np.asarray(self._engine.fetch(self._high))

    @property
    def apart(self) -> NDArray[np.int64]:
        """The replicas whose chains have not met."""
        return np.flatnonzero(self.met < 0)

    def distance(self, confidence: float) -> Estimate:
        """The fraction apart, with its exact interval: bounds the distance from stationarity."""
        return proportion_of(len(self.apart), self.replicas, confidence)

    def run(self, jobs: int, done: Done = None) -> None:
        """Run every pair `jobs` further (rounded up to blocks)."""
        end = self.position + whole_blocks(jobs)
        self._engine.run_sandwich(
            self.table,
            self._seed,
            self._stream,
            self.position,
            end,
            self._low,
            self._high,
            self.met,
            done,
            self._workers,
            self.places,
        )
        self.position = end


def _above(model: Model, certificate: Certificate, seed: int, replicas: int, stream: int, backend: str) -> np.ndarray:
    """Starts above stationarity: an exponential level, and on it the pile of one block."""
    # The pilot's and the run's starts are independent: stream numbers are below 8.
    own = STREAM_START | stream << 4
    _, _, high, low = words(seed, own, np.arange(replicas), np.full(replicas, -1))
    energy = -np.log(long_uniform(high, low))
    if certificate.flat:
        level = (certificate.log_mgf + energy) / certificate.theta
        return np.repeat(level[:, None], model.servers, axis=1)
    piles = Piles(
        job_table(model, None),
        needs_of(model),
        Mix.of(model),
        seed=seed,
        replicas=replicas,
        stream=own,
        backend=backend,
    )
    piles.extend(certificate.block)
    return np.asarray(energy[:, None] / certificate.theta + piles.workload())


def burn_in(
    model: Model,
    rate: float,
    certificate: Certificate,
    *,
    seed: int,
    max_jobs: float,
    backend: str = "auto",
    done: Done = None,
) -> int:
    """How many jobs to run pairs for: so many that about TARGET_DISTANCE of them will not have met.

    Meeting times have an exponential tail, whose mean is that of what the slowest pilot pairs take beyond the others.
    """
    pairs = Pairs(model, rate, certificate, seed=seed, replicas=PILOTS, stream=STREAM_PILOT, backend=backend)
    step = certificate.block
    while len(pairs.apart) and 2 * PILOTS * pairs.position < max_jobs:
        pairs.run(step, done)
        step = pairs.position
    met = np.sort(np.where(pairs.met < 0, pairs.position, pairs.met))
    slow = met[int((1.0 - SLOWEST) * PILOTS) :]
    tail = float(np.mean(slow - slow[0]))
    return whole_blocks(int(max(slow[0] + tail * math.log(SLOWEST / TARGET_DISTANCE), met[-1])))
