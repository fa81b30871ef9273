"""Charts of an evaluation: waits by class, and where the servers are."""

from __future__ import annotations

from loynes.estimators.measures import System
from loynes.results.charts.chart import Chart, Parts, Row, Rows
from loynes.results.charts.measures import WAITS, HasWaits, everyone, units_of, use
from loynes.results.charts.register import charts_for
from loynes.results.records.evaluation import Evaluation


@charts_for(Evaluation)
def charts(result: Evaluation) -> list[Chart]:
    how = f"{result.load:.0%} of the threshold"
    title = f"{result.model.label}, rate {result.rate:.4g} ({how})"
    return [waits(result, title, result.confidence), servers(units_of(result.model), result.system)]


def waits(
    result: HasWaits, title: str, confidence: float | None = None, size: float = 1.0, unit: str = "units of time"
) -> Rows:
    """Waits of all jobs and of every class, in units of so many of the record's own."""
    rows = [Row(name, tuple(metric.get(one).scaled(1.0 / size) for metric in WAITS)) for name, one in everyone(result)]
    return Rows(
        title="Waits by class",
        picture_title=title,
        axis=f"wait ({unit})",
        measures=tuple(metric.column for metric in WAITS),
        rows=tuple(rows),
        first=(0, 2),
        pinned=1,
        offer_log=True,
        confidence=confidence,
        note="p95: 95 of 100 jobs wait at most so long." + ("" if confidence is None else " Bars are intervals."),
    )


def servers(units: dict[str, int], system: System) -> Parts:
    """Where the servers are, on average over time."""
    note = (
        "Averages over time. Lost servers stand idle because the job at the head of the line needs more than are free."
    )
    return Parts(
        title="What the servers do", picture_title="What the servers do", bars=use(units, system), note=note
    )  # fmt: skip
