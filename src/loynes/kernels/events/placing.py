"""Which nodes the tasks of a job run on.

A class's nodes are compared by the kind of which a task takes the largest share of what the cluster has (its dominant
kind: Ghodsi et al. 2011; of equals the first). Of the nodes with enough of every kind each task takes, one after the
other,

- pack: the one with least of that kind left (best fit),
- spread: the one with most of it left (worst fit),
- first-fit: the one with the lowest index;

of equals the one with the lowest index. The tasks of a job are alike, so a job fits if and only if the numbers of its
tasks that single nodes have room for add up to all of them.

Where there are no nodes, every kind of servers is one pool, and a job fits if enough of each kind are free.
"""

from __future__ import annotations

from typing import Any

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.layout import FIRST_FIT, SPREAD
from loynes.kernels.events.maintenance import expect_no_use, is_announced, leaves_enough
from loynes.kernels.events.node_order import NONE, bound, enter_order, first_node, leave_order, next_node, node_at
from loynes.kernels.events.nodes import MOVES, RELEASES, UNUSED, Nodes
from loynes.kernels.events.uncounted import inlined, uncounted


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def idle_units(nodes, floor, kind):
    """Free units of a kind, on nodes that are there."""


@idle_units.variant(type(None))
def _pooled_idle(nodes, floor, kind):
    return max(floor.free[kind], 0)


@idle_units.variant(Nodes)
def _idle_on_nodes(nodes, floor, kind):
    return nodes.idle[kind]


@_chosen
def can_place(nodes, floor, slot):
    """Whether the tasks of a job can be placed now."""


@can_place.variant(type(None))
def _enough_pooled(nodes, floor, slot):
    enough = True
    for kind in range(floor.free.size):
        enough &= floor.need[slot, kind] <= max(floor.free[kind], 0)
    return enough and leaves_enough(floor.maintenance, floor, slot)


@can_place.variant(Nodes)
def _enough_on_nodes(nodes, floor, slot):
    # Most in a line are of a class that was refused: they are passed by without a call.
    c = floor.jobs[slot].job_class
    refused = nodes.refused[c] == nodes.counts[RELEASES]
    return not refused and has_room(nodes, c, floor.clock[0], floor.jobs[slot].guess)


@_chosen
def losses_are_known(nodes, floor):
    """Whether some were announced: then it depends on how long a job takes, too, whether it fits."""


@losses_are_known.variant(type(None))
def _of_servers(nodes, floor):
    return is_announced(floor.maintenance)


@losses_are_known.variant(Nodes)
def _of_nodes(nodes, floor):
    return nodes.windows.shape[1] > 0


@_chosen
def would_fit_empty(nodes, floor, slot):
    """Whether the tasks of a job could be placed were nobody there."""


@would_fit_empty.variant(type(None))
def _enough_pooled_units(nodes, floor, slot):
    enough = True
    for kind in range(floor.free.size):
        enough &= floor.need[slot, kind] <= floor.units[kind]
    return enough


@would_fit_empty.variant(Nodes)
def _enough_nodes(nodes, floor, slot):
    return nodes.possible[floor.jobs[slot].job_class] == 1


@_chosen
def place(nodes, floor, slot):
    """Put the tasks of a job that fits on nodes."""


@place.variant(type(None))
def _place_nowhere(nodes, floor, slot):
    pass


@place.variant(Nodes)
def _place_on_nodes(nodes, floor, slot):
    put_on_nodes(nodes, slot, floor.jobs[slot].job_class, floor.clock[0], floor.jobs[slot].guess)
    nodes.counts[MOVES] += 1


@_chosen
def displace(nodes, floor, slot):
    """Take the tasks of a job off their nodes."""


@displace.variant(type(None))
def _displace_nothing(nodes, floor, slot):
    pass


@displace.variant(Nodes)
def _displace_from_nodes(nodes, floor, slot):
    take_off_nodes(nodes, slot, floor.jobs[slot].job_class)
    nodes.counts[RELEASES] += 1
    nodes.counts[MOVES] += 1


@_chosen
def lend(nodes, floor, slot, sign):
    """Let the units of a running job's tasks be free for a moment, or take them again (-1)."""


@lend.variant(type(None))
def _lend_servers(nodes, floor, slot, sign):
    expect_no_use(floor.maintenance, floor, slot, sign)


@lend.variant(Nodes)
def _lend_nodes(nodes, floor, slot, sign):
    piece, c = nodes.piece[slot], floor.jobs[slot].job_class
    while piece != NONE:
        move_units(nodes, nodes.piece_node[piece], c, -sign * nodes.piece_tasks[piece])
        piece = nodes.next_piece[piece]
    nodes.counts[RELEASES] += 1
    nodes.counts[MOVES] += 1


@_chosen
def add_fragmentation(nodes, floor, head, span, time):
    """Somebody waits for a time: add what idles of every kind though it would be enough for the head of the line.

    It is fragmentation where all idle servers together would do for the head, but its tasks cannot be placed.
    """


@add_fragmentation.variant(type(None))
def _no_fragmentation(nodes, floor, head, span, time):
    pass


@add_fragmentation.variant(Nodes)
def _add_fragmentation_of_nodes(nodes, floor, head, span, time):
    while head != NONE and floor.jobs[head].place != NONE:
        head = floor.jobs[head].after
    if head == NONE:
        return
    enough = True
    for k in range(nodes.idle.size):
        enough &= floor.need[head, k] <= nodes.idle[k]
    if enough and not has_room(nodes, floor.jobs[head].job_class, floor.clock[0], floor.jobs[head].guess):
        for k in range(nodes.idle.size):
            time[k] += nodes.idle[k] * span


@inlined
def tasks_in(nodes, units, node, c, since, until):
    """How many tasks of a job of a class a node has room for, where so many `units`: [node, kind] are free.

    It has none for a job that is believed to run from then to then if it will be away for a part of that time.
    """
    layout = nodes.layout
    for i in range(nodes.windows.shape[1]):
        if since < nodes.windows[node, i, 1] and until > nodes.windows[node, i, 0]:
            return 0
    if layout.allowed[c, layout.group[node]] == 0:
        return 0
    most = layout.tasks[c]
    if layout.per_node[c] > 0:
        most = min(most, layout.per_node[c])
    for k in range(units.shape[1]):
        need = layout.task_need[c, k]
        if need > 0 and need * most > units[node, k]:
            most = units[node, k] // need
    return most


@uncounted
def has_room(nodes, c, now, length):
    """Whether a job of a class fits; units that are taken later only make it less."""
    announced = nodes.windows.shape[1] > 0
    if nodes.refused[c] == nodes.counts[RELEASES]:
        return False
    layout = nodes.layout
    left, kinds = layout.tasks[c], nodes.idle.size
    for k in range(kinds):
        if layout.task_need[c, k] * left > nodes.idle[k]:
            nodes.refused[c] = nodes.counts[RELEASES]
            return False
    at = first_node(nodes, c)
    while left > 0 and at != NONE:
        left -= tasks_in(nodes, nodes.free, node_at(nodes, c, at), c, now, now + length)
        at = next_node(nodes, c, at)
    if left > 0 and not announced:  # else it depends on how long a job takes, too
        nodes.refused[c] = nodes.counts[RELEASES]
    return left <= 0


@uncounted
def put_on_nodes(nodes, slot, c, now, length):
    """Choose the nodes of a job of a class that fits, and is believed to take so long from now on.

    It is given no more than it reads: a call hands over every array of a floor, which takes longer than the choice."""
    layout, until = nodes.layout, now + length
    drop_pieces(nodes, slot)  # of a plan that others were made for
    left, at = layout.tasks[c], first_node(nodes, c)
    if layout.placement != SPREAD or left == 1:
        # The node that was best still is until it is full, so nodes are filled one after the other.
        while left > 0:
            node = node_at(nodes, c, at)
            count = min(tasks_in(nodes, nodes.free, node, c, now, until), left)
            if count > 0:
                add_piece(nodes, slot, node, count)
                left -= count
            at = next_node(nodes, c, at)
        piece = nodes.piece[slot]
        while piece != NONE:
            move_units(nodes, nodes.piece_node[piece], c, nodes.piece_tasks[piece])
            piece = nodes.next_piece[piece]
        return
    while left > 0:
        node = node_at(nodes, c, at)
        piece = piece_on(nodes, slot, node)
        here = 0 if piece == NONE else nodes.piece_tasks[piece]
        if tasks_in(nodes, nodes.free, node, c, now, until) > 0 and (
            layout.per_node[c] == 0 or here < layout.per_node[c]
        ):
            if piece == NONE:
                add_piece(nodes, slot, node, 1)
            else:
                nodes.piece_tasks[piece] += 1
            move_units(nodes, node, c, 1)
            left -= 1
            at = first_node(nodes, c)
        else:
            at = next_node(nodes, c, at)


@uncounted
def take_off_nodes(nodes, slot, c):
    piece = nodes.piece[slot]
    while piece != NONE:
        move_units(nodes, nodes.piece_node[piece], c, -nodes.piece_tasks[piece])
        piece = nodes.next_piece[piece]
    drop_pieces(nodes, slot)


@uncounted
def drop_pieces(nodes, slot):
    """A job has no nodes any more."""
    piece = nodes.piece[slot]
    while piece != NONE:
        after = nodes.next_piece[piece]
        nodes.next_piece[piece] = nodes.counts[UNUSED]
        nodes.counts[UNUSED] = piece
        piece = after
    nodes.piece[slot] = NONE


@uncounted
def move_units(nodes, node, c, tasks):
    """So many tasks of a class begin on a node, or end where below 0."""
    for k in range(nodes.idle.size):
        units = tasks * nodes.layout.task_need[c, k]
        if units == 0:
            continue
        nodes.held[node, k] += units
        if nodes.away[node] == 0:
            before = nodes.free[node, k]
            nodes.free[node, k] = before - units
            nodes.idle[k] -= units
            if nodes.ordered[k]:
                leave_order(nodes, k, node, before)
                enter_order(nodes, k, node, before - units)
            elif nodes.layout.placement == FIRST_FIT:
                bound(nodes, k, node, before)


@uncounted
def add_piece(nodes, slot, node, tasks):
    piece = nodes.counts[UNUSED]
    nodes.counts[UNUSED] = nodes.next_piece[piece]
    nodes.piece_node[piece] = node
    nodes.piece_tasks[piece] = tasks
    nodes.next_piece[piece] = nodes.piece[slot]
    nodes.piece[slot] = piece


@uncounted
def piece_on(nodes, slot, node):
    piece = nodes.piece[slot]
    while piece != NONE and nodes.piece_node[piece] != node:
        piece = nodes.next_piece[piece]
    return piece
