"""A long line in blocks, so that a policy finds who may start without a look at everybody who may not.

Every job in line has a seat; seats are in the order of the line. Of every 8 seats the least need of each kind and the
shortest believed time are kept, of every 8 of these blocks the same, and so on. A block is passed over where nobody in
it can need little enough, or take a short enough time. These are two jobs' numbers in general, so that somebody is
found in a block only by a look into it; but nobody who may start is missed.

Seats are given out one after the other; where there are no more, or a job comes back into the middle of the line, all
are given out anew when next somebody is looked for. A short line is faster walked along, and has no seats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.uncounted import inlined, uncounted

SHIFT = 3
WIDE = 1 << SHIFT
# A line of so many jobs is given seats, and loses them when it has become so short.
LONG, SHORT = 64, 16
# More than anybody needs.
NO_NEED = np.iinfo(np.int64).max
NOBODY = NO_SEAT = -1
# Places in Blocks.notes: how many seats were given out, and whether the line has seats.
GIVEN, SEATED, NOTES = range(3)


class Blocks(NamedTuple):
    notes: Ints
    seat: Ints  # [slot], of the jobs in line
    job: Ints  # [seat]
    begin: Ints  # [level], where its blocks begin in the following; at level 0 are single seats
    need: Ints  # [block, kind], the least of anybody in it
    time: Array  # [block], the shortest believed time of anybody in it
    most: Ints  # [2, kind], what a job that is looked for may need at most, if it is short enough; and if it is not


def new_blocks(slots: int, kinds: int) -> Blocks:
    """Nobody has a seat. There are twice as many as slots, so that they are given out anew rarely."""
    widths = [-(-2 * slots // WIDE) * WIDE]
    while widths[-1] > WIDE:
        widths.append(-(-(widths[-1] >> SHIFT) // WIDE) * WIDE)
    count = sum(widths)
    return Blocks(
        np.zeros(NOTES, np.int64), np.full(slots, NO_SEAT), np.full(widths[0], NOBODY),
        np.cumsum([0, *widths]).astype(np.int64), np.full((count, kinds), NO_NEED), np.full(count, np.inf),
        np.zeros((2, kinds), np.int64),
    )  # fmt: skip


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def take_seat(blocks, floor, slot):
    """A job enters the line."""


@take_seat.variant(type(None))
def _take_none(blocks, floor, slot):
    pass


@take_seat.variant(Blocks)
def _take(blocks, floor, slot):
    if blocks.notes[SEATED]:
        if floor.jobs[slot].after != NOBODY or blocks.notes[GIVEN] == blocks.job.size:
            blocks.notes[SEATED] = 0
        else:
            sit_down(blocks, floor, slot)


@_chosen
def leave_seat(blocks, slot):
    """A job leaves the line."""


@leave_seat.variant(type(None))
def _leave_none(blocks, slot):
    pass


@leave_seat.variant(Blocks)
def _leave(blocks, slot):
    if blocks.notes[SEATED]:
        stand_up(blocks, slot)


@uncounted
def seat_all(blocks, floor, slot):
    """Give seats to all in line, from that job on."""
    # As long as seats were given out, and not as there are: a line may have been much longer once.
    given = blocks.notes[GIVEN]
    for level in range(blocks.begin.size - 1):
        for block in range(blocks.begin[level], blocks.begin[level] + given):
            blocks.time[block] = np.inf
            for k in range(blocks.need.shape[1]):
                blocks.need[block, k] = NO_NEED
        given = (given + WIDE - 1) >> SHIFT
    blocks.notes[GIVEN] = 0
    blocks.notes[SEATED] = 1
    while slot != NOBODY:
        sit_down(blocks, floor, slot)
        slot = floor.jobs[slot].after


@uncounted
def sit_down(blocks, floor, slot):
    at, time = blocks.notes[GIVEN], floor.jobs[slot].guess
    blocks.notes[GIVEN] = at + 1
    blocks.seat[slot] = at
    blocks.job[at] = slot
    for level in range(blocks.begin.size - 1):
        block = blocks.begin[level] + at
        blocks.time[block] = min(blocks.time[block], time)
        for k in range(blocks.need.shape[1]):
            blocks.need[block, k] = min(blocks.need[block, k], floor.need[slot, k])
        at >>= SHIFT


@uncounted
def stand_up(blocks, slot):
    at = blocks.seat[slot]
    blocks.time[at] = np.inf
    for k in range(blocks.need.shape[1]):
        blocks.need[at, k] = NO_NEED
    for level in range(1, blocks.begin.size - 1):
        first, above = blocks.begin[level - 1] + (at >> SHIFT << SHIFT), blocks.begin[level] + (at >> SHIFT)
        changes, time = False, blocks.time[first]
        for block in range(first + 1, first + WIDE):
            time = min(time, blocks.time[block])
        changes |= time != blocks.time[above]
        blocks.time[above] = time
        for k in range(blocks.need.shape[1]):
            need = blocks.need[first, k]
            for block in range(first + 1, first + WIDE):
                need = min(need, blocks.need[block, k])
            changes |= need != blocks.need[above, k]
            blocks.need[above, k] = need
        if not changes:
            return
        at >>= SHIFT


@uncounted
def seat_line(blocks, floor, head, lined):
    """Give a line of so many jobs, which begins with that one, its seats if it is long, and take them if it is not."""
    if blocks.notes[SEATED]:
        if lined < SHORT:
            blocks.notes[SEATED] = 0
    elif lined >= LONG:
        seat_all(blocks, floor, head)


@uncounted
def next_seat(blocks, at, now, reserved, least):
    """The first seat from one on whose job may start (see `may_hold`), and is believed to take less than `least`."""
    level, top = 0, blocks.begin.size - 2
    while True:
        width = blocks.begin[level + 1] - blocks.begin[level]
        end = min((at | (WIDE - 1)) + 1, width)
        while at < end and not may_hold(blocks, blocks.begin[level] + at, now, reserved, least):
            at += 1
        if at < end:
            if level == 0:
                return at
            level -= 1
            at <<= SHIFT
        elif level == top:
            return NO_SEAT
        else:
            level += 1
            at = (at + WIDE - 1) >> SHIFT


@inlined
def may_hold(blocks, block, now, reserved, least):
    """Whether a block may hold a job that may start: of a need up to `most`, the first of it where the job is believed
    to end by the time that is reserved, the second where it is not."""
    if least < np.inf and blocks.time[block] >= least:
        return False
    first, second = True, True
    for k in range(blocks.need.shape[1]):
        first &= blocks.need[block, k] <= blocks.most[0, k]
        second &= blocks.need[block, k] <= blocks.most[1, k]
    return second or (first and now + blocks.time[block] <= reserved)
