"""The distribution of waits as P(wait > x) over a grid of x.

The grid is zero and ten numbers a decade that people would choose (Renard's series: 1, 1.25, 1.6, 2, ...), over three
decades up to the wait that one job in ten thousand of the class that waits longest exceeds. It is the same for all
classes, so that they can be read against each other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Renard's series of ten numbers a decade, R10, rounded as ISO 3 does in its coarser form.
RENARD = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
DECADES = 3
# The grid ends where one job in so many waits longer.
RAREST = 1e-4


def grid_to(longest: float) -> tuple[float, ...]:
    """Zero, and ten numbers a decade up to the first that is not below `longest`; zero alone if nobody waits."""
    if not 0.0 < longest < math.inf:
        return (0.0,)
    top = math.floor(math.log10(longest)) + 1
    # Powers of ten are written, not multiplied: 3.15e-2 is the number nearest to it.
    numbers = [float(f"{number}e{power}") for power in range(top - DECADES - 1, top + 1) for number in RENARD]
    last = next(place for place, number in enumerate(numbers) if number >= longest * (1.0 - 1e-9))
    return (0.0, *numbers[max(last - DECADES * len(RENARD), 0) : last + 1])


def longest_of(values: Array) -> float:
    """Of waits that were all seen, the one that no more than one in ten thousand exceed."""
    return float(np.quantile(values, 1.0 - RAREST, method="inverted_cdf")) if len(values) else 0.0
