"""A model's scenario, as the events know it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from loynes.kernels.events.changes import Changes, ServerChange
from loynes.model import Model
from loynes.model.nodes import entry_names
from loynes.model.scenario import Change, change_in_units


def changes_of(model: Model) -> Changes:
    """A model's scenario. Where changes overlap their factors multiply, and their losses add up."""
    scenario = model.scenario or ()
    edges = sorted({0.0} | {t for c in scenario for t in (c.since, c.until) if t is not None})
    factors = [math.prod(c.rate_factor for c in scenario if c.since <= t and not _over(c, t)) for t in edges]
    of_servers = _of_nodes(model) if model.nodes is not None else _of_servers(model)
    if all(factor == 1.0 for factor in factors):
        return Changes(of_servers=of_servers)
    return Changes(tuple(edges), tuple(factors), of_servers)


def _of_servers(model: Model) -> tuple[ServerChange, ...]:
    scenario = model.scenario or ()
    return _in_order((change, change_in_units(model, change)) for change in scenario)


def server_changes(
    scenario: Sequence[Change], kinds: tuple[str, ...], units: tuple[int, ...]
) -> tuple[ServerChange, ...]:
    """When servers of a cluster without a model are lost and come back, in order."""
    return _in_order((change, change.lost_of(kinds, units)) for change in scenario)


def _in_order(losses: Iterable[tuple[Change, tuple[int, ...]]]) -> tuple[ServerChange, ...]:
    moves = []
    for change, lost in losses:
        if any(lost):
            announced = bool(change.announced)
            moves.append((change.since, lost, change.how == "failed", announced))
            if change.until is not None:
                moves.append((change.until, tuple(-n for n in lost), False, announced))
    moves.sort(key=lambda one: (one[0], one[1]))  # at the same time, who comes back comes first
    return tuple(
        ServerChange(time, lost, at_once, number, announced=announced)
        for number, (time, lost, at_once, announced) in enumerate(moves)
    )


def _of_nodes(model: Model) -> tuple[ServerChange, ...]:
    nodes = model.nodes or ()
    return node_changes(model.scenario or (), entry_names(nodes), tuple(one.count for one in nodes), len(model.kinds))


def node_changes(
    scenario: Sequence[Change], names: tuple[str, ...], counts: tuple[int, ...], kinds: int
) -> tuple[ServerChange, ...]:
    """When nodes go and come back, whole, in order.

    Of an entry those are taken that lie evenly apart among the ones that are still there.
    """
    first = [sum(counts[:place]) for place in range(len(counts))]
    there = [list(range(start, start + count)) for start, count in zip(first, counts, strict=True)]
    # At the same time, who comes back comes first.
    edges = [(c.until, 0, c) for c in scenario if c.until is not None]
    edges += [(c.since, 1, c) for c in scenario]
    gone: dict[int, list[list[int]]] = {}
    found: list[ServerChange] = []
    for time, begins, change in sorted(edges, key=lambda edge: edge[:2]):
        if begins:
            taken = [_apart(some, n) for some, n in zip(there, change.nodes_lost_of(names, counts), strict=True)]
            gone[id(change)] = taken
            there = [[one for one in some if one not in out] for some, out in zip(there, taken, strict=True)]
        else:
            taken = gone.pop(id(change))
            there = [sorted([*some, *out]) for some, out in zip(there, taken, strict=True)]
        moved = tuple(one for out in taken for one in out)
        if moved:
            lost, back = (moved, ()) if begins else ((), moved)
            at_once = bool(begins) and change.how == "failed"
            announced = bool(change.announced)
            found.append(ServerChange(time, (0,) * kinds, at_once, len(found), lost, back, announced))
    return tuple(found)


def _apart(places: list[int], count: int) -> list[int]:
    """So many of these, evenly apart."""
    return [places[(2 * k + 1) * len(places) // (2 * count)] for k in range(count)]


def _over(change: Change, time: float) -> bool:
    return change.until is not None and change.until <= time
