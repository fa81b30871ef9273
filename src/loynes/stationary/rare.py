"""What services too rare to be sampled can add to the pile of a block: computed from the laws, not from the sample.

Call a service rare if all judging blocks together are expected to see fewer than RARE as long in its class, and a class
unseen if that is so of all its services. Let Y be the height of a block's pile, N_c its jobs of class c.

**Rare services of a class that is seen.** Given its class, a service is in law at most s + b, where s is a service that
is not rare and b, independent of it, is 0 or a rare one. Lengthening a service by b raises a pile by at most b: with
W[a-1] + s + b in place of W[a-1] + s every median is at most b higher, and by monotonicity and shift so is all that
follows. So Y <= Y' + (sum of the b), Y' the pile of the s, and given the classes all of these are independent:

    E[exp(theta Y)]  <=  E[exp(theta Y') product over c of (1 + cost_c)^N_c],   cost_c = E[exp(theta sigma) - 1; rare].

Y' and N_c go together, so the factor is inside the average. (A pile may well be more than a service higher than without
that *job*: on two servers, jobs of need 1, 2, 1 and lengths 10, 1, 10 pile up to 21, the first and the last to 10.)
As services that may be rare are in law at least as long as those that are not, Y' may be replaced by Y once more, and
the average be estimated from the blocks as they are drawn.

**Jobs of unseen classes.** After a job has started nobody starts earlier, so no server is free before the last start,
and none is busy longer after it than the longest service: the entries of a pile whose services are at most t lie within
t of one another (or of as much as they were apart at the start). Let a job of length x join such a pile. Its top was at
most t above its bottom, so no entry is now higher than the old bottom + t + x, and by monotonicity and shift: the job
raises the pile by at most t + x, there and ever after. Taken from the last to the first, each of several joins a pile
that has none of the others yet. So where every job is, with probability p_c, of an unseen class, the mgf is at most
that of blocks of K jobs of the other classes (further jobs only raise a pile) times 1 - p + the sum of the
p_c E[exp(theta (sigma_c + t))] for each job, p the sum of the p_c. The sample's blocks have no job of an unseen class
with probability (1 - p)^K, so the mgf without them is at most the sample's mean over (1 - p)^K. Together a factor

    1 + sum over unseen c of p_c E[exp(theta (sigma_c + t))] / (1 - p)          for each job.

Where classes depend on the arrival process, this holds given the phases, with the phase where it is largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import parts_of
from loynes.inputs.cells import USUAL_CLASSES, UpperCells
from loynes.inputs.tables import JobTable, class_probabilities

Array = NDArray[np.float64]

# Services are rare that all judging blocks together are expected to see fewer times.
RARE = 30
# Exponents beyond this are as good as infinite.
LARGEST = 600.0


@dataclass(frozen=True)
class RareServices:
    """Logarithms of the factors that rare services put on exp(theta Y): for a job of each class, and for any job."""

    of_class: Array
    of_job: float

    def log_factor(self, count: NDArray[np.int64]) -> Array:
        """Of blocks with count[block, class] jobs."""
        return np.asarray(count @ self.of_class + count.sum(axis=1) * self.of_job)

    def expected(self, probability: Array, block: float) -> float:
        """Of a block of so many jobs, if its pile had nothing to do with their classes: what to choose theta by."""
        return block * (math.log1p(float(probability @ np.expm1(self.of_class))) + self.of_job)


class _Rare(NamedTuple):
    """What a sample of so many jobs sees too rarely, or not at all: values and probabilities, group after group."""

    unseen: NDArray[np.bool_]  # by group
    first: NDArray[np.int64]  # of each class, and where the last one ends
    value: Array
    weight: Array
    longest: float  # service that is not rare


class RareLaws:
    """The services of a table, as far as they may be rare: made once, asked for many theta.

    Classes that need the same are in law one class, whose service is a mixture of theirs, so all of the above holds for
    them together. Thousands of classes are seen rarely each, but not together.
    """

    def __init__(self, table: JobTable) -> None:
        self._table, self._of_class = table, _groups(table)
        self._probability = np.bincount(self._of_class, class_probabilities(table))
        laws = UpperCells(table, np.arange(len(table.need)))
        self._value, self._weight = laws.value, laws.weight
        if len(self._probability) < len(table.need):
            share = class_probabilities(table) / self._probability[self._of_class]
            members = [np.flatnonzero(self._of_class == group) for group in range(len(self._probability))]
            self._value = [np.concatenate([laws.value[c] for c in classes]) for classes in members]
            self._weight = [np.concatenate([share[c] * laws.weight[c] for c in classes]) for classes in members]
            for group, value in enumerate(self._value):
                order = np.argsort(value)
                self._value[group], self._weight[group] = value[order], self._weight[group][order]
        self._rare = lru_cache(maxsize=1)(self._find)

    def at(self, theta: float, jobs: float, spread: float = 0.0) -> RareServices:
        """The factors, for a sample of so many jobs in all, in blocks that start from entries so far apart."""
        rare = self._rare(jobs)
        powers = np.expm1(np.minimum(theta * rare.value, LARGEST))
        ends = zip(rare.first[:-1].tolist(), rare.first[1:].tolist(), strict=True)
        sums = np.array([float(rare.weight[a:b] @ powers[a:b]) for a, b in ends])[self._of_class]
        unseen = rare.unseen[self._of_class]
        costs, moments = np.where(unseen, 0.0, sums), np.where(unseen, sums + 1.0, 0.0)
        of_job = _of_unseen(self._table, unseen, moments, theta * max(spread, rare.longest))
        return RareServices(np.log1p(costs), of_job)

    def _find(self, jobs: float) -> _Rare:
        unseen, longest = jobs * self._probability <= RARE, 0.0
        values, weights = [], []
        for c, (value, weight) in enumerate(zip(self._value, self._weight, strict=True)):
            if not unseen[c]:
                # From the longest down, as many as are rare; the last cell of them is rare in part.
                rare = RARE / (jobs * self._probability[c])
                above = np.cumsum(weight[::-1])
                last = min(int(np.searchsorted(above, rare)), len(above) - 1)
                value, weight = value[::-1][: last + 1], weight[::-1][: last + 1].copy()
                weight[-1] = min(rare - (above[last] - weight[-1]), weight[-1])
                longest = max(longest, float(value[last]))
            values.append(value)
            weights.append(weight)
        first = np.cumsum([0, *map(len, values)])
        return _Rare(unseen, first, np.concatenate(values), np.concatenate(weights), longest)


def _groups(table: JobTable) -> NDArray[np.int64]:
    """The group of each class. Few classes are a group each; of many, those that need the same are one."""
    if len(table.need) <= USUAL_CLASSES or table.arrivals.mixed or table.arrivals.repeat >= 0:
        return np.arange(len(table.need))
    _, group = np.unique(np.hstack([table.demand, table.specific]), axis=0, return_inverse=True)
    return np.asarray(group.ravel(), np.int64)


def _of_unseen(table: JobTable, unseen: NDArray[np.bool_], moments: Array, spread: float) -> float:
    """The logarithm of the factor for each job, in the phase where it is largest."""
    if not unseen.any():
        return 0.0
    if unseen.all() or not table.strict or spread > LARGEST:
        # Without strict order entries of a pile may lie further apart than the longest service.
        return math.inf
    mixes = np.diff(parts_of(table.arrivals).mix.astype(np.float64) * 2.0**-32, axis=1, prepend=0.0)
    mixes = mixes if mixes.size else class_probabilities(table)[None, :]
    share = mixes[:, unseen].sum(axis=1)
    if not share.max() < 1.0:
        return math.inf
    return float(np.max(np.log1p(mixes @ np.where(unseen, moments, 0.0) * math.exp(spread) / (1.0 - share))))
