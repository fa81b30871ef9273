"""Conservative backfilling (Mu'alem and Feitelson 2001): every job in line has a reservation, and none may be delayed.

At every event the reservations are made anew, in order of arrival: each the earliest stretch, as long as the job is
believed to take, in which enough servers will be free. Whose reservation is now starts.
"""

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, LINED, NOBODY, RUNNING, begin


@compiled
def conservative(floor, option):
    if floor.counts[HEAD] == NOBODY or floor.free.max() == 0:
        return
    now, kinds, size = floor.clock[0], floor.free.size, floor.counts[RUNNING]
    # What will be free from each of these times on: first as running jobs end, then less the reservations.
    room = size + 2 * floor.counts[LINED] + 2
    times, free = np.empty(room), np.empty((room, kinds), np.int64)
    ends = np.empty(size)
    for i in range(size):
        ends[i] = max(floor.jobs[floor.jobs[i].heap].started + floor.jobs[floor.jobs[i].heap].guess, now)
    times[0] = now
    free[0] = floor.free
    known = 1
    for i in np.argsort(ends):
        if ends[i] > times[known - 1]:
            times[known] = ends[i]
            free[known] = free[known - 1]
            known += 1
        for k in range(kinds):
            free[known - 1, k] += floor.need[floor.jobs[i].heap, k]
    slot = floor.counts[HEAD]
    while slot != NOBODY:
        behind = floor.jobs[slot].after
        need, length = floor.need[slot], floor.jobs[slot].guess
        first = 0
        while True:
            # The next step from which on there is room for long enough.
            until = times[first] + length
            step, blocked = first, -1
            while step < known and (times[step] < until or step == first):
                if (free[step] < need).any():
                    blocked = step
                    break
                step += 1
            if blocked < 0:
                break
            first = blocked + 1
        known = _reserve(times, free, known, first, times[first] + length, need)
        if first == 0:
            begin(floor, slot)
        slot = behind
        if (free[0] == 0).all():
            return


@compiled
def _reserve(times, free, known, first, until, need):
    """Take these servers from step `first` until that time; how many steps there are then."""
    last = first
    while last < known and times[last] < until:
        last += 1
    if last == known or times[last] > until:
        for step in range(known, last, -1):
            times[step] = times[step - 1]
            free[step] = free[step - 1]
        times[last] = until
        free[last] = free[last - 1]
        known += 1
    for step in range(first, last):
        free[step] -= need
    return known
