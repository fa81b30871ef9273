"""Charts of a file of samples: how long until servers are free, and what bounds the workload's tail."""

from __future__ import annotations

from loynes.results.charts import certified
from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.measures import time_axis
from loynes.results.charts.register import charts_for
from loynes.results.records.samples import SampleFile


@charts_for(SampleFile)
def charts(result: SampleFile) -> list[Chart]:
    at = f"{result.model.label}, rate {result.rate_words(result.rate, 4)}"
    levels = Rows(
        title="How long until servers are free",
        picture_title=f"{at}: how long until servers are free",
        axis=time_axis("mean time"),
        units=("time",),
        measures=("mean time",),
        rows=tuple(Row(f"{level.servers} {level.kind}", (level.time,)) for level in result.levels),
        confidence=0.99,
        note="As an arriving job sees it, on average over the samples.",
    )
    return [levels, *([] if result.certificate is None else certified.bound(result.certificate))]
