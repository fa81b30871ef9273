"""EASY with shortest-first backfilling (Tsafrir, Etsion and Feitelson 2007, EASY-SJBF).

The head of the line has the reservation of EASY, and the same jobs may pass; but they are tried by how long they are
believed to take, the shortest first, and of equals the first in line; those with the highest priority before all
others. With predicted run times it is their EASY++.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.reservation import (
    first_to_try,
    may_start_beside,
    note_tried,
    reserve,
    start_before,
    start_beside,
    start_head,
    without_nodes,
)
from loynes.kernels.events.seeking import may_start_from, prepare_line
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import (
    any_idle,
    believed_time,
    came_before,
    first_in_line,
    fits,
    higher,
    next_in_line,
    now,
)


@policy(
    "easy-sjbf",
    rank=3,
    believes_run_times=True,
    promises=True,
    seeks=True,
    caveat="needs run times; only the head of the line is promised a start, and long jobs are passed more often",
    summary="`easy`, but of those that may pass the one believed to take least time first",
    reference="Tsafrir, Etsion and Feitelson 2007",
)
def easy_sjbf(floor, option):
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start_head(floor, first_in_line(floor))
    head = first_in_line(floor)
    if head == NOBODY or next_in_line(floor, head) == NOBODY or not any_idle(floor):
        return
    reserved = reserve(floor, head)
    prepare_line(floor.blocks, floor, head)
    slot, tried, started = NOBODY, -np.inf, False
    while any_idle(floor):
        # On nodes a newcomer that starts may change where the tasks of longer jobs before it are placed.
        first = first_to_try(floor, head) if without_nodes(floor.nodes) else next_in_line(floor, head)
        slot = _next(floor, first, slot, tried, reserved)
        if slot == NOBODY:
            break
        tried = believed_time(floor, slot)
        if now(floor) + tried <= reserved:
            start_before(floor.nodes, floor, slot)
            started = True
        else:
            started |= start_beside(floor.nodes, floor, head, slot)
    note_tried(floor, started)


@uncounted
def _next(floor, slot, last, tried, reserved):
    """The job that is to be tried after the last one, by priority, believed run time and order of arrival, of those
    that fit, from one in line on. Whoever does not fit now does not either once another one has started, so that nobody
    is left out."""
    best, least = NOBODY, np.inf
    slot = may_start_from(floor.blocks, floor, slot, reserved, least)
    while slot != NOBODY and (best == NOBODY or higher(floor, best, slot) <= 0):
        takes = believed_time(floor, slot)
        level = 0 if last == NOBODY else higher(floor, last, slot)
        later = takes > tried or (takes == tried and last != NOBODY and came_before(floor, last, slot))
        later = level > 0 or (level == 0 and later)
        better = later and takes < least and fits(floor, slot)
        if better and (now(floor) + takes <= reserved or may_start_beside(floor.nodes, floor, slot)):
            best, least = slot, takes
        slot = may_start_from(floor.blocks, floor, next_in_line(floor, slot), reserved, least)
    return best
