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


# Sums over ended jobs, by class: how many, and of what.
ENDED, WAIT, WAIT_SQUARE, NONE, RESPONSE, RESPONSE_SQUARE, SLOWDOWN, SUMS = range(8)


class Seen(NamedTuple):
    """What one replica saw of the jobs it observes, by class, and over time."""

    per_unit: float
    sums: NDArray[np.float64]  # [class, SUMS]
    bins: NDArray[np.uint32]  # [class, bin], of waits
    response_bins: NDArray[np.uint32]
    time: NDArray[np.float64]  # [3 + 2 kinds], integrals: span, waiting, present; busy and lost by kind
    jobs: NDArray[np.float64]  # [job, 3]: wait, response and arrival of every observed job, if wanted

    @property
    def done(self) -> int:
        """Observed jobs that have ended."""
        return int(self.sums[:, ENDED].sum())


SPAN, WAITING, PRESENT, KINDS = 0, 1, 2, 3


def new_seen(classes: int, kinds: int, unit: float, jobs: int = 0) -> Seen:
    bins = [np.zeros((classes, BINS), np.uint32) for _ in range(2)]
    time, each = np.zeros(KINDS + 2 * kinds), np.full((jobs, 3), np.nan)
    return Seen(1.0 / unit, np.zeros((classes, SUMS)), bins[0], bins[1], time, each)


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
    demand = np.zeros((floor.free.size, floor.free.size), np.int64)
    for k in range(floor.free.size):
        for _ in range(floor.units[k]):
            if workload[at] > 0.0:
                demand[k, k] = 1
                slot = admit(floor, demand, k, workload[at], workload[at], NOBODY)
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
    moment, time = 0, seen.time
    while moment < at.size and at[moment] < floor.clock[0]:
        moment += 1
    i = 0
    while i < arrival.size:
        ends = floor.counts[RUNNING] > 0 and floor.jobs[floor.jobs[0].heap].end <= arrival[i]
        if not ends and floor.counts[SPARE] == 0:
            return i
        now = floor.jobs[floor.jobs[0].heap].end if ends else arrival[i]
        if moment < at.size and at[moment] < now:
            moment = _look(floor, kept, now, at, moment, state)
        if first < number + i < last and now > floor.clock[0]:
            _pass(floor, kept, now - floor.clock[0], time)
        floor.clock[0] = now
        if ends:
            while floor.counts[RUNNING] > 0 and floor.jobs[floor.jobs[0].heap].end <= now:
                slot = floor.jobs[0].heap
                stop(floor, slot)
                if kept and floor.jobs[slot].number != NOBODY:
                    leave_line(floor, slot)
                if first <= floor.jobs[slot].number < last:
                    _note(floor, kept, slot, first, seen)
                vacate(floor, slot)
        else:
            admit(floor, demand, job_class[i], service[i], guess[i], number + i)
            i += 1
        schedule(policy, option, floor)
    return arrival.size


@compiled
def _waiting(floor, kept):
    if not kept:
        return floor.counts[LINED]
    in_line = 0
    for i in range(floor.counts[RUNNING]):
        in_line += floor.jobs[floor.jobs[i].heap].number != NOBODY
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
def _pass(floor, kept, span, time):
    """Time passes: sums over it."""
    waiting = _waiting(floor, kept) if kept else floor.counts[LINED]
    time[SPAN] += span
    time[WAITING] += waiting * span
    time[PRESENT] += (waiting + floor.counts[RUNNING]) * span
    for k in range(floor.free.size):
        time[KINDS + 2 * k] += (floor.units[k] - floor.free[k]) * span
        if waiting > 0:
            time[KINDS + 2 * k + 1] += floor.free[k] * span


@compiled
def _note(floor, kept, slot, first, seen):
    """A job that is observed has ended."""
    c = floor.jobs[slot].job_class
    response = floor.clock[0] - floor.jobs[slot].arrival
    wait = response - floor.jobs[slot].service if kept else floor.jobs[slot].started - floor.jobs[slot].arrival
    if kept and wait < 1e-9 * response:  # rounding, where times are taken apart and put together again
        wait = 0.0
    sums = seen.sums[c]
    sums[ENDED] += 1.0
    sums[WAIT] += wait
    sums[WAIT_SQUARE] += wait * wait
    sums[NONE] += wait == 0.0
    sums[RESPONSE] += response
    sums[RESPONSE_SQUARE] += response * response
    sums[SLOWDOWN] += response / floor.jobs[slot].service if floor.jobs[slot].service > 0.0 else 1.0
    place = (np.float64(wait * seen.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    seen.bins[c, min(max(place, 0), BINS - 1)] += np.uint32(1)
    place = (np.float64(response * seen.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    seen.response_bins[c, min(max(place, 0), BINS - 1)] += np.uint32(1)
    if seen.jobs.shape[0] > 0:
        seen.jobs[floor.jobs[slot].number - first, 0] = wait
        seen.jobs[floor.jobs[slot].number - first, 1] = response
        seen.jobs[floor.jobs[slot].number - first, 2] = floor.jobs[slot].arrival
