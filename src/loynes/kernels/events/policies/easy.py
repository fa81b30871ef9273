"""EASY backfilling (Lifka 1995): the head of the line has a reservation; others may pass if they do not delay it.

The reservation is the earliest time at which, by the run times the scheduler believes in, enough servers will be free.
A job behind may start now if it ends before that, or takes only servers that the head will not need: with its tasks on
the nodes that it would have, those of the head can still be placed at that time.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.reservation import reserve, start_before, start_beside
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
    reserved = reserve(floor.nodes, floor, head)
    slot = next_in_line(floor, head)
    while slot != NOBODY and any_idle(floor):
        behind = next_in_line(floor, slot)
        if fits(floor, slot):
            if now(floor) + believed_time(floor, slot) <= reserved:
                start_before(floor.nodes, floor, slot)
            else:
                start_beside(floor.nodes, floor, head, slot)
        slot = behind
