"""The stability threshold from piles of doubling length (Algorithm 2 of the paper), with a bracket.

The pile's height grows by gamma a job, and the system is stable iff the arrival rate is below 1 / gamma. Started flat,
E[top of n jobs] / n >= gamma >= E[bottom] / n for every n (sub- and superadditivity, both by monotonicity), so that

    n / E[top]  <=  threshold  <=  n / E[bottom],

and independent replicas put ordinary intervals on both ends. The point estimate is the growth of the top over the
second half of the replicas, whose bias is far smaller than that of height / length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loynes.estimate import Estimate
from loynes.threshold.piles import Heights, Mix, Piles, regressed_mean


@dataclass(frozen=True)
class Doubled:
    """Threshold with its bracket, servers lost to blocking in saturation, and how it went."""

    threshold: Estimate
    hol_loss: Estimate
    reduction: float  # of variance, by control variates
    settled: bool  # False if max_jobs came before the precision


def doubling(
    piles: Piles,
    initial: int,
    *,
    precision: float,
    confidence: float,
    max_jobs: float,
    progress: Callable[[float, str], None] | None = None,
) -> Doubled:
    """Double the piles' length from `initial` until two successive estimates and the bracket agree to `precision`."""
    piles.extend(initial)
    before = piles.state()
    previous = np.inf
    while True:
        piles.extend(2 * piles.length)
        state = piles.state()
        gained = state.since(before)
        found, reduction = _threshold(state, gained, piles.mix, confidence)
        change = abs(found.estimate - previous) / found.estimate
        width = 2.0 * found.relative
        settled = change <= precision and width <= precision
        if progress is not None:
            # Noise falls with the square root of the work, so the share done is about (target / width)^2.
            text = f"threshold {found.estimate:.5g} in [{found.low:.5g}, {found.high:.5g}]"
            progress(1.0 if settled else min(0.99, (precision / max(width, precision)) ** 2), text)
        if settled or 2 * piles.jobs > max_jobs:
            return Doubled(found, _hol_loss(gained, piles.mix, confidence), reduction, settled)
        previous, before = found.estimate, state


def _threshold(state: Heights, gained: Heights, mix: Mix, confidence: float) -> tuple[Estimate, float]:
    controls = state.controls(mix)
    top = regressed_mean(state.top / state.length, controls, confidence)
    bottom = regressed_mean(state.bottom / state.length, controls, confidence)
    growth = regressed_mean(gained.top / gained.length, gained.controls(mix), confidence)
    low = 1.0 / top.estimate.high
    high = 1.0 / bottom.estimate.low if bottom.estimate.low > 0 else np.inf
    centre = 1.0 / growth.estimate.estimate if growth.estimate.estimate > 0 else high
    return Estimate(min(max(centre, low), high), low, high), growth.reduction


def _hol_loss(gained: Heights, mix: Mix, confidence: float) -> Estimate:
    """Server time lost a job over time a job: servers lost, in saturation."""
    controls = gained.controls(mix)
    lost, grown = gained.loss / gained.length, gained.top / gained.length
    grown_mean = regressed_mean(grown, controls, confidence).estimate.estimate
    ratio = regressed_mean(lost, controls, confidence).estimate.estimate / grown_mean
    half = regressed_mean(lost - ratio * grown, controls, confidence).estimate.half_width / grown_mean
    return Estimate(ratio, ratio - half, ratio + half)
