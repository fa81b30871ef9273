"""The reservation of the head of the line, kept from event to event while it stays right.

It says when the head can start by the ends that the scheduler believes in, and what is left over for others from then
on. As long as the same job is at the head that time cannot become later: others start only if they leave it as it is.
It becomes earlier where a running job ends before its believed end, and then only if the head could be placed just
before that time, for which what is free then is kept, too. A job that ends as believed changes nothing.

Of the others in line all were tried after the last event. Until a job ends nobody of them can start who could not
then: less is free, and less time is left. So only those that came since are tried.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.maintenance import is_announced
from loynes.kernels.events.node_order import NONE
from loynes.kernels.events.nodes import BEFORE, ROOM, Nodes
from loynes.kernels.events.placing import tasks_in
from loynes.kernels.events.uncounted import inlined, uncounted

# Places in Promise.notes: the number of the job that is promised its start and its class, and the last in line that was
# tried.
WHOSE, HEAD_CLASS, TRIED, NOTES = range(4)
NOBODY = -1


class Promise(NamedTuple):
    """When the head of the line can start; the arrays are of length 1, or of one number a kind of servers."""

    notes: Ints
    time: Array  # [1], infinite where there will never be enough servers
    # In a pool, what is left over for others from that time on, and what would be if the head started just before: not
    # enough of some kind. On nodes they are in Nodes.
    spare: Ints  # [kind]
    before: Ints  # [kind]


def new_promise(kinds: int) -> Promise:
    """Nothing is promised to anybody."""
    return Promise(np.full(NOTES, NOBODY), np.zeros(1), np.zeros(kinds, np.int64), np.zeros(kinds, np.int64))


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def forget_promise(promise):
    """Servers were lost or came back, believed ends have changed, or somebody was started in the head's place."""


@forget_promise.variant(type(None))
def _forget_nothing(promise):
    pass


@forget_promise.variant(Promise)
def _forget(promise):
    promise.notes[WHOSE] = NOBODY
    promise.notes[TRIED] = NOBODY


@_chosen
def try_all_again(promise):
    """Who is in line has changed but for a newcomer at its end."""


@try_all_again.variant(type(None))
def _keep_no_tried(promise):
    pass


@try_all_again.variant(Promise)
def _forget_tried(promise):
    promise.notes[TRIED] = NOBODY


@_chosen
def note_stop(promise, floor, slot):
    """A running job is about to give its servers back."""


@note_stop.variant(type(None))
def _note_no_stop(promise, floor, slot):
    pass


@note_stop.variant(Promise)
def _note_stop(promise, floor, slot):
    promise.notes[TRIED] = NOBODY
    if promise.notes[WHOSE] != NOBODY:
        until = floor.jobs[slot].started + floor.jobs[slot].guess
        if until >= promise.time[0]:
            give_back(floor.nodes, floor, slot, until > promise.time[0])


@inlined
def is_promised(floor, head):
    """Whether the time that is kept is still when the head of the line can start."""
    promise = floor.promise
    known = promise.notes[WHOSE] == floor.jobs[head].number and promise.time[0] >= floor.clock[0]
    return known and not sooner(floor.nodes, floor, head)


@_chosen
def sooner(nodes, floor, head):
    """Whether the head of the line could start before the time that is kept, or that has to be looked up anew."""


@sooner.variant(type(None))
def _sooner_on_servers(nodes, floor, head):
    enough = True
    for k in range(floor.free.size):
        enough &= floor.promise.before[k] >= 0
    # Around announced maintenance more time is not always better.
    return enough or is_announced(floor.maintenance)


@sooner.variant(Nodes)
def _sooner_on_nodes(nodes, floor, head):
    return nodes.windows.shape[1] > 0 or nodes.counts[BEFORE] >= nodes.layout.tasks[floor.jobs[head].job_class]


@_chosen
def give_back(nodes, floor, slot, after):
    """A job that was to run until the time that is kept, or on after it, stops."""


@give_back.variant(type(None))
def _give_servers_back(nodes, floor, slot, after):
    for k in range(floor.free.size):
        floor.promise.before[k] += floor.need[slot, k]
        if after:
            floor.promise.spare[k] += floor.need[slot, k]


@give_back.variant(Nodes)
def _give_nodes_back(nodes, floor, slot, after):
    c, of_head = floor.jobs[slot].job_class, floor.promise.notes[HEAD_CLASS]
    change_expected(nodes, slot, c, of_head, BEFORE, 1)
    if after:
        change_expected(nodes, slot, c, of_head, ROOM, 1)


@uncounted
def change_expected(nodes, slot, c, of_head, when, sign):
    """The tasks of a job of a class, on the nodes that they have, will have ended by then (sign 1), or not (-1)."""
    piece, begin, end = nodes.piece[slot], nodes.stretch[0], nodes.stretch[1]
    units = nodes.expected[when - ROOM]
    while piece != NONE:
        node = nodes.piece_node[piece]
        # What runs on a node that is away does not count, unless it was announced.
        if nodes.away[node] <= nodes.foreseen[node]:
            nodes.counts[when] -= tasks_in(nodes, units, node, of_head, begin, end)
            for k in range(nodes.idle.size):
                units[node, k] += sign * nodes.piece_tasks[piece] * nodes.layout.task_need[c, k]
            nodes.counts[when] += tasks_in(nodes, units, node, of_head, begin, end)
        piece = nodes.next_piece[piece]
