"""EASY backfilling (Lifka 1995): the head of the line has a reservation; others may pass if they do not delay it.

The reservation is the earliest time at which, by the run times the scheduler believes in, enough servers will be free.
A job behind may start now if it ends before that, or takes only servers that the head will not need.
"""

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, NOBODY, RUNNING, any_free, begin, fits


@compiled
def easy(floor, option):
    while floor.counts[HEAD] != NOBODY and fits(floor, floor.counts[HEAD]):
        begin(floor, floor.counts[HEAD])
    head = floor.counts[HEAD]
    if head == NOBODY or floor.jobs[head].after == NOBODY or not any_free(floor):
        return
    now, kinds = floor.clock[0], floor.free.size
    # When the head can start, and what is then left over.
    size = floor.counts[RUNNING]
    ends = np.empty(size)
    for i in range(size):
        slot = floor.jobs[i].heap
        ends[i] = max(floor.jobs[slot].started + floor.jobs[slot].guess, now)
    spare = floor.free.copy()
    reserved = np.inf  # where servers are lost, the head may need more than there are
    for i in np.argsort(ends):
        enough = True
        for k in range(kinds):
            spare[k] += floor.need[floor.jobs[i].heap, k]
            enough &= spare[k] >= floor.need[head, k]
        if enough:
            reserved = ends[i]
            break
    for k in range(kinds):
        spare[k] -= floor.need[head, k]
    slot = floor.jobs[head].after
    while slot != NOBODY and any_free(floor):
        behind = floor.jobs[slot].after
        if fits(floor, slot):
            harmless = now + floor.jobs[slot].guess <= reserved
            if not harmless:
                harmless = True
                for k in range(kinds):
                    harmless &= floor.need[slot, k] <= spare[k]
                if harmless:
                    for k in range(kinds):
                        spare[k] -= floor.need[slot, k]
            if harmless:
                begin(floor, slot)
        slot = behind
