"""Which job ends next: a calendar of ends, into which no job comes that ends before those that were taken.

Time is cut into cells of one length. A job's end is put into its cell by a multiplication, unsorted; only the cell
that is being read is kept in order, so that most ends are put in and taken without a comparison (a calendar queue:
R. Brown, Communications of the ACM 31, 1988). Multiplying and rounding down are monotone, so ends come out in order
whatever the cells' length is; all that are beyond the last cell share it.

The cell that is being read is an ascending list, into which ends are inserted; from `FEW` on it is a heap, which such a
list is already. Where one cell holds nearly all ends, as where one job runs a thousand times as long as all others,
the whole is that heap.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.compiled import compiled

# References to the calendar's arrays are its owner's to count: to count them here took more than all else.
inlined = partial(compiled, counted=False, inlined=True)

NOBODY = -1
# So many ends of the cell that is being read are a list. Measured: 8 to 48 are alike.
FEW = 24


class Calendar(NamedTuple):
    """Jobs by their ends; of the cell that is being read also their ends and the units they hold."""

    first: NDArray[np.int32]  # [cell], a job, or NOBODY
    following: NDArray[np.int32]  # [job], the next in its cell
    end: Array  # [job]
    ends: Array
    who: Ints
    held: Ints


class Reading(NamedTuple):
    """The cell that is being read, and where in the lists its ends lie; in a heap they begin at 0."""

    cell: int
    start: int
    stop: int
    heaped: bool


def new_calendar(jobs: int) -> Calendar:
    """With as many cells as jobs."""
    first, following = np.empty((2, jobs), np.int32)
    end, ends = np.empty((2, jobs))
    who, held = np.empty((2, jobs), np.int64)
    return Calendar(first, following, end, ends, who, held)


@inlined
def emptied(calendar):
    """Nobody is in it, and no cell has been read."""
    calendar.first[:] = NOBODY
    return Reading(-1, 0, 0, False)


@inlined
def put(calendar, reading, scale, end, job, held):
    """One more job, that ends no earlier than the last that was taken; time x `scale` is the number of a cell."""
    calendar.end[job] = end
    cell = np.int64(min(end * scale, calendar.first.size - 1.0))
    if cell > reading.cell:
        calendar.following[job] = calendar.first[cell]
        calendar.first[cell] = job
        return reading
    return _insert(calendar, reading, end, job, held)


@inlined
def next_read(calendar, reading, need):
    """The cell being read, which is the next that is not empty where this one is; somebody must be in the calendar."""
    if reading.start < reading.stop:
        return reading
    cell = reading.cell + 1
    while calendar.first[cell] == NOBODY:
        cell += 1
    reading = Reading(cell, 0, 0, False)
    job = calendar.first[cell]
    while job != NOBODY:
        reading = _insert(calendar, reading, calendar.end[job], job, need[job, 0])
        job = calendar.following[job]
    return reading


@inlined
def held_by_first(calendar, reading, need):
    """The units of the first kind of the job that ends next: of a list they lie beside its end."""
    return need[calendar.who[0], 0] if reading.heaped else calendar.held[reading.start]


@inlined
def without_first(calendar, reading):
    """The job that ends next is taken."""
    if reading.heaped:
        return Reading(reading.cell, 0, _pop(calendar.ends, calendar.who, reading.stop), True)
    return Reading(reading.cell, reading.start + 1, reading.stop, False)


@inlined
def _insert(calendar, reading, end, job, held):
    """One more in the cell that is being read."""
    ends, who, units = calendar.ends, calendar.who, calendar.held
    cell, start, stop, heaped = reading
    if not heaped and stop - start == FEW:
        for i in range(FEW):
            ends[i] = ends[start + i]
            who[i] = who[start + i]
        start, stop, heaped = 0, FEW, True
    if heaped:
        return Reading(cell, start, _push(ends, who, stop, end, job), heaped)
    at = stop
    while at > start and ends[at - 1] > end:
        ends[at] = ends[at - 1]
        who[at] = who[at - 1]
        units[at] = units[at - 1]
        at -= 1
    ends[at] = end
    who[at] = job
    units[at] = held
    return Reading(cell, start, stop + 1, heaped)


# A heap of which every entry has four below it: half as deep as one of two, and the four lie in one cache line.


@inlined
def _push(ends, who, size, end, job):
    at = size
    while at > 0:
        parent = (at - 1) >> 2
        if ends[parent] <= end:
            break
        ends[at] = ends[parent]
        who[at] = who[parent]
        at = parent
    ends[at] = end
    who[at] = job
    return size + 1


@inlined
def _pop(ends, who, size):
    """The hole at the top sinks to a leaf along the smallest children, and the last entry rises from there.

    That entry is a leaf itself and rarely rises far; comparing it on the way down would be a branch that is guessed
    wrong as often as right.
    """
    size -= 1
    at, child = 0, 1
    while child + 3 < size:
        left = child + (ends[child + 1] < ends[child])
        right = child + 2 + (ends[child + 3] < ends[child + 2])
        least = left + (right - left) * (ends[right] < ends[left])
        ends[at] = ends[least]
        who[at] = who[least]
        at = least
        child = 4 * at + 1
    if child < size:
        least = child
        for other in range(child + 1, size):
            if ends[other] < ends[least]:
                least = other
        ends[at] = ends[least]
        who[at] = who[least]
        at = least
    _push(ends, who, at, ends[size], who[size])
    return size
