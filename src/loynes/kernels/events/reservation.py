"""The head of the line's reservation: when it can start, and who may start before it without making that any later.

By the run times that the scheduler believes in, the head can start at the first end of a running job after which there
are enough servers; where there are nodes, after which its tasks can be placed. Whoever starts now and runs on at that
time takes servers that were to be free then: that is harmless if those left over still do for the head. On nodes this
is asked with the tasks where they would be placed now. Of a quota that the head needs it takes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.ends import drop_first, enter, expect_ends
from loynes.kernels.events.floor import RUNNING, leave_line, run_where_placed, start
from loynes.kernels.events.nodes import (
    LOOKS,
    NONE,
    ROOM,
    Nodes,
    first_node,
    next_node,
    node_at,
    put_on_nodes,
    take_off_nodes,
    tasks_in,
)
from loynes.kernels.events.sharing import leaves_quota
from loynes.kernels.events.uncounted import uncounted


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def reserve(nodes, floor, head):
    """When the head of the line can start, or infinite; what is left over then is kept for `start_beside`."""


@_chosen
def start_beside(nodes, floor, head, slot):
    """Start a job that fits and will run on when the head is to start, if it leaves enough for the head."""


@_chosen
def may_start_beside(nodes, floor, slot):
    """Whether `start_beside` may start a job that fits: where this is False, it does not."""


@_chosen
def start_before(nodes, floor, slot):
    """Start a job that fits and will have ended when the head is to start."""


@reserve.variant(type(None))
def _reserve_servers(nodes, floor, head):
    """What is left over is in the first row of `room`."""
    kinds, spare, size = floor.free.size, floor.room[0], expect_ends(floor)
    for k in range(kinds):
        spare[k] = floor.free[k] - floor.need[head, k]
    reserved = np.inf  # where servers are lost, the head may need more than there are
    while size > 0:
        ends = floor.jobs[0].believed
        if ends > reserved:
            break
        enough = True
        for k in range(kinds):
            spare[k] += floor.need[floor.jobs[0].ending, k]
            enough &= spare[k] >= 0
        if enough:
            reserved = ends
        size = drop_first(floor, size)
    return reserved


@start_beside.variant(type(None))
def _start_on_spare_servers(nodes, floor, head, slot):
    spare, harmless = floor.room[0], leaves_quota(floor.sharing, floor, slot, head)
    for k in range(floor.free.size):
        harmless &= floor.need[slot, k] <= max(spare[k], 0)
    if harmless:
        for k in range(floor.free.size):
            spare[k] -= floor.need[slot, k]
        start(floor, slot)


@may_start_beside.variant(type(None))
def _are_enough_spare(nodes, floor, slot):
    harmless = True
    for k in range(floor.free.size):
        harmless &= floor.need[slot, k] <= max(floor.room[0, k], 0)
    return harmless


@may_start_beside.variant(Nodes)
def _tried_on_nodes(nodes, floor, slot):
    return True


@start_before.variant(type(None))
def _start(nodes, floor, slot):
    start(floor, slot)


@reserve.variant(Nodes)
def _reserve_nodes(nodes, floor, head):
    if nodes.windows.shape[1] > 0:
        return look_around_maintenance(nodes, floor, head)
    return look_ahead(nodes, floor, head)


@start_before.variant(Nodes)
def _start_on_nodes(nodes, floor, slot):
    put_on_nodes(nodes, floor, slot)
    piece = nodes.piece[slot]
    while piece != NONE:
        look_at(nodes, floor, slot, piece)
        piece = nodes.next_piece[piece]
    leave_line(floor, slot)
    run_where_placed(floor, slot)


@start_beside.variant(Nodes)
def _start_on_spare_nodes(nodes, floor, head, slot):
    c = floor.jobs[slot].job_class
    if not leaves_quota(floor.sharing, floor, slot, head):
        return
    put_on_nodes(nodes, floor, slot)
    expect_units(nodes, floor, slot, head, -1)
    if nodes.counts[ROOM] >= nodes.layout.tasks[floor.jobs[head].job_class]:
        leave_line(floor, slot)
        run_where_placed(floor, slot)
    else:
        expect_units(nodes, floor, slot, head, 1)
        take_off_nodes(nodes, slot, c)


@uncounted
def look_ahead(nodes, floor, head):
    """The first believed end after which the head can be placed, with `later` and ROOM as all ends until then leave it.

    ROOM is the sum of the tasks of the head that single nodes have room for.
    """
    c, reserved = floor.jobs[head].job_class, np.inf
    tasks, running = nodes.layout.tasks[c], floor.counts[RUNNING]
    nodes.counts[LOOKS] += 1
    nodes.counts[ROOM] = 0
    at = first_node(nodes, c)
    while at != NONE:
        nodes.counts[ROOM] += tasks_in(nodes, nodes.free, node_at(nodes, c, at), c, 0.0, 0.0)
        at = next_node(nodes, c, at)
    # The jobs that end next: of the heap of all running ones those whose parents have been taken.
    size = enter(floor, 0, 0, nodes.believed[0]) if running > 0 else 0
    while size > 0 and floor.jobs[0].believed <= reserved:
        place, ends = floor.jobs[0].ending, floor.jobs[0].believed
        size = drop_first(floor, size)
        for child in (2 * place + 1, 2 * place + 2):
            if child < running:
                size = enter(floor, size, child, nodes.believed[child])
        expect_units(nodes, floor, nodes.believed_slot[place], head, 1)
        if reserved == np.inf and nodes.counts[ROOM] >= tasks:
            reserved = ends
    return reserved


@uncounted
def look_around_maintenance(nodes, floor, head):
    """The same where nodes will be away: the head can also start when some come back, and never runs into that."""
    c, length, reserved = floor.jobs[head].job_class, floor.jobs[head].guess, np.inf
    running, back = floor.counts[RUNNING], 0
    nodes.counts[LOOKS] += 1
    for node in range(nodes.away.size):
        announced = 0
        for i in range(nodes.windows.shape[1]):
            announced += nodes.windows[node, i, 0] <= floor.clock[0] < nodes.windows[node, i, 1]
        nodes.looked[node] = nodes.counts[LOOKS]
        for k in range(nodes.idle.size):
            # A node that failed is not expected to come back.
            capacity = nodes.layout.capacity[node, k] if nodes.away[node] <= announced else 0
            nodes.later[node, k] = capacity - nodes.held[node, k]
    size = enter(floor, 0, 0, nodes.believed[0]) if running > 0 else 0
    while reserved == np.inf:
        while back < nodes.returns.size and nodes.returns[back] <= floor.clock[0]:
            back += 1
        time = nodes.returns[back] if back < nodes.returns.size else np.inf
        if size > 0 and floor.jobs[0].believed < time:
            time = floor.jobs[0].believed
        if time == np.inf:
            break
        while size > 0 and floor.jobs[0].believed <= time:
            place = floor.jobs[0].ending
            size = drop_first(floor, size)
            for child in (2 * place + 1, 2 * place + 2):
                if child < running:
                    size = enter(floor, size, child, nodes.believed[child])
            expect_units(nodes, floor, nodes.believed_slot[place], head, 1)
        if back < nodes.returns.size and nodes.returns[back] <= time:
            back += 1
        nodes.stretch[0], nodes.stretch[1], nodes.counts[ROOM] = time, time + length, 0
        for node in range(nodes.away.size):
            nodes.counts[ROOM] += max(tasks_in(nodes, nodes.later, node, c, time, time + length), 0)
        if nodes.counts[ROOM] >= nodes.layout.tasks[c]:
            reserved = time
    return reserved


@uncounted
def expect_units(nodes, floor, slot, head, sign):
    """A job's tasks, on the nodes that they have, are expected to have ended (sign 1) or to run on (-1)."""
    c, of_head = floor.jobs[slot].job_class, floor.jobs[head].job_class
    piece, begin, end = nodes.piece[slot], nodes.stretch[0], nodes.stretch[1]
    while piece != NONE:
        node = nodes.piece_node[piece]
        if nodes.away[node] == 0 or nodes.looked[node] == nodes.counts[LOOKS]:
            if sign < 0:
                look_at(nodes, floor, slot, piece)
            elif nodes.looked[node] != nodes.counts[LOOKS]:
                nodes.looked[node] = nodes.counts[LOOKS]
                for k in range(nodes.idle.size):
                    nodes.later[node, k] = nodes.free[node, k]
            nodes.counts[ROOM] -= tasks_in(nodes, nodes.later, node, of_head, begin, end)
            for k in range(nodes.idle.size):
                nodes.later[node, k] += sign * nodes.piece_tasks[piece] * nodes.layout.task_need[c, k]
            nodes.counts[ROOM] += tasks_in(nodes, nodes.later, node, of_head, begin, end)
        piece = nodes.next_piece[piece]


@uncounted
def look_at(nodes, floor, slot, piece):
    """What will be free on the node of a piece that was just put there, as if it had not been."""
    node, c = nodes.piece_node[piece], floor.jobs[slot].job_class
    if nodes.looked[node] != nodes.counts[LOOKS]:
        nodes.looked[node] = nodes.counts[LOOKS]
        for k in range(nodes.idle.size):
            nodes.later[node, k] = nodes.free[node, k] + nodes.piece_tasks[piece] * nodes.layout.task_need[c, k]
