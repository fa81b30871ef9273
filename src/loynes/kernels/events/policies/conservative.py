"""Conservative backfilling (Mu'alem and Feitelson 2001): every job in line has a reservation, and none may be delayed.

A reservation is the earliest stretch, as long as the job is believed to take, in which the timetable so far leaves
enough servers free. Whose reservation is now starts. While run times are what they are believed to be nothing needs to
be reconsidered, and an arrival costs a look through the timetable. Where a job ends before its time, the others'
reservations are moved forward, in order of arrival: those of the first DEPTH in line, and those that could start now.
"""

import numpy as np

from loynes.kernels.events.floor import NOBODY, STEPS, SURPRISED, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.timetable import CHANGED, EARLY, NOT, book, expect, forget
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import believed_time, first_in_line, fits, jobs_running, next_in_line, now

DEPTH = 100


@policy(
    "conservative",
    rank=4,
    believes_run_times=True,
    timetable=True,
    summary="every job in line has a reservation",
    reference="Mu'alem and Feitelson 2001",
)
def conservative(floor, option):
    first = first_in_line(floor)
    if first != NOBODY and next_in_line(floor, first) == NOBODY and fits(floor, first):
        start(floor, first)  # alone in line
        first = NOBODY
    if first == NOBODY:
        floor.counts[STEPS] = 0
        floor.counts[SURPRISED] = NOT
        return
    anew = floor.counts[STEPS] == 0 or floor.counts[SURPRISED] == CHANGED
    # On an empty floor nothing else is going to happen that somebody could wait for.
    early = floor.counts[SURPRISED] == EARLY or jobs_running(floor) == 0
    floor.counts[SURPRISED] = NOT
    if anew:
        expect(floor)
    else:
        forget(floor)
    slot, place = first, 0
    while slot != NOBODY:
        behind = next_in_line(floor, slot)
        reserved = floor.jobs[slot].reserved
        if anew or reserved == np.inf:
            _reserve(floor, slot)
        elif early and reserved > now(floor) and (place < DEPTH or _could_start(floor, slot)):
            book(floor, slot, reserved, reserved + believed_time(floor, slot), -1)
            _reserve(floor, slot)
        reserved, time, length = floor.jobs[slot].reserved, now(floor), believed_time(floor, slot)
        if reserved <= time and fits(floor, slot):
            if reserved < time:  # nothing happened at that time, which was somebody's believed end
                book(floor, slot, time, reserved + length, -1)
                book(floor, slot, time, time + length, 1)
            start(floor, slot)
        slot = behind
        place += 1


@uncounted
def _could_start(floor, slot):
    """Whether there is room from now on for as long as it takes, its own reservation not counted."""
    length, reserved = believed_time(floor, slot), floor.jobs[slot].reserved
    step, until = 0, now(floor) + length
    while step < floor.counts[STEPS] and (step == 0 or floor.times[step] < until):
        own = reserved <= floor.times[step] < reserved + length
        for k in range(floor.free.size):
            room = floor.room[step, k] + (floor.need[slot, k] if own else 0)
            if floor.need[slot, k] > max(room, 0):
                return False
        step += 1
    return True


@uncounted
def _reserve(floor, slot):
    """The earliest stretch with room for a job is its own; where there will never be room, it has none."""
    known, length = floor.counts[STEPS], believed_time(floor, slot)
    first, step = 0, 0
    until = floor.times[0] + length
    while step < known and (step == first or floor.times[step] < until):
        blocked = False
        for k in range(floor.free.size):
            blocked |= floor.need[slot, k] > max(floor.room[step, k], 0)
        step += 1
        if blocked:
            first = step
            if first < known:
                until = floor.times[first] + length
    if first == known:
        floor.jobs[slot].reserved = np.inf
        return
    floor.jobs[slot].reserved = floor.times[first]
    book(floor, slot, floor.times[first], until, 1)
