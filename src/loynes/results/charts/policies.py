"""Chart of policies on the same jobs: waits against the rate, and what each can carry."""

from __future__ import annotations

import math
from collections.abc import Iterable

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.estimators.metrics import Metric
from loynes.results.charts.chart import Chart, Limit, Lines, Place, Row, Rows, decades
from loynes.results.charts.measures import SYSTEM, named, time_axis, times_of
from loynes.results.charts.register import charts_for
from loynes.results.records.policies import PolicyComparison
from loynes.results.records.simulation import Simulation


@charts_for(PolicyComparison)
def charts(result: PolicyComparison) -> list[Chart]:
    limits = [_carried(result)] if result.limits else []
    return [*([_over_rates(result)] if result.points else []), *_by_class(result), *limits]


def _by_class(result: PolicyComparison) -> list[Chart]:
    """Who pays: every class's wait under every policy, at the highest rate that all can carry and over all rates."""
    at = {(point.rate, point.policy): point.result for point in result.points}
    rates = sorted({point.rate for point in result.points})
    shared = [rate for rate in rates if all(at.get((rate, name)) for name in result.policies)]
    names = [c.label for c in result.model.classes]
    if not shared or len(names) < 2:
        return []
    highest = shared[-1]
    here = [one for name in result.policies if (one := at[highest, name]) is not None]
    times = times_of(here[0].overall)
    mean = times[0]

    def values(metric: Metric, name: str, answers: Iterable[Simulation | None]) -> tuple[Estimate | None, ...]:
        return tuple(
            None if one is None or name not in one.classes else metric.get(one.classes[name]) for one in answers
        )

    points = tuple(
        Place(
            (rate, name),
            tuple(values(m, name, [at.get((rate, policy)) for policy in result.policies]) for m in times),
            "no policy can carry it",
        )
        for rate in rates
        for name in names
    )
    return [
        Rows(
            title="Who pays, and who gains",
            picture_title=f"{result.model.label}: mean waits by class at rate {result.rate_words(highest, 4)}",
            about="classes",
            axis=time_axis("mean wait"),
            measures=result.policies,
            units=("time",) * len(result.policies),
            rows=(
                Row(ALL_JOBS, tuple(mean.get(one.overall) for one in here)),
                *(Row(name, values(mean, name, here)) for name in names),
            ),
            pinned=1,
            offer_log=True,
            confidence=result.confidence,
            note=f"Mean waits at rate {result.rate_words(highest, 4)}, the highest at which all policies were run. "
            "Bars are intervals.",
        ),
        Lines(
            title="Policies against each other, class by class",
            picture_title=f"{result.model.label}: policies on the same jobs, class by class",
            about="class lines",
            note="Choose the class, or put classes across. Bands are intervals.",
            vary=("rate", "class"),
            measures=tuple(named(m) for m in times),
            units=tuple(m.unit for m in times),
            across="jobs/time",
            names="Policies",
            series=result.policies,
            points=points,
            log=decades((value for point in points for value in point.values[0]), 20.0),
            confidence=result.confidence,
        ),
    ]


def _carried(result: PolicyComparison) -> Rows:
    rows = [Row(name, (limit.rate,)) for name, limit in result.limits.items()]
    return Rows(
        title="What each can carry",
        picture_title=f"{result.model.label}: what each policy can carry",
        axis="largest arrival rate",
        measures=("rate",),
        units=("jobs/time",),
        rows=(*rows, Row("without blocking", (Estimate.exact(result.ideal),))),
        confidence=result.confidence,
    )


def _over_rates(result: PolicyComparison) -> Lines:
    at = {(point.rate, point.policy): point.result for point in result.points}
    times = times_of(next((point.result.overall for point in result.points if point.result is not None), None))
    points = []
    for rate in sorted({point.rate for point in result.points}):
        here = [at.get((rate, name)) for name in result.policies]
        waits = [tuple(None if one is None else m.get(one.overall) for one in here) for m in times]
        system = [tuple(None if one is None else m.get(one.system) for one in here) for m in SYSTEM]
        points.append(Place((rate,), (*waits, *system), "no policy can carry it"))
    means = [value for point in points for value in point.values[0]]
    return Lines(
        title="Policies against each other",
        picture_title=f"{result.model.label}: policies on the same jobs",
        note="Bands are intervals." + (" Dashed: what each policy can carry." if result.limits else ""),
        vary=("rate",),
        measures=tuple(named(m) for m in (*times, *SYSTEM)),
        units=tuple(m.unit for m in (*times, *SYSTEM)),
        across="jobs/time",
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
