"""The usual changes of a cluster: without a class, one server more, jobs half as long, a cap on the need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loynes.model import JobClass, Model, load

# Laws of which every time is among these; others are left as they are.
SCALED = {
    "exponential": ("mean",), "erlang": ("mean",), "deterministic": ("value",), "gamma": ("mean",),
    "weibull": ("mean",), "lognormal": ("mean",), "fit": ("mean",), "uniform": ("low", "high"),
    "hyperexponential": ("means",), "bounded_pareto": ("low", "high"), "empirical": ("values",),
}  # fmt: skip


@dataclass(frozen=True)
class WhatIf:
    """A changed model, what is changed, and the rate at which its jobs come."""

    name: str
    model: Model
    rate: float


def what_ifs(model: Model, rate: float, of: str | None = None) -> Iterator[WhatIf]:
    """Those that make sense for this model; about the class of that name, or else the one that takes most."""
    document = model.to_dict()
    yield from _one_more(model, document, rate)
    if any(c.arrivals is not None for c in model.classes):
        return  # classes with arrivals of their own have no shares
    named = [c for c in model.classes if c.label == of]
    chosen = named[0] if named else max(model.classes, key=model.need)
    if len(model.classes) > 1:
        total = 1.0 - chosen.probability
        if total > 0:
            rest = [c | {"probability": c["probability"] / total} for c in document["classes"]
                    if c["name"] != chosen.label]  # fmt: skip
            yield WhatIf(f"without {chosen.label}", load(document | {"classes": rest}), rate * total)
    half = _half_as_long(document, chosen)
    if half is not None:
        yield WhatIf(f"{chosen.label} half as long", load(half), rate)
    needs = sorted({c.need for c in model.classes if isinstance(c.need, int)})
    if model.one_kind is not None and len(needs) > 1:
        cap = needs[-2]
        cut = [c | {"need": min(c["need"], cap)} for c in document["classes"]]
        yield WhatIf(f"needs of at most {cap}", load(document | {"classes": cut}), rate)


def _one_more(model: Model, document: dict[str, Any], rate: float) -> Iterator[WhatIf]:
    """One server more; of several resources, one unit of what is scarce; of nodes, one like the first."""
    if "nodes" in document:
        first, *others = document["nodes"]
        more = [first | {"count": first.get("count", 1) + 1}, *others]
        name = f"one {first['name']} node more" if "name" in first else "one node more"
        yield WhatIf(name, load(document | {"nodes": more}), rate)
    elif model.one_kind is not None:
        yield WhatIf("one server more", load(document | {"servers": model.one_kind + 1}), rate)
    else:
        kind = model.kinds[model.bottleneck]
        there = document["resources"][kind]
        if isinstance(there, int):
            resources = document["resources"] | {kind: there + 1}
            yield WhatIf(f"one {kind} more", load(document | {"resources": resources}), rate)


def _half_as_long(document: dict[str, Any], chosen: JobClass) -> dict[str, Any] | None:
    """The model with all services of a class halved; None where it is not known how the law scales."""
    classes = []
    for one in document["classes"]:
        if one["name"] != chosen.label:
            classes.append(one)
            continue
        service = dict(one["service"])
        keys = SCALED.get(service.get("law", ""), ())
        if not keys or not all(key in service for key in keys):
            return None
        for key in keys:
            given = service[key]
            service[key] = [x / 2.0 for x in given] if isinstance(given, list) else given / 2.0
        classes.append(one | {"service": service})
    return document | {"classes": classes}
