"""EASY backfilling (Lifka 1995): the head of the line has a reservation; others may pass if they do not delay it.

The reservation is the earliest time at which, by the run times the scheduler believes in, enough servers will be free.
A job behind may start now if it ends before that, or takes only servers that the head will not need: with its tasks on
the nodes that it would have, those of the head can still be placed at that time.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.reservation import first_to_try, note_tried, reserve, start_before, start_beside, start_head
from loynes.kernels.events.seeking import may_start_from, prepare_line
from loynes.kernels.events.view import any_idle, believed_time, first_in_line, fits, next_in_line, now


@policy(
    "easy",
    rank=3,
    believes_run_times=True,
    promises=True,
    seeks=True,
    caveat="needs run times; only the head of the line is promised a start",
    summary="the head has a reservation; others may pass if they do not delay it",
    reference="Lifka 1995",
)
def easy(floor, option):
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start_head(floor, first_in_line(floor))
    head = first_in_line(floor)
    if head == NOBODY or next_in_line(floor, head) == NOBODY or not any_idle(floor):
        return
    reserved = reserve(floor, head)
    prepare_line(floor.blocks, floor, head)
    started, slot = False, may_start_from(floor.blocks, floor, first_to_try(floor, head), reserved, np.inf)
    while slot != NOBODY and any_idle(floor):
        behind = next_in_line(floor, slot)
        if fits(floor, slot):
            if now(floor) + believed_time(floor, slot) <= reserved:
                start_before(floor.nodes, floor, slot)
                started = True
            else:
                started |= start_beside(floor.nodes, floor, head, slot)
        slot = may_start_from(floor.blocks, floor, behind, reserved, np.inf)
    note_tried(floor, started)
