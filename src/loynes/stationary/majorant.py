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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, skewness_extension
from loynes.execution.context import Context
from loynes.inputs.philox import STREAM_MAJORANT, STREAM_MAJORANT_CHECK
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import usual_jobs
from loynes.model.arrivals import Periodic, Sessions
from loynes.model.cluster import Model
from loynes.stationary.block_bounds import Gaps
from loynes.stationary.certificate import ATTEMPTS, SURE, Certificate, LongServices, NoCertificate
from loynes.stationary.cycles import certify_cycles
from loynes.stationary.long_services import choose, far_reaching, short_services
from loynes.stationary.modulated import certify_dependent
from loynes.stationary.rare import RareLaws, RareServices
from loynes.threshold.controls import Mix, regressed_mean
from loynes.threshold.piles import Heights, Piles
from loynes.threshold.profile import heights_of, profile_of

Array = NDArray[np.float64]

# Blocks to choose K and theta on, and to judge the choice on.
CHOOSING, JUDGING = 256, 2048
# Of the drift that infinitely long blocks would have, a block must keep this part.
KEPT_DRIFT = 0.8
# theta, as a part of the largest that seems to fit: the log-mgf is deepest near the middle, the bound best near 1.
PART = 0.7
# What services too rare to be sampled may cost, as a part of the log-mgf's distance from 0.
RARE_PART = 0.5
# Blocks from this length on are worth looking for a profile that makes them shorter.
LONG_BLOCK = 4096
# What the heights of the judging blocks may take.
MOST_BYTES = 1 << 30
# Nanoseconds that a usual job takes.
USUAL_COST = 30.0
# From this length on a block tells how long it would have to be; so many times more jobs than there are is hopeless.
TELLING, HOPELESS = 1024, 4.0
# A theta that is so small a part of one over the spread of Y is a matter of rounding.
ROUNDING = 1e-6
# Judging so many jobs takes long: it is done in so many parts, and told how far it is.
MANY_JOBS, SHOWN = 1e8, 16


def unbounded(model: Model) -> str | None:
    """Why a model can have no certificate at any rate, None if it may have one."""
    if isinstance(model.arrivals, Sessions):
        return (
            "jobs of a session are alike, and a session reaches from one block of jobs into the next: blocks depend on "
            "one another in a way that the majorant does not allow"
        )
    return None


def certify(
    model: Model, rate: float, threshold: Estimate, *, seed: int, max_jobs: float | None, context: Context
) -> Certificate | NoCertificate:
    """Block length and theta for a model at a rate, or why there is none; max_jobs None: as many as is usual."""
    why = unbounded(model)
    if why is not None:
        return NoCertificate(why)
    if max_jobs is None:
        # No longer than usual jobs take: about a minute on two cores.
        max_jobs = usual_jobs(context.engine.most_jobs, job_table(model, rate), USUAL_COST)
    least = BLOCK * (CHOOSING + JUDGING)
    if max_jobs < least:
        return NoCertificate(f"max-jobs {max_jobs:g} is too small to look for one: it takes at least {least}")
    heavy = np.array([not c.service.light_tail for c in model.classes])
    if not heavy.any():
        certificate = _of_blocks(model, rate, threshold, None, seed, max_jobs, context)
        heavy = far_reaching(job_table(model, rate))
        if isinstance(certificate, Certificate) or not heavy.any():
            return certificate
    spare = 1.0 / rate - 1.0 / threshold.estimate
    long = choose(job_table(model, rate), model, spare, heavy) if spare > 0 else None
    if long is None:
        return NoCertificate(
            "long services leave no room for an allowance: the rate is too close to the threshold, or services vary "
            "too much"
        )
    return _of_blocks(short_services(model, long), rate, threshold, long, seed, max_jobs, context)


def _of_blocks(
    model: Model,
    rate: float,
    threshold: Estimate,
    long: LongServices | None,
    seed: int,
    max_jobs: float,
    context: Context,
) -> Certificate | NoCertificate:
    """From blocks of jobs none of whose services is long."""
    allowance = 0.0 if long is None else long.allowance
    options: dict[str, Any] = {"seed": seed, "max_jobs": max_jobs, "context": context}
    if isinstance(model.arrivals, Periodic) and not model.independent:
        return certify_cycles(model, rate, long, **options)
    if not model.independent:
        return certify_dependent(model, rate, long, **options)
    gaps = Gaps(job_table(model, rate), allowance)
    search = _Search(model, rate, gaps, threshold, seed, max_jobs, context)
    tried = "no block of jobs within max-jobs"
    for attempt, (block, theta, profile) in enumerate(search.choices()):
        certificate = search.judge(block, theta, profile, STREAM_MAJORANT_CHECK + attempt)
        if certificate.drift < 0:
            return replace(certificate, long=long)
        tried = f"none of {attempt + 1} block lengths, up to {block} jobs,"
        if attempt + 1 == ATTEMPTS:
            break
    return NoCertificate(
        f"{tried} has a theta with a log-mgf surely below 0{search.wanted}: the rate is too close to the threshold, or "
        "services or arrivals vary too much"
    )


@dataclass(frozen=True)
class _Blocks:
    """Blocks of one length: how high their piles rose, and what there is to know of their jobs."""

    rise: Array  # Y, the height; started from a profile h, max(H - h)
    heights: Heights
    mix: Mix
    laws: RareLaws
    spread: float  # of the entries that a block starts from

    @cached_property
    def controls(self) -> Array:
        return self.heights.controls(self.mix)

    def log_mgf(self, theta: float, sure: float, log_factor: Array | float = 0.0) -> Estimate:
        """ln E[exp(theta Y) x factor], with an interval each end of which is `sure`."""
        centre = float(np.mean(self.rise))
        values = np.exp(theta * (self.rise - centre) + log_factor)
        mean = regressed_mean(values, self.controls, 2.0 * sure - 1.0).estimate
        high = mean.high + max(skewness_extension(values, 2.0 * sure - 1.0), 0.0) * mean.half_width
        logs = (math.log(x) if x > 0 else -math.inf for x in (mean.estimate, mean.low, high))
        return Estimate(*(theta * centre + x for x in logs))

    @classmethod
    def together(cls, parts: list[_Blocks]) -> _Blocks:
        """Blocks of the same length, in one."""
        if len(parts) == 1:
            return parts[0]
        rise = np.concatenate([part.rise for part in parts])
        return replace(parts[0], rise=rise, heights=Heights.together([part.heights for part in parts]))

    def rare(self, blocks: int, theta: float) -> RareServices:
        """What services too rare for so many blocks can add."""
        return self.laws.at(theta, blocks * self.heights.length, self.spread)


@dataclass(frozen=True)
class _Search:
    """Looks for a block length and theta of a model at a rate."""

    model: Model
    rate: float
    gaps: Gaps
    threshold: Estimate
    seed: int
    max_jobs: float
    context: Context
    _needed: list[float] = field(default_factory=list)  # about how many jobs a block must have, as far as is known

    @property
    def wanted(self) -> str:
        """What it would take, in words, where that is more than there is."""
        jobs = (CHOOSING + JUDGING) * self._needed[-1] if self._needed else 0.0
        if not self.max_jobs < jobs < math.inf:
            return ""
        return (
            f" (blocks of about {self._needed[-1]:.2g} jobs would be needed, {jobs:.2g} jobs in all; at most "
            f"{self.max_jobs:.2g} are spent on it, see --max-jobs)"
        )

    def choices(self) -> Iterator[tuple[int, float, tuple[float, ...]]]:
        """Block lengths, doubling, that keep enough of the drift, each with a theta well under the largest that fits.

        Where blocks started flat must be long, a profile may allow shorter ones.
        """
        piles = self._piles(CHOOSING, STREAM_MAJORANT, ())
        for block, theta in self._lengths(piles):
            if block >= LONG_BLOCK and (profile := profile_of(piles)):
                for choice in self._lengths(self._piles(CHOOSING, STREAM_MAJORANT, profile)):
                    if self._size(*choice) <= 0.5 * self._size(block, theta):
                        yield *choice, profile
                    if 2 * choice[0] >= block:
                        break
            yield block, theta, ()

    def _size(self, block: int, theta: float) -> float:
        """About how high V and the pile of one block are: what the upper chain has to lose."""
        return 1.0 / theta + block / self.threshold.estimate

    def _judges(self, count: int, block: int, profile: tuple[float, ...], stream: int) -> Iterator[_Blocks]:
        """So many blocks; where that takes long, in parts, and it is told how far they are."""
        parts = SHOWN if self.context.engine.name == "cpu" and count * block >= MANY_JOBS else 1
        for part in range(parts):
            done = f", {part / parts:.0%} of {count * block:.2g} jobs" if parts > 1 else ""
            self.context.progress(0.0, f"certificate: blocks of {block} jobs{done}")
            first, last = count * part // parts, count * (part + 1) // parts
            piles = self._piles(last - first, stream, profile, first)
            piles.extend(block)
            yield self._blocks(piles)

    def _piles(self, replicas: int, stream: int, profile: tuple[float, ...], first: int = 0) -> Piles:
        table, mix = job_table(self.model, None), Mix.of(self.model)
        start = heights_of(profile, table.servers) if profile else None
        options: dict[str, Any] = {"seed": self.seed, "replicas": replicas, "stream": stream, "first": first}
        return Piles(table, needs_of(self.model), mix, start=start, engine=self.context.engine, **options)

    def _blocks(self, piles: Piles) -> _Blocks:
        heights = piles.state()
        spread = 0.0 if piles.start is None else float(np.ptp(piles.start))
        return _Blocks(heights.top, heights, piles.mix, self._laws, spread)

    @cached_property
    def _laws(self) -> RareLaws:
        return RareLaws(job_table(self.model, None))

    def _lengths(self, piles: Piles) -> Iterator[tuple[int, float]]:
        block, rate = BLOCK, self.rate
        while block * (CHOOSING + JUDGING) <= self.max_jobs:
            self.context.progress(0.0, f"certificate: trying blocks of {block} jobs")
            piles.extend(block)
            blocks = self._blocks(piles)
            rise = regressed_mean(blocks.rise, blocks.controls, 0.5).estimate.estimate
            time = block * (1.0 / rate - self.gaps.allowance)
            drift = time - rise
            spare = time - block / self.threshold.estimate
            if drift > 0 and drift >= KEPT_DRIFT * spare:
                largest = self._largest_theta(blocks)
                theta = None if largest is None else self._affordable(blocks, PART * largest)
                if theta is not None:
                    yield block, theta
            # A pile rises by about as much more than it would in the long run however long it is, or by more.
            needed = block * (spare - drift) / ((1.0 - KEPT_DRIFT) * spare) if spare > 0 else math.inf
            self._needed.append(max(needed, 2.0 * block))
            if block >= TELLING and needed * (CHOOSING + JUDGING) > HOPELESS * self.max_jobs:
                break
            block *= 2

    def _depth(self, blocks: _Blocks, theta: float) -> float:
        """Of the estimated log-mgf of Y - A below 0."""
        return -(blocks.log_mgf(theta, 0.75).estimate + self.gaps.log(blocks.heights.length, theta))

    def _affordable(self, blocks: _Blocks, theta: float) -> float | None:
        """The largest theta, from this one down, at which rare services cost little; None if they cost too much."""
        for _ in range(40):
            depth = self._depth(blocks, theta)
            if depth > 0:
                rare = blocks.rare(_judging(self.model.servers), theta)
                if rare.expected(blocks.mix.probability, blocks.heights.length) <= RARE_PART * depth:
                    return theta
            theta *= 0.8
        return None

    def _largest_theta(self, blocks: _Blocks) -> float | None:
        """Where the estimated log-mgf of Y - A is back at 0, but no more than a sample of this size can tell; None if
        it is nowhere below 0, except where rounding says so."""
        low, high = 0.0, 1.0 / max(float(np.std(blocks.rise)), 0.05 * float(np.mean(blocks.rise)))
        if self._depth(blocks, high) > 0:
            return high
        least = ROUNDING * high
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._depth(blocks, middle) > 0 else (low, middle)
        return low if low > least else None

    def judge(self, block: int, theta: float, profile: tuple[float, ...], stream: int) -> Certificate:
        """The bounds, from blocks that had no say in the choice."""
        count = _judging(self.model.servers)
        blocks = _Blocks.together(list(self._judges(count, block, profile, stream)))
        factor = blocks.rare(count, theta).log_factor(blocks.heights.count)
        sampled = blocks.log_mgf(theta, 1.0 - (1.0 - SURE) / ATTEMPTS, factor).high
        # By Jensen's inequality the log-mgf is at least theta E[Y], and E[Y] at least block / threshold: a smaller
        # bound could only be an accident.
        log_mgf = max(sampled, theta * block / self.threshold.high)
        return Certificate(theta, block, log_mgf, log_mgf + self.gaps.log(block, theta), count, profile=profile)


def _judging(servers: int) -> int:
    """How many blocks to judge on: fewer where a block's heights are large."""
    return int(min(max(MOST_BYTES // (8 * servers), 64), JUDGING))
