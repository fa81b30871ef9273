"""Pairs of chains that hold the stationary workload between them.

One chain starts empty, the other at V + (pile of one block), which lies above the stationary workload in law (see
`majorant`). The same jobs drive both, so at any time the lower chain lies below and the upper one above, and so do the
averages of whatever grows with the workload. Once a pair has met it is one chain for good; the probability that it has
not is at least the distance, in total variation, between the chain and stationarity. The number of jobs to run them for
is fixed beforehand, by a pilot: to stop a pair when it meets would be biased.
"""

from __future__ import annotations

import math

import numpy as np

from loynes.estimate import Estimate, proportion_of
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_PILOT, STREAM_START, STREAM_STATIONARY, long_uniform, words
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.engine import Array, Engine, Ints, PairState, Sandwich, whole_blocks
from loynes.model.cluster import Model
from loynes.stationary.certificate import Certificate
from loynes.stationary.long_services import residuals_of
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Piles
from loynes.threshold.profile import heights_of

# Pilot pairs; their slowest part, from which the tail of meeting times is judged; and what may be left apart.
PILOTS = 128
SLOWEST = 0.25
TARGET_DISTANCE = 1e-4
# How many times longer to run for what long services bring, at most: brackets hold for any length.
LONGER = 8.0


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
        engine: Engine,
    ) -> None:
        self.replicas = replicas
        self.position = 0
        self._engine = engine
        self._task = Sandwich(job_table(model, rate), seed, stream, np.arange(replicas))
        self._state = PairState(
            np.zeros((replicas, model.servers)),
            _above(model, certificate, seed, replicas, stream, engine),
            np.full(replicas, -1, np.int64),
            start_places(self._task.table.arrivals, seed, stream, np.arange(replicas)),
        )

    @property
    def low(self) -> Array:
        """The lower chains' workloads, one row a pair."""
        return self._state.low

    @property
    def high(self) -> Array:
        return self._state.high

    @property
    def met(self) -> Ints:
        """Jobs until each pair was one, -1 while it is not."""
        return self._state.met

    @property
    def places(self) -> Ints:
        """Where the arrival process of each pair stands."""
        return self._state.places

    @property
    def apart(self) -> Ints:
        """The replicas whose chains have not met."""
        return np.flatnonzero(self.met < 0)

    def distance(self, confidence: float) -> Estimate:
        """The fraction apart, with its exact interval: bounds the distance from stationarity."""
        return proportion_of(len(self.apart), self.replicas, confidence)

    def run(self, jobs: int) -> None:
        """Run every pair `jobs` further (rounded up to blocks)."""
        end = self.position + whole_blocks(jobs)
        self._engine.run(self._task, self._state, self.position, end)
        self.position = end


def _above(model: Model, certificate: Certificate, seed: int, replicas: int, stream: int, engine: Engine) -> Array:
    """Starts above stationarity: an exponential level, what long services bring, and on it the pile of one block."""
    # The pilot's and the run's starts are independent: stream numbers are below 8.
    start_stream = STREAM_START | stream << 4
    _, _, high, low = words(seed, start_stream, np.arange(replicas), np.full(replicas, -1))
    level = -np.log(long_uniform(high, low)) / certificate.theta
    table = job_table(model, None)
    if certificate.long is not None:
        level += residuals_of(model, table, certificate.long).sample(seed, start_stream, replicas)
    if certificate.flat:
        return np.repeat(certificate.log_mgf / certificate.theta + level[:, None], model.servers, axis=1)
    start = heights_of(certificate.profile, model.servers) if certificate.profile else None
    tables = (table, needs_of(model), Mix.of(model))
    piles = Piles(*tables, seed=seed, replicas=replicas, stream=start_stream, start=start, engine=engine)
    piles.extend(certificate.block)
    return np.asarray(level[:, None] + piles.workload())


def burn_in(model: Model, rate: float, certificate: Certificate, *, seed: int, max_jobs: float, engine: Engine) -> int:
    """How many jobs to run pairs for: so many that about TARGET_DISTANCE of them will not have met.

    Meeting times have an exponential tail, whose mean is that of what the slowest pilot pairs take beyond the others.
    Where long services are set apart, it is theirs: as long as it takes to drain what they bring but for that chance.
    """
    pairs = Pairs(model, rate, certificate, seed=seed, replicas=PILOTS, stream=STREAM_PILOT, engine=engine)
    step = certificate.block
    while len(pairs.apart) and 2 * PILOTS * pairs.position < max_jobs:
        pairs.run(step)
        step = pairs.position
    met = np.sort(np.where(pairs.met < 0, pairs.position, pairs.met))
    slow = met[int((1.0 - SLOWEST) * PILOTS) :]
    tail = float(np.mean(slow - slow[0]))
    jobs = max(slow[0] + tail * math.log(SLOWEST / TARGET_DISTANCE), met[-1])
    if certificate.long is not None:
        table = job_table(model, rate)
        brought = residuals_of(model, table, certificate.long).level(TARGET_DISTANCE)
        spare = table.gap_mean - certificate.log_mgf / (certificate.theta * certificate.block)
        jobs = max(jobs, min(jobs + brought / max(spare, 0.1 * table.gap_mean), LONGER * jobs))
    return whole_blocks(int(jobs))
