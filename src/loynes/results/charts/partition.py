"""Charts of divided servers: waits of every class, divided and shared."""

from __future__ import annotations

from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.measures import time_axis
from loynes.results.charts.register import charts_for
from loynes.results.records.partition import Partition
from loynes.results.tables import everyone


@charts_for(Partition)
def charts(result: Partition) -> list[Chart]:
    here, there = (everyone(one.overall, one.classes) for one in (result.divided, result.shared))
    return [
        Rows(
            title="Who gains, and who pays",
            picture_title=result.title,
            axis=time_axis("mean wait"),
            measures=("divided", "shared"),
            units=("time", "time"),
            rows=tuple(Row(name, (here[name].wait.mean, there[name].wait.mean)) for name in here),
            pinned=1,
            offer_log=True,
            confidence=result.confidence,
            note="Mean waits by class, with servers divided and in a shared pool. Bars are intervals.",
        )
    ]
