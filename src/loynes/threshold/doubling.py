"""Algorithm 2 of the paper: piles of doubling length, until two successive estimates agree.

Kept for comparison: that two estimates agree proves nothing, so the bracket printed with them may be wider than their
difference.
"""

from __future__ import annotations

import math
from dataclasses import replace

from loynes.execution.deadline import Stopped
from loynes.execution.progress import Progress
from loynes.threshold.outcome import Outcome, bracketed, hol_loss, report
from loynes.threshold.piles import Piles


def doubling(
    piles: Piles, initial: int, *, precision: float, confidence: float, max_jobs: float, progress: Progress
) -> Outcome:
    """Double the piles' length from `initial` until the estimate changes by at most `precision`, relatively."""
    piles.extend(initial)
    before = piles.state()
    previous, last = math.inf, None
    while True:
        try:
            piles.extend(2 * piles.length)
        except Stopped:
            if last is None:
                raise
            return replace(last, stopped=True, jobs=piles.jobs)
        state = piles.state()
        gained = state.since(before)
        bracket = bracketed(state, gained, piles.mix, confidence)
        estimate = bracket.threshold.estimate
        agree = abs(estimate - previous) <= precision * estimate
        report(progress, bracket.threshold, precision, piles.jobs / max_jobs)
        loss = hol_loss(gained, before.length, piles.mix, confidence)
        last = Outcome(bracket.threshold, loss, bracket.reduction, agree, jobs=piles.jobs)
        if agree or 2 * piles.jobs > max_jobs:
            return last
        previous, before = estimate, state
