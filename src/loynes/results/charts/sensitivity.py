"""Chart of a sensitivity: what every change does, the largest effect first."""

from __future__ import annotations

import math

from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.register import charts_for
from loynes.results.records.sensitivity import HasEffects, LogSensitivity, Sensitivity


@charts_for(Sensitivity)
def model_charts(result: Sensitivity) -> list[Chart]:
    return charts(result, result.confidence)


@charts_for(LogSensitivity)
def log_charts(result: LogSensitivity) -> list[Chart]:
    return charts(result, result.confidence)


def charts(result: HasEffects, confidence: float) -> list[Chart]:
    """A bar for every change."""
    finite = [one for one in result.effects if math.isfinite(one.effect.estimate)]
    unstable = [one.label for one in result.effects if not math.isfinite(one.effect.estimate)]
    left_out = f" Left out, since the cluster would be unstable: {', '.join(unstable)}." if unstable else ""
    return [
        Rows(
            title=f"What moves {result.noun}",
            picture_title=f"{result.subject}: what moves {result.noun}",
            axis=f"change of {result.noun}",
            measures=(result.label,),
            units=(result.unit,),
            rows=tuple(Row(one.label, (one.effect,)) for one in finite),
            zero=True,
            bars=True,
            confidence=confidence,
            note=f"Hollow marks: the interval holds zero, so there may be no effect.{left_out}",
        )
    ]
