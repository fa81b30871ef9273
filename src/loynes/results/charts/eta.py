"""Charts of forecasts: when waiting jobs start, what is left of running ones, and the cluster from now on."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Lines, Place, Row, Rows
from loynes.results.charts.register import charts_for
from loynes.results.records.eta import Eta, StartForecast
from loynes.results.times import unit_of

EIGHTY = 0.8


@charts_for(Eta)
def charts(result: Eta) -> list[Chart]:
    size, unit = result.unit
    waiting = (*result.jobs, *result.what_if)
    starts = Rows(
        title="When waiting jobs start",
        picture_title=f"{result.model.name}: when waiting jobs start ({result.policy})",
        about="starts",
        axis=f"{unit} from now",
        measures=("start", "if all jobs took their limits"),
        rows=tuple(Row(one.id, (_start(one, size), _exact(one.by_limits, size))) for one in waiting),
        first=(0,),
        confidence=EIGHTY,
        note="Medians, and the middle 80% of all draws; a bar without an end goes beyond the horizon.",
    )
    return [starts, *_outlook(result), *_running(result)]


def _start(one: StartForecast, size: float) -> Estimate | None:
    if not math.isfinite(one.median):
        return None
    return Estimate(one.median / size, one.low80 / size, one.high80 / size)


def _exact(value: float, size: float) -> Estimate | None:
    return Estimate.exact(value / size) if math.isfinite(value) else None


def _outlook(result: Eta) -> list[Chart]:
    """Busy servers and the line, from now on, of the jobs that are there now."""
    times = result.outlook.time
    size, unit = unit_of(times[-1])
    measures = ("jobs still waiting", f"busy {'servers' if 'servers' in result.model.units else 'units'}")
    bands = (result.outlook.waiting, result.outlook.busy)
    points = tuple(
        Place(
            (time / size,), tuple((Estimate(middle, low, high),) for low, middle, high in (band[i] for band in bands))
        )
        for i, time in enumerate(times)
    )
    return [
        Lines(
            title="From now on",
            picture_title=f"{result.model.name}: the line from now on",
            about="outlook",
            vary=("time",),
            labels=(f"{unit} from now",),
            measures=measures,
            series=("the jobs there are now",),
            points=points,
            names="Jobs",
            confidence=EIGHTY,
            marks=False,
            note="Medians and the middle 80% of draws; under first come, first served of the jobs there are now alone.",
        )
    ]


def _running(result: Eta) -> list[Chart]:
    if not result.running:
        return []
    size, unit = unit_of(max(one.high80 for one in result.running))
    ordered = sorted(result.running, key=lambda one: one.median)
    return [
        Rows(
            title="When running jobs end",
            picture_title=f"{result.model.name}: when running jobs end",
            about="running",
            axis=f"{unit} from now",
            measures=("end", "its limit"),
            rows=tuple(
                Row(
                    one.id,
                    (
                        Estimate(one.median / size, one.low80 / size, one.high80 / size),
                        _exact(max(one.limit - one.elapsed, 0.0), size),
                    ),
                )
                for one in ordered
            ),
            first=(0,),
            confidence=EIGHTY,
            note="By the law of jobs like it, given how long each has run.",
        )
    ]
