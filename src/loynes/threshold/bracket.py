"""The stability threshold between two bounds that hold for every length of pile.

The pile's height grows by gamma a job, and the system is stable iff the arrival rate is below 1 / gamma. Started flat,
E[top of n jobs] / n >= gamma >= E[bottom] / n for every n (sub- and superadditivity, both by monotonicity), so that

    n / E[top]  <=  threshold  <=  n / E[bottom],

and independent replicas put ordinary intervals on both ends.

If jobs need all servers with probability p, these leave the pile flat, and there is nothing to bracket: let S be
the pile's height just after the first such job that comes after n jobs. S is a sum of np + 1 expected cycles, and a
cycle has 1 / p jobs on average, so by Wald's identity E[S] = gamma (n + 1 / p), exactly, for every n.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from loynes.estimate import Estimate
from loynes.execution.deadline import Stopped
from loynes.execution.progress import Progress
from loynes.kernels.engine import whole_blocks
from loynes.threshold.controls import Mix, regressed_mean
from loynes.threshold.outcome import NO_BOUNDS, Bracketed, Outcome, bracketed, hol_loss, report
from loynes.threshold.piles import Heights, Pairs, Piles, enough_replicas
from loynes.threshold.profile import heights_of, profiles_of

# The next length is aimed a little beyond what the present one says is needed.
AIM = 0.9
LEAST_GROWTH, MOST_GROWTH = 1.25, 4.0
# Piles are begun anew from profiles if these leave so much of the distance between top and bottom, at most.
CLOSER = 0.5


def bracket(
    piles: Piles | Pairs,
    initial: int,
    *,
    regenerative: bool,
    precision: float,
    confidence: float,
    max_jobs: float,
    progress: Progress,
    bounds: tuple[float, float] = NO_BOUNDS,
) -> Outcome:
    """Pile on until (high - low) / estimate <= precision, within the bounds that are known beforehand (`work`).

    Stopped before, the bracket is that of the piles as they are then. It holds for every length. Where it would take
    very long piles, others are piled on profiles (see there) instead, with jobs that the profiles do not know.
    """
    piles.extend(initial)
    states = [piles.state()]
    length, stopped = 2 * initial, False
    while True:
        try:
            piles.extend(length)
        except Stopped:
            length, stopped = piles.length, True
            if length == states[-1].length:
                if len(states) == 1:
                    raise
                states.pop()  # the piles are what they were at the last look
        state = piles.state()
        half = min(states, key=lambda earlier: abs(earlier.length - 0.5 * length))
        gained = state.since(half)
        current = _regenerated(piles, state, confidence) if regenerative and isinstance(piles, Piles) else None
        current = current or bracketed(state, gained, piles.mix, confidence, bounds)
        most = whole_blocks(int(max_jobs / piles.replicas))
        report(progress, current.threshold, precision, length / most)
        width = 2.0 * current.threshold.relative
        precise = width <= precision
        if precise or stopped or length >= most:
            loss = hol_loss(gained, half.length, piles.mix, confidence)
            return Outcome(current.threshold, loss, current.reduction, precise, stopped and not precise, piles.jobs)
        growth = _growth(current.gap, width - current.gap, AIM * precision)
        if len(states) == 1 and isinstance(piles, Piles) and not regenerative and growth == MOST_GROWTH:
            closer = _from_profiles(piles)
            if closer is not None:
                rest: dict[str, Any] = {
                    "precision": precision,
                    "confidence": confidence,
                    "progress": progress,
                    "bounds": bounds,
                }
                found = bracket(closer, initial, regenerative=False, max_jobs=0.5 * (max_jobs - piles.jobs), **rest)
                idle = (_idle(found.threshold, piles.mix),)
                return replace(found, hol_loss=idle, jobs=found.jobs + piles.jobs)
        states.append(state)
        length = min(whole_blocks(int(length * growth)), most)


def _from_profiles(piles: Piles) -> Pairs | None:
    """Other piles, from heights about which they stay, if that leaves much less to bracket than piles from flat.

    Where many jobs run side by side, the top of a pile lies far above its bottom, for all its length: from flat it must
    be so long that this counts little.
    """
    found = None if piles.random else profiles_of(piles)
    if found is None or found[2] > CLOSER:
        return None
    upper, lower = (heights_of(profile, piles.table.servers) if profile else None for profile in found[:2])
    return Pairs(piles.others(upper), piles.others(lower))


def _idle(threshold: Estimate, mix: Mix) -> Estimate:
    """Servers lost to blocking in saturation: all that the work of the jobs leaves idle.

    Known as well as the threshold, where the few jobs of a short run would say little.
    """
    work = float(mix.probability @ (mix.need * mix.mean))
    ends = (threshold.estimate, threshold.high, threshold.low)
    return Estimate(*(mix.servers - rate * work for rate in ends)).within(0.0, mix.servers)


def _growth(gap: float, noise: float, wanted: float) -> float:
    """How much longer piles must be: the gap falls with the length, the noise with its square root."""
    if not math.isfinite(gap + noise):
        return MOST_GROWTH
    root = (noise + math.sqrt(noise * noise + 4.0 * wanted * max(gap, 0.0))) / (2.0 * wanted)
    return min(max(root * root, LEAST_GROWTH), MOST_GROWTH)


def _regenerated(piles: Piles, state: Heights, confidence: float) -> Bracketed | None:
    """The threshold from complete cycles between jobs that need all servers."""
    mix = piles.mix
    p = mix.regeneration
    ended = piles.regenerated()
    controls = [ended.plain_controls(mix)]
    # Sums over blockers have known expectations after n jobs; for the regenerating class also after its own next job.
    blocked = state.blocked - mix.longest_waited_for(state.length)
    cycle = mix.longest_in_a_cycle(int(mix.regenerating[0])) if len(mix.regenerating) == 1 else None
    if cycle is not None:
        place, expected = cycle
        blocked[:, place] = ended.blocked[:, place] - expected * (state.length * p + 1.0)
    controls.append(blocked[:, state.often(mix, mix.blocking)] / state.length)
    growth = regressed_mean(ended.top / (state.length + 1.0 / p), enough_replicas(np.hstack(controls)), confidence)
    gamma = growth.estimate
    if gamma.low <= 0:
        return None
    return Bracketed(Estimate(1.0 / gamma.estimate, 1.0 / gamma.high, 1.0 / gamma.low), 0.0, growth.reduction)
