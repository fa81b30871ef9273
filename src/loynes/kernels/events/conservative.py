"""Conservative backfilling (Mu'alem and Feitelson 2001): every job in line has a reservation, and none may be delayed.

A reservation is the earliest stretch, as long as the job is believed to take, in which the schedule so far leaves
enough servers free. Whose reservation is now starts. While run times are what they are believed to be nothing needs to
be reconsidered, and an arrival costs a look through the schedule. When servers become free before their time, or are
lost, all reservations are made anew in order of arrival.
"""

import numpy as np

from loynes.kernels.events.ends import drop_first, expect_ends
from loynes.kernels.events.floor import HEAD, NOBODY, STEPS, SURPRISED, begin, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def conservative(floor, option):
    first = floor.counts[HEAD]
    if first != NOBODY and floor.jobs[first].after == NOBODY and fits(floor, first):
        begin(floor, first)  # alone in line
        first = NOBODY
    if first == NOBODY:
        floor.counts[STEPS] = 0
        return
    anew = floor.counts[STEPS] == 0 or floor.counts[SURPRISED] == 1
    if anew:
        _expect(floor)
    else:
        _forget(floor)
    slot = first
    while slot != NOBODY:
        behind = floor.jobs[slot].after
        if anew or floor.jobs[slot].reserved == np.inf:
            _reserve(floor, slot)
        if floor.jobs[slot].reserved <= floor.clock[0] and fits(floor, slot):
            begin(floor, slot)
        slot = behind


@uncounted
def _expect(floor):
    """A schedule of running jobs only: what is free from now on, and from each of their believed ends."""
    kinds, last, size = floor.free.size, 0, expect_ends(floor)
    floor.times[0] = floor.clock[0]
    for k in range(kinds):
        floor.room[0, k] = floor.free[k]
    while size > 0:
        if floor.jobs[0].believed > floor.times[last]:
            last += 1
            floor.times[last] = floor.jobs[0].believed
            _copy_step(floor, last - 1, last)
        for k in range(kinds):
            floor.room[last, k] += floor.need[floor.jobs[0].ending, k]
        size = drop_first(floor, size)
    floor.counts[STEPS] = last + 1
    floor.counts[SURPRISED] = 0


@uncounted
def _copy_step(floor, step, to):
    for k in range(floor.free.size):
        floor.room[to, k] = floor.room[step, k]


@uncounted
def _forget(floor):
    """Drop the steps that are past, but for the one that holds now."""
    known, past = floor.counts[STEPS], 0
    while past + 1 < known and floor.times[past + 1] <= floor.clock[0]:
        past += 1
    if past > 0:
        for step in range(past, known):
            floor.times[step - past] = floor.times[step]
            _copy_step(floor, step, step - past)
        floor.counts[STEPS] = known - past
    floor.times[0] = floor.clock[0]


@uncounted
def _reserve(floor, slot):
    """The earliest stretch with room for a job is its own; where there will never be room, it has none."""
    times, room, known, need = floor.times, floor.room, floor.counts[STEPS], floor.need[slot]
    length = floor.jobs[slot].guess
    first, step = 0, 0
    until = times[0] + length
    while step < known and (step == first or times[step] < until):
        blocked = False
        for k in range(need.size):
            blocked |= need[k] > max(room[step, k], 0)
        step += 1
        if blocked:
            first = step
            if first < known:
                until = times[first] + length
    if first == known:
        floor.jobs[slot].reserved = np.inf
        return
    floor.jobs[slot].reserved = times[first]
    if step == known or times[step] > until:  # it ends between two steps
        for later in range(known, step, -1):
            times[later] = times[later - 1]
            _copy_step(floor, later - 1, later)
        times[step] = until
        _copy_step(floor, step - 1, step)
        floor.counts[STEPS] = known + 1
    for taken in range(first, step):
        for k in range(need.size):
            room[taken, k] -= need[k]
