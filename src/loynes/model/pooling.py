"""A model without its nodes: what they have together, counted in units that every amount is a whole number of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loynes.model.scenario import change_in_units
from loynes.model.sizes import Written, by_kind, common_size

if TYPE_CHECKING:
    from loynes.model.cluster import Model


def unit_sizes(model: Model) -> tuple[int, ...]:
    """Of every resource the largest amount that all amounts of it are whole multiples of; 1 of plain numbers."""
    given: list[tuple[str, Written]] = [("servers", model.one_kind), ("resources", model.resources)]
    given += [(f"nodes[{n}].has", one.has) for n, one in enumerate(model.nodes or ())]
    for n, c in enumerate(model.classes):
        given += [(f"classes[{n}].need", c.any_units), (f"classes[{n}].specific", c.specific)]
    for n, quota in enumerate(model.quotas or ()):
        given += [(f"quotas[{n}].limit", quota.limit), (f"quotas[{n}].borrow", quota.borrow)]
    for n, change in enumerate(model.scenario or ()):
        if not isinstance(change.lost, str):
            given.append((f"scenario[{n}].lost", change.lost))
    found = []
    for place, kind in enumerate(model.kinds):
        paths = (f"{where}.{kind}" if isinstance(amount, dict) else where for where, amount in given)
        amounts = (by_kind(amount, model.kinds)[place] for _, amount in given)
        found.append(common_size(kind, zip(paths, amounts, strict=True)))
    return tuple(found)


def pooled_document(model: Model) -> dict[str, Any]:
    """The same jobs on resources as plain numbers of units, without nodes and rules of sharing."""
    document = model.to_dict()
    for key in ("nodes", "placement", "preemption", "quotas", *(["scenario"] if model.nodes else [])):
        document.pop(key, None)
    if model.by_resource:
        document["resources"] = dict(zip(model.kinds, model.units, strict=True))
    for one, change in zip(document.get("scenario", ()), model.scenario or (), strict=False):
        if isinstance(change.lost, dict):
            one["lost"] = dict(zip(model.kinds, change_in_units(model, change), strict=True))
    for one, job_class in zip(document["classes"], model.classes, strict=True):
        for key in ("tasks", "per_node", "nodes", "partition", "priority"):
            one.pop(key, None)
        if model.by_resource:
            taken = {"need": model.demand(job_class), "specific": model.specific(job_class)}
            for key, amounts in taken.items():
                if key in one:
                    one[key] = {kind: n for kind, n in zip(model.kinds, amounts, strict=True) if n}
    return document
