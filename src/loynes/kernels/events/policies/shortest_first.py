"""Shortest first: of the jobs that fit the one that is believed to take least time, and of equals the first."""

import numpy as np

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import believed_time, first_in_line, fits, next_in_line


@policy(
    "shortest-first",
    rank=7,
    believes_run_times=True,
    caveat="needs run times; long and big jobs may starve",
    summary="of those that fit, the one believed to take least time",
)
def shortest_first(floor, option):
    while True:
        best, least = NOBODY, np.inf
        slot = first_in_line(floor)
        while slot != NOBODY:
            if believed_time(floor, slot) < least and fits(floor, slot):
                best, least = slot, believed_time(floor, slot)
            slot = next_in_line(floor, slot)
        if best == NOBODY:
            return
        start(floor, best)
