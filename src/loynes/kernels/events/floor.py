"""The floor: servers, the jobs on them, and the line of those that wait, in order of arrival.

Jobs live in slots of plain arrays. The line is a doubly linked list, so that a job leaves from anywhere in it at once;
running jobs are in a heap by the time they end. Nothing here knows of policies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.kernels.cpu.compiled import compiled

# Places in Floor.counts.
HEAD, TAIL, LINED, RUNNING, SPARE, DRAINING = 0, 1, 2, 3, 4, 5
NOBODY = -1


class Floor(NamedTuple):
    """One slot a job, as many as there is room for; `counts` and `clock` are what would be scalars."""

    need: NDArray[np.int64]  # [slot, kind]
    service: NDArray[np.float64]
    left: NDArray[np.float64]  # service still to get
    guess: NDArray[np.float64]  # what the scheduler believes the service to be
    arrival: NDArray[np.float64]
    started: NDArray[np.float64]  # when first, or infinite
    end: NDArray[np.float64]  # of a running job
    job_class: NDArray[np.int64]
    number: NDArray[np.int64]  # -1 for what was there at the beginning
    after: NDArray[np.int64]  # the next in line
    before: NDArray[np.int64]
    place: NDArray[np.int64]  # in the heap, or -1
    heap: NDArray[np.int64]
    spare: NDArray[np.int64]  # a stack of empty slots
    free: NDArray[np.int64]  # [kind]
    units: NDArray[np.int64]  # [kind]
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]  # [1]


def new_floor(capacity: int, units: NDArray[np.int64]) -> Floor:
    count = np.zeros(6, np.int64)
    count[HEAD] = count[TAIL] = NOBODY
    count[SPARE] = capacity
    whole = [np.full(capacity, NOBODY, np.int64) for _ in range(6)]
    reals = [np.zeros(capacity) for _ in range(6)]
    spare = np.arange(capacity - 1, -1, -1, dtype=np.int64)
    need = np.zeros((capacity, len(units)), np.int64)
    return Floor._make([need, *reals, *whole, spare, units.copy(), units.copy(), count, np.zeros(1)])


def larger(floor: Floor) -> Floor:
    """The same floor with room for twice as many jobs."""
    capacity = len(floor.service)
    wide = new_floor(2 * capacity, floor.units)
    for name in ("need", "service", "left", "guess", "arrival", "started", "end", "job_class", "number", "after",
                 "before", "place", "heap"):  # fmt: skip
        getattr(wide, name)[:capacity] = getattr(floor, name)
    spare = floor.counts[SPARE]
    fresh = np.arange(2 * capacity - 1, capacity - 1, -1, dtype=np.int64)
    wide.spare[: capacity + spare] = np.concatenate([fresh, floor.spare[:spare]])
    wide.free[:], wide.counts[:], wide.clock[:] = floor.free, floor.counts, floor.clock
    wide.counts[SPARE] = capacity + spare
    return wide


@compiled
def admit(floor, need, service, guess, job_class, number):
    """A job arrives at the end of the line; its slot."""
    floor.counts[SPARE] -= 1
    slot = floor.spare[floor.counts[SPARE]]
    floor.need[slot] = need
    floor.service[slot] = service
    floor.left[slot] = service
    floor.guess[slot] = guess
    floor.arrival[slot] = floor.clock[0]
    floor.started[slot] = np.inf
    floor.end[slot] = np.inf
    floor.job_class[slot] = job_class
    floor.number[slot] = number
    floor.place[slot] = NOBODY
    last = floor.counts[TAIL]
    floor.before[slot] = last
    floor.after[slot] = NOBODY
    if last == NOBODY:
        floor.counts[HEAD] = slot
    else:
        floor.after[last] = slot
    floor.counts[TAIL] = slot
    floor.counts[LINED] += 1
    return slot


@compiled
def leave_line(floor, slot):
    ahead, behind = floor.before[slot], floor.after[slot]
    if ahead == NOBODY:
        floor.counts[HEAD] = behind
    else:
        floor.after[ahead] = behind
    if behind == NOBODY:
        floor.counts[TAIL] = ahead
    else:
        floor.before[behind] = ahead
    floor.counts[LINED] -= 1


@compiled
def fits(floor, slot):
    """Whether enough servers of every kind are free."""
    enough = True
    for k in range(floor.free.size):
        enough &= floor.need[slot, k] <= floor.free[k]
    return enough


@compiled
def run(floor, slot):
    """Give a job its servers; it may still be in line."""
    for k in range(floor.free.size):
        floor.free[k] -= floor.need[slot, k]
    now = floor.clock[0]
    if floor.started[slot] == np.inf:
        floor.started[slot] = now
    floor.end[slot] = now + floor.left[slot]
    size = floor.counts[RUNNING]
    floor.counts[RUNNING] = size + 1
    _rise(floor, slot, size)


@compiled
def begin(floor, slot):
    """A job starts: it leaves the line for its servers."""
    leave_line(floor, slot)
    run(floor, slot)


@compiled
def stop(floor, slot):
    """Take a job off its servers; what it has had is not lost."""
    for k in range(floor.free.size):
        floor.free[k] += floor.need[slot, k]
    floor.left[slot] = floor.end[slot] - floor.clock[0]
    floor.end[slot] = np.inf
    hole = floor.place[slot]
    floor.place[slot] = NOBODY
    size = floor.counts[RUNNING] - 1
    floor.counts[RUNNING] = size
    last = floor.heap[size]
    if hole < size:
        if hole > 0 and floor.end[last] < floor.end[floor.heap[(hole - 1) >> 1]]:
            _rise(floor, last, hole)
        else:
            _sink(floor, last, hole, size)


@compiled
def vacate(floor, slot):
    """A job that is neither in line nor on servers is gone."""
    floor.spare[floor.counts[SPARE]] = slot
    floor.counts[SPARE] += 1


@compiled
def _rise(floor, slot, at):
    end = floor.end[slot]
    while at > 0:
        parent = (at - 1) >> 1
        other = floor.heap[parent]
        if floor.end[other] <= end:
            break
        floor.heap[at] = other
        floor.place[other] = at
        at = parent
    floor.heap[at] = slot
    floor.place[slot] = at


@compiled
def _sink(floor, slot, at, size):
    end = floor.end[slot]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and floor.end[floor.heap[child + 1]] < floor.end[floor.heap[child]]:
            child += 1
        other = floor.heap[child]
        if floor.end[other] >= end:
            break
        floor.heap[at] = other
        floor.place[other] = at
        at = child
    floor.heap[at] = slot
    floor.place[slot] = at
