"""EASY backfilling (Lifka 1995): the head of the line has a reservation; others may pass if they do not delay it.

The reservation is the earliest time at which, by the run times the scheduler believes in, enough servers will be free.
A job behind may start now if it ends before that, or takes only servers that the head will not need.
"""

import numpy as np

from loynes.kernels.events.ends import drop_first, expect_ends
from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import inlined
from loynes.kernels.events.view import any_idle, believed_time, first_in_line, fits, next_in_line, now


@policy(
    "easy",
    rank=3,
    believes_run_times=True,
    caveat="needs run times; only the head of the line is promised a start",
    summary="the head has a reservation; others may pass if they do not delay it",
    reference="Lifka 1995",
)
def easy(floor, option):
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start(floor, first_in_line(floor))
    head = first_in_line(floor)
    if head == NOBODY or next_in_line(floor, head) == NOBODY or not any_idle(floor):
        return
    reserved = _reserve(floor, head)
    kinds, spare = floor.free.size, floor.room[0]
    slot = next_in_line(floor, head)
    while slot != NOBODY and any_idle(floor):
        behind = next_in_line(floor, slot)
        if fits(floor, slot):
            harmless = now(floor) + believed_time(floor, slot) <= reserved
            if not harmless:
                harmless = True
                for k in range(kinds):
                    harmless &= floor.need[slot, k] <= max(spare[k], 0)
                if harmless:
                    for k in range(kinds):
                        spare[k] -= floor.need[slot, k]
            if harmless:
                start(floor, slot)
        slot = behind


@inlined
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
