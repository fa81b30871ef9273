"""When waiting jobs start, first come, first served, given the jobs that run: one pile on their remaining times.

Nobody starts before the job ahead, so servers that become free are handed out in order, and a heap of ends is the whole
state: a job takes the earliest ends until enough servers are free. Each job enters the heap and leaves it once. The
starts are those of the recurrence with all gaps 0, to the last bit: both take maxima and add a run time to a start.
"""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, inlined
from loynes.kernels.cpu.philox import words
from loynes.kernels.reference import BLOCK

_20, _12 = np.uint64(20), np.uint64(12)


@compiled
def draw_times(laws, seed, stream, draw, word, times):
    """What is left of every job's run time, in one draw: from its law, given that it exceeds what it has run."""
    points = laws.quantiles.shape[1] - 1
    for first in range(0, times.size, BLOCK):
        words(seed, stream, draw, first, word[0], word[1], word[2], word[3])
        for i in range(min(BLOCK, times.size - first)):
            j = first + i
            u = (np.float64((word[0, i] << _20) | (word[1, i] >> _12)) + 0.5) * 2.0**-52
            passed, ran, limit = laws.passed[j], laws.elapsed[j], laws.limit[j]
            if passed >= 1.0:  # longer than any of its like: somewhere between now and its limit
                times[j] = u * max(limit - ran, 0.0)
                continue
            at = (passed + u * (1.0 - passed)) * points
            k = min(np.int64(at), points - 1)
            low, high = laws.quantiles[laws.law[j], k], laws.quantiles[laws.law[j], k + 1]
            total = min((low + (at - k) * (high - low)) * laws.scale[j], limit)
            times[j] = max(total - ran, 0.0)


@compiled
def starts_in_turn(laws, need, units, running, seed, stream, draws, word, times, ends, who, free, starts, edges, level):
    """Starts of the waiting jobs, a row of `starts` for each of the draws; the first `running` jobs run.

    level[draw, cell] is how many units of the first kind are busy at each of the edges (ascending, evenly spaced).
    """
    kinds, jobs, cells = units.size, times.size, edges.size
    step = edges[1] - edges[0] if cells > 1 else 1.0
    for row in range(draws.size):
        draw_times(laws, seed, stream, draws[row], word, times)
        for k in range(kinds):
            free[k] = units[k]
        size = 0
        for j in range(running):
            for k in range(kinds):
                free[k] -= need[j, k]
            size = _push(ends, who, size, times[j], j)
            _count(level, row, 0, _cell(times[j], step, cells), need[j, 0])
        clock = 0.0
        for j in range(running, jobs):
            while True:
                enough = True
                for k in range(kinds):
                    enough &= need[j, k] <= free[k]
                if enough:
                    break
                done = who[0]
                clock = max(clock, ends[0])
                size = _pop(ends, who, size)
                for k in range(kinds):
                    free[k] += need[done, k]
            starts[row, j - running] = clock
            for k in range(kinds):
                free[k] -= need[j, k]
            size = _push(ends, who, size, clock + times[j], j)
            _count(level, row, _cell(clock, step, cells), _cell(clock + times[j], step, cells), need[j, 0])
        for cell in range(1, cells):
            level[row, cell] += level[row, cell - 1]


@inlined
def _cell(time, step, cells):
    """The first of the edges at or after a time; none is `cells`."""
    return min(np.int64(np.ceil(time / step)), cells)


@inlined
def _count(level, row, begin, end, need):
    """Busy from one edge on, and no longer from another."""
    if begin < level.shape[1]:
        level[row, begin] += need
    if end < level.shape[1]:
        level[row, end] -= need


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
