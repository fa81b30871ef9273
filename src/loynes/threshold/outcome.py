"""The outcome of every method for the threshold, and the steps that the methods share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loynes.arrays import Array
from loynes.estimate import Estimate
from loynes.execution.progress import Progress
from loynes.threshold.controls import Mix, regressed_mean
from loynes.threshold.piles import Heights

# Of a threshold of which nothing is known beforehand.
NO_BOUNDS = (0.0, math.inf)


@dataclass(frozen=True)
class Outcome:
    """Threshold with its bracket, servers lost to blocking in saturation, and how it went."""

    threshold: Estimate
    hol_loss: tuple[Estimate, ...]  # of every kind
    reduction: float  # of variance, by control variates
    precise: bool  # False if max_jobs, or the end of the time, came before the precision
    stopped: bool = False  # by the end of the time, or because somebody asked
    jobs: int = 0  # piled up in all


@dataclass(frozen=True)
class Bracketed:
    """lambda_c between length / E[top] and length / E[bottom], each end widened by its interval."""

    threshold: Estimate
    gap: float  # relative distance of the two ends without their intervals: falls with the length
    reduction: float


def bracketed(
    state: Heights, gained: Heights, mix: Mix, confidence: float, bounds: tuple[float, float] = NO_BOUNDS
) -> Bracketed:
    """The bracket from piles started flat, within the bounds that are known beforehand.

    The estimate is the growth in the second half, `gained`, whose bias is far smaller than that of height over length:
    of the tops or of the bottoms, whichever is quieter.
    """
    controls = state.controls(mix)
    top = regressed_mean(state.top / state.length, controls, confidence).estimate
    bottom = regressed_mean(state.bottom / state.length, controls, confidence).estimate
    later = gained.controls(mix, state.length - gained.length)
    growths = [regressed_mean(ends / gained.length, later, confidence) for ends in (gained.top, gained.bottom)]
    growth = min(growths, key=lambda mean: mean.estimate.half_width)
    low = max(1.0 / top.high, bounds[0])
    # Never below the low end: a bracket above its upper bound is a sign that it cannot be trusted.
    high = max(min(_inverse(bottom.low), bounds[1]), low)
    centre = min(_inverse(growth.estimate.estimate), high)
    least, most = max(1.0 / top.estimate, bounds[0]), min(_inverse(bottom.estimate), bounds[1])
    return Bracketed(Estimate(min(max(centre, low), high), low, high), 1.0 - least / most, growth.reduction)


def _inverse(growth: float) -> float:
    return 1.0 / growth if growth > 0 else math.inf


def hol_loss(gained: Heights, before: int, mix: Mix, confidence: float) -> tuple[Estimate, ...]:
    """Server time lost a job over time a job: servers of every kind lost, in saturation."""
    controls, grown = gained.controls(mix, before), gained.top / gained.length
    return tuple(_ratio(lost / gained.length, grown, controls, confidence) for lost in gained.loss.T)


def _ratio(lost: Array, grown: Array, controls: Array, confidence: float) -> Estimate:
    grown_mean = regressed_mean(grown, controls, confidence).estimate.estimate
    ratio = regressed_mean(lost, controls, confidence).estimate.estimate / grown_mean
    half = regressed_mean(lost - ratio * grown, controls, confidence).estimate.half_width / grown_mean
    return Estimate(ratio, ratio - half, ratio + half)


def report(progress: Progress, threshold: Estimate, precision: float, spent: float) -> None:
    """Noise falls with the square root of the jobs, so the share done is about (target / width)^2; or as much as is
    spent of the jobs there are."""
    share = min(0.99, max((precision / max(2.0 * threshold.relative, precision)) ** 2, spent))
    progress(share, f"threshold {threshold.estimate:.5g} in [{threshold.low:.5g}, {threshold.high:.5g}]")
