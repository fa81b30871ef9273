"""A model's scenario, as the events know it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from loynes.kernels.events.changes import Changes, ServerChange
from loynes.model import Model
from loynes.model.scenario import Change


def changes_of(model: Model) -> Changes:
    """A model's scenario. Where changes overlap their factors multiply, and their losses add up."""
    scenario = model.scenario or ()
    edges = sorted({0.0} | {t for c in scenario for t in (c.since, c.until) if t is not None})
    factors = [math.prod(c.rate_factor for c in scenario if c.since <= t and not _over(c, t)) for t in edges]
    of_servers = server_changes(scenario, model.kinds, model.units)
    if all(factor == 1.0 for factor in factors):
        return Changes(of_servers=of_servers)
    return Changes(tuple(edges), tuple(factors), of_servers)


def server_changes(
    scenario: Sequence[Change], kinds: tuple[str, ...], units: tuple[int, ...]
) -> tuple[ServerChange, ...]:
    """When servers are lost and come back, in order."""
    moves = []
    for change in scenario:
        lost = change.lost_of(kinds, units)
        if any(lost):
            moves.append((change.since, lost, change.how == "failed"))
            if change.until is not None:
                moves.append((change.until, tuple(-n for n in lost), False))
    moves.sort(key=lambda one: (one[0], one[1]))  # at the same time, who comes back comes first
    return tuple(ServerChange(*one, number) for number, one in enumerate(moves))


def _over(change: Change, time: float) -> bool:
    return change.until is not None and change.until <= time
