"""Charts of a stability threshold: what the servers do when the cluster is full, and how much it can take."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Parts, Row, Rows
from loynes.results.charts.measures import full_use, units_of
from loynes.results.charts.register import charts_for
from loynes.results.records.threshold import Threshold


@charts_for(Threshold)
def charts(result: Threshold) -> list[Chart]:
    full = "What the servers do when the cluster is full"
    return [
        Parts(
            title=full,
            picture_title=f"{result.model.label}: {full[0].lower()}{full[1:]}",
            bars=full_use(units_of(result.model), losses(result)),
            confidence=result.confidence,
        ),
        limit(result.threshold, result.ideal, result.confidence),
    ]


def losses(result: Threshold) -> dict[str, Estimate]:
    """Servers of every kind that blocking costs when the cluster is full."""
    return result.resources or {result.model.kinds[0]: result.hol_loss}


def limit(threshold: Estimate, ideal: float, confidence: float | None = None) -> Rows:
    """The largest rate beside the one without blocking."""
    return Rows(
        title="The largest rate",
        picture_title="The largest rate",
        axis="arrival rate",
        measures=("rate",),
        units=("jobs/time",),
        rows=(Row("limit", (threshold,)), Row("without blocking", (Estimate.exact(ideal),))),
        confidence=confidence,
        note="Without blocking: if no server ever stood idle behind a job that waits for others.",
    )
