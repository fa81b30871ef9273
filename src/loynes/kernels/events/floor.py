"""The floor: servers, the jobs on them, and the line of those that wait, in order of arrival.

Jobs live in slots of plain arrays. The line is a doubly linked list, so that a job leaves from anywhere in it at once;
running jobs are in a heap by the time they end. Nothing here knows of policies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.kernels.events.uncounted import uncounted

# Places in Floor.counts. WOKEN: servers were lost or came back, and nobody has been started since. The last three are
# policies' own: whether the floor is drained for a big job, how many steps a schedule has, and whether servers have
# become free, or been lost, that no schedule foresaw.
HEAD, TAIL, LINED, RUNNING, SPARE, WOKEN, DRAINING, STEPS, SURPRISED, COUNTS = range(10)
NOBODY = -1


JOB = np.dtype(
    [
        ("service", "f8"),
        ("left", "f8"),  # of the service, still to get
        ("guess", "f8"),  # what the scheduler believes the service to be
        ("arrival", "f8"),
        ("started", "f8"),  # when first, or infinite
        ("end", "f8"),  # of a running job
        ("job_class", "i8"),
        ("reserved", "f8"),  # when a schedule lets it start, or infinite
        ("number", "i8"),  # -1 for what was there at the beginning
        ("row", "i8"),  # where its wait is to be written down, or -1
        ("after", "i8"),  # the next in line
        ("before", "i8"),
        ("place", "i8"),  # in the heap, or -1
        ("marked", "i8"),  # a policy's own note
        # Not of this slot's job: lists as long as there are slots. The heap, a stack of empty slots, and running jobs
        # by their believed ends.
        ("heap", "i8"),
        ("spare", "i8"),
        ("ending", "i8"),
        ("believed", "f8"),
    ],
    align=True,
)


class Floor(NamedTuple):
    """One slot a job, as many as there is room for; `counts` and `clock` are what would be scalars."""

    jobs: NDArray[Any]
    need: NDArray[np.int64]  # [slot, kind]
    free: NDArray[np.int64]  # [kind]; below 0 where servers are lost as soon as their jobs end
    units: NDArray[np.int64]  # [kind]
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]  # [1]
    times: NDArray[np.float64]  # [step]: a schedule's, where a policy keeps one
    room: NDArray[np.int64]  # [step, kind]: what it leaves free from that time on


def new_floor(capacity: int, units: NDArray[np.int64]) -> Floor:
    counts = np.zeros(COUNTS, np.int64)
    counts[HEAD] = counts[TAIL] = NOBODY
    counts[SPARE] = capacity
    jobs = np.zeros(capacity, JOB)
    jobs["spare"] = np.arange(capacity - 1, -1, -1)
    need, steps = np.zeros((capacity, len(units)), np.int64), 2 * capacity + 2
    times, room = np.zeros(steps), np.zeros((steps, len(units)), np.int64)
    return Floor(jobs, need, units.copy(), units.copy(), counts, np.zeros(1), times, room)


def larger(floor: Floor) -> Floor:
    """The same floor with room for twice as many jobs."""
    capacity, spare = len(floor.jobs), int(floor.counts[SPARE])
    wide = new_floor(2 * capacity, floor.units)
    wide.jobs[:capacity], wide.need[:capacity] = floor.jobs, floor.need
    wide.free[:], wide.counts[:], wide.clock[:] = floor.free, floor.counts, floor.clock
    wide.times[: len(floor.times)], wide.room[: len(floor.room)] = floor.times, floor.room
    wide.jobs["spare"][:capacity] = np.arange(2 * capacity - 1, capacity - 1, -1)
    wide.jobs["spare"][capacity : capacity + spare] = floor.jobs["spare"][:spare]
    wide.counts[SPARE] = capacity + spare
    return wide


@uncounted
def admit(floor, demand, job_class, service, guess, number, row):
    """A job arrives at the end of the line, to take its class's row of `demand`; its slot."""
    floor.counts[SPARE] -= 1
    slot = floor.jobs[floor.counts[SPARE]].spare
    for k in range(floor.free.size):
        floor.need[slot, k] = demand[job_class, k]
    job = floor.jobs[slot]
    job.service = service
    job.left = service
    job.guess = guess
    job.arrival = floor.clock[0]
    job.started = np.inf
    job.end = np.inf
    job.job_class = job_class
    job.reserved = np.inf
    job.number = number
    job.row = row
    job.place = NOBODY
    last = floor.counts[TAIL]
    job.before = last
    job.after = NOBODY
    if last == NOBODY:
        floor.counts[HEAD] = slot
    else:
        floor.jobs[last].after = slot
    floor.counts[TAIL] = slot
    floor.counts[LINED] += 1
    return slot


@uncounted
def leave_line(floor, slot):
    ahead, behind = floor.jobs[slot].before, floor.jobs[slot].after
    if ahead == NOBODY:
        floor.counts[HEAD] = behind
    else:
        floor.jobs[ahead].after = behind
    if behind == NOBODY:
        floor.counts[TAIL] = ahead
    else:
        floor.jobs[behind].before = ahead
    floor.counts[LINED] -= 1


@uncounted
def fits(floor, slot):
    """Whether enough servers of every kind are free."""
    enough = True
    for k in range(floor.free.size):
        enough &= floor.need[slot, k] <= max(floor.free[k], 0)
    return enough


@uncounted
def any_free(floor):
    """Whether a server of any kind is free."""
    found = False
    for k in range(floor.free.size):
        found |= floor.free[k] > 0
    return found


@uncounted
def taken_by(floor, slot):
    """How many servers a job takes, of all kinds together."""
    total = 0
    for k in range(floor.free.size):
        total += floor.need[slot, k]
    return total


@uncounted
def could_fit(floor, slot):
    """Whether it would on an empty floor: servers may have been lost."""
    enough = True
    for k in range(floor.free.size):
        enough &= floor.need[slot, k] <= floor.units[k]
    return enough


@uncounted
def run(floor, slot):
    """Give a job its servers; it may still be in line."""
    for k in range(floor.free.size):
        floor.free[k] -= floor.need[slot, k]
    now = floor.clock[0]
    if floor.jobs[slot].started == np.inf:
        floor.jobs[slot].started = now
    floor.jobs[slot].end = now + floor.jobs[slot].left
    size = floor.counts[RUNNING]
    floor.counts[RUNNING] = size + 1
    _rise(floor, slot, size)


@uncounted
def begin(floor, slot):
    """A job starts: it leaves the line for its servers."""
    leave_line(floor, slot)
    run(floor, slot)


@uncounted
def stop(floor, slot):
    """Take a job off its servers; what it has had is not lost."""
    for k in range(floor.free.size):
        floor.free[k] += floor.need[slot, k]
    floor.jobs[slot].left = floor.jobs[slot].end - floor.clock[0]
    floor.jobs[slot].end = np.inf
    hole = floor.jobs[slot].place
    floor.jobs[slot].place = NOBODY
    size = floor.counts[RUNNING] - 1
    floor.counts[RUNNING] = size
    last = floor.jobs[size].heap
    if hole < size:
        if hole > 0 and floor.jobs[last].end < floor.jobs[floor.jobs[(hole - 1) >> 1].heap].end:
            _rise(floor, last, hole)
        else:
            _sink(floor, last, hole, size)


@uncounted
def end(floor, slot):
    """A job has had its service, or nobody wants it any more."""
    if floor.jobs[slot].guess > floor.jobs[slot].service:
        floor.counts[SURPRISED] = 1
    stop(floor, slot)


@uncounted
def interrupt(floor, slot, in_line):
    """A running job loses its servers and what it has had; it waits again, in its place by order of arrival."""
    stop(floor, slot)
    floor.jobs[slot].left = floor.jobs[slot].service
    floor.jobs[slot].started = np.inf
    floor.jobs[slot].reserved = np.inf
    if in_line:
        return
    ahead, behind = NOBODY, floor.counts[HEAD]
    while behind != NOBODY and floor.jobs[behind].number < floor.jobs[slot].number:
        ahead, behind = behind, floor.jobs[behind].after
    floor.jobs[slot].before = ahead
    floor.jobs[slot].after = behind
    if ahead == NOBODY:
        floor.counts[HEAD] = slot
    else:
        floor.jobs[ahead].after = slot
    if behind == NOBODY:
        floor.counts[TAIL] = slot
    else:
        floor.jobs[behind].before = slot
    floor.counts[LINED] += 1


@uncounted
def vacate(floor, slot):
    """A job that is neither in line nor on servers is gone."""
    floor.jobs[floor.counts[SPARE]].spare = slot
    floor.counts[SPARE] += 1


@uncounted
def _rise(floor, slot, at):
    end = floor.jobs[slot].end
    while at > 0:
        parent = (at - 1) >> 1
        other = floor.jobs[parent].heap
        if floor.jobs[other].end <= end:
            break
        floor.jobs[at].heap = other
        floor.jobs[other].place = at
        at = parent
    floor.jobs[at].heap = slot
    floor.jobs[slot].place = at


@uncounted
def _sink(floor, slot, at, size):
    end = floor.jobs[slot].end
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and floor.jobs[floor.jobs[child + 1].heap].end < floor.jobs[floor.jobs[child].heap].end:
            child += 1
        other = floor.jobs[child].heap
        if floor.jobs[other].end >= end:
            break
        floor.jobs[at].heap = other
        floor.jobs[other].place = at
        at = child
    floor.jobs[at].heap = slot
    floor.jobs[slot].place = at
