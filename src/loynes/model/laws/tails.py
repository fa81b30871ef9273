"""How heavy a tail is, found numerically: from the logarithm of a survival function far out.

The hazard h = -d ln P(X > x) / dx of an exponential tail tends to a constant above 0, like c + d/x: then x h grows by
equal amounts, and c is the same wherever it is measured. It falls to 0 where the tail is heavier. For a power tail the
slope -d ln P(X > x) / d ln x tends to the power; for all others it grows without end. What is in doubt counts as heavy.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple, Protocol

import numpy as np

# Where to look: ln P(X > x), each twice the one before; the nearer ones where the farther cannot be computed.
LOOKS = ((-150.0, -300.0, -600.0), (-6.0, -12.0, -24.0))
# Slopes are taken over this much of ln x to both sides: on an exponential tail that changes all of them by one factor.
HALF_STEP = 0.05
# A discrete law that is not this small after a million values is not looked at further out.
LAST_DISCRETE = 1e6
# How well two measurements of an exponential rate must agree.
SAME_RATE = 1e-3
# A power's slope settles where ln P doubles; a lognormal's, the slowest of the others, grows by 0.4.
SETTLED = 0.1


class HasTail(Protocol):
    """What is looked at of a law of scipy.stats: ln P(X > x), and a place to begin."""

    def logsf(self, x: float, /) -> float: ...

    def median(self) -> float: ...


class Tail(NamedTuple):
    light: bool
    highest_moment: float


def tail_of(frozen: HasTail, discrete: bool, finite_variance: bool) -> Tail:
    """The tail of a law with unbounded support."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for looks in LOOKS:
            places = [_place(frozen, look, discrete) for look in looks]
            known = [p for p in places if p is not None]
            if len(known) == len(looks) and known[0] < known[1] < known[2]:
                hazards = [_hazard(frozen, x, discrete) for x in known]
                if all(math.isfinite(h) and h > 0 for h in hazards):
                    return _judged(known, hazards)
    return Tail(False, 2.0 if finite_variance else 1.0)


def _judged(x: list[float], h: list[float]) -> Tail:
    rates = [(h[i + 1] * x[i + 1] - h[i] * x[i]) / (x[i + 1] - x[i]) for i in (0, 1)]
    rising = h[0] <= h[1] * (1 + 1e-9) and h[1] <= h[2] * (1 + 1e-9)
    if rising or (rates[1] > 0.5 * h[2] and abs(rates[1] - rates[0]) <= SAME_RATE * rates[1]):
        return Tail(True, math.inf)
    powers = [hazard * place for hazard, place in zip(h, x, strict=True)]
    if powers[2] > (1.0 + SETTLED) * powers[1]:
        return Tail(False, math.inf)
    return Tail(False, max(math.ceil(powers[2] * (1.0 - 1e-3)) - 1.0, 1.0))


def _place(frozen: HasTail, target: float, discrete: bool) -> float | None:
    """x with ln P(X > x) near the target, to a part in a thousand; None if the survival function ends before.

    Halved in ln x: more digits, and scipy.optimize.brentq, would be wasted on a place to look from.
    """
    low = float(frozen.median()) or 1.0
    high = 2.0 * low
    while float(frozen.logsf(high)) > target:
        low, high = high, high * high if high > 1e6 else 2.0 * high
        if not high < (LAST_DISCRETE if discrete else 1e300):
            return None
    while high > 1.001 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if float(frozen.logsf(middle)) > target else (low, middle)
    return float(round(low)) if discrete else low


def _hazard(frozen: HasTail, x: float, discrete: bool) -> float:
    low, high = x * math.exp(-HALF_STEP), x * math.exp(HALF_STEP)
    if discrete:
        low, high = math.floor(low), math.ceil(high)
        if low < 1:
            return math.nan
    return float(frozen.logsf(low) - frozen.logsf(high)) / (math.log(high / low) * x)
