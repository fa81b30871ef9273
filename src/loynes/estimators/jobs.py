"""Waits, system and time series of jobs that were all seen: exact figures, no intervals."""

from __future__ import annotations

import math

import numpy as np

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate
from loynes.estimators.measures import NOTHING_MORE, Spread, System, Waits, Wanted
from loynes.kernels.events.recorded import slowdowns_of


def spread_of(values: Array, wanted: Wanted = NOTHING_MORE) -> Spread:
    """Mean, variance and percentiles of the values themselves: a percentile is one of them."""
    ranks = [max(math.ceil(len(values) * q) - 1, 0) for q in wanted.quantiles]
    ordered = np.partition(values, ranks)
    moments = (float(np.mean(values)), float(np.var(values)), *(float(ordered[rank]) for rank in ranks))
    mean, variance, *percentiles = (Estimate.exact(value) for value in moments)
    return wanted.spread(mean, variance, percentiles)


def waits_of(wait: Array, service: Array, wanted: Wanted = NOTHING_MORE, threshold: float | None = None) -> Waits:
    """Of jobs that were all seen; the bounded slowdown where there is a threshold."""
    none = Estimate.exact(float(np.mean(wait == 0.0)))
    bounded = None if threshold is None else Estimate.exact(float(np.mean(slowdowns_of(wait, service, threshold))))
    return Waits(spread_of(wait, wanted), spread_of(wait + service, wanted), none, bounded_slowdown=bounded)


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


def average_in_windows(begin: Array, end: Array, weight: Array, edges: Array) -> Array:
    """The time average, in every window, of the weights of the intervals [begin, end) that are under way.

    Parts of windows are added up as they are, whole windows counted: no difference of large sums is taken.
    """
    count, width = len(edges) - 1, np.diff(edges)
    first = np.clip(np.searchsorted(edges, begin, side="right") - 1, 0, count - 1)
    last = np.clip(np.searchsorted(edges, end, side="left") - 1, first, count - 1)
    one = first == last

    def total(place: Ints, amount: Array) -> Array:
        return np.bincount(place, amount, minlength=count + 1).astype(np.float64)

    inside = total(first[one], weight[one] * (end[one] - begin[one]))
    first, last, begin, end, weight = first[~one], last[~one], begin[~one], end[~one], weight[~one]
    parts = total(first, weight * (edges[first + 1] - begin)) + total(last, weight * (end - edges[last]))
    whole = np.cumsum(total(first + 1, weight) - total(last, weight))[:count]
    return np.asarray((inside + parts)[:count] / width + whole)
