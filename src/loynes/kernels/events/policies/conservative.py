"""Conservative backfilling (Mu'alem and Feitelson 2001): every job in line has a reservation, and none may be delayed.

A job that arrives reserves the earliest stretch, as long as it is believed to take, in which the timetable so far
leaves enough servers free, and it starts when that stretch begins, whether or not anything else happens then.
Whenever a job ends, those in line are taken, in order of arrival, one after the other out of the timetable and put in
at the earliest place there is by now, which is never a later one: the first of these passes after an early end may
leave room, where somebody moved away, for jobs ahead, so that later ends have to look again. They need not after a
pass in which nobody moved: until the next early end, room only becomes less.

Where servers are lost or come back all reservations are made again, in order of arrival, and may be later. Where there
are priorities or quotas they are at every event, in order of priority, as a newcomer may go before others; whoever its
quota holds back has none. On nodes a job reserves the nodes that its tasks will have.

A pass takes time with the line's length and the timetable's, which in a long line is as long: where more comes than can
be served, `depth` says how many jobs from the head of the line have a reservation. Those behind wait until they are
among these. A depth of one is first come, first served; 0, the default, is no limit.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY, STEPS, SURPRISED, start
from loynes.kernels.events.planning import earliest, fits_as_planned, plan_nodes, start_as_planned
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.sharing import has_rules, within_quota
from loynes.kernels.events.timetable import CHANGED, EARLY, ENDED, NOT, ask_again, book, expect, forget
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import (
    believed_time,
    first_in_line,
    fits,
    jobs_in_line,
    next_in_line,
    now,
    remember,
    remembered,
)


@policy(
    "conservative",
    rank=4,
    believes_run_times=True,
    timetable=True,
    option=Option("depth", default=0, help="how many jobs from the head of the line have a reservation", least=0),
    caveat="needs run times; good ones let others pass, bad ones do not",
    summary="every job in line has a reservation; or the first `--depth`",
    reference="Mu'alem and Feitelson 2001",
)
def conservative(floor, option):
    event = floor.counts[SURPRISED]
    floor.counts[SURPRISED] = NOT
    ask_again(floor, np.inf)
    first = first_in_line(floor)
    if first != NOBODY and next_in_line(floor, first) == NOBODY and fits(floor, first):
        start(floor, first)  # alone in line
        first = NOBODY
    if first == NOBODY:
        floor.counts[STEPS] = 0
        remember(floor, False)
        return
    most = option if option > 0 else jobs_in_line(floor)
    anew = floor.counts[STEPS] == 0 or event == CHANGED or has_rules(floor.sharing)
    compress = event == EARLY or (event == ENDED and remembered(floor))
    if anew:
        expect(floor)
    else:
        forget(floor)
    if anew:
        _cancel(floor, first, most)
    moved, next_start, slot, place = False, np.inf, first, 0
    while slot != NOBODY and place < most:
        behind = next_in_line(floor, slot)
        reserved = floor.jobs[slot].reserved
        if not within_quota(floor.sharing, floor, slot):
            slot = behind
            continue
        if reserved == np.inf or (compress and reserved > now(floor)):
            moved |= _move(floor, slot)
        reserved = floor.jobs[slot].reserved
        # Jobs that take no time take no room in the timetable, but servers until their end is dealt with.
        if reserved <= now(floor) and fits_as_planned(floor.nodes, floor, slot):
            start_as_planned(floor.nodes, floor, slot)
        else:
            place += 1
            if reserved > now(floor):
                next_start = min(next_start, reserved)
        slot = behind
    if compress or anew:
        remember(floor, moved)
    ask_again(floor, next_start)


@uncounted
def _cancel(floor, slot, most):
    """Take all reservations back. They are at the head of the line, and a job that came back may be among them; under
    quotas, jobs that are held back are, too."""
    place, ruled = 0, has_rules(floor.sharing)
    while slot != NOBODY and (place < most or ruled or floor.jobs[slot].reserved < np.inf):
        floor.jobs[slot].reserved = np.inf
        slot = next_in_line(floor, slot)
        place += 1


@uncounted
def _move(floor, slot):
    """Reserve the earliest stretch for a job, if it has none that is as early; whether it had one that was later."""
    before, length = floor.jobs[slot].reserved, believed_time(floor, slot)
    reserved = earliest(floor.nodes, floor, slot, before, length)
    if reserved == before:
        return False
    if before < np.inf:
        book(floor, slot, before, before + length, -1)
    plan_nodes(floor.nodes, floor, slot, reserved, length)
    book(floor, slot, reserved, reserved + length, 1)
    floor.jobs[slot].reserved = reserved
    return before < np.inf
