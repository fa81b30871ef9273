"""Waits, system and time series of jobs that were all seen: exact figures, no intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate
from loynes.estimators.measures import NOTHING_MORE, Spread, System, Wanted

# Jobs that are looked at together.
CHUNK = 1 << 15


def spread_of(values: Array, wanted: Wanted = NOTHING_MORE) -> Spread:
    """Mean, variance and percentiles of the values themselves: a percentile is one of them."""
    return seen_of(values, (), wanted, np.empty(len(values))).spread


@dataclass(frozen=True)
class Seen:
    """Times that were all seen: their spread, and the share of them that is longer than each of some times."""

    spread: Spread
    beyond: tuple[float, ...]
    none: float  # the share of those that are 0


def seen_of(values: Array, beyond: Sequence[float], wanted: Wanted, room: Array) -> Seen:
    """Of values, at least one; `room` has as many places, and anything in the end.

    New memory is dear where there are millions of values: it is cleared first, and takes longer than sorting them.
    """
    count, place = len(values), room[: len(values)]
    place[:] = values
    place.sort()
    percentiles = [float(place[max(math.ceil(count * q) - 1, 0)]) for q in wanted.quantiles]
    above = (count - np.searchsorted(place, beyond, side="right")) / count
    none = int(np.searchsorted(place, 0.0, side="right") - np.searchsorted(place, 0.0, side="left"))
    # As np.var does, to the last bit.
    mean = float(np.mean(values))
    np.subtract(values, mean, out=place)
    np.multiply(place, place, out=place)
    variance = float(np.add.reduce(place) / count)
    exact = [Estimate.exact(value) for value in (mean, variance, *percentiles)]
    return Seen(wanted.spread(exact[0], exact[1], exact[2:]), tuple(above.tolist()), none / count)


def system_over(servers: int, span: float, work: float, loss: float, wait: float, response: float) -> System:
    """Time averages over a span, from totals: server time of work and HOL loss, and the jobs' waits and responses."""
    busy = work / span
    return System(
        busy_servers=Estimate.exact(busy),
        utilization=Estimate.exact(busy / servers),
        idle_servers=Estimate.exact(servers - busy),
        hol_loss=Estimate.exact(loss / span),
        jobs_in_system=Estimate.exact(response / span),
        jobs_waiting=Estimate.exact(wait / span),
    )


def average_in_windows(begin: Array, end: Array, weight: Array | Ints, edges: Array) -> Array:
    """The time average, in every window, of the weights of the intervals [begin, end) that are under way.

    Parts of windows are added up as they are, whole windows counted: no difference of large sums is taken.
    """
    count, width = len(edges) - 1, np.diff(edges)
    sums = _Sums(5, count + 1)
    # So many intervals at a time that what is computed of them stays in the cache.
    for one in range(0, len(begin), step := max(CHUNK, 4 * count)):
        part = slice(one, one + step)
        _add_intervals(sums, begin[part], end[part], weight[part].astype(np.float64, copy=False), edges)
    inside, began, ended, more, less = sums.totals
    whole = np.cumsum(more - less)[:count]
    return np.asarray((inside + (began + ended))[:count] / width + whole)


class _Sums:
    """Sums by place, added to piece by piece in the order of the whole: the same bits as in one piece."""

    def __init__(self, kinds: int, places: int) -> None:
        self.totals = np.zeros((kinds, places))
        self._every = np.arange(places)

    def add(self, kind: int, place: Ints, amount: Array) -> None:
        so_far = self.totals[kind]
        places, amounts = np.concatenate((self._every, place)), np.concatenate((so_far, amount))
        self.totals[kind] = np.bincount(places, amounts, minlength=len(so_far))


def _add_intervals(sums: _Sums, begin: Array, end: Array, weight: Array, edges: Array) -> None:
    """What lies inside of one window; else the parts at both ends, and where whole windows begin and cease."""
    last_window = len(edges) - 2
    first = np.clip(np.searchsorted(edges, begin, side="right") - 1, 0, last_window)
    last = np.clip(np.searchsorted(edges, end, side="left") - 1, first, last_window)
    one = first == last
    sums.add(0, first[one], weight[one] * (end[one] - begin[one]))
    if not one.all():
        first, last, begin, end, weight = first[~one], last[~one], begin[~one], end[~one], weight[~one]
        sums.add(1, first, weight * (edges[first + 1] - begin))
        sums.add(2, last, weight * (end - edges[last]))
        sums.add(3, first + 1, weight)
        sums.add(4, last, weight)
