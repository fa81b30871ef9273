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

The means are estimated from independent blocks, with the factors of services too rare to be sampled (`rare`) inside.
Services that are set apart as long (`long_services`) get an allowance a job: with Y' + N a in place of Y the same level
bounds the short ones, allowances of the last block and cycle included, and G is added to it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from loynes.execution.context import Context
from loynes.inputs.philox import STREAM_MAJORANT, STREAM_MAJORANT_CHECK
from loynes.inputs.tables import JobTable, class_probabilities, job_table
from loynes.kernels.engine import Engine, PileInTime, SpanState
from loynes.kernels.reference import BLOCK
from loynes.model.arrivals import Periodic
from loynes.model.cluster import Model
from loynes.stationary.certificate import ATTEMPTS, SURE, Certificate, LongServices, NoCertificate
from loynes.stationary.modulated import log_mean
from loynes.stationary.rare import RareLaws, RareServices

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
    model: Model, rate: float, long: LongServices | None, *, seed: int, max_jobs: float, context: Context
) -> Certificate | NoCertificate:
    """Cycles in a block and theta, or why there are none; long services are set apart from the model already."""
    table, engine = job_table(model, rate), context.on("cpu").engine
    assert isinstance(model.arrivals, Periodic)
    cycle, jobs = model.arrivals.cycle, model.arrivals.cycle * rate
    cycles, attempts, tried = max(1, math.ceil(BLOCK / jobs)), 0, 0
    sample = partial(_Blocks, table, seed, engine, 0.0 if long is None else long.allowance)
    while cycles * jobs * (CHOOSING + 2 * JUDGING) <= max_jobs and attempts < ATTEMPTS:
        tried, span = cycles, cycles * cycle
        theta = _theta(sample(span, STREAM_MAJORANT, np.arange(CHOOSING)), span)
        if theta is not None:
            context.progress(0.0, f"certificate: blocks of {cycles} cycles")
            whole = sample(span, STREAM_MAJORANT_CHECK + attempts, np.arange(JUDGING))
            one = sample(cycle, STREAM_MAJORANT_CHECK + attempts, np.arange(JUDGING, 2 * JUDGING))
            certificate = _judge(whole, one, span, max(1, round(cycles * jobs)), theta)
            if certificate.drift < 0:
                return replace(certificate, long=long)
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
    """Independent blocks of so much time: heights of their piles, allowances for long services included, and how many
    jobs of each class they have."""

    def __init__(
        self,
        table: JobTable,
        seed: int,
        engine: Engine,
        allowance: float,
        span: float,
        stream: int,
        replicas: NDArray[np.int64],
    ) -> None:
        count = len(replicas)
        state = SpanState(np.empty(count), np.empty((count, len(table.need)), np.int64))
        engine.run(PileInTime(table, seed, stream, replicas, span), state, 0, count)
        self.table, self.count, self._laws = table, state.jobs, RareLaws(table)
        self.jobs = span / table.gap_mean  # expected
        self.height = state.height + allowance * state.jobs.sum(axis=1)

    def rare(self, theta: float) -> RareServices:
        """What services too rare for the judging blocks can add."""
        return self._laws.at(theta, JUDGING * self.jobs)

    def log_mgf(self, theta: float, sure: float) -> float:
        """An upper bound, so sure, of ln E[exp(theta Y)], rare services included."""
        return log_mean(theta * self.height + self.rare(theta).log_factor(self.count), sure)


def _theta(blocks: _Blocks, span: float) -> float | None:
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
    theta = PART * low
    for _ in range(40 if theta > 0 else 0):
        rare = blocks.rare(theta).expected(class_probabilities(blocks.table), blocks.jobs)
        if depth(theta) > 0 and rare <= RARE_PART * depth(theta):
            return theta
        theta *= 0.8
    return None


def _judge(whole: _Blocks, one: _Blocks, span: float, jobs: int, theta: float) -> Certificate:
    """The bounds, from blocks, and single cycles, that had no say in the choice."""
    each = 1.0 - (1.0 - SURE) / (ATTEMPTS * BOUNDS)
    # By Jensen's inequality it is at least theta E[Y]: a smaller bound could only be an accident.
    log_y = max(whole.log_mgf(theta, each), theta * float(np.mean(whole.height)))
    return Certificate(theta, jobs, log_y + one.log_mgf(theta, each), log_y - theta * span, JUDGING, flat=True)
