"""Nodes: which of them the tasks of a job run on. Without nodes, the empty tuple, nothing of this is compiled.

A class's nodes are compared by the kind of which a task takes the largest share of what the cluster has (its dominant
kind: Ghodsi et al. 2011; of equals the first). Of the nodes with enough of every kind each task takes, one after the
other,

- pack: the one with least of that kind left (best fit),
- spread: the one with most of it left (worst fit),
- first-fit: the one with the lowest index;

of equals the one with the lowest index. The tasks of a job are alike, so a job fits if and only if the numbers of its
tasks that single nodes have room for add up to all of them.

For every dominant kind and every number of units that may be free, the nodes with that many are a set of bits, 64 to a
word; so are the numbers for which there are any. The next node in order is the next bit. For first-fit there are,
instead, the most units that any of a block of nodes has free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.layout import FIRST_FIT, PACK, SPREAD, Layout
from loynes.kernels.events.uncounted import inlined, uncounted

# A place in the order of nodes: free units, in the kind's smallest, and in so many bits the index.
BITS = 20
MASK = (1 << BITS) - 1
# Words that the sets of nodes may take.
MOST_WORDS = 1 << 26
# Nodes whose most free units are kept together.
BLOCK = 32
NONE = -1
# Places in Nodes.counts: a stack of unused pieces, how often units were given back, how often anything was moved, and
# how many tasks of the head of the line there is room for when it is to start, and just before.
UNUSED, RELEASES, MOVES, ROOM, BEFORE, COUNTS = range(6)


class Nodes(NamedTuple):
    """Nodes, the tasks on them, and what jobs of each class need of one."""

    layout: Layout
    free: Ints  # [node, kind], what tasks may take; 0 while the node is away
    held: Ints  # [node, kind], what tasks have
    idle: Ints  # [kind], all that is free
    away: Ints  # [node], 0 if it is there; else it takes no tasks
    main: Ints  # [class], the kind by which nodes are compared
    ordered: Ints  # [kind], 1 for dominant kinds, unless nodes are compared by their indices
    grain: Ints  # [kind], the greatest common divisor of all units there are and that tasks need
    row: Ints  # [kind], where its numbers of units begin below
    having: NDArray[np.uint64]  # [number of units, word], the nodes with that many free
    counted: Ints  # [number of units], how many these are
    numbers: NDArray[np.uint64]  # [kind, word], the numbers for which there are any
    most: Ints  # [block, kind]
    possible: Ints  # [class], 1 if a job would fit were nobody there
    refused: Ints  # [class], how often units had been given back when a job was last found not to fit
    counts: Ints
    # A piece is some tasks of a job on one node: a list for every job that runs.
    piece: Ints  # [slot], the first of a job, or NONE
    next_piece: Ints
    piece_node: Ints
    piece_tasks: Ints
    # What is expected to be free when the head of the line is to start, and just before: the tasks of the head that
    # single nodes have room for then are counts[ROOM] and counts[BEFORE].
    expected: Ints  # [2, node, kind]
    barred: Ints  # [class], counts[MOVES] when a job was last found to delay the head where it would be placed
    later: Ints  # [node, kind], the least that is free in a stretch of a timetable
    # Running jobs in a heap by their believed ends.
    believed: Array  # [place]
    believed_slot: Ints  # [place]
    believed_place: Ints  # [slot]
    # Announced maintenance: when each node will be away, from and to; infinite where it has fewer times than others.
    windows: Array  # [node, number, 2]
    returns: Array  # all times at which one comes back, in order
    stretch: Array  # [2], from when to when the head of the line is expected to run


def new_nodes(layout: Layout | None, slots: int, planned: bool = False) -> Any:
    """All nodes empty, with room for jobs in so many slots; the empty tuple where there are none.

    Where it is planned ahead, jobs in line have nodes, too.
    """
    if layout is None:
        return ()
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(layout, name), np.int64) for name in Layout._fields if name != "placement"
    }
    layout = layout._replace(**arrays)
    capacity, need = layout.capacity, layout.task_need
    count, kinds = capacity.shape
    total = np.maximum(capacity.sum(axis=0), 1)
    least = np.array([column[column > 0].min(initial=np.iinfo(np.int64).max) for column in need.T], np.int64)
    pieces = int((capacity // least).sum()) + 1 + (slots * _most_pieces(layout) if planned else 0)
    ordered = np.zeros(kinds, np.int64)
    grain = np.maximum(np.gcd.reduce(np.concatenate([capacity, need]), axis=0), 1)
    main = np.argmax(need / total, axis=1).astype(np.int64)
    ordered[main] = layout.placement != FIRST_FIT
    most = np.where(ordered > 0, capacity.max(axis=0) // grain + 1, 0)
    words, rows = -(-count // 64), int(most.sum())
    if rows * words > MOST_WORDS:
        raise UsageError(f"nodes with {rows:,} different numbers of free units are too many: count in larger units")
    links = np.arange(1, pieces + 1)
    links[-1] = NONE
    counts = np.zeros(COUNTS, np.int64)
    nodes = Nodes(
        layout, capacity.copy(), np.zeros_like(capacity), capacity.sum(axis=0), np.zeros(count, np.int64), main,
        ordered, grain, np.cumsum(most) - most, np.zeros((rows, words), np.uint64), np.zeros(rows, np.int64),
        np.zeros((kinds, int(most.max()) // 64 + 1), np.uint64), np.zeros((-(-count // BLOCK), kinds), np.int64),
        np.zeros(len(need), np.int64), np.full(len(need), NONE), counts, np.full(slots, NONE), links,
        np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), np.zeros((2, count, kinds), np.int64),
        np.full(len(need), NONE), capacity.copy(), np.zeros(slots), np.zeros(slots, np.int64),
        np.zeros(slots, np.int64), *_no_windows(count), np.zeros(2),
    )  # fmt: skip
    arrange(nodes)
    return nodes


def _no_windows(count: int) -> tuple[Array, Array]:
    return np.zeros((count, 0, 2)), np.zeros(0)


def announce(nodes: Nodes, away: list[tuple[float, float, tuple[int, ...]]]) -> Nodes:
    """The same nodes; they will be away from a time to another, which is known from the beginning."""
    times = [[(begin, end) for begin, end, who in away if node in who] for node in range(len(nodes.free))]
    windows = np.full((len(times), max(map(len, times)), 2), np.inf)
    for node, own in enumerate(times):
        windows[node, : len(own)] = np.reshape(own, (-1, 2))
    return nodes._replace(windows=windows, returns=np.unique([end for _, end, _ in away if end < np.inf]))


def _most_pieces(layout: Layout) -> int:
    """Of one job."""
    return min(int(layout.tasks.max()), len(layout.capacity))


def more_slots(nodes: Any, slots: int, planned: bool = False) -> Any:
    """The same nodes with room for jobs in more slots."""
    if nodes == ():
        return nodes
    more = slots - len(nodes.piece)
    names = ("believed", "believed_slot", "believed_place")
    wider = {name: np.append(getattr(nodes, name), np.zeros_like(nodes.piece, shape=more)) for name in names}
    if planned:
        known, extra = len(nodes.next_piece), more * _most_pieces(nodes.layout)
        links = np.arange(known + 1, known + extra + 1)
        links[-1] = nodes.counts[UNUSED]
        nodes.counts[UNUSED] = known
        wider["next_piece"] = np.append(nodes.next_piece, links)
        for name in ("piece_node", "piece_tasks"):
            wider[name] = np.append(getattr(nodes, name), np.zeros(extra, np.int64))
    return nodes._replace(piece=np.append(nodes.piece, np.full(more, NONE)), **wider)


def arrange(nodes: Nodes) -> None:
    """Put in order again what is free, after nodes went away or came back."""
    layout, count = nodes.layout, len(nodes.free)
    nodes.free[:] = np.where(nodes.away[:, None] > 0, 0, layout.capacity - nodes.held)
    nodes.idle[:] = nodes.free.sum(axis=0)
    nodes.having[:], nodes.counted[:], nodes.numbers[:] = 0, 0, 0
    for kind in np.flatnonzero(nodes.ordered):
        for node in range(count):
            enter_order(nodes, kind, node, nodes.free[node, kind])
    for block in range(len(nodes.most)):
        nodes.most[block] = nodes.free[block * BLOCK : (block + 1) * BLOCK].max(axis=0)
    for c, need in enumerate(layout.task_need):
        used = need > 0
        room = (layout.capacity[:, used] // need[used]).min(axis=1) if used.any() else layout.tasks[c]
        room = np.where((nodes.away == 0) & (layout.allowed[c][layout.group] > 0), room, 0)
        limit = layout.per_node[c]
        nodes.possible[c] = int(np.minimum(room, limit if limit > 0 else layout.tasks[c]).sum()) >= layout.tasks[c]
    nodes.counts[RELEASES] += 1
    nodes.counts[MOVES] += 1


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
    return has_room(nodes, floor.jobs[slot].job_class, floor.clock[0], floor.jobs[slot].guess)


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
    put_on_nodes(nodes, floor, slot)
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
def _lend_nothing(nodes, floor, slot, sign):
    pass


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
def put_on_nodes(nodes, floor, slot):
    layout, c, now = nodes.layout, floor.jobs[slot].job_class, floor.clock[0]
    until = now + floor.jobs[slot].guess
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
                _bound(nodes, k, node, before)


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


# Nodes in the order in which tasks of a class are put on them: a place `at` in that order, or NONE.


@uncounted
def first_node(nodes, c):
    kind = nodes.main[c]
    if nodes.layout.placement == FIRST_FIT:
        return next_node(nodes, c, NONE)
    least = nodes.layout.task_need[c, kind] // nodes.grain[kind]
    if nodes.layout.placement == PACK:
        return _from(nodes, kind, next_bit(nodes.numbers[kind], least), 0)
    number = last_bit(nodes.numbers[kind])
    return _from(nodes, kind, number, 0) if number >= least else NONE


@uncounted
def next_node(nodes, c, at):
    kind = nodes.main[c]
    if nodes.layout.placement == FIRST_FIT:
        return _next_index(nodes, c, at)
    number, node = at >> BITS, (at & MASK) + 1
    following = _from(nodes, kind, number, node)
    if following != NONE:
        return following
    if nodes.layout.placement == PACK:
        return _from(nodes, kind, next_bit(nodes.numbers[kind], number + 1), 0)
    least, number = nodes.layout.task_need[c, kind] // nodes.grain[kind], number - 1
    while number >= least:
        if nodes.counted[nodes.row[kind] + number] > 0:
            return _from(nodes, kind, number, 0)
        number -= 1
    return NONE


@uncounted
def _from(nodes, kind, number, node):
    """The place of the first node from one on with a number of units, or NONE."""
    if number == NONE:
        return NONE
    node = next_bit(nodes.having[nodes.row[kind] + number], node)
    return NONE if node == NONE else (number << BITS) + node


@uncounted
def _next_index(nodes, c, at):
    count, kind = nodes.away.size, nodes.main[c]
    need = nodes.layout.task_need[c, kind]
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
    return at & MASK


@inlined
def lowest(word):
    """The place of the lowest bit of a word that is not 0: a power of two has no other bits but its exponent."""
    return (np.float64(word & (~word + np.uint64(1))).view(np.int64) >> 52) - 1023


@uncounted
def next_bit(words, first):
    """The first bit from a place on, or NONE."""
    at = first >> 6
    if at >= words.size:
        return NONE
    word = words[at] >> np.uint64(first & 63) << np.uint64(first & 63)
    while word == np.uint64(0):
        at += 1
        if at == words.size:
            return NONE
        word = words[at]
    return (at << 6) + lowest(word)


@uncounted
def last_bit(words):
    """The last bit; there is one."""
    at = words.size - 1
    while words[at] == np.uint64(0):
        at -= 1
    place, word = 0, words[at]
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != np.uint64(0):
            word >>= np.uint64(step)
            place += step
    return (at << 6) + place


@uncounted
def enter_order(nodes, kind, node, free):
    """Put a node among those that have so many units free."""
    number = free // nodes.grain[kind]
    row = nodes.row[kind] + number
    nodes.having[row, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
    nodes.counted[row] += 1
    nodes.numbers[kind, number >> 6] |= np.uint64(1) << np.uint64(number & 63)


@uncounted
def leave_order(nodes, kind, node, free):
    number = free // nodes.grain[kind]
    row = nodes.row[kind] + number
    nodes.having[row, node >> 6] ^= np.uint64(1) << np.uint64(node & 63)
    nodes.counted[row] -= 1
    if nodes.counted[row] == 0:
        nodes.numbers[kind, number >> 6] ^= np.uint64(1) << np.uint64(number & 63)


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
