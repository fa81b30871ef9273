"""Priorities that stop others: the first in line that its quota does not hold back, if it does not fit otherwise.

Running jobs of lower priority are stopped one after the other, the lowest priority first and of equals the one that
started last, until it fits. Then those are spared, the last chosen first, without which it still fits; and it starts
at once. If it would not fit with all of them stopped, nobody is. Who was stopped is in line again in its place, and
begins anew (restart) or goes on where it was (resume). A policy that stops jobs itself is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.floor import NOBODY, RUNNING, SURPRISED, rejoin, start, stop
from loynes.kernels.events.placing import lend
from loynes.kernels.events.promise import forget_promise
from loynes.kernels.events.sharing import PreemptiveSharing, Sharing
from loynes.kernels.events.timetable import CHANGED
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import first_in_line, fits


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def preempts(sharing, floor):
    """Whether the first in line was started in the place of others."""


@preempts.variant(type(None), Sharing)
def _preempts_nobody(sharing, floor):
    return False


@preempts.variant(PreemptiveSharing)
def _preempts_lower(sharing, floor):
    head = first_in_line(floor)
    return head != NOBODY and not fits(floor, head) and make_way(sharing, floor, head)


@uncounted
def make_way(sharing, floor, head):
    level, chosen = sharing.level[floor.jobs[head].job_class], 0
    while not fits(floor, head):
        victim = _next_victim(sharing, floor, level)
        if victim == NOBODY:
            break
        floor.jobs[victim].reserved = -np.inf
        floor.jobs[chosen].ending = victim
        chosen += 1
        _give(floor, victim, 1)
    way = fits(floor, head)
    for i in range(chosen - 1, -1, -1):
        victim = floor.jobs[i].ending
        _give(floor, victim, -1)
        if not way or fits(floor, head):
            floor.jobs[victim].reserved = np.inf
        else:
            _give(floor, victim, 1)
    if not way:
        return False
    for i in range(chosen):
        if floor.jobs[floor.jobs[i].ending].reserved == -np.inf:
            _stop_for_another(sharing, floor, floor.jobs[i].ending)
    start(floor, head)
    floor.counts[SURPRISED] = CHANGED
    forget_promise(floor.promise)
    return True


@uncounted
def _next_victim(sharing, floor, level):
    """Of the running jobs of lower priority that are not chosen yet."""
    best, lowest = NOBODY, level
    for i in range(floor.counts[RUNNING]):
        slot = floor.jobs[i].heap
        its = sharing.level[floor.jobs[slot].job_class]
        if its <= level or floor.jobs[slot].number == NOBODY or floor.jobs[slot].reserved == -np.inf:
            continue
        later = best == NOBODY or floor.jobs[slot].started > floor.jobs[best].started
        tie = best != NOBODY and floor.jobs[slot].started == floor.jobs[best].started
        later |= tie and floor.jobs[slot].number > floor.jobs[best].number
        if its > lowest or (its == lowest and later):
            best, lowest = slot, its
    return best


@uncounted
def _give(floor, slot, sign):
    """Let a running job's servers be free, to see who fits then; or take them again (-1)."""
    for k in range(floor.free.size):
        floor.free[k] += sign * floor.need[slot, k]
    lend(floor.nodes, floor, slot, sign)


@uncounted
def _stop_for_another(sharing, floor, slot):
    _give(floor, slot, -1)
    stop(floor, slot)
    if sharing.resumes:
        floor.jobs[slot].guess -= floor.clock[0] - floor.jobs[slot].started
    else:
        floor.jobs[slot].left = floor.jobs[slot].service
    floor.jobs[slot].started = np.inf
    floor.jobs[slot].reserved = np.inf
    rejoin(floor, slot)
