"""The certificate where classes depend on the slot of a cycle: blocks of whole cycles are independent.

Arrivals in disjoint times are independent of one another, as the process is Poisson, and so are the classes they bring.
So cut time, not jobs: into blocks of m cycles of length T. Let Y be the height of the pile, started flat, of the jobs
of a block, N their number. Were they all to arrive at the block's end, workloads could only be larger; the largest
workload after block j obeys Z_j <= max(Z_(j-1) - m T, 0) + Y_j with independent Y_j of one law, a D/GI/1 queue. If
E[exp(theta (Y - m T))] <= 1, its stationary wait V has P(V > x) <= exp(-theta x) (Kingman).

A job finds the workload at some place of a cycle: at most V, the pile Y of the last whole block, and the pile Y' of the
jobs of its own cycle that came before it. Given that place, whichever it is, all three are independent, and Y' is at
most the pile of a whole cycle, as more jobs only raise a pile. So for every place

    P(workload > x)  <=  E[exp(-theta (x - Y - Y'))]  =  exp(-theta x) E[exp(theta Y)] E[exp(theta Y')].

The means are estimated from independent blocks. Services too rare to be sampled cost at most a factor 1 + cost a job,
cost the worst class's E[exp(theta service) - 1; rare] (a longer service raises a pile by no more than its length); as Y
and N go together, (1 + cost)^N is put inside the averages.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loynes.execution.context import Context
from loynes.inputs.philox import STREAM_MAJORANT, STREAM_MAJORANT_CHECK
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.engine import Engine, PileInTime, SpanState
from loynes.kernels.reference import BLOCK
from loynes.model.arrivals import Periodic
from loynes.model.cluster import Model
from loynes.stationary.block_bounds import rare_costs
from loynes.stationary.certificate import ATTEMPTS, SURE, Certificate, NoCertificate
from loynes.stationary.modulated import log_mean

Array = NDArray[np.float64]

# Blocks to choose their length and theta on, and to judge the choice on.
CHOOSING, JUDGING = 256, 1024
# theta as a part of the largest that seems to fit.
PART = 0.7
# What services too rare to be sampled may cost, as a part of the log-mgf's distance from 0.
RARE_PART = 0.5
# Judgements of one attempt: of the drift, of a block's pile and of a cycle's.
BOUNDS = 3


def certify_cycles(
    model: Model, rate: float, *, seed: int, max_jobs: float, context: Context
) -> Certificate | NoCertificate:
    """Cycles in a block and theta, or why there are none."""
    table, engine = job_table(model, rate), context.on("cpu").engine
    assert isinstance(model.arrivals, Periodic)
    cycle, jobs = model.arrivals.cycle, model.arrivals.cycle * rate
    cycles, attempts, tried = max(1, math.ceil(BLOCK / jobs)), 0, 0
    while cycles * jobs * (CHOOSING + 2 * JUDGING) <= max_jobs and attempts < ATTEMPTS:
        tried, span = cycles, cycles * cycle
        theta = _theta(table, _Blocks(table, span, STREAM_MAJORANT, np.arange(CHOOSING), seed, engine), span)
        if theta is not None:
            context.progress(0.0, f"certificate: blocks of {cycles} cycles")
            certificate = _judge(table, cycle, cycles, theta, STREAM_MAJORANT_CHECK + attempts, seed, engine)
            if certificate.drift < 0:
                return certificate
            attempts += 1
        cycles *= 2
    if not tried:
        return NoCertificate(
            f"max-jobs {max_jobs:g} is too small to sample cycles of {jobs:.3g} jobs, in which classes depend on the "
            "slot, often enough"
        )
    return NoCertificate(
        f"no block of up to {tried} cycles surely brings the workload down: the rate is too close to the threshold, or "
        "a cycle or services vary too much"
    )


class _Blocks:
    """Independent blocks of so much time: heights of their piles, and how many jobs they have."""

    def __init__(
        self, table: JobTable, span: float, stream: int, replicas: NDArray[np.int64], seed: int, engine: Engine
    ) -> None:
        count = len(replicas)
        state = SpanState(np.empty(count), np.empty(count, np.int64))
        engine.run(PileInTime(table, seed, stream, replicas, span), state, 0, count)
        self.height, self.jobs = state.height, state.jobs

    def log_mgf(self, theta: float, cost: float, sure: float) -> float:
        """An upper bound, so sure, of ln E[exp(theta Y)], rare services included."""
        return log_mean(theta * self.height + math.log1p(cost) * self.jobs, sure)


def _theta(table: JobTable, blocks: _Blocks, span: float) -> float | None:
    """Well under the largest theta that fits, no more than samples of this size can tell, and rare services cost little
    at; None if there is none."""
    height = blocks.height
    if float(np.mean(height)) >= span:
        return None

    def depth(theta: float) -> float:
        """Of the estimated log-mgf below 0."""
        return -math.log(float(np.mean(np.exp(np.minimum(theta * (height - span), 600.0)))))

    low, high = 0.0, 1.0 / max(float(np.std(height)), 0.05 * float(np.mean(height)))
    if depth(high) > 0:
        low = high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if depth(middle) > 0 else (low, middle)
    theta, jobs = PART * low, span / table.gap_mean
    for _ in range(40):
        cost = float(np.max(rare_costs(table, jobs, JUDGING, theta)))
        if depth(theta) > 0 and jobs * math.log1p(cost) <= RARE_PART * depth(theta):
            return theta
        theta *= 0.8
    return None


def _judge(
    table: JobTable, cycle: float, cycles: int, theta: float, stream: int, seed: int, engine: Engine
) -> Certificate:
    """The bounds, from blocks that had no say in the choice."""
    whole = _Blocks(table, cycles * cycle, stream, np.arange(JUDGING), seed, engine)
    one = _Blocks(table, cycle, stream, np.arange(JUDGING, 2 * JUDGING), seed, engine)
    each = 1.0 - (1.0 - SURE) / (ATTEMPTS * BOUNDS)
    jobs = cycle / table.gap_mean
    costs = [float(np.max(rare_costs(table, many * jobs, JUDGING, theta))) for many in (cycles, 1)]
    log_y, log_1 = (blocks.log_mgf(theta, cost, each) for blocks, cost in zip((whole, one), costs, strict=True))
    # By Jensen's inequality it is at least theta E[Y]: a smaller bound could only be an accident.
    log_y = max(log_y, theta * float(np.mean(whole.height)))
    drift = log_y - theta * cycles * cycle
    return Certificate(theta, max(1, round(cycles * jobs)), log_y + log_1, drift, JUDGING, flat=True)
