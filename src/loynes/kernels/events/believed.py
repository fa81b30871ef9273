"""Running jobs by the ends that the scheduler believes in, kept from event to event.

Looking for the first few ends among thousands of running jobs is then a walk from the top of a heap, not a sort. It is
kept on nodes, and in a pool where the head of the line is promised its start; else there is the empty tuple.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.uncounted import uncounted


class Ends(NamedTuple):
    """A heap, by places, of as many running jobs as there are."""

    believed: Array  # [place]
    job: Ints  # [place], its slot
    place: Ints  # [slot]


def new_ends(jobs: NDArray[Any], running: int) -> Ends:
    """Of the jobs on a floor, so many of which run."""
    ends = Ends(np.zeros(len(jobs)), np.zeros(len(jobs), np.int64), np.zeros(len(jobs), np.int64))
    slots = jobs["heap"][:running]
    believed = jobs["started"][slots] + jobs["guess"][slots]
    order = np.argsort(believed, kind="stable")  # what is in order is a heap
    ends.believed[:running], ends.job[:running] = believed[order], slots[order]
    ends.place[slots[order]] = np.arange(running)
    return ends


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def expect_end(ends, floor, slot, size):
    """A job runs from now on, beside so many others."""


@expect_end.variant(type(None))
def _keep_none(ends, floor, slot, size):
    pass


@expect_end.variant(Ends)
def _enter(ends, floor, slot, size):
    rise(ends, slot, floor.jobs[slot].started + floor.jobs[slot].guess, size)


@_chosen
def expect_later_end(ends, floor, slot, size):
    """One of so many running jobs is believed to take longer than before."""


@expect_later_end.variant(type(None))
def _move_none(ends, floor, slot, size):
    pass


@expect_later_end.variant(Ends)
def _move(ends, floor, slot, size):
    sink(ends, slot, floor.jobs[slot].started + floor.jobs[slot].guess, ends.place[slot], size)


@_chosen
def expect_no_end(ends, slot, size):
    """A job has been stopped; how many run now."""


@expect_no_end.variant(type(None))
def _drop_none(ends, slot, size):
    pass


@expect_no_end.variant(Ends)
def _leave(ends, slot, size):
    hole, last, believed = ends.place[slot], ends.job[size], ends.believed[size]
    if hole < size:
        if hole > 0 and believed < ends.believed[(hole - 1) >> 1]:
            rise(ends, last, believed, hole)
        else:
            sink(ends, last, believed, hole, size)


@uncounted
def rise(ends, slot, believed, at):
    while at > 0:
        parent = (at - 1) >> 1
        if ends.believed[parent] <= believed:
            break
        _set(ends, ends.job[parent], ends.believed[parent], at)
        at = parent
    _set(ends, slot, believed, at)


@uncounted
def sink(ends, slot, believed, at, size):
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and ends.believed[child + 1] < ends.believed[child]:
            child += 1
        if ends.believed[child] >= believed:
            break
        _set(ends, ends.job[child], ends.believed[child], at)
        at = child
    _set(ends, slot, believed, at)


@uncounted
def _set(ends, slot, believed, at):
    ends.believed[at] = believed
    ends.job[at] = slot
    ends.place[slot] = at
