"""Algorithm 2 of the paper: piles of doubling length, until two successive estimates agree.

Kept for comparison: that two estimates agree proves nothing, so the bracket printed with them may be wider than their
difference.
"""

from __future__ import annotations

import math

from loynes.threshold.found import Found, Watch, bracketed, hol_loss, tell
from loynes.threshold.piles import Piles


def doubling(
    piles: Piles, initial: int, *, precision: float, confidence: float, max_jobs: float, watch: Watch = None
) -> Found:
    """Double the piles' length from `initial` until the estimate changes by at most `precision`, relatively."""
    piles.extend(initial)
    before = piles.state()
    previous = math.inf
    while True:
        piles.extend(2 * piles.length)
        state = piles.state()
        gained = state.since(before)
        found = bracketed(state, gained, piles.mix, confidence)
        estimate = found.threshold.estimate
        settled = abs(estimate - previous) <= precision * estimate
        tell(watch, found.threshold, precision)
        if settled or 2 * piles.jobs > max_jobs:
            loss = hol_loss(gained, before.length, piles.mix, confidence)
            return Found(found.threshold, loss, found.reduction, settled)
        previous, before = estimate, state
