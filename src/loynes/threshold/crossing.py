"""The threshold where the order of classes depends on the rate: arrivals in a cycle, whose slots bring other classes.

A cycle has a length in time, so at a higher rate more jobs of one slot come in a row, and runs of like jobs pile up
otherwise than mixtures do. Let 1 / gamma(rate) be the threshold of the jobs in the order in which they come at a rate:
that rate is stable iff rate gamma(rate) < 1, which is the pile's growth a unit of time.

That growth never falls with the rate. Arrivals at a higher rate are those at a lower one and others, independent, of
the classes of their slots (Poisson processes superpose); a further job anywhere only raises a pile, F(W) >= W, and so,
by monotonicity, everything after it. So stable rates are all those below one threshold, and it is bracketed by any rate
that its own order is shown to take, and any that it is shown not to take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loynes.estimate import Estimate
from loynes.execution.deadline import Stopped
from loynes.threshold.outcome import Outcome

# (rate, precision, confidence, part of the jobs) -> the threshold of the order at a rate.
Order = Callable[[float, float, float, float], Outcome]

# Rates that are tried to find about where the threshold is, and distances from there, in parts of the precision.
ROUNDS = 3
DISTANCES = (0.5, 1.0, 2.0, 4.0)


def crossing(order: Order, start: float, *, precision: float, confidence: float) -> Outcome:
    """The rate that is the threshold of its own order, between one that is shown to be stable and one that is not."""
    rate, stopped = start, False
    found: Outcome | None = None
    for _ in range(ROUNDS):
        try:
            found = order(rate, 0.5 * precision, confidence, 1.0 / 8.0)
        except Stopped:
            if found is None:
                raise
            break
        near = abs(found.threshold.estimate - rate) <= 0.25 * precision * rate
        rate = found.threshold.estimate
        if near:
            break
    assert found is not None
    # Every distance is a test of its own, on either side.
    sure = 1.0 - (1.0 - confidence) / len(DISTANCES)
    low, high = 0.0, float("inf")
    for distance in DISTANCES:  # where there is no time for one, its side stays open
        below, above = (rate * (1.0 + sign * distance * precision) for sign in (-1.0, 1.0))
        part = 1.0 / (2 * 2 * len(DISTANCES))
        try:
            if low == 0.0 and below > 0 and order(below, distance * precision, sure, part).threshold.low > below:
                low = below
            if high == float("inf") and order(above, distance * precision, sure, part).threshold.high < above:
                high = above
        except Stopped:
            stopped = True
            break
        if low > 0.0 and high < float("inf"):
            break
    threshold = Estimate(rate, low, high)
    precise = 2.0 * threshold.relative <= precision * (1.0 + 1e-9)
    return replace(found, threshold=threshold, precise=precise, stopped=stopped and not precise)
