"""Perfect samples: the backward sandwich.

A sample starts n jobs ago, once empty and once with all servers at a ceiling c that the stationary workload exceeds
with a probability of at most delta_n; the same jobs drive both. If the two are equal at time 0, so is every workload
that began between them, the stationary one among them: the common value is a stationary sample, except with that
probability. If not, n is doubled, over the same jobs. The ceiling grows a little with every doubling, so that all the
delta_n of a sample sum to delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.engine import Engine, Ints, Perfect
from loynes.kernels.reference import BLOCK
from loynes.stationary.backward import LONGEST, Samples, in_batches
from loynes.stationary.certificate import Certificate


def ceiling(certificate: Certificate, delta: float) -> float:
    """P(V + Y > c) <= exp(-theta c) E[exp(theta Y)], set equal to delta / 2 for the first attempt."""
    return (math.log(2.0 / delta) + certificate.log_mgf) / certificate.theta


def initial_length(table: JobTable, certificate: Certificate, delta: float) -> int:
    """A power of two blocks, about half of what the majorant takes to drain from the ceiling: less is hopeless."""
    # E[Y] <= ln E[exp(theta Y)] / theta, by Jensen's inequality.
    passed = certificate.block * table.gap_mean
    drained = max(passed - certificate.log_mgf / certificate.theta, 0.1 * passed)
    wanted = 0.5 * ceiling(certificate, delta) / drained * certificate.block
    return int(BLOCK << max(0, math.floor(math.log2(min(wanted, LONGEST / 4) / BLOCK))))


def perfect_samples(
    table: JobTable,
    certificate: Certificate,
    count: int,
    *,
    delta: float,
    seed: int,
    first: int = 0,
    longest: int = LONGEST,
    engine: Engine,
) -> Iterator[Samples]:
    """Samples first .. first + count - 1, in batches of bounded size."""
    initial = initial_length(table, certificate, delta)
    height, rise = ceiling(certificate, delta), math.log(2.0) / certificate.theta

    def task(replicas: Ints) -> Perfect:
        return Perfect(table, seed, STREAM_STATIONARY, replicas, initial, longest, height, rise)

    return in_batches(engine, task, first, count, f"perfect samples had not met after {longest} jobs")
