"""The workload vector as runs of equal entries: values descending (the least loaded servers last), counts beside them.

A job pops runs off the end and inserts one: how many servers it takes does not matter. The numbers are those of the
dense vector, bit for bit: only v = start + service is ever computed, everything else moves.

Past the last run the array holds entries popped in this block, then zeros: never more than any v still to come, so that
a search may read WINDOW entries without asking where the runs end. An entry above 0 that was popped is no more than
every run that is left, so behind a zero, in the list or past it, there are zeros only.
"""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, inlined
from loynes.kernels.cpu.memory import move

# A search halves down to WINDOW entries, then counts them all at once (vectorised, no branch to mispredict), unless so
# few are left that halving on is quicker.
WINDOW = 64
FEW = 16


@compiled
def put(values, counts, W):
    """Take over a workload vector; returns the number of runs."""
    size = 0
    values[:] = 0.0
    for i in range(W.size - 1, -1, -1):
        if size > 0 and values[size - 1] == W[i]:
            counts[size - 1] += 1
        else:
            values[size] = W[i]
            counts[size] = 1
            size += 1
    return size


@compiled
def advance(values, counts, size, need, service, gap, begin, end, now):
    """Jobs begin .. end-1 of a block whose clock stands at `now`; returns the number of runs and the clock."""
    for j in range(begin, end):
        short = need[j]
        while True:
            size -= 1
            short -= counts[np.uint64(size)]
            if short <= 0:
                break
        last = values[np.uint64(size)]
        if short < 0:
            counts[np.uint64(size)] = -short
            size += 1
        v = max(now, last) + service[j]
        place = _find(values, np.int64(0), size, v)
        move(values, place + 1, place, size - place)
        move(counts, place + 1, place, size - place)
        values[np.uint64(place)] = v
        counts[np.uint64(place)] = need[j]
        size += 1
        now += gap[j]
    return size, now


@compiled
def insert(values, counts, begin, size, need, v):
    """Take `need` servers off the end of a list that begins somewhere, put them in at v; returns the number of runs."""
    end = begin + size
    short = need
    while True:
        end -= 1
        short -= counts[np.uint64(end)]
        if short <= 0:
            break
    if short < 0:
        counts[np.uint64(end)] = -short
        end += 1
    place = _find(values, begin, end - begin, v)
    move(values, place + 1, place, end - place)
    move(counts, place + 1, place, end - place)
    values[np.uint64(place)] = v
    counts[np.uint64(place)] = need
    return end + 1 - begin


@compiled
def _find(values, begin, size, v):
    """Where the first run at or below v lies, in a list that begins somewhere."""
    place, width = _halve(values, begin, size, v, np.int64(WINDOW))
    if width > FEW:
        first = np.uint64(place)
        for i in range(np.uint64(WINDOW)):
            place += np.int64(values[first + i] > v)
        return place
    return _halve(values, place, width, v, np.int64(0))[0]


@compiled
def _halve(values, place, width, v, until):
    """Binary search among values[place : place + width] until at most `until` are undecided."""
    while width > until:
        half = width >> 1
        middle = place + half
        if values[np.uint64(middle)] > v:
            place = middle + 1
            width -= half + 1
        else:
            width = half
    return place, width


@compiled
def clear(values, begin, size):
    """Zeros from `begin` on, in a list of so many runs, and past it up to the first zero: behind that are others."""
    for i in range(begin, size):
        values[i] = 0.0
    i = size
    while i < values.size and values[i] != 0.0:
        values[i] = 0.0
        i += 1


@compiled
def rebase(values, counts, size, now):
    """End of a block: workloads seen from `now`; all idle servers become one run. Returns the number of runs."""
    busy = 0
    idle = 0
    for i in range(size):
        left = values[i] - now
        if left > 0.0:
            values[i] = left
            busy += 1
        else:
            idle += counts[i]
    clear(values, busy, size)
    if idle > 0:
        counts[busy] = idle
        busy += 1
    return busy


@compiled
def lower(values, size):
    """End of a block of a pile: count from the bottom, which is returned."""
    bottom = values[size - 1]
    for i in range(size):
        values[i] -= bottom
    clear(values, size, size)
    return bottom


@inlined
def look(values, counts, size, need, now, wait, loss):
    """Wait and HOL loss that an arrival of each need (ascending) would meet now; level by level, as in dense.py."""
    place = np.uint64(size - 1)
    level = max(now, values[place])
    passed = np.int64(counts[place])
    lost = 0.0
    for k in range(need.size):
        while passed < need[k]:
            place -= np.uint64(1)
            above = max(now, values[place])
            lost += passed * (above - level)
            level = above
            passed += counts[place]
        wait[k] = level - now
        loss[k] = lost


@compiled
def same(values, counts, size, others, other_counts, other_size):
    """Whether two run lists stand for the same vector: neighbouring runs may have equal values."""
    i = j = 0
    here, there = counts[0], other_counts[0]
    while values[i] == others[j]:
        step = min(here, there)
        here -= step
        there -= step
        if here == 0:
            i += 1
            if i == size:
                return True  # both hold all servers, so the other is at its end too
            here = counts[i]
        if there == 0:
            j += 1
            there = other_counts[j]
    return False


@compiled
def get(values, counts, size, W):
    """Write the workload vector out, ascending."""
    i = 0
    for place in range(size - 1, -1, -1):
        for _ in range(counts[place]):
            W[i] = values[place]
            i += 1
