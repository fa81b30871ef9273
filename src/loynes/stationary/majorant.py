"""A single-server queue above the cluster, stable whenever the cluster is: what bounds the stationary workload.

Cut the jobs into blocks of K. Let Y be the height of the pile of a block's jobs started flat, A the time in which they
arrive. Were they all to arrive at the block's end, workloads could only be larger; so the largest workload Z after
block j obeys Z_j <= max(Z_{j-1} - A_j, 0) + Y_j, a GI/GI/1 queue. It is stable iff E[Y] < E[A], and E[Y] / K falls to
1 / threshold as K grows. If E[exp(theta (Y - A))] <= 1, its stationary wait V has P(V > x) <= exp(-theta x) (Kingman).

E[exp(-theta A)] is known (see block_bounds.py); E[exp(theta Y)] is estimated from independent blocks, with the control
variates of the threshold, and its upper confidence bound is used. K and theta are chosen on some blocks and judged on
others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, skewness_extension
from loynes.execution.context import Context
from loynes.inputs.philox import STREAM_MAJORANT, STREAM_MAJORANT_CHECK
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.engine import Engine
from loynes.kernels.reference import BLOCK
from loynes.model.arrivals import Periodic, Sessions
from loynes.model.cluster import Model
from loynes.stationary.block_bounds import Gaps, log_rare
from loynes.stationary.certificate import ATTEMPTS, SURE, Certificate, NoCertificate
from loynes.stationary.cycles import certify_cycles
from loynes.stationary.modulated import certify_dependent
from loynes.threshold.controls import Mix, regressed_mean
from loynes.threshold.piles import Heights, Piles

Array = NDArray[np.float64]

# Blocks to choose K and theta on, and to judge the choice on.
CHOOSING, JUDGING = 256, 2048
# Of the drift that infinitely long blocks would have, a block must keep this part.
KEPT_DRIFT = 0.8
# theta, as a part of the largest that seems to fit: the log-mgf is deepest near the middle, the bound best near 1.
PART = 0.7
# What services too rare to be sampled may cost, as a part of the log-mgf's distance from 0.
RARE_PART = 0.5
# What the heights of the judging blocks may take.
MOST_BYTES = 1 << 30


def heavy_tail(model: Model) -> str | None:
    """Why no theta can exist: a service whose tail is heavier than exponential."""
    for c in model.classes:
        if not c.service.light_tail:
            return f"class {c.label!r} has a {c.service.law} service, whose tail is heavier than exponential"
    return None


def unbounded(model: Model) -> str | None:
    """Why a model can have no certificate at any rate, None if it may have one."""
    heavy = heavy_tail(model)
    if heavy is not None:
        return heavy
    if isinstance(model.arrivals, Sessions):
        return (
            "jobs of a session are alike, and a session reaches from one block of jobs into the next: blocks depend on "
            "one another in a way that the majorant does not allow"
        )
    return None


def certify(
    model: Model, rate: float, threshold: Estimate, *, seed: int, max_jobs: float, context: Context
) -> Certificate | NoCertificate:
    """Block length and theta for a model at a rate, or why there is none."""
    why = unbounded(model)
    if why is not None:
        return NoCertificate(why)
    least = BLOCK * (CHOOSING + JUDGING)
    if max_jobs < least:
        return NoCertificate(f"max-jobs {max_jobs:g} is too small to look for one: it takes at least {least}")
    if isinstance(model.arrivals, Periodic) and not model.independent:
        return certify_cycles(model, rate, seed=seed, max_jobs=max_jobs, context=context)
    if not model.independent:
        return certify_dependent(model, rate, seed=seed, max_jobs=max_jobs, context=context)
    tried, gaps = "no block of jobs within max-jobs", Gaps(job_table(model, rate))
    engine = context.engine
    for attempt, (block, theta) in enumerate(_choices(model, rate, gaps, threshold, seed, max_jobs, engine)):
        context.progress(0.0, f"certificate: blocks of {block} jobs")
        certificate = _judge(model, gaps, threshold, block, theta, STREAM_MAJORANT_CHECK + attempt, seed, engine)
        if certificate.drift < 0:
            return certificate
        tried = f"none of {attempt + 1} block lengths, up to {block} jobs,"
        if attempt + 1 == ATTEMPTS:
            break
    return NoCertificate(
        f"{tried} has a theta with a log-mgf surely below 0: the rate is too close to the threshold, or services or "
        "arrivals vary too much"
    )


def _piles(model: Model, replicas: int, stream: int, seed: int, engine: Engine) -> Piles:
    table, mix = job_table(model, None), Mix.of(model)
    return Piles(table, needs_of(model), mix, seed=seed, replicas=replicas, stream=stream, engine=engine)


def _choices(
    model: Model, rate: float, gaps: Gaps, threshold: Estimate, seed: int, max_jobs: float, engine: Engine
) -> Iterator[tuple[int, float]]:
    """Block lengths, doubling, that keep enough of the drift, each with a theta well under the largest that fits."""
    piles = _piles(model, CHOOSING, STREAM_MAJORANT, seed, engine)
    block = BLOCK
    while block * (CHOOSING + JUDGING) <= max_jobs:
        piles.extend(block)
        heights = piles.state()
        height = regressed_mean(heights.top, heights.controls(piles.mix), 0.5).estimate.estimate
        drift = block / rate - height
        if drift > 0 and drift >= KEPT_DRIFT * block * (1.0 / rate - 1.0 / threshold.estimate):
            theta = _affordable(heights, piles, gaps, PART * _largest_theta(heights, piles.mix, gaps))
            if theta is not None:
                yield block, theta
        block *= 2


def _judges(servers: int) -> int:
    """How many blocks to judge on: fewer where a block's heights are large."""
    return int(min(max(MOST_BYTES // (8 * servers), 64), JUDGING))


def _affordable(heights: Heights, piles: Piles, gaps: Gaps, theta: float) -> float | None:
    """The largest theta, from this one down, at which rare services cost little; None if they cost too much at all."""
    for _ in range(40):
        depth = -(_log_mgf(heights, piles.mix, theta, 0.75).estimate + gaps.log(heights.length, theta))
        blocks = _judges(piles.table.servers)
        if depth > 0 and log_rare(piles.table, heights.length, blocks, theta) <= RARE_PART * depth:
            return theta
        theta *= 0.8
    return None


def _log_mgf(heights: Heights, mix: Mix, theta: float, sure: float) -> Estimate:
    """ln E[exp(theta Y)], with an interval each end of which is `sure`."""
    centre = float(np.mean(heights.top))
    values = np.exp(theta * (heights.top - centre))
    mean = regressed_mean(values, heights.controls(mix), 2.0 * sure - 1.0).estimate
    high = mean.high + max(skewness_extension(values, 2.0 * sure - 1.0), 0.0) * mean.half_width
    logs = (math.log(x) if x > 0 else -math.inf for x in (mean.estimate, mean.low, high))
    return Estimate(*(theta * centre + x for x in logs))


def _largest_theta(heights: Heights, mix: Mix, gaps: Gaps) -> float:
    """Where the estimated log-mgf of Y - A is back at 0, but no more than a sample of this size can tell."""

    def above(theta: float) -> bool:
        return _log_mgf(heights, mix, theta, 0.75).estimate + gaps.log(heights.length, theta) >= 0

    low, high = 0.0, 1.0 / max(float(np.std(heights.top)), 0.05 * float(np.mean(heights.top)))
    if not above(high):
        return high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if above(middle) else (middle, high)
    return low


def _judge(
    model: Model, gaps: Gaps, threshold: Estimate, block: int, theta: float, stream: int, seed: int, engine: Engine
) -> Certificate:
    """The bounds, from blocks that had no say in the choice."""
    blocks = _judges(model.servers)
    piles = _piles(model, blocks, stream, seed, engine)
    piles.extend(block)
    sampled = _log_mgf(piles.state(), piles.mix, theta, 1.0 - (1.0 - SURE) / ATTEMPTS).high
    # By Jensen's inequality the log-mgf is at least theta E[Y], and E[Y] at least block / threshold: a smaller bound
    # could only be an accident.
    log_mgf = max(sampled, theta * block / threshold.high) + log_rare(piles.table, block, blocks, theta)
    return Certificate(theta, block, log_mgf, log_mgf + gaps.log(block, theta), blocks)
