"""Charts of an exact answer: mean waits where there is a rate, and what the servers do when the cluster is full."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.estimators.metrics import metric
from loynes.results.charts.chart import Chart, Lines, Parts, Place, Row, Rows
from loynes.results.charts.measures import full_use, time_axis, units_of
from loynes.results.charts.register import charts_for
from loynes.results.charts.tails import tail_chart
from loynes.results.charts.threshold import limit
from loynes.results.records.exact import Exact


@charts_for(Exact)
def charts(result: Exact) -> list[Chart]:
    full = "What the servers do when the cluster is full"
    saturated = Parts(
        title=full,
        picture_title=f"{result.model.label}: {full[0].lower()}{full[1:]}",
        bars=full_use(units_of(result.model), losses(result)),
    )
    title = f"{_at(result)}, exact"
    tails = tail_chart(result.tails, title)
    by_class: list[Chart] = [] if result.overall is None else [_waits(result), *tails, *_percentiles(result)]
    return [*by_class, saturated, limit(Estimate.exact(result.threshold), result.model.ideal)]


def _at(result: Exact) -> str:
    return f"{result.model.label}, rate {result.rate_words(result.rate or 0.0, 4)}"


def losses(result: Exact) -> dict[str, Estimate]:
    """Servers of every kind that blocking costs when the cluster is full."""
    kinds = {kind: Estimate.exact(values["hol_loss_saturated"]) for kind, values in result.resources.items()}
    return kinds or {result.model.kinds[0]: Estimate.exact(result.hol_loss_saturated)}


def _waits(result: Exact) -> Rows:
    everyone = {ALL_JOBS: result.overall, **result.classes}
    rows = [Row(name, (Estimate.exact(waits.mean),)) for name, waits in everyone.items() if waits is not None]
    return Rows(
        title="Mean waits by class",
        about="waits",
        picture_title=f"{_at(result)}, exact",
        axis=time_axis("wait"),
        units=("time",),
        measures=(metric("wait.mean").label,),
        rows=tuple(rows),
        pinned=1,
        offer_log=True,
    )


def _percentiles(result: Exact) -> list[Chart]:
    """How long waits are that one job in so many exceeds: a straight line, in the end, where tails are exponential."""
    if result.overall is None or not result.overall.percentiles:
        return []
    everyone = {ALL_JOBS: result.overall, **result.classes}
    points = tuple(
        Place((name,), (tuple(Estimate.exact(waits.percentiles[name]) for waits in everyone.values()),))
        for name in result.overall.percentiles
    )
    return [
        Lines(
            title="Long waits by class",
            about="percentiles",
            picture_title=f"{_at(result)}: percentiles of the wait, exact",
            note="p99.9: 999 of 1000 jobs wait at most so long.",
            vary=("percentile",),
            measures=(time_axis("wait"),),
            units=("time",),
            series=tuple(everyone),
            points=points,
        )
    ]
