"""Events one after the other: arrivals and ends of jobs; after each the policy says who starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.events.by_need import least_servers_first, most_servers_first, smash
from loynes.kernels.events.conservative import conservative
from loynes.kernels.events.easy import easy
from loynes.kernels.events.fcfs import fcfs
from loynes.kernels.events.first_fit import first_fit
from loynes.kernels.events.floor import (
    HEAD,
    LINED,
    NOBODY,
    RUNNING,
    SPARE,
    SURPRISED,
    WOKEN,
    admit,
    begin,
    interrupt,
    leave_line,
    stop,
    vacate,
)
from loynes.kernels.events.quick_swap import quick_swap
from loynes.kernels.events.server_filling import server_filling
from loynes.kernels.events.shortest_first import shortest_first
from loynes.kernels.events.timetable import CHANGED, surprise
from loynes.kernels.events.uncounted import inlined, uncounted
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
# Those that look only at the first in line of every class.
BY_CLASS = ("first-fit", "most-servers-first", "least-servers-first", "quick-swap")
# Those that keep a timetable.
PLANNING = ("conservative",)


@inlined
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
# Integrals over time; then busy and lost servers of every kind.
SPAN, WAITING, PRESENT, KINDS = range(4)


class Seen(NamedTuple):
    """What one replica saw of the jobs it observes, by class, and over time."""

    per_unit: float
    sums: NDArray[np.float64]  # [class, SUMS]
    bins: NDArray[np.uint32]  # [class, bin], of waits
    response_bins: NDArray[np.uint32]
    time: NDArray[np.float64]  # [KINDS + 2 kinds]
    jobs: NDArray[np.float64]  # [row, 3]: wait, response and arrival of the jobs that have a row

    @property
    def done(self) -> int:
        """Observed jobs that have ended."""
        return int(self.sums[:, ENDED].sum())


def new_seen(classes: int, kinds: int, unit: float, rows: int = 0) -> Seen:
    bins = [np.zeros((classes, BINS), np.uint32) for _ in range(2)]
    time, jobs = np.zeros(KINDS + 2 * kinds), np.full((rows, 3), np.nan)
    return Seen(1.0 / unit, np.zeros((classes, SUMS)), bins[0], bins[1], time, jobs)


class Coming(NamedTuple):
    """Jobs in order of arrival; `row` says where in Seen.jobs a job's wait goes, -1 nowhere."""

    arrival: NDArray[np.float64]
    job_class: NDArray[np.int64]
    service: NDArray[np.float64]
    guess: NDArray[np.float64]
    row: NDArray[np.int64]


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
def trail_back(table, seed, stream, replica, length, place):
    """Where the arrival process stood at the beginning of each of so many jobs before job 0."""
    return extend_trail(table, seed, stream, replica, length, new_block(table), new_trail(place))


@compiled
def draw_past(table, seed, stream, replica, first, count, trail, gap, job_class, service):
    """The same for jobs before job 0, of which backward samples are made."""
    block = new_block(table)
    for start in range(0, count, BLOCK):
        draw_block(table, seed, stream, replica, first + start, block, trail_at(trail, first + start))
        gap[start : start + BLOCK] = block.gap
        job_class[start : start + BLOCK] = block.job_class
        service[start : start + BLOCK] = block.service


@compiled
def occupy(floor, workload):
    """Servers that are busy for so long from now, one kind after the other, with work of nobody's."""
    at = 0
    for k in range(floor.free.size):
        one = np.zeros((1, floor.free.size), np.int64)
        one[0, k] = 1
        for _ in range(floor.units[k]):
            if workload[at] > 0.0:
                begin(floor, admit(floor, one, 0, workload[at], workload[at], NOBODY, NOBODY))
            at += 1


@uncounted
def events(policy, option, floor, coming, i, past, until, demand, number, first, last, counted, seen, at, state):
    """Let jobs i .. past - 1 of `coming` arrive, and running ones end, until a time; which is to arrive next.

    The job at place 0 is the number-th of all; those numbered from `first` and below `last` are observed. What happens
    after the last of these arrivals waits for the next call. It returns early where there is no slot for another job.
    Time is summed up while `counted`. At the times `at` a row of `state` is written: jobs waiting, in the system, and
    of every kind busy servers, those that idle while somebody waits, and server time that the jobs there still need.
    """
    kept = policy == SERVER_FILLING  # running jobs keep their place in line
    moment, woken = 0, floor.counts[WOKEN] == 1
    floor.counts[WOKEN] = 0
    while moment < at.size and at[moment] < floor.clock[0]:
        moment += 1
    while i < past:
        ends = floor.counts[RUNNING] > 0 and floor.jobs[0].heap_end <= coming.arrival[i]
        now = floor.jobs[0].heap_end if ends else coming.arrival[i]
        late = now > until
        if woken or late:
            now = floor.clock[0] if woken else until
        elif not ends and floor.counts[SPARE] == 0:
            return i
        if moment < at.size and at[moment] < now:
            moment = _look(floor, kept, now, at, moment, state)
        if counted and now > floor.clock[0]:
            _pass(floor, kept, now - floor.clock[0], seen.time)
        floor.clock[0] = now
        if woken:
            woken = False
        elif late:
            return i
        elif ends:
            while floor.counts[RUNNING] > 0 and floor.jobs[0].heap_end <= now:
                slot = floor.jobs[0].heap
                if floor.jobs[slot].guess > floor.jobs[slot].service:
                    surprise(floor, slot)
                stop(floor, slot)
                if kept and floor.jobs[slot].number != NOBODY:
                    leave_line(floor, slot)
                if first <= floor.jobs[slot].number < last or floor.jobs[slot].row >= 0:
                    _note(floor, kept, slot, first <= floor.jobs[slot].number < last, seen)
                vacate(floor, slot)
        else:
            admit(
                floor, demand, coming.job_class[i], coming.service[i], coming.guess[i], number + i, coming.row[i]
            )  # fmt: skip
            i += 1
        schedule(policy, option, floor)
    return i


@uncounted
def lose(floor, lost, hit, in_line):
    """So many servers of every kind are gone, or back where below 0; the jobs in these slots are interrupted."""
    for i in range(hit.size):
        slot = hit[i]
        if floor.jobs[slot].number == NOBODY:
            stop(floor, slot)
            vacate(floor, slot)
        else:
            interrupt(floor, slot, in_line)
    for k in range(lost.size):
        floor.units[k] -= lost[k]
        floor.free[k] -= lost[k]
    floor.counts[WOKEN] = 1
    floor.counts[SURPRISED] = CHANGED


@uncounted
def _waiting(floor, kept):
    if not kept:
        return floor.counts[LINED]
    in_line = 0
    for i in range(floor.counts[RUNNING]):
        in_line += floor.jobs[floor.jobs[i].heap].number != NOBODY
    return floor.counts[LINED] - in_line


@uncounted
def _look(floor, kept, until, at, moment, state):
    """Write down the state at every moment before the next event."""
    kinds = floor.free.size
    while moment < at.size and at[moment] < until:
        waiting = _waiting(floor, kept)
        state[moment, 0] = waiting
        state[moment, 1] = waiting + floor.counts[RUNNING]
        for k in range(kinds):
            state[moment, 2 + k] = floor.units[k] - floor.free[k]
            state[moment, 2 + kinds + k] = max(floor.free[k], 0) if waiting > 0 else 0
            state[moment, 2 + 2 * kinds + k] = 0.0
        for i in range(floor.counts[RUNNING]):
            slot = floor.jobs[i].heap
            for k in range(kinds):
                state[moment, 2 + 2 * kinds + k] += floor.need[slot, k] * (floor.jobs[slot].end - at[moment])
        slot = floor.counts[HEAD]
        while slot != NOBODY:
            for k in range(kinds):
                if floor.jobs[slot].place == NOBODY:
                    state[moment, 2 + 2 * kinds + k] += floor.need[slot, k] * floor.jobs[slot].left
            slot = floor.jobs[slot].after
        moment += 1
    return moment


@inlined
def _pass(floor, kept, span, time):
    """Time passes: sums over it."""
    waiting = _waiting(floor, kept) if kept else floor.counts[LINED]
    time[SPAN] += span
    time[WAITING] += waiting * span
    time[PRESENT] += (waiting + floor.counts[RUNNING]) * span
    for k in range(floor.free.size):
        time[KINDS + 2 * k] += (floor.units[k] - floor.free[k]) * span
        if waiting > 0:
            time[KINDS + 2 * k + 1] += max(floor.free[k], 0) * span


@inlined
def _note(floor, kept, slot, observed, seen):
    """A job that is observed, or has a row, has ended."""
    response = floor.clock[0] - floor.jobs[slot].arrival
    wait = response - floor.jobs[slot].service if kept else floor.jobs[slot].started - floor.jobs[slot].arrival
    if kept and wait < 1e-9 * response:  # rounding, where times are taken apart and put together again
        wait = 0.0
    row = floor.jobs[slot].row
    if row >= 0:
        seen.jobs[row, 0] = wait
        seen.jobs[row, 1] = response
        seen.jobs[row, 2] = floor.jobs[slot].arrival
    if not observed:
        return
    c = floor.jobs[slot].job_class
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
