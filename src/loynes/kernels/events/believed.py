"""Running jobs by the ends that the scheduler believes in, kept from event to event where there are nodes.

Looking for the first few ends among thousands of running jobs is then a walk from the top of a heap, not a sort.
"""

from __future__ import annotations

from typing import Any

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.nodes import Nodes
from loynes.kernels.events.uncounted import uncounted


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def expect_end(nodes, floor, slot, size):
    """A job runs from now on, beside so many others."""


@expect_end.variant(type(None))
def _keep_no_list(nodes, floor, slot, size):
    pass


@expect_end.variant(Nodes)
def _enter(nodes, floor, slot, size):
    rise(nodes, slot, floor.jobs[slot].started + floor.jobs[slot].guess, size)


@_chosen
def expect_no_end(nodes, slot, size):
    """A job has been stopped; how many run now."""


@expect_no_end.variant(type(None))
def _kept_no_list(nodes, slot, size):
    pass


@expect_no_end.variant(Nodes)
def _leave(nodes, slot, size):
    hole, last, ends = nodes.believed_place[slot], nodes.believed_slot[size], nodes.believed[size]
    if hole < size:
        if hole > 0 and ends < nodes.believed[(hole - 1) >> 1]:
            rise(nodes, last, ends, hole)
        else:
            sink(nodes, last, ends, hole, size)


@uncounted
def rise(nodes, slot, ends, at):
    while at > 0:
        parent = (at - 1) >> 1
        if nodes.believed[parent] <= ends:
            break
        _set(nodes, nodes.believed_slot[parent], nodes.believed[parent], at)
        at = parent
    _set(nodes, slot, ends, at)


@uncounted
def sink(nodes, slot, ends, at, size):
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and nodes.believed[child + 1] < nodes.believed[child]:
            child += 1
        if nodes.believed[child] >= ends:
            break
        _set(nodes, nodes.believed_slot[child], nodes.believed[child], at)
        at = child
    _set(nodes, slot, ends, at)


@uncounted
def _set(nodes, slot, ends, at):
    nodes.believed[at] = ends
    nodes.believed_slot[at] = slot
    nodes.believed_place[slot] = at
