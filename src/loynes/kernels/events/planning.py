"""Steps of a timetable: what is free, by kind of servers or on every node, and where a job would fit for how long.

On nodes a job that has a reservation has the nodes for it, too. There is room for it in a stretch of time if its tasks
can be placed by what every node has free at each time of the stretch; they are, one after the other, as if they started
at once (see placing.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.floor import STEPS, leave_line, run_where_placed, start
from loynes.kernels.events.layout import PACK, SPREAD
from loynes.kernels.events.node_order import NONE
from loynes.kernels.events.nodes import Nodes
from loynes.kernels.events.placing import add_piece, drop_pieces, move_units, piece_on, tasks_in
from loynes.kernels.events.sharing import within_quota
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import fits


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def list_free(nodes, floor):
    """The first step: what is free now."""


@list_free.variant(type(None))
def _list_free_servers(nodes, floor):
    for k in range(floor.free.size):
        floor.room[0, k] = floor.free[k]


@list_free.variant(Nodes)
def _list_free_nodes(nodes, floor):
    kinds = floor.free.size
    for node in range(nodes.away.size):
        expected = nodes.away[node] <= nodes.foreseen[node]
        for k in range(kinds):
            free = nodes.layout.capacity[node, k] - nodes.held[node, k] if expected else 0
            floor.room[0, node * kinds + k] = free


@_chosen
def add_to_step(nodes, floor, slot, step, sign):
    """A job's servers are free from a step on (sign 1), or taken (-1)."""


@add_to_step.variant(type(None))
def _add_servers(nodes, floor, slot, step, sign):
    for k in range(floor.free.size):
        floor.room[step, k] += sign * floor.need[slot, k]


@add_to_step.variant(Nodes)
def _add_on_nodes(nodes, floor, slot, step, sign):
    kinds, c, piece = floor.free.size, floor.jobs[slot].job_class, nodes.piece[slot]
    while piece != NONE:
        node = nodes.piece_node[piece]
        if nodes.away[node] <= nodes.foreseen[node]:
            for k in range(kinds):
                units = nodes.piece_tasks[piece] * nodes.layout.task_need[c, k]
                floor.room[step, node * kinds + k] += sign * units
        piece = nodes.next_piece[piece]


@_chosen
def earliest(nodes, floor, slot, reserved, length):
    """When the earliest stretch of that length begins that has room for a job, what it has reserved counted as free.

    It is what the job has reserved, or infinite, where no earlier one is found.
    """


@earliest.variant(type(None))
def _earliest_servers(nodes, floor, slot, reserved, length):
    known, first, step = floor.counts[STEPS], 0, 0
    until = floor.times[0] + length
    while step < known and floor.times[first] < reserved and (step == first or floor.times[step] < until):
        own = reserved <= floor.times[step] < reserved + length
        blocked = False
        for k in range(floor.free.size):
            room = floor.room[step, k] + (floor.need[slot, k] if own else 0)
            blocked |= floor.need[slot, k] > max(room, 0)
        step += 1
        if blocked:
            first = step
            if first < known:
                until = floor.times[first] + length
    return reserved if first == known else min(floor.times[first], reserved)


@earliest.variant(Nodes)
def _earliest_nodes(nodes, floor, slot, reserved, length):
    return earliest_on_nodes(nodes, floor, slot, reserved, length)


@uncounted
def earliest_on_nodes(nodes, floor, slot, reserved, length):
    first, c = 0, floor.jobs[slot].job_class
    while first < floor.counts[STEPS] and floor.times[first] < reserved:
        count_stretch(nodes, floor, slot, first, reserved, length)
        room = 0
        for node in range(nodes.away.size):
            room += max(tasks_in(nodes, nodes.later, node, c, 0.0, 0.0), 0)
        if room >= nodes.layout.tasks[c]:
            return floor.times[first]
        first += 1
    return reserved


@uncounted
def count_stretch(nodes, floor, slot, first, reserved, length):
    """In `later`, the least that every node has free in a stretch; what the job has reserved is free."""
    kinds, step, until = floor.free.size, first, floor.times[first] + length
    while step < floor.counts[STEPS] and (step == first or floor.times[step] < until):
        own = reserved <= floor.times[step] < reserved + length
        if own:
            add_own(nodes, floor, slot, step, 1)
        for node in range(nodes.away.size):
            for k in range(kinds):
                room = floor.room[step, node * kinds + k]
                nodes.later[node, k] = room if step == first else min(nodes.later[node, k], room)
        if own:
            add_own(nodes, floor, slot, step, -1)
        step += 1


@uncounted
def add_own(nodes, floor, slot, step, sign):
    add_to_step(nodes, floor, slot, step, sign)


@_chosen
def plan_nodes(nodes, floor, slot, since, length):
    """Choose the nodes of a job that is to start at a step's time; it has no others any more."""


@plan_nodes.variant(type(None))
def _plan_nothing(nodes, floor, slot, since, length):
    pass


@plan_nodes.variant(Nodes)
def _plan_on_nodes(nodes, floor, slot, since, length):
    choose_nodes(nodes, floor, slot, since, length)


@uncounted
def choose_nodes(nodes, floor, slot, since, length):
    drop_pieces(nodes, slot)
    if since == np.inf:
        return
    step, c, layout = 0, floor.jobs[slot].job_class, nodes.layout
    while floor.times[step] < since:
        step += 1
    count_stretch(nodes, floor, slot, step, np.inf, length)
    for _ in range(layout.tasks[c]):
        best, most = NONE, 0
        for node in range(nodes.away.size):
            if tasks_in(nodes, nodes.later, node, c, 0.0, 0.0) <= 0:
                continue
            piece = piece_on(nodes, slot, node)
            if piece != NONE and layout.per_node[c] > 0 and nodes.piece_tasks[piece] >= layout.per_node[c]:
                continue
            free = nodes.later[node, nodes.main[c]]
            better = (layout.placement == PACK and free < most) or (layout.placement == SPREAD and free > most)
            if best == NONE or better:
                best, most = node, free
        piece = piece_on(nodes, slot, best)
        if piece == NONE:
            add_piece(nodes, slot, best, 1)
        else:
            nodes.piece_tasks[piece] += 1
        for k in range(floor.free.size):
            nodes.later[best, k] -= layout.task_need[c, k]


@_chosen
def fits_as_planned(nodes, floor, slot):
    """Whether a job can start on the servers that it has reserved."""


@fits_as_planned.variant(type(None))
def _fits_anywhere(nodes, floor, slot):
    return fits(floor, slot)


@fits_as_planned.variant(Nodes)
def _fits_there(nodes, floor, slot):
    enough, c, piece = within_quota(floor.sharing, floor, slot), floor.jobs[slot].job_class, nodes.piece[slot]
    while piece != NONE:
        for k in range(floor.free.size):
            units = nodes.piece_tasks[piece] * nodes.layout.task_need[c, k]
            enough &= units <= nodes.free[nodes.piece_node[piece], k]
        piece = nodes.next_piece[piece]
    return enough


@_chosen
def start_as_planned(nodes, floor, slot):
    """Start it there."""


@start_as_planned.variant(type(None))
def _start_anywhere(nodes, floor, slot):
    start(floor, slot)


@start_as_planned.variant(Nodes)
def _start_there(nodes, floor, slot):
    c, piece = floor.jobs[slot].job_class, nodes.piece[slot]
    while piece != NONE:
        move_units(nodes, nodes.piece_node[piece], c, nodes.piece_tasks[piece])
        piece = nodes.next_piece[piece]
    leave_line(floor, slot)
    run_where_placed(floor, slot)
