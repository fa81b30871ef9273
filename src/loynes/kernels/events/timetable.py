"""A timetable: how many servers of every kind are free from each of some times on, for policies that plan ahead.

It is kept in the floor between events, `counts[STEPS]` steps long; 0 is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.ends import drop_first, expect_ends
from loynes.kernels.events.floor import STEPS, SURPRISED
from loynes.kernels.events.maintenance import Maintenance
from loynes.kernels.events.nodes import Nodes
from loynes.kernels.events.planning import add_to_step, list_free
from loynes.kernels.events.uncounted import uncounted

# What SURPRISED says of the last event: nothing, a job ended, one ended before its time, or servers were lost or came
# back.
NOT, ENDED, EARLY, CHANGED = range(4)
# More units than any node has.
AWAY = 1 << 40


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@uncounted
def expect(floor):
    """Of running jobs only: what is free from now on, and from each of their believed ends."""
    last, size = 0, expect_ends(floor)
    floor.times[0] = floor.clock[0]
    list_free(floor.nodes, floor)
    while size > 0:
        if floor.jobs[0].believed > floor.times[last]:
            last += 1
            floor.times[last] = floor.jobs[0].believed
            _copy(floor, last - 1, last)
        add_to_step(floor.nodes, floor, floor.jobs[0].ending, last, 1)
        size = drop_first(floor, size)
    floor.counts[STEPS] = last + 1
    expect_losses(floor.nodes, floor)


@_chosen
def expect_losses(nodes, floor):
    """What is announced to be lost, and to come back."""


@expect_losses.variant(type(None))
def _expect_servers_lost(nodes, floor):
    lose_later(floor.maintenance, floor)


@expect_losses.variant(Nodes)
def _expect_nodes_away(nodes, floor):
    if nodes.windows.shape[1] > 0:
        be_away(nodes, floor)


@_chosen
def lose_later(maintenance, floor):
    """The same of a pool."""


@lose_later.variant(type(None))
def _lose_nothing(maintenance, floor):
    pass


@lose_later.variant(Maintenance)
def _lose_servers(maintenance, floor):
    for i in range(maintenance.happened[0], maintenance.time.size):
        step = _split(floor, max(maintenance.time[i], floor.clock[0]), 0)
        while step < floor.counts[STEPS]:
            for k in range(floor.free.size):
                floor.room[step, k] -= maintenance.lost[i, k]
            step += 1


@uncounted
def be_away(nodes, floor):
    """Of a node that will be away there is less than nothing meanwhile."""
    kinds = floor.free.size
    for node in range(nodes.away.size):
        for i in range(nodes.windows.shape[1]):
            if nodes.windows[node, i, 1] > floor.clock[0] and nodes.windows[node, i, 0] < np.inf:
                step = _split(floor, max(nodes.windows[node, i, 0], floor.clock[0]), 0)
                until = nodes.windows[node, i, 1]
                if until < np.inf:
                    _split(floor, until, step)
                while step < floor.counts[STEPS] and floor.times[step] < until:
                    for k in range(kinds):
                        floor.room[step, node * kinds + k] -= AWAY
                    step += 1


@uncounted
def forget(floor):
    """Drop the steps before now, but for the one that holds now, and those at which nothing changes.

    What is left is at most two steps for every job there, and one.
    """
    known, current = floor.counts[STEPS], 0
    while current + 1 < known and floor.times[current + 1] <= floor.clock[0]:
        current += 1
    if current > 0:
        _copy(floor, current, 0)
    floor.times[0] = floor.clock[0]
    kept = 1
    for step in range(current + 1, known):
        changes = False
        for k in range(floor.room.shape[1]):
            changes |= floor.room[step, k] != floor.room[kept - 1, k]
        if changes:
            floor.times[kept] = floor.times[step]
            _copy(floor, step, kept)
            kept += 1
    floor.counts[STEPS] = kept


@uncounted
def book(floor, slot, since, until, sign):
    """Take a job's servers, from a time that is not before now to another, out of the timetable; with sign -1, back."""
    if until <= since:
        return
    last = _split(floor, until, _split(floor, since, 0))
    step = last - 1
    while step >= 0 and floor.times[step] >= since:
        add_to_step(floor.nodes, floor, slot, step, -sign)
        step -= 1


@uncounted
def _split(floor, time, step):
    """The step that begins then, made if need be."""
    known = floor.counts[STEPS]
    while step < known and floor.times[step] < time:
        step += 1
    if step == known or floor.times[step] > time:
        for later in range(known, step, -1):
            floor.times[later] = floor.times[later - 1]
            _copy(floor, later - 1, later)
        floor.times[step] = time
        _copy(floor, step - 1, step)
        floor.counts[STEPS] = known + 1
    return step


@uncounted
def _copy(floor, step, to):
    for k in range(floor.room.shape[1]):
        floor.room[to, k] = floor.room[step, k]


@uncounted
def surprise(floor, slot):
    """A job ends: what it was to have from now on, if that was more, is free."""
    until = floor.jobs[slot].started + floor.jobs[slot].guess
    event = EARLY if until > floor.clock[0] else ENDED
    floor.counts[SURPRISED] = max(floor.counts[SURPRISED], event)
    if event == EARLY and floor.counts[STEPS] > 0:
        forget(floor)
        book(floor, slot, floor.clock[0], until, -1)


@uncounted
def ask_again(floor, time):
    """The policy is to be asked at that time, too, though nothing may happen then; infinite is not."""
    floor.clock[1] = time
