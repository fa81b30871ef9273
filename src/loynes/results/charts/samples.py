"""Charts of a file of samples: what bounds the workload's tail, and how loaded the cluster is."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.results.charts import certified
from loynes.results.charts.chart import Bar, Chart, Part, Parts
from loynes.results.charts.register import charts_for
from loynes.results.records.samples import SampleFile


@charts_for(SampleFile)
def charts(result: SampleFile) -> list[Chart]:
    limit = result.threshold
    room = Estimate(limit.estimate - result.rate, limit.low - result.rate, limit.high - result.rate)
    parts = (Part("arrival rate", Estimate.exact(result.rate), "busy"), Part("room up to the limit", room, "idle"))
    title = "The rate, of what the cluster can take"
    load = Parts(
        title=title,
        picture_title=f"{result.model.label}: {title[0].lower()}{title[1:]}",
        bars=(Bar("jobs a unit of time", limit.estimate, parts),),
    )
    bound = [] if result.certificate is None else certified.bound(result.certificate)
    return [*bound, *([load] if math.isfinite(limit.estimate) else [])]
