"""Chart of a sweep: a metric against what is varied."""

from __future__ import annotations

from collections.abc import Sequence

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.metrics import Metric
from loynes.estimators.metrics import metrics as all_metrics
from loynes.results.charts.chart import Chart, Limit, Lines, Place, Value, decades
from loynes.results.charts.measures import SYSTEM, everyone, exceeds_of, named, resources_of, times_of
from loynes.results.charts.register import charts_for
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.sweep import Point, Sweep

RATES = ("rate", "load")


@charts_for(Sweep)
def charts(
    result: Sweep, *, metric: str = "wait.mean", classes: Sequence[str] | None = None, x: str | None = None
) -> list[Chart]:
    return [lines(result, metric=metric, classes=classes, x=x)]


def lines(
    result: Sweep, *, metric: str = "wait.mean", classes: Sequence[str] | None = None, x: str | None = None
) -> Lines:
    """A line a class for every measure, begun with `metric` (a name of the tidy table) against `x`.

    A picture has a line a class where one thing is varied; else a line for all jobs (or the one class given) and every
    combination of the others.
    """
    x = x or next((name for name in RATES if name in result.vary), result.vary[0])
    possible = dict.fromkeys((*result.vary, *RATES))
    if x not in possible:
        raise UsageError(f"x {x!r}: must be one of {', '.join(possible)}")
    vary = result.vary if x in result.vary else (x, *(name for name in result.vary if name not in RATES))
    answers = [point.result for point in result.points if point.result is not None]
    names = dict.fromkeys(name for one in answers for name, _ in everyone(one))
    series = [name for name in names if not classes or name in classes]
    metrics = _metrics(answers, metric)
    # Where there is no answer, only what is varied is known.
    known = [point for point in result.points if point.result is not None or vary == result.vary]
    points = [_place(point, vary, metrics, series) for point in known]
    chosen = [m.name for m in metrics].index(metric)
    return Lines(
        title="How it changes",
        picture_title=result.model.label,
        note="Bands are intervals." + (" Crosses at the top have no answer." if len(answers) < len(points) else ""),
        vary=vary,
        measures=tuple(named(m) for m in metrics),
        units=tuple(m.unit for m in metrics),
        across="jobs/time" if x in ("rate", "arrivals.rate") else "",
        series=tuple(series),
        points=tuple(points),
        against=vary.index(x),
        first=(chosen,),
        pictured=(0,) if len(vary) > 1 and not classes else tuple(range(len(series))),
        limits=_limits(result, vary),
        log=decades(value for point in points for value in point.values[chosen][:1]),
        confidence=result.confidence,
    )


def _metrics(answers: list[Evaluation], wanted: str) -> list[Metric]:
    """What every point shows; the metric that is asked for is added where it is not among them."""
    more = (*exceeds_of(answers[0].overall), *resources_of(answers[0].system)) if answers else ()
    shown = [*times_of(answers[0].overall if answers else None), *(m for m in more if m.of == "class"), *SYSTEM]
    if wanted in [m.name for m in shown]:
        return shown
    possible = {m.name: m for m in (*all_metrics(), *more)}
    if wanted not in possible:
        raise UsageError(f"metric {wanted!r}: not in these results; there are {', '.join(sorted(possible))}")
    return [*shown, possible[wanted]]


def _place(point: Point, vary: tuple[str, ...], metrics: list[Metric], series: list[str]) -> Place:
    answer = point.result
    config = tuple(_value(point, name) for name in vary)
    if answer is None:
        return Place(config, tuple(() for _ in metrics), point.why)
    waits = dict(everyone(answer))
    values: list[tuple[Estimate | None, ...]] = []
    for metric in metrics:
        if metric.of == "system":
            values.append((metric.get(answer.system),))
        else:
            values.append(tuple(metric.get(waits[name]) if name in waits else None for name in series))
    return Place(config, tuple(values))


def _value(point: Point, name: str) -> Value:
    """Of what is varied, or of the rate and load that follow."""
    derived = {} if point.result is None else {"rate": point.result.rate, "load": point.result.load}
    value = point.config[name] if name in point.config else derived[name]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _limits(result: Sweep, vary: tuple[str, ...]) -> tuple[Limit, ...]:
    """Where the cluster becomes unstable: load 1, or the threshold for every setting of what else is varied."""
    limits: dict[tuple[object, ...], Limit] = {}
    for axis, name in enumerate(vary):
        for point in result.points:
            if point.result is None or name not in ("rate", "arrivals.rate", "load"):
                continue
            where = tuple(None if n == name or n in RATES else _value(point, n) for n in vary)
            at = 1.0 if name == "load" else point.result.threshold.estimate
            who = "fcfs is unstable from" if point.result.is_estimate else "unstable from"
            limits[axis, *where] = Limit(at, who, axis, None, where)
    return tuple(limits.values())
