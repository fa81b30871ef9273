"""Nodes and the tasks on them, as arrays. Without nodes, the empty tuple, nothing of this is compiled.

Which of them tasks are put on is in placing.py, and in which order nodes are looked at in node_order.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.kernels.events.layout import FIRST_FIT, Layout
from loynes.kernels.events.node_order import BLOCK, NONE, enter_order

# Words that the sets of nodes may take.
MOST_WORDS = 1 << 26
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
    foreseen: Ints  # [node], how many of the losses by which it is away were announced
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
        layout, capacity.copy(), np.zeros_like(capacity), capacity.sum(axis=0), np.zeros(count, np.int64),
        np.zeros(count, np.int64), main,
        ordered, grain, np.cumsum(most) - most, np.zeros((rows, words), np.uint64), np.zeros(rows, np.int64),
        np.zeros((kinds, int(most.max()) // 64 + 1), np.uint64), np.zeros((-(-count // BLOCK), kinds), np.int64),
        np.zeros(len(need), np.int64), np.full(len(need), NONE), counts, np.full(slots, NONE), links,
        np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), np.zeros((2, count, kinds), np.int64),
        np.full(len(need), NONE), capacity.copy(), *_no_windows(count), np.zeros(2),
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
    wider: dict[str, Any] = {}
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
