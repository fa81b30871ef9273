"""Charts of forecasts: when waiting jobs start, what is left of running ones, and the cluster from now on."""

from __future__ import annotations

import itertools
import math

from loynes.estimate import Estimate
from loynes.results.charts.chart import MOST_ROWS, Chart, Fading, Lines, Place, Row, Rows, Timeline
from loynes.results.charts.register import charts_for
from loynes.results.records.eta import Eta, RunningForecast, StartForecast
from loynes.results.times import unit_of

EIGHTY = 0.8
# How probable a start is from each of a forecast's quantiles on, and how much of the time before now is shown.
STARTED = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
PAST = 0.5


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
        confidence=EIGHTY,
        note="Medians, and the middle 80% of all draws; a bar without an end goes beyond the horizon.",
    )
    return [starts, *_outlook(result), *_timeline(result)]


def _start(one: StartForecast, size: float) -> Estimate | None:
    if not math.isfinite(one.median):
        return None
    return Estimate(one.median / size, one.low80 / size, one.high80 / size)


def _exact(value: float, size: float) -> Estimate | None:
    return Estimate.exact(value / size) if math.isfinite(value) else None


def _outlook(result: Eta) -> list[Chart]:
    """Free servers and the line, from now on."""
    times = result.outlook.time
    size, unit = unit_of(times[-1])
    measures = ("jobs still waiting", f"free {next(iter(result.model.units))}")
    bands = (result.outlook.waiting, result.free)
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


def _timeline(result: Eta) -> list[Chart]:
    """Running jobs until they end, and waiting ones from their starts on, as surely as is known."""
    if not result.running:
        return []
    size, unit = result.unit
    running = sorted(result.running, key=lambda one: one.median)[: MOST_ROWS // 2]
    waiting = result.jobs[: MOST_ROWS - len(running)]
    finite = [one.high95 for one in waiting if math.isfinite(one.high95)]
    end = 1.08 * max([*(one.steps[-1] for one in running), *finite]) / size
    # What had begun long before now would leave no room for what comes.
    begin = -min(max(one.elapsed for one in running) / size, PAST * end)
    rows = [_ending(one, size, unit, begin) for one in running] + [_starting(one, size, unit, end) for one in waiting]
    count = len(result.running) + len(result.jobs)
    shown = f" {len(running)} running jobs that end first, and the first {len(waiting)} in line." * (count > len(rows))
    return [
        Timeline(
            title="From running to waiting",
            picture_title=f"{result.model.name}: from running to waiting",
            about="timeline",
            axis=f"{unit} from now",
            rows=tuple(rows),
            begin=begin,
            end=end,
            colours=(("c0", "runs now"), ("c1", "waits now")),
            note="Running jobs fade out as they may have ended, waiting ones fade in over the 95% "
            f"intervals of their starts; a line at the median, a dashed one where the limit ends a job.{shown}",
        )
    ]


def _ending(one: RunningForecast, size: float, unit: str, begin: float) -> Fading:
    """What is left, by steps (tenths, mostly): after the k-th of n parts k / n have ended."""
    ends = [0.0, *(step / size for step in one.steps)]
    parts = len(one.steps) + 1
    fading = [(since, until, 1.0 - k / parts) for k, (since, until) in enumerate(itertools.pairwise(ends))]
    told = (
        one.id,
        f"ends after {_said(one.median, size)} {unit}, 80%: {_said(one.low80, size)} to {_said(one.high80, size)}",
        f"its limit: {_said(one.limit - one.elapsed, size)} {unit}",
    )
    since = max(-one.elapsed / size, begin)
    return Fading(one.id, ((since, 0.0, 1.0), *fading), one.median / size, "c0", told, (one.limit - one.elapsed) / size)


def _starting(one: StartForecast, size: float, unit: str, end: float) -> Fading:
    """The interval of its start: from each of its quantiles on it has started with such a probability."""
    steps = zip((one.low95, one.low80, one.low50, one.median, one.high50, one.high80, one.high95), STARTED, strict=True)
    ends = [(min(time / size, end), share) for time, share in steps]
    fading = [(a, b, share) for (a, share), (b, _) in itertools.pairwise(ends)]
    told = (
        one.id,
        f"starts after {_said(one.median, size)} {unit}, 80%: {_said(one.low80, size)} to {_said(one.high80, size)}",
        f"if all jobs took their limits: {_said(one.by_limits, size)} {unit}",
    )
    return Fading(one.id, tuple(fading), one.median / size, "c1", told)


def _said(seconds: float, size: float) -> str:
    return f"{seconds / size:.3g}" if math.isfinite(seconds) else "the horizon"
