"""The certificate where classes depend on the arrival process: a block's pile and its time go together.

Over blocks of K jobs the largest workload obeys Z_j <= max(Z_(j-1) + Y_j - A_j, Y_j). Let x be the place of the arrival
process at a block's end, and rho, y bounds, for every x, of E[exp(theta (Y - A)) | x] and E[exp(theta Y) | x]. If
P(Z_(j-1) > z | x) <= C exp(-theta z) for every x, then, given the place before the block, Z_(j-1) and the block are
independent, and

    P(Z_j > z | x)  <=  (y + C rho) exp(-theta z)  <=  C exp(-theta z)      with C = y / (1 - rho), if rho < 1.

So a level (ln C + an exponential) / theta lies above the stationary workload whatever the phase. For every phase, both
are estimated from blocks that end there, sampled backward in time.

Services that are set apart as long (`long_services`) do not depend on classes or phases: with Y' + K a in place of Y
the same level bounds the short ones and the last block's allowance, and G is added to it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import half_width, skewness_extension
from loynes.execution.context import Context
from loynes.inputs.arrivals import parts_of
from loynes.inputs.philox import STREAM_MAJORANT, STREAM_MAJORANT_CHECK
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.engine import BlockBefore, BlockState, Engine
from loynes.kernels.reference import BLOCK
from loynes.model.cluster import Model
from loynes.stationary.certificate import ATTEMPTS, SURE, Certificate, LongServices, NoCertificate
from loynes.stationary.rare import RareLaws

Array = NDArray[np.float64]

# Blocks a phase to choose K and theta on, and to judge the choice on.
CHOOSING, JUDGING = 128, 1024
MOST_PHASES = 64
# theta as a part of the largest that seems to fit, and the contraction that is good enough to be judged.
PART = 0.7
GOOD = 0.8


def certify_dependent(
    model: Model, rate: float, long: LongServices | None, *, seed: int, max_jobs: float, context: Context
) -> Certificate | NoCertificate:
    """Block length and theta, or why there are none; long services are set apart from the model already."""
    table = job_table(model, rate)
    if table.arrivals.sizes:
        return NoCertificate("batches whose classes depend on the phase of arrivals have none")
    phases = table.arrivals.phases
    if phases > MOST_PHASES:
        return NoCertificate(f"{phases} phases of arrivals are too many to bound each, at most {MOST_PHASES}")
    block, attempts, engine = BLOCK, 0, context.on("cpu").engine
    allowance = 0.0 if long is None else long.allowance
    while phases * block * (CHOOSING + JUDGING) <= max_jobs and attempts < ATTEMPTS:
        chosen = _Blocks(table, block, CHOOSING, STREAM_MAJORANT, seed, engine, allowance)
        theta = _theta(chosen)
        if theta is not None and chosen.contraction(theta) < GOOD:
            context.progress(0.0, f"certificate: blocks of {block} jobs")
            judges = _Blocks(table, block, JUDGING, STREAM_MAJORANT_CHECK + attempts, seed, engine, allowance)
            certificate = _judge(table, judges, theta)
            if certificate is not None:
                return replace(certificate, long=long)
            attempts += 1
        block *= 2
    return NoCertificate(
        f"no block of up to {block} jobs, ending in whichever phase, surely brings the workload down: the rate is too "
        "close to the threshold, or arrivals or services vary too much"
    )


class _Blocks:
    """Blocks that end in each phase: heights of their piles, allowances for long services included, and times, [phase,
    block]; how many jobs of each class they have, [phase, block, class]."""

    def __init__(
        self, table: JobTable, length: int, count: int, stream: int, seed: int, engine: Engine, allowance: float
    ) -> None:
        reached = np.flatnonzero(np.diff(parts_of(table.arrivals).start.astype(np.float64), prepend=0.0) > 0)
        places, self.length = np.repeat(reached, count), length
        counts = np.empty((len(places), len(table.need)), np.int64)
        state = BlockState(places, np.empty(len(places)), np.empty(len(places)), counts)
        engine.run(BlockBefore(table, seed, stream, np.arange(len(places)), length), state, 0, len(places))
        self.height, self.time = (column.reshape(len(reached), count) for column in (state.height, state.time))
        self.height = self.height + length * allowance
        self.count = counts.reshape(len(reached), count, len(table.need))

    def contraction(self, theta: float) -> float:
        """The worst phase's E[exp(theta (Y - A))], estimated."""
        return float(np.max(np.mean(np.exp(np.minimum(theta * (self.height - self.time), 600.0)), axis=1)))


def _theta(blocks: _Blocks) -> float | None:
    """Well under the largest theta that contracts, and no more than samples of this size can tell."""
    drift = np.mean(blocks.height - blocks.time, axis=1)
    if drift.max() >= 0:
        return None
    low, high = 0.0, 1.0 / max(float(np.max(np.std(blocks.height, axis=1))), 0.05 * float(np.mean(blocks.height)))
    if blocks.contraction(high) < 1.0:
        return PART * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if blocks.contraction(middle) < 1.0 else (low, middle)
    return PART * low if low > 0 else None


def _judge(table: JobTable, blocks: _Blocks, theta: float) -> Certificate | None:
    """The bounds, from blocks that had no say in the choice; None if they do not contract."""
    each = 1.0 - (1.0 - SURE) / (ATTEMPTS * 2 * len(blocks.height))
    rare = RareLaws(table).at(theta, JUDGING * blocks.length)
    log_rho, log_y = -math.inf, -math.inf
    for height, time, count in zip(blocks.height, blocks.time, blocks.count, strict=True):
        factor = rare.log_factor(count)
        log_rho = max(log_rho, log_mean(theta * (height - time) + factor, each))
        log_y = max(log_y, log_mean(theta * height + factor, each))
    if not log_rho < math.log(0.95):
        return None
    log_constant = log_y - math.log1p(-math.exp(log_rho))
    return Certificate(theta, blocks.length, log_constant, log_rho, blocks.height.size, flat=True)


def log_mean(exponents: Array, sure: float) -> float:
    """An upper bound, so sure, of ln E[exp]."""
    centre = float(exponents.max())
    values = np.exp(exponents - centre)
    confidence = 2.0 * sure - 1.0
    half = half_width(values, confidence)
    return centre + math.log(float(np.mean(values)) + half * (1.0 + max(skewness_extension(values, confidence), 0.0)))
