"""Nodes in the order in which tasks of a class are put on them.

For every dominant kind and every number of units that may be free, the nodes with that many are a set of bits, 64 to a
word; so are the numbers for which there are any. The next node in order is the next bit. For first-fit there are,
instead, the most units that any of a block of nodes has free.
"""

from __future__ import annotations

import numpy as np

from loynes.kernels.events.layout import FIRST_FIT, PACK
from loynes.kernels.events.uncounted import inlined, uncounted

# A place in the order of nodes: free units, in the kind's smallest, and in so many bits the index.
BITS = 20
MASK = (1 << BITS) - 1
# Nodes whose most free units are kept together.
BLOCK = 32
NONE = -1

# A place `at` in the order of nodes of a class, or NONE.


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
def bound(nodes, kind, node, before):
    block, free = node // BLOCK, nodes.free[node, kind]
    if free >= nodes.most[block, kind]:
        nodes.most[block, kind] = free
    elif before == nodes.most[block, kind]:
        most = 0
        for other in range(block * BLOCK, min((block + 1) * BLOCK, nodes.away.size)):
            most = max(most, nodes.free[other, kind])
        nodes.most[block, kind] = most
