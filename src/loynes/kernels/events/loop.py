"""Events one after the other: arrivals and ends of jobs; after each the policy says who starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.cpu.variants import typed
from loynes.kernels.events.floor import (
    HEAD,
    LEFT,
    LINED,
    NOBODY,
    RUNNING,
    SPARE,
    SURPRISED,
    WOKEN,
    Floor,
    admit,
    interrupt,
    leave_line,
    start,
    stop,
    vacate,
)
from loynes.kernels.events.histograms import COUNTED_IN_PLACE
from loynes.kernels.events.pace import Pace
from loynes.kernels.events.placing import add_fragmentation, idle_units
from loynes.kernels.events.policies import Policy
from loynes.kernels.events.predictions import PredictedArrivals, correct, learn, predict
from loynes.kernels.events.preemption import preempts
from loynes.kernels.events.promise import forget_promise
from loynes.kernels.events.sharing import counts_stops
from loynes.kernels.events.timetable import CHANGED, surprise
from loynes.kernels.events.uncounted import inlined, uncounted
from loynes.kernels.events.view import first_in_line
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BIN_OFFSET, BIN_SHIFT, BINS

_SHIFT, _OFFSET = np.int64(BIN_SHIFT), np.int64(BIN_OFFSET)

# Sums over ended jobs, by class: how many, and of what.
ENDED, WAIT, WAIT_SQUARE, NONE, RESPONSE, RESPONSE_SQUARE, SLOWDOWN, BOUNDED, SUMS = range(9)
# Integrals over time; then busy and lost servers of every kind; then, where there are nodes, of every kind those that
# idle only because no node has enough together.
SPAN, WAITING, PRESENT, KINDS = range(4)


class Observations(NamedTuple):
    """Sums over the jobs that one replica observes, by class, and over time."""

    per_unit: float
    sums: Array  # [class, SUMS]
    bins: NDArray[np.uint32]  # [class, bin], of waits; without rows where classes are many: then `hits` has them
    response_bins: NDArray[np.uint32]
    hits: Ints  # [job that ended, 3]: class, and the bins of wait and response, since the last look at them
    hit: Ints  # [1], how many there are
    time: Array  # [KINDS + 2 kinds, or 3 with nodes]
    jobs: Array  # [row, 3]: wait, response and arrival of the jobs that have a row
    shortest: float = 0.0  # services count as at least so long in bounded slowdowns

    @property
    def ended(self) -> int:
        """Observed jobs that have ended."""
        return int(self.sums[:, ENDED].sum())


def new_observations(
    classes: int, kinds: int, unit: float, rows: int = 0, nodes: bool = False, shortest: float = 0.0
) -> Observations:
    counted = classes if classes <= COUNTED_IN_PLACE else 0
    bins = [np.zeros((counted, BINS), np.uint32) for _ in range(2)]
    hits, hit = np.empty((0, 3), np.int64), np.zeros(1, np.int64)
    time, jobs = np.zeros(KINDS + (3 if nodes else 2) * kinds), np.full((rows, 3), np.nan)
    return Observations(1.0 / unit, np.zeros((classes, SUMS)), bins[0], bins[1], hits, hit, time, jobs, shortest)


class Arrivals(NamedTuple):
    """Jobs in order of arrival; `row` says where in Observations.jobs a job's wait goes, -1 nowhere."""

    arrival: Array
    job_class: Ints
    service: Array
    guess: Array
    row: Ints


@prepares
def draw(table, *given):
    """Jobs first .. first + count - 1 (whole blocks) of a replica, those of the recurrence; where arrivals stand."""
    return _draw(typed(table), new_block(table), *given)


@compiled
def _draw(table, block, seed, stream, replica, first, count, place, gap, job_class, service):
    for offset in range(0, count, BLOCK):
        place = draw_block(table, seed, stream, replica, first + offset, block, place)
        _keep(block, offset, gap, job_class, service)
    return place


@inlined
def _keep(block, offset, gap, job_class, service):
    """A block's jobs behind those before; slices, assigned, would bring Numba's texts for those that do not fit."""
    for i in range(BLOCK):
        gap[offset + i] = block.gap[i]
        job_class[offset + i] = block.job_class[i]
        service[offset + i] = block.service[i]


@prepares
def trail_back(table, seed, stream, replica, length, place):
    """Where the arrival process stood at the beginning of each of so many jobs before job 0."""
    return extend_trail(table, seed, stream, replica, length, new_block(table), new_trail(place))


@prepares
def draw_history(table, *given):
    """The same for jobs before job 0, of which backward samples are made."""
    _draw_history(typed(table), new_block(table), *given)


@compiled
def _draw_history(table, block, seed, stream, replica, first, count, trail, gap, job_class, service):
    for offset in range(0, count, BLOCK):
        draw_block(table, seed, stream, replica, first + offset, block, trail_at(trail, first + offset))
        _keep(block, offset, gap, job_class, service)


@compiled
def occupy(floor, workload):
    """Servers that are busy for so long from now, one kind after the other, with work of nobody's."""
    at = 0
    for k in range(floor.free.size):
        one = np.zeros((1, floor.free.size), np.int64)
        one[0, k] = 1
        for _ in range(floor.units[k]):
            if workload[at] > 0.0:
                start(floor, admit(floor, one, 0, workload[at], workload[at], NOBODY, NOBODY))
            at += 1


def run_events(pace: Pace, policy: Policy, option: Any, floor: Floor, *given: Any) -> int:
    """Run the loop of a policy, see `_events`, for about as long as the pace says; it is compiled when first used, or
    read from the disk."""
    predicts = any(isinstance(one, PredictedArrivals) for one in given)
    loop = loop_of(policy, predicts=True) if predicts else loop_of(policy)
    floor.counts[LEFT] = pace.begin()
    try:
        came = int(loop(option, floor, *given))
    except NumbaError as error:
        reason = next((line for line in reversed(str(error).splitlines()) if line.strip()), "")
        raise UsageError(f"policy {policy.name!r}: Numba cannot compile it: {reason.strip()}\n{error}") from None
    pace.end(int(floor.counts[LEFT]))
    return came


@functools.cache
def loop_of(policy: Policy, predicts: bool = False) -> Callable[..., Any]:
    """The loop that is made for a policy. Its place in the cache, and its symbols, are that policy's own."""
    make: Any = _events
    wakes = policy.timetable or policy.asks_again
    loop = make(policy.schedule, policy.keeps_place, policy.timetable, wakes, predicts)
    key = (policy.name, policy.digest, policy.keeps_place, policy.timetable, wakes, *(["predicts"] if predicts else []))
    name = "predicted_events_" if predicts else "events_"
    loop.__qualname__ = name + "".join(c if c.isalnum() else "_" for c in policy.key)
    return compiled(loop, counted=False, key=key)


def _events(schedule: Any, keeps_place: bool, timetable: bool, wakes: bool, predicts: bool) -> Any:
    """The loop in which one policy, compiled, says who starts; it may predict run times itself (`predictions`)."""

    def events(option, floor, arrivals, i, end, until, demand, number, first, last, counted, observations, at, state):
        """Let jobs i .. end - 1 of `arrivals` come, and running ones end, until a time; which is to come next.

        The job at place 0 is the number-th of all; those numbered from `first` and below `last` are observed. What
        happens after the last of these arrivals waits for the next call. It returns early where there is no slot for
        another job, and after as many events as were left to it. Time is summed up while `counted`. At the times `at` a
        row of `state` is written: jobs waiting, in the system, and of every kind busy servers, those that idle while
        somebody waits, and server time that the jobs there still need.
        """
        moment, woken = 0, floor.counts[WOKEN] == 1
        floor.counts[WOKEN] = 0
        while moment < at.size and at[moment] < floor.clock[0]:
            moment += 1
        while i < end:
            if floor.counts[LEFT] == 0:
                return i
            floor.counts[LEFT] -= 1
            ends = floor.counts[RUNNING] > 0 and floor.jobs[0].heap_end <= arrivals.arrival[i]
            now = floor.jobs[0].heap_end if ends else arrivals.arrival[i]
            # A schedule may let somebody start at a time at which nothing else happens.
            planned = wakes and floor.clock[1] < now
            if planned:
                now = floor.clock[1]
            late = now > until
            if woken or late:
                now = floor.clock[0] if woken else until
            elif not ends and not planned and floor.counts[SPARE] == 0:
                return i
            if moment < at.size and at[moment] < now:
                moment = _record_state(floor, keeps_place, now, at, moment, state)
            if counted and now > floor.clock[0]:
                _add_time(floor, keeps_place, now - floor.clock[0], observations.time)
            floor.clock[0] = now
            if woken:
                woken = False
            elif late:
                return i
            elif planned:
                floor.clock[1] = np.inf
            elif ends:
                while floor.counts[RUNNING] > 0 and floor.jobs[0].heap_end <= now:
                    slot = floor.jobs[0].heap
                    if timetable:
                        surprise(floor, slot)
                    if predicts:
                        learn(floor, slot, arrivals)
                    stop(floor, slot)
                    if keeps_place and floor.jobs[slot].number != NOBODY:
                        leave_line(floor, slot)
                    if first <= floor.jobs[slot].number < last or floor.jobs[slot].row >= 0:
                        observed = first <= floor.jobs[slot].number < last
                        _record_job(floor, keeps_place, slot, observed, observations)
                    vacate(floor, slot)
            else:
                guess = predict(arrivals, i) if predicts else arrivals.guess[i]
                admit(
                    floor, demand, arrivals.job_class[i], arrivals.service[i], guess, number + i, arrivals.row[i]
                )  # fmt: skip
                i += 1
            if predicts:
                correct(floor, arrivals)
            again = True
            while again:
                schedule(floor, option)
                again = not keeps_place and preempts(floor.sharing, floor)
        return i

    return events


@uncounted
def lose_servers(floor, lost, hit, in_line, foreseen):
    """So many servers of every kind are gone, or back where below 0; the jobs in these slots are interrupted.

    What was foreseen is in timetables.
    """
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
    if not foreseen or hit.size > 0:
        floor.counts[SURPRISED] = CHANGED
    forget_promise(floor.promise)


@uncounted
def _waiting(floor, keeps_place):
    if not keeps_place:
        return floor.counts[LINED]
    in_line = 0
    for i in range(floor.counts[RUNNING]):
        in_line += floor.jobs[floor.jobs[i].heap].number != NOBODY
    return floor.counts[LINED] - in_line


@uncounted
def _record_state(floor, keeps_place, until, at, moment, state):
    """Write down the state at every moment before the next event."""
    kinds = floor.free.size
    while moment < at.size and at[moment] < until:
        waiting = _waiting(floor, keeps_place)
        state[moment, 0] = waiting
        state[moment, 1] = waiting + floor.counts[RUNNING]
        for k in range(kinds):
            state[moment, 2 + k] = floor.units[k] - floor.free[k]
            state[moment, 2 + kinds + k] = idle_units(floor.nodes, floor, k) if waiting > 0 else 0
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
def _add_time(floor, keeps_place, span, time):
    """Time passes: sums over it."""
    waiting = _waiting(floor, keeps_place) if keeps_place else floor.counts[LINED]
    time[SPAN] += span
    time[WAITING] += waiting * span
    time[PRESENT] += (waiting + floor.counts[RUNNING]) * span
    for k in range(floor.free.size):
        time[KINDS + 2 * k] += (floor.units[k] - floor.free[k]) * span
        if waiting > 0:
            time[KINDS + 2 * k + 1] += idle_units(floor.nodes, floor, k) * span
    if waiting > 0:
        add_fragmentation(floor.nodes, floor, first_in_line(floor), span, time[KINDS + 2 * floor.free.size :])


@inlined
def _record_job(floor, keeps_place, slot, observed, observations):
    """A job that is observed, or has a row, has ended."""
    response = floor.clock[0] - floor.jobs[slot].arrival
    stops = keeps_place or counts_stops(floor.sharing)
    wait = response - floor.jobs[slot].service if stops else floor.jobs[slot].started - floor.jobs[slot].arrival
    if stops and wait < 1e-9 * response:  # rounding, where times are taken apart and put together again
        wait = 0.0
    row = floor.jobs[slot].row
    if row >= 0:
        observations.jobs[row, 0] = wait
        observations.jobs[row, 1] = response
        observations.jobs[row, 2] = floor.jobs[slot].arrival
    if not observed:
        return
    c = floor.jobs[slot].job_class
    sums = observations.sums[c]
    sums[ENDED] += 1.0
    sums[WAIT] += wait
    sums[WAIT_SQUARE] += wait * wait
    sums[NONE] += wait == 0.0
    sums[RESPONSE] += response
    sums[RESPONSE_SQUARE] += response * response
    sums[SLOWDOWN] += response / floor.jobs[slot].service if floor.jobs[slot].service > 0.0 else 1.0
    shortest = max(floor.jobs[slot].service, observations.shortest)
    sums[BOUNDED] += max(response / shortest, 1.0) if shortest > 0.0 else 1.0
    place = (np.float64(wait * observations.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    wait_bin = min(max(place, 0), BINS - 1)
    place = (np.float64(response * observations.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    response_bin = min(max(place, 0), BINS - 1)
    if observations.bins.shape[0] > 0:
        observations.bins[c, wait_bin] += np.uint32(1)
        observations.response_bins[c, response_bin] += np.uint32(1)
    else:
        at = observations.hit[0]
        observations.hits[at, 0] = c
        observations.hits[at, 1] = wait_bin
        observations.hits[at, 2] = response_bin
        observations.hit[0] = at + 1
