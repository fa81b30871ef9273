"""Chart of policies on the same jobs: waits against the rate, and what each can carry."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Limit, Lines, Place, Row, Rows, decades
from loynes.results.charts.measures import SYSTEM, TIMES, named
from loynes.results.charts.register import charts_for
from loynes.results.records.policies import PolicyComparison


@charts_for(PolicyComparison)
def charts(result: PolicyComparison) -> list[Chart]:
    limits = [_carried(result)] if result.limits else []
    return [*([_over_rates(result)] if result.points else []), *limits]


def _carried(result: PolicyComparison) -> Rows:
    rows = [Row(name, (limit.rate,)) for name, limit in result.limits.items()]
    return Rows(
        title="What each can carry",
        picture_title=f"{result.model.label}: what each policy can carry",
        axis="largest arrival rate",
        measures=("rate",),
        rows=(*rows, Row("without blocking", (Estimate.exact(result.ideal),))),
        confidence=result.confidence,
    )


def _over_rates(result: PolicyComparison) -> Lines:
    at = {(point.rate, point.policy): point.result for point in result.points}
    points = []
    for rate in sorted({point.rate for point in result.points}):
        here = [at.get((rate, name)) for name in result.policies]
        waits = [tuple(None if one is None else m.get(one.overall) for one in here) for m in TIMES]
        system = [tuple(None if one is None else m.get(one.system) for one in here) for m in SYSTEM]
        points.append(Place((rate,), (*waits, *system), "no policy can carry it"))
    means = [value for point in points for value in point.values[0]]
    return Lines(
        title="Policies against each other",
        picture_title=f"{result.model.label}: policies on the same jobs",
        note="Bands are intervals." + (" Dashed: what each policy can carry." if result.limits else ""),
        vary=("rate",),
        measures=tuple(named(m) for m in (*TIMES, *SYSTEM)),
        names="Policies",
        series=result.policies,
        points=tuple(points),
        limits=tuple(
            Limit(limit.rate.estimate, f"{name} can carry", 0, result.policies.index(name))
            for name, limit in result.limits.items()
            if math.isfinite(limit.rate.estimate)
        ),
        log=decades(means, 20.0),
        confidence=result.confidence,
    )
