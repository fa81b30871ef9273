"""EASY backfilling (Lifka 1995): the head of the line has a reservation; others may pass if they do not delay it.

The reservation is the earliest time at which, by the run times the scheduler believes in, enough servers will be free.
A job behind may start now if it ends before that, or takes only servers that the head will not need.
"""

import numpy as np

from loynes.kernels.events.ends import drop_first, expect_ends
from loynes.kernels.events.floor import HEAD, NOBODY, any_free, begin, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def easy(floor, option):
    while floor.counts[HEAD] != NOBODY and fits(floor, floor.counts[HEAD]):
        begin(floor, floor.counts[HEAD])
    head = floor.counts[HEAD]
    if head == NOBODY or floor.jobs[head].after == NOBODY or not any_free(floor):
        return
    reserved = _reserve(floor, head)
    now, kinds, spare = floor.clock[0], floor.free.size, floor.room[0]
    slot = floor.jobs[head].after
    while slot != NOBODY and any_free(floor):
        behind = floor.jobs[slot].after
        if fits(floor, slot):
            harmless = now + floor.jobs[slot].guess <= reserved
            if not harmless:
                harmless = True
                for k in range(kinds):
                    harmless &= floor.need[slot, k] <= max(spare[k], 0)
                if harmless:
                    for k in range(kinds):
                        spare[k] -= floor.need[slot, k]
            if harmless:
                begin(floor, slot)
        slot = behind


@uncounted
def _reserve(floor, head):
    """When the head can start, and, in the first row of `room`, what is then left over."""
    kinds, spare, size = floor.free.size, floor.room[0], expect_ends(floor)
    for k in range(kinds):
        spare[k] = floor.free[k] - floor.need[head, k]
    reserved = np.inf  # where servers are lost, the head may need more than there are
    while size > 0:
        ends = floor.jobs[0].believed
        if ends > reserved:
            break
        enough = True
        for k in range(kinds):
            spare[k] += floor.need[floor.jobs[0].ending, k]
            enough &= spare[k] >= 0
        if enough:
            reserved = ends
        size = drop_first(floor, size)
    return reserved
