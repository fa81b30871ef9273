"""Events one after the other: arrivals and ends of jobs; after each the policy says who starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.events.by_need import least_servers_first, most_servers_first, smash
from loynes.kernels.events.conservative import conservative
from loynes.kernels.events.easy import easy
from loynes.kernels.events.fcfs import fcfs
from loynes.kernels.events.first_fit import first_fit
from loynes.kernels.events.floor import LINED, NOBODY, RUNNING, SPARE, admit, leave_line, run, stop, vacate
from loynes.kernels.events.quick_swap import quick_swap
from loynes.kernels.events.server_filling import server_filling
from loynes.kernels.events.shortest_first import shortest_first
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BIN_OFFSET, BIN_SHIFT, BINS

_SHIFT, _OFFSET = np.int64(BIN_SHIFT), np.int64(BIN_OFFSET)

# The policies' codes; a new one gets the next number, and a line in `schedule`.
POLICIES = {
    "fcfs": 0,
    "first-fit": 1,
    "easy": 2,
    "conservative": 3,
    "most-servers-first": 4,
    "least-servers-first": 5,
    "shortest-first": 6,
    "smash": 7,
    "quick-swap": 8,
    "server-filling": 9,
}
SERVER_FILLING = POLICIES["server-filling"]


@compiled
def schedule(policy, option, floor):
    if policy == 0:
        fcfs(floor, option)
    elif policy == 1:
        first_fit(floor, option)
    elif policy == 2:
        easy(floor, option)
    elif policy == 3:
        conservative(floor, option)
    elif policy == 4:
        most_servers_first(floor, option)
    elif policy == 5:
        least_servers_first(floor, option)
    elif policy == 6:
        shortest_first(floor, option)
    elif policy == 7:
        smash(floor, option)
    elif policy == 8:
        quick_swap(floor, option)
    else:
        server_filling(floor, option)


class Seen(NamedTuple):
    """What one replica saw of the jobs it observes, by class, and over time."""

    per_unit: float
    ended: NDArray[np.int64]  # [class]
    wait: NDArray[np.float64]
    wait_square: NDArray[np.float64]
    none: NDArray[np.int64]
    response: NDArray[np.float64]
    response_square: NDArray[np.float64]
    slowdown: NDArray[np.float64]
    bins: NDArray[np.uint32]  # [class, bin], of waits
    response_bins: NDArray[np.uint32]
    time: NDArray[np.float64]  # [5 + 2 kinds], of: span, waiting, in system, ...; busy and lost by kind
    jobs: NDArray[np.float64]  # [job, 3]: wait, response and arrival of every observed job, if wanted


SPAN, WAITING, PRESENT, KINDS = 0, 1, 2, 3


def new_seen(classes: int, kinds: int, unit: float, jobs: int = 0) -> Seen:
    reals = [np.zeros(classes) for _ in range(5)]
    counts = [np.zeros(classes, np.int64) for _ in range(2)]
    bins = [np.zeros((classes, BINS), np.uint32) for _ in range(2)]
    return Seen(
        1.0 / unit, counts[0], reals[0], reals[1], counts[1], reals[2], reals[3], reals[4], bins[0], bins[1],
        np.zeros(KINDS + 2 * kinds), np.full((jobs, 3), np.nan),
    )  # fmt: skip


@compiled
def draw(table, seed, stream, replica, first, count, place, gap, job_class, service):
    """Jobs first .. first + count - 1 (whole blocks) of a replica, those of the recurrence; where arrivals stand."""
    block = new_block(table)
    for start in range(0, count, BLOCK):
        place = draw_block(table, seed, stream, replica, first + start, block, place)
        gap[start : start + BLOCK] = block.gap
        job_class[start : start + BLOCK] = block.job_class
        service[start : start + BLOCK] = block.service
    return place


@compiled
def occupy(floor, workload):
    """Servers that are busy for so long from now, one kind after the other, with work of nobody's."""
    at = 0
    need = np.zeros(floor.free.size, np.int64)
    for k in range(floor.free.size):
        for _ in range(floor.units[k]):
            if workload[at] > 0.0:
                need[:] = 0
                need[k] = 1
                slot = admit(floor, need, workload[at], workload[at], 0, NOBODY)
                leave_line(floor, slot)
                run(floor, slot)
            at += 1


@compiled
def events(policy, option, floor, arrival, job_class, service, guess, demand, number, first, last, seen, at, state):
    """Let these jobs arrive, in order, the first of them the number-th of all; how many did.

    Jobs first <= number < last are observed. It stops early where there is no slot for another job. What happens after
    the last of these arrivals waits for the next call. At the times `at` a row of `state` is written: jobs waiting, in
    the system, and busy servers of every kind.
    """
    kept = policy == SERVER_FILLING  # running jobs keep their place in line
    moment = 0
    while moment < at.size and at[moment] < floor.clock[0]:
        moment += 1
    i = 0
    while i < arrival.size:
        ends = floor.counts[RUNNING] > 0 and floor.end[floor.heap[0]] <= arrival[i]
        if not ends and floor.counts[SPARE] == 0:
            return i
        now = floor.end[floor.heap[0]] if ends else arrival[i]
        moment = _look(floor, kept, now, at, moment, state)
        _pass(floor, kept, now, first < number + i < last, seen)
        if ends:
            while floor.counts[RUNNING] > 0 and floor.end[floor.heap[0]] <= now:
                slot = floor.heap[0]
                stop(floor, slot)
                if kept and floor.number[slot] != NOBODY:
                    leave_line(floor, slot)
                if first <= floor.number[slot] < last:
                    _note(floor, kept, slot, first, seen)
                vacate(floor, slot)
        else:
            c = job_class[i]
            admit(floor, demand[c], service[i], guess[i], c, number + i)
            i += 1
        schedule(policy, option, floor)
    return arrival.size


@compiled
def _waiting(floor, kept):
    if not kept:
        return floor.counts[LINED]
    in_line = 0
    for i in range(floor.counts[RUNNING]):
        in_line += floor.number[floor.heap[i]] != NOBODY
    return floor.counts[LINED] - in_line


@compiled
def _look(floor, kept, until, at, moment, state):
    """Write down the state at every moment before the next event."""
    while moment < at.size and at[moment] < until:
        waiting = _waiting(floor, kept)
        state[moment, 0] = waiting
        state[moment, 1] = waiting + floor.counts[RUNNING]
        for k in range(floor.free.size):
            state[moment, 2 + k] = floor.units[k] - floor.free[k]
        moment += 1
    return moment


@compiled
def _pass(floor, kept, now, observed, seen):
    """Time passes: sums over it, if observed."""
    span = now - floor.clock[0]
    floor.clock[0] = now
    if not observed or span <= 0.0:
        return
    waiting = _waiting(floor, kept)
    seen.time[SPAN] += span
    seen.time[WAITING] += waiting * span
    seen.time[PRESENT] += (waiting + floor.counts[RUNNING]) * span
    for k in range(floor.free.size):
        seen.time[KINDS + 2 * k] += (floor.units[k] - floor.free[k]) * span
        if waiting > 0:
            seen.time[KINDS + 2 * k + 1] += floor.free[k] * span


@compiled
def _note(floor, kept, slot, first, seen):
    """A job that is observed has ended."""
    c = floor.job_class[slot]
    response = floor.clock[0] - floor.arrival[slot]
    wait = response - floor.service[slot] if kept else floor.started[slot] - floor.arrival[slot]
    if kept and wait < 1e-9 * response:  # rounding, where times are taken apart and put together again
        wait = 0.0
    seen.ended[c] += 1
    seen.wait[c] += wait
    seen.wait_square[c] += wait * wait
    seen.none[c] += wait == 0.0
    seen.response[c] += response
    seen.response_square[c] += response * response
    seen.slowdown[c] += response / floor.service[slot] if floor.service[slot] > 0.0 else 1.0
    place = (np.float64(wait * seen.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    seen.bins[c, min(max(place, 0), BINS - 1)] += np.uint32(1)
    place = (np.float64(response * seen.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    seen.response_bins[c, min(max(place, 0), BINS - 1)] += np.uint32(1)
    if seen.jobs.shape[0] > 0:
        seen.jobs[floor.number[slot] - first, 0] = wait
        seen.jobs[floor.number[slot] - first, 1] = response
        seen.jobs[floor.number[slot] - first, 2] = floor.arrival[slot]
