"""Histograms of many classes, of which only bins that were ever hit are kept.

A histogram of one class has thousands of bins, of which a run hits a few. Of few classes they are counted where they
are; of many, whose histograms would be hundreds of megabytes that are mostly empty, the loop writes down which bin each
job hit, and these are counted a stretch at a time.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.kernels.tally import BINS

# Up to so many classes, all bins of a replica are 3 MB: they fit into a core's cache, and are counted in place.
COUNTED_IN_PLACE = 64
# Jobs to write down before they are counted, at least: sorting many at once is cheaper.
AT_ONCE = 1 << 16


class Histograms(NamedTuple):
    """How often which bin of which class was hit, in ascending order of `place`."""

    place: Ints  # class * BINS + bin
    times: NDArray[np.uint32]

    @classmethod
    def of(cls, bins: NDArray[np.uint32]) -> Self:
        """From [class, bin]."""
        place = np.flatnonzero(bins)
        return cls(place, bins.ravel()[place])

    def together(self, first: int, last: int) -> NDArray[np.uint64]:
        """[bin], of the classes first .. last - 1 together."""
        begin, end = np.searchsorted(self.place, (first * BINS, last * BINS))
        found = np.zeros(BINS, np.uint64)
        np.add.at(found, self.place[begin:end] % BINS, self.times[begin:end].astype(np.uint64))
        return found

    def and_hits(self, place: Ints) -> Histograms:
        """With more hits, in any order."""
        new, hits = np.unique(place, return_counts=True)
        every, where = np.unique(np.concatenate([self.place, new]), return_inverse=True)
        count = np.zeros(len(every), np.uint32)
        count[where[: len(self.place)]] = self.times
        count[where[len(self.place) :]] += hits.astype(np.uint32)
        return Histograms(every, count)


NOTHING = Histograms(np.empty(0, np.int64), np.empty(0, np.uint32))


class Gathered:
    """Histograms that grow by what is written down, counted when it is as much as was counted before.

    So each hit is sorted a few times at most, however long a run is, and what is kept is at most twice what there is.
    """

    def __init__(self) -> None:
        self._counted, self._new = NOTHING, [np.empty(0, np.int64)]

    def add(self, job_class: Ints, bins: Ints) -> None:
        self._new.append(job_class * BINS + bins)
        if sum(map(len, self._new)) >= max(AT_ONCE, len(self._counted.place)):
            self.counted()

    def counted(self) -> Histograms:
        """All there is so far."""
        self._counted = self._counted.and_hits(np.concatenate(self._new))
        self._new = [np.empty(0, np.int64)]
        return self._counted
