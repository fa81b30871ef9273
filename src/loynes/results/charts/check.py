"""Chart of a checked model: which classes bring the jobs, and which the work."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.charts.chart import Bar, Chart, Part, Parts
from loynes.results.charts.register import charts_for
from loynes.results.records.check import Check

# Classes that a bar shows; the smallest are put together.
MOST = 7


@charts_for(Check)
def charts(result: Check) -> list[Chart]:
    model = result.model
    jobs = {c.label: c.probability for c in model.classes}
    bars = [_bar("of all jobs", jobs)]
    bars += [_bar(f"of the work of {kind}", work_shares(model, place)) for place, kind in enumerate(model.kinds)]
    title = "Where jobs and work come from"
    return [
        Parts(
            title=title,
            picture_title=f"{model.label}: {title[0].lower()}{title[1:]}",
            bars=tuple(bar for bar in bars if bar.parts),
            note="A job's work is the servers it needs, times how long it needs them.",
        )
    ]


def work_shares(model: Model, place: int) -> dict[str, float]:
    """The part of a resource's work that every class brings; nothing where no class needs it."""
    if not model.works[place] > 0:
        return {}
    taken = {c.label: model.demand(c)[place] + model.specific(c)[place] for c in model.classes}
    return {c.label: c.probability * taken[c.label] * c.service.mean / model.works[place] for c in model.classes}


def _bar(label: str, shares: dict[str, float]) -> Bar:
    names = list(shares)
    parts = [Part(name, Estimate.exact(shares[name]), f"c{n}") for n, name in enumerate(names[:MOST])]
    rest = names[MOST:]
    if rest:
        parts.append(Part(f"{len(rest)} others", Estimate.exact(sum(shares[name] for name in rest)), "idle"))
    return Bar(label, 1.0, tuple(parts))
