"""Blocks that start from a profile instead of flat.

The majorant's argument holds with any fixed heights h >= 0: if all workloads are at most Z + h before a block, they are
at most max(Z - A, 0) + h when its jobs are taken to arrive, and at most max(Z - A, 0) + H after it, H the pile started
from h (monotonicity and shift). So Z_j <= max(Z_(j-1) - A_j, 0) + Y_j with Y = max(H - h), and the stationary workload
lies in law below V + (pile of one block started from h). By the same argument n blocks pile up to at most h + the sum
of their Y, so E[Y] is at least K / threshold, and it tends to it.

Where many jobs run at once, a pile has a shape: its top lies far above its bottom. From flat, a block first has to grow
that shape, so it must be long for the growth to count little; started from about the shape it may be short. h is cut
down to a few numbers: heights above the lowest server at 0, 1, 3, 7, ... servers from the top, straight in between.

The same holds from below: with X = min(H - h), n blocks pile up to at least h + the sum of their X, and E[X] is at most
K / threshold. So a threshold is bracketed by piles from profiles as it is by piles from flat.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loynes.threshold.piles import Piles

Array = NDArray[np.float64]

# Standard deviations above the mean shape to choose among, and what the piles' heights may take.
ABOVE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
MOST_BYTES = 1 << 28


def _knots(servers: int) -> NDArray[np.int64]:
    """Places of servers, ascending, at which a profile is given; the lowest one's height is 0."""
    from_top = (1 << np.arange(servers.bit_length())) - 1
    return np.asarray(servers - 1 - from_top[from_top < servers - 1][::-1])


def heights_of(profile: tuple[float, ...], servers: int) -> Array:
    """The heights of all servers, ascending."""
    return np.asarray(np.interp(np.arange(servers), np.append(0, _knots(servers)), np.append(0.0, profile)))


def profile_of(piles: Piles) -> tuple[float, ...]:
    """The shape of these piles, as high as makes them rise least above it; none for several kinds of servers."""
    return _best(_shape(piles), up=True)[0]


def profiles_of(piles: Piles) -> tuple[tuple[float, ...], tuple[float, ...], float] | None:
    """A profile that such piles hardly rise above, one that they hardly fall below, either empty where flat is better,
    and what is left to bracket, over what is left from flat; None for several kinds of servers."""
    shape = _shape(piles)
    if shape is None:
        return None
    (upper, above), (lower, below) = (_best(shape, up) for up in (True, False))
    flat = float((shape.max(axis=1) - shape.min(axis=1)).mean())
    return upper, lower, (above + below) / flat if flat > 0 else 1.0


def _shape(piles: Piles) -> Array | None:
    """Heights about the mean of their pile."""
    servers = piles.table.servers
    if len(piles.table.units) > 1 or servers < 2 or 8 * servers * piles.replicas > MOST_BYTES:
        return None
    shape = piles.workload()
    shape -= shape.mean(axis=1, keepdims=True)
    return shape


def _best(shape: Array | None, up: bool) -> tuple[tuple[float, ...], float]:
    """The profile that piles of this shape exceed least, or fall short of least, and by how much, with the work that it
    puts in beforehand, or leaves out."""
    if shape is None:
        return (), math.inf
    sign = 1.0 if up else -1.0
    mean, spread = shape.mean(axis=0), shape.std(axis=0)
    best: tuple[float, ...] = ()
    least = float((shape if up else -shape).max(axis=1).mean())  # flat
    for above in ABOVE:
        wanted = np.maximum.accumulate(mean + sign * above * spread)
        profile = tuple(float(x) for x in (wanted - wanted[0])[_knots(shape.shape[1])])
        h = heights_of(profile, shape.shape[1])
        rise = sign * float(h.mean()) + float((sign * (shape - h)).max(axis=1).mean())
        if rise < least:
            best, least = profile, rise
    return best, least
