"""What a change does to a metric: derivatives along paths, and differences of any metric on the same jobs.

A derivative of a mean wait is the mean of the waits' own derivatives, so replicas give it an ordinary interval. The
difference of any metric between two models that ran on the same jobs gets a jackknife: it is worked out from all
replicas, and without each of several groups of them. Groups are independent and replica r of one model goes with
replica r of the other, so what they have in common cancels, in the interval, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array
from loynes.estimate import Estimate, mean_of
from loynes.estimators import chains as from_chains
from loynes.estimators.measures import NOTHING_MORE, Measures, Wanted
from loynes.estimators.pairs import ChainTallies
from loynes.kernels.engine import SlopeSums
from loynes.kernels.tally import Tally

# Of replicas, each left out once: an interval of so many has nearly the normal factor.
GROUPS = 32


def mean_slopes(sums: SlopeSums, weight: Array) -> Array:
    """[replica, class]: derivatives of the mean wait of a mixture of needs by the logarithm of every class's mean
    service, and last by that of the mean gap."""
    return np.asarray(np.einsum("rkc,k->rc", sums.slope, weight) / sums.looks[:, None])


def values_of(chains: ChainTallies, get: Callable[[Measures], Estimate], wanted: Wanted = NOTHING_MORE) -> Array:
    """A metric from all replicas, then without each group of them."""

    def value(tally: Tally, responses: bool) -> float:
        measures = from_chains.measures(
            chains.model, chains.rate, chains.needs, tally, 0.5, wanted, quickly=not responses
        )
        return get(measures).estimate

    tally = chains.tallies[0]
    rows = len(tally.looks)
    count = min(GROUPS, rows)
    group = np.arange(rows) * count // rows
    parts = [_sum_of_rows(tally, group == g) for g in range(count)]
    whole = _sum_of_rows(tally, np.ones(rows, np.bool_))
    without = [_less(whole, part) for part in parts]
    # Percentiles of responses, which take longest, are worked out only for a metric that is nothing without them.
    responses = math.isnan(value(whole, False))
    return np.array([value(one, responses) for one in (whole, *without)])


def difference(first: Array, second: Array, factor: float, confidence: float) -> Estimate:
    """`factor` times second minus first, of values as `values_of` gives them."""
    change = factor * (second - first)
    count = len(change) - 1
    centre, pseudo = float(change[0]), count * change[0] - (count - 1) * change[1:]
    about = mean_of(pseudo, confidence)
    return Estimate(centre, centre - (about.estimate - about.low), centre + (about.high - about.estimate))


def _less(whole: Tally, part: Tally) -> Tally:
    columns = zip(whole[1:], part[1:], strict=True)
    return Tally._make([whole.per_unit, *(np.asarray(one) - np.asarray(other) for one, other in columns)])


def _sum_of_rows(tally: Tally, chosen: NDArray[np.bool_]) -> Tally:
    """One row of all that some replicas have seen."""
    return Tally(tally.per_unit, *(column[chosen].sum(axis=0, keepdims=True) for column in tally[1:]))
