"""EASY with shortest-first backfilling (Tsafrir, Etsion and Feitelson 2007, EASY-SJBF).

The head of the line has the reservation of EASY, and the same jobs may pass; but they are tried by how long they are
believed to take, the shortest first, and of equals the first in line. With predicted run times it is their EASY++.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.easy import backfill, is_harmless, reserve
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import any_idle, believed_time, first_in_line, fits, next_in_line


@policy(
    "easy-sjbf",
    rank=3,
    believes_run_times=True,
    summary="`easy`, but of those that may pass the one believed to take least time first",
    reference="Tsafrir, Etsion and Feitelson 2007",
)
def easy_sjbf(floor, option):
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start(floor, first_in_line(floor))
    head = first_in_line(floor)
    if head == NOBODY or next_in_line(floor, head) == NOBODY or not any_idle(floor):
        return
    reserved = reserve(floor, head)
    # Whoever may not pass now may not either once another one has: so the shortest of all is looked for again.
    while any_idle(floor):
        best, least = NOBODY, np.inf
        slot = next_in_line(floor, head)
        while slot != NOBODY:
            if believed_time(floor, slot) < least and fits(floor, slot) and is_harmless(floor, slot, reserved):
                best, least = slot, believed_time(floor, slot)
            slot = next_in_line(floor, slot)
        if best == NOBODY:
            return
        backfill(floor, best, reserved)
