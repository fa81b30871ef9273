"""Shortest first: of the jobs that fit the one that is believed to take least time, and of equals the first.

Where there are priorities, it is one of those with the highest.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.seeking import may_start_from, prepare_line
from loynes.kernels.events.view import any_idle, believed_time, first_in_line, fits, higher, next_in_line


@policy(
    "shortest-first",
    rank=7,
    believes_run_times=True,
    seeks=True,
    caveat="needs run times; long and big jobs may starve",
    summary="of those that fit, the one believed to take least time",
)
def shortest_first(floor, option):
    while True:
        best, least = NOBODY, np.inf
        if first_in_line(floor) == NOBODY or not any_idle(floor):
            return
        prepare_line(floor.blocks, floor, first_in_line(floor))
        slot = may_start_from(floor.blocks, floor, first_in_line(floor), np.inf, least)
        while slot != NOBODY and (best == NOBODY or higher(floor, best, slot) <= 0):
            if believed_time(floor, slot) < least and fits(floor, slot):
                best, least = slot, believed_time(floor, slot)
            slot = may_start_from(floor.blocks, floor, next_in_line(floor, slot), np.inf, least)
        if best == NOBODY:
            return
        start(floor, best)
