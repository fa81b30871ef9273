"""Charts of an evaluation: waits by class, and where the servers are."""

from __future__ import annotations

from loynes.estimators.measures import System
from loynes.results.charts.chart import Chart, Parts, Row, Rows
from loynes.results.charts.measures import HasWaits, everyone, time_axis, units_of, use, waits_of
from loynes.results.charts.register import charts_for
from loynes.results.charts.tails import tail_chart
from loynes.results.charts.units import UNIT_OF_TIME
from loynes.results.records.evaluation import Evaluation


@charts_for(Evaluation)
def charts(result: Evaluation) -> list[Chart]:
    how = f"{result.load:.0%} of the threshold"
    title = f"{result.model.label}, rate {result.rate_words(result.rate, 4)} ({how})"
    return [
        waits(result, title, result.confidence),
        *tail_chart(result.tails, title, result.confidence),
        servers(units_of(result.model), result.system),
    ]


def waits(
    result: HasWaits, title: str, confidence: float | None = None, size: float = 1.0, unit: str = UNIT_OF_TIME
) -> Rows:
    """Waits of all jobs and of every class, in units of so many of the record's own."""
    shown = waits_of(result.overall)
    rows = [Row(name, tuple(metric.get(one).scaled(1.0 / size) for metric in shown)) for name, one in everyone(result)]
    return Rows(
        title="Waits by class",
        picture_title=title,
        axis=time_axis("wait", unit),
        units=() if unit != UNIT_OF_TIME else ("time",) * len(shown),
        measures=tuple(metric.column for metric in shown),
        rows=tuple(rows),
        first=(0, min(2, len(shown) - 1)),
        pinned=1,
        offer_log=True,
        confidence=confidence,
        about="waits",
        note="p95: 95 of 100 jobs wait at most so long." + ("" if confidence is None else " Bars are intervals."),
    )


def servers(units: dict[str, int], system: System) -> Parts:
    """Where the servers are, on average over time."""
    note = (
        "Averages over time. Lost servers stand idle because the job at the head of the line needs more than are free."
    )
    return Parts(
        title="What the servers do",
        picture_title="What the servers do",
        about="servers",
        bars=use(units, system),
        note=note,
    )
