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
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.engine import Engine, Ints, Perfect
from loynes.kernels.reference import BLOCK
from loynes.model.cluster import Model
from loynes.stationary.backward import LONGEST, Samples, in_batches
from loynes.stationary.certificate import Certificate, NoCertificate
from loynes.stationary.long_services import residuals_of

# The longest past that a sample may have to begin with: about a second.
FARTHEST = 1 << 24
# From a block to the longest past, doubling.
MOST_ATTEMPTS = (LONGEST // BLOCK).bit_length()


def ceiling(model: Model, certificate: Certificate, delta: float) -> float:
    """A level that the stationary workload exceeds with probability at most delta / 2, for the first attempt.

    P(V + Y > c) <= exp(-theta c) E[exp(theta Y)]; a profile adds its largest height. Where long services are set apart,
    half of delta is theirs: G and the last block's allowance are added, and G may be too high at none of the attempts.
    """
    level = certificate.log_mgf
    if certificate.long is None:
        return (math.log(2.0 / delta) + level) / certificate.theta + max(certificate.profile, default=0.0)
    residuals = residuals_of(model, job_table(model, None), certificate.long)
    # A flat certificate's level has the allowance in it.
    allowance = 0.0 if certificate.flat else certificate.block * certificate.long.allowance
    brought = residuals.level(0.5 * delta / MOST_ATTEMPTS) + allowance
    return (math.log(4.0 / delta) + level) / certificate.theta + brought + max(certificate.profile, default=0.0)


def initial_length(table: JobTable, certificate: Certificate, height: float) -> int:
    """A power of two blocks, about half of what the majorant takes to drain from that height: less is hopeless."""
    # E[Y] <= ln E[exp(theta Y)] / theta, by Jensen's inequality.
    passed = certificate.block * table.gap_mean
    drained = max(passed - certificate.log_mgf / certificate.theta, 0.1 * passed)
    wanted = 0.5 * height / drained * certificate.block
    return int(BLOCK << max(0, math.floor(math.log2(min(wanted, LONGEST / 4) / BLOCK))))


def within_reach(
    model: Model, table: JobTable, bound: Certificate | NoCertificate, delta: float
) -> Certificate | NoCertificate:
    """The certificate, unless samples would have to begin too long ago to be taken."""
    if isinstance(bound, NoCertificate):
        return bound
    jobs = initial_length(table, bound, ceiling(model, bound, delta))
    if jobs <= FARTHEST:
        return bound
    return NoCertificate(
        f"a sample that may be wrong with probability {delta:g} would have to begin more than {jobs:.2g} jobs ago, as "
        "services are so long with such a probability; allow a larger --delta, or evaluate by the sandwich"
    )


def perfect_samples(
    model: Model,
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
    height, rise = ceiling(model, certificate, delta), math.log(2.0) / certificate.theta
    initial = initial_length(table, certificate, height)

    def task(replicas: Ints) -> Perfect:
        return Perfect(table, seed, STREAM_STATIONARY, replicas, initial, longest, height, rise)

    return in_batches(engine, task, first, count, f"perfect samples had not met after {longest} jobs")
