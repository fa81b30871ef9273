"""Nodes: which of them the tasks of a job run on. Without nodes, the empty tuple, nothing of this is compiled.

A class's nodes are compared by the kind of which a task takes the largest share of what the cluster has (its dominant
kind: Ghodsi et al. 2011; of equals the first). Of the nodes with enough of every kind each task takes, one after the
other,

- pack: the one with least of that kind left (best fit),
- spread: the one with most of it left (worst fit),
- first-fit: the one with the lowest index;

of equals the one with the lowest index. The tasks of a job are alike, so a job fits if and only if the numbers of its
tasks that single nodes have room for add up to all of them.

Nodes are kept in order of free units, one list of keys for every dominant kind: a node is found by bisection, and moves
when its units change. For first-fit there are, instead, the most units that any of a block of nodes has free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.layout import FIRST_FIT, PACK, Layout
from loynes.kernels.events.uncounted import inlined, uncounted

# A key is the free units of a node, and its index in so many bits.
BITS = 20
MASK = (1 << BITS) - 1
# Nodes whose most free units are kept together.
BLOCK = 32
NONE = -1
# Places in Nodes.counts: a stack of unused pieces, how often units were given back, how often it was looked ahead, and
# how many tasks of the head of the line there is room for at the time that was looked at.
UNUSED, RELEASES, LOOKS, ROOM, COUNTS = range(5)


class Nodes(NamedTuple):
    """Nodes, the tasks on them, and what jobs of each class need of one."""

    layout: Layout
    free: Ints  # [node, kind], what tasks may take; 0 while the node is away
    held: Ints  # [node, kind], what tasks have
    idle: Ints  # [kind], all that is free
    away: Ints  # [node], 1 while it takes no tasks
    main: Ints  # [class], the kind by which nodes are compared
    order: Ints  # [kind, node], keys in ascending order; of dominant kinds
    ordered: Ints  # [kind], 1 if it is one of these
    most: Ints  # [block, kind]
    possible: Ints  # [class], 1 if a job would fit were nobody there
    refused: Ints  # [class], how often units had been given back when a job was last found not to fit
    counts: Ints
    # A piece is some tasks of a job on one node: a list for every job that runs.
    piece: Ints  # [slot], the first of a job, or NONE
    next_piece: Ints
    piece_node: Ints
    piece_tasks: Ints
    # What is expected to be free at the time that was last looked at; as now unless it was looked at then, too.
    later: Ints  # [node, kind]
    looked: Ints  # [node]
    # Running jobs in a heap by their believed ends.
    believed: Array  # [place]
    believed_slot: Ints  # [place]
    believed_place: Ints  # [slot]


def new_nodes(layout: Layout | None, slots: int) -> Any:
    """All nodes empty, with room for jobs in so many slots; the empty tuple where there are none."""
    if layout is None:
        return ()
    layout = Layout(*(np.ascontiguousarray(part, np.int64) for part in layout[:-1]), int(layout.placement))
    capacity, need = layout.capacity, layout.task_need
    count, kinds = capacity.shape
    total = np.maximum(capacity.sum(axis=0), 1)
    least = np.array([column[column > 0].min(initial=np.iinfo(np.int64).max) for column in need.T], np.int64)
    pieces = int((capacity // least).sum()) + 1
    ordered = np.zeros(kinds, np.int64)
    main = np.argmax(need / total, axis=1).astype(np.int64)
    ordered[main] = layout.placement != FIRST_FIT
    links = np.arange(1, pieces + 1)
    links[-1] = NONE
    counts = np.zeros(COUNTS, np.int64)
    nodes = Nodes(
        layout, capacity.copy(), np.zeros_like(capacity), capacity.sum(axis=0), np.zeros(count, np.int64), main,
        np.zeros((kinds, count), np.int64), ordered, np.zeros((-(-count // BLOCK), kinds), np.int64),
        np.zeros(len(need), np.int64), np.full(len(need), NONE), counts, np.full(slots, NONE), links,
        np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), capacity.copy(), np.zeros(count, np.int64),
        np.zeros(slots), np.zeros(slots, np.int64), np.zeros(slots, np.int64),
    )  # fmt: skip
    arrange(nodes)
    return nodes


def more_slots(nodes: Any, slots: int) -> Any:
    """The same nodes with room for jobs in more slots."""
    if nodes == ():
        return nodes
    more = slots - len(nodes.piece)
    names = ("believed", "believed_slot", "believed_place")
    wider = {name: np.append(getattr(nodes, name), np.zeros_like(nodes.piece, shape=more)) for name in names}
    return nodes._replace(piece=np.append(nodes.piece, np.full(more, NONE)), **wider)


def arrange(nodes: Nodes) -> None:
    """Put in order again what is free, after nodes went away or came back."""
    layout, count = nodes.layout, len(nodes.free)
    nodes.free[:] = np.where(nodes.away[:, None] > 0, 0, layout.capacity - nodes.held)
    nodes.idle[:] = nodes.free.sum(axis=0)
    tie = np.arange(count) if layout.placement == PACK else MASK - np.arange(count)
    nodes.order[:] = np.sort((nodes.free.T << BITS) + tie, axis=1)
    for block in range(len(nodes.most)):
        nodes.most[block] = nodes.free[block * BLOCK : (block + 1) * BLOCK].max(axis=0)
    for c, need in enumerate(layout.task_need):
        used = need > 0
        room = (layout.capacity[:, used] // need[used]).min(axis=1) if used.any() else layout.tasks[c]
        room = np.where((nodes.away == 0) & (layout.allowed[c][layout.group] > 0), room, 0)
        limit = layout.per_node[c]
        nodes.possible[c] = int(np.minimum(room, limit if limit > 0 else layout.tasks[c]).sum()) >= layout.tasks[c]
    nodes.counts[RELEASES] += 1


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
    return enough


@can_place.variant(Nodes)
def _enough_on_nodes(nodes, floor, slot):
    return has_room(nodes, floor.jobs[slot].job_class)


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
    put_on_nodes(nodes, slot, floor.jobs[slot].job_class)


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
    c, enough = floor.jobs[head].job_class, True
    for k in range(nodes.idle.size):
        enough &= floor.need[head, k] <= nodes.idle[k]
    if enough and not has_room(nodes, c):
        for k in range(nodes.idle.size):
            time[k] += nodes.idle[k] * span


@inlined
def tasks_in(nodes, units, node, c):
    """How many tasks of a job of a class a node has room for, where so many `units`: [node, kind] are free."""
    layout = nodes.layout
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
def has_room(nodes, c):
    """Whether a job of a class fits; units that are taken later only make it less."""
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
        left -= tasks_in(nodes, nodes.free, node_at(nodes, c, at), c)
        at = next_node(nodes, c, at)
    if left > 0:
        nodes.refused[c] = nodes.counts[RELEASES]
    return left <= 0


@uncounted
def put_on_nodes(nodes, slot, c):
    layout = nodes.layout
    left, at = layout.tasks[c], first_node(nodes, c)
    if layout.placement == PACK or layout.placement == FIRST_FIT or left == 1:
        # The node that was best still is until it is full, so nodes are filled one after the other.
        while left > 0:
            node = node_at(nodes, c, at)
            count = min(tasks_in(nodes, nodes.free, node, c), left)
            if count > 0:
                _add_piece(nodes, slot, node, count)
                left -= count
            at = next_node(nodes, c, at)
        piece = nodes.piece[slot]
        while piece != NONE:
            move_units(nodes, nodes.piece_node[piece], c, nodes.piece_tasks[piece])
            piece = nodes.next_piece[piece]
        return
    while left > 0:
        node = node_at(nodes, c, at)
        piece = _piece_on(nodes, slot, node)
        here = 0 if piece == NONE else nodes.piece_tasks[piece]
        if tasks_in(nodes, nodes.free, node, c) > 0 and (layout.per_node[c] == 0 or here < layout.per_node[c]):
            if piece == NONE:
                _add_piece(nodes, slot, node, 1)
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
                _reorder(nodes, k, node, before, before - units)
            elif nodes.layout.placement == FIRST_FIT:
                _bound(nodes, k, node, before)


@uncounted
def _add_piece(nodes, slot, node, tasks):
    piece = nodes.counts[UNUSED]
    nodes.counts[UNUSED] = nodes.next_piece[piece]
    nodes.piece_node[piece] = node
    nodes.piece_tasks[piece] = tasks
    nodes.next_piece[piece] = nodes.piece[slot]
    nodes.piece[slot] = piece


@uncounted
def _piece_on(nodes, slot, node):
    piece = nodes.piece[slot]
    while piece != NONE and nodes.piece_node[piece] != node:
        piece = nodes.next_piece[piece]
    return piece


# Nodes in the order in which tasks of a class are put on them: a place `at` in the order of keys, or an index.


@uncounted
def first_node(nodes, c):
    if nodes.layout.placement == FIRST_FIT:
        return next_node(nodes, c, NONE)
    kind, count = nodes.main[c], nodes.away.size
    need = nodes.layout.task_need[c, kind]
    if nodes.layout.placement == PACK:
        at = _place_of(nodes, kind, need << BITS)
        return at if at < count else NONE
    return count - 1 if nodes.order[kind, count - 1] >> BITS >= need else NONE


@uncounted
def next_node(nodes, c, at):
    count, kind = nodes.away.size, nodes.main[c]
    need = nodes.layout.task_need[c, kind]
    if nodes.layout.placement == PACK:
        return at + 1 if at + 1 < count else NONE
    if nodes.layout.placement != FIRST_FIT:
        return at - 1 if at > 0 and nodes.order[kind, at - 1] >> BITS >= need else NONE
    at += 1
    while at < count:
        if at % BLOCK == 0 and nodes.most[at // BLOCK, kind] < need:
            at += BLOCK
        elif nodes.free[at, kind] >= need:
            return at
        else:
            at += 1
    return NONE


@inlined
def node_at(nodes, c, at):
    placement = nodes.layout.placement
    if placement == FIRST_FIT:
        return at
    node = nodes.order[nodes.main[c], at] & MASK
    return node if placement == PACK else MASK - node


@uncounted
def _place_of(nodes, kind, key):
    """The first place in the order whose key is at least that one."""
    low, high = 0, nodes.away.size
    while low < high:
        middle = (low + high) >> 1
        if nodes.order[kind, middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@uncounted
def _reorder(nodes, kind, node, before, after):
    tie = node if nodes.layout.placement == PACK else MASK - node
    at, key = _place_of(nodes, kind, (before << BITS) + tie), (after << BITS) + tie
    last = nodes.away.size - 1
    while at < last and nodes.order[kind, at + 1] < key:
        nodes.order[kind, at] = nodes.order[kind, at + 1]
        at += 1
    while at > 0 and nodes.order[kind, at - 1] > key:
        nodes.order[kind, at] = nodes.order[kind, at - 1]
        at -= 1
    nodes.order[kind, at] = key


@uncounted
def _bound(nodes, kind, node, before):
    block, free = node // BLOCK, nodes.free[node, kind]
    if free >= nodes.most[block, kind]:
        nodes.most[block, kind] = free
    elif before == nodes.most[block, kind]:
        most = 0
        for other in range(block * BLOCK, min((block + 1) * BLOCK, nodes.away.size)):
            most = max(most, nodes.free[other, kind])
        nodes.most[block, kind] = most
