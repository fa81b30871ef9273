"""Charts of answers from a log: waits by class, what each size promises, and cases beside each other."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.results.charts.chart import Chart, Lines, Place, Row, Rows
from loynes.results.charts.evaluation import servers, waits
from loynes.results.charts.measures import time_axis, waits_of
from loynes.results.charts.register import charts_for
from loynes.results.records.log_cases import LogCases, LogComparison, LogSweep
from loynes.results.records.log_evaluation import LogEvaluation
from loynes.results.records.log_plan import LogPlan
from loynes.results.times import unit_of

# Cases that can be told apart in a row.
MOST_CASES = 5


@charts_for(LogEvaluation)
def charts(result: LogEvaluation) -> list[Chart]:
    size, unit = unit_of(result.overall.wait.p99.estimate)
    title = f"{result.model.name}, {result.model.servers} servers, {result.policy}"
    by_class = waits(result, title, result.confidence, size, unit)
    return [
        by_class,
        _doubt(result, size, unit),
        servers(result.resources or {"servers": result.model.servers}, result.system),
    ]


def _doubt(result: LogEvaluation, size: float, unit: str) -> Rows:
    """The two intervals of the mean wait, and where resamples lie."""
    values = {
        "in the long run": result.overall.wait.mean,
        f"in the next {result.days} days": result.ahead.overall.wait.mean,
        "of the runs": result.sampling.overall.wait.mean,
        "mean over resamples": result.others.overall.wait.mean,
    }
    return Rows(
        title="How sure the mean wait is",
        picture_title=f"{result.model.name}: how sure the mean wait is",
        axis=f"mean wait ({unit})",
        measures=("mean wait",),
        rows=tuple(Row(name, (value.scaled(1.0 / size),)) for name, value in values.items()),
        confidence=result.confidence,
        note="The first interval is what the log's length leaves open; only more log narrows it.",
    )


@charts_for(LogPlan)
def plan_charts(result: LogPlan) -> list[Chart]:
    probabilities = Lines(
        title="What each value promises",
        picture_title=f"{result.model.name}: probability that every objective is met",
        note="Given this log; estimated from resamples of it.",
        vary=(result.vary,),
        measures=("probability",),
        names="",
        series=("every objective",),
        points=tuple(
            Place((one.value,), ((Estimate.exact(one.probability),),), "")
            for one in sorted(result.tried, key=lambda one: one.value)
        ),
        confidence=None,
    )
    return [probabilities, *charts(result.meets)]


@charts_for(LogComparison)
def comparison_charts(result: LogComparison) -> list[Chart]:
    return case_charts(result)


@charts_for(LogSweep)
def sweep_charts(result: LogSweep) -> list[Chart]:
    return case_charts(result)


def case_charts(result: LogCases) -> list[Chart]:
    size, unit = unit_of(max(case.result.overall.wait.mean.estimate for case in result.cases))
    shown = waits_of(result.cases[0].result.overall)
    values = [
        Row(case.name, tuple(metric.get(case.result.overall).scaled(1.0 / size) for metric in shown))
        for case in result.cases
    ]
    cases = Rows(
        title="Cases",
        picture_title=result.title,
        axis=f"wait ({unit})",
        measures=tuple(metric.column for metric in shown),
        rows=tuple(values),
        first=(0, min(2, len(shown) - 1)),
        offer_log=True,
        confidence=result.confidence,
        note="All on the same resamples. Bars are intervals given the log.",
    )
    first, *others = result.cases
    minus = [
        Row(name if len(others) == 1 else case.name, (difference["wait.mean"].scaled(1.0 / size),))
        for case in others
        for name, difference in case.differences.items()
        if len(others) == 1 or name == ALL_JOBS
    ]
    what = others[0].name if len(others) == 1 else "every case"
    differences = Rows(
        title=f"{what} minus “{first.name}”",
        picture_title=f"{result.model.name}: mean wait, {what} minus “{first.name}”",
        axis=f"difference of mean waits ({unit})",
        measures=("mean wait",),
        rows=tuple(minus),
        zero=True,
        confidence=result.confidence,
        note="Below zero: less. Hollow marks: the interval holds zero, so there may be no difference.",
    )
    return [cases, *_by_class(result, size, unit), *([differences] if minus else [])]


def _by_class(result: LogCases, size: float, unit: str) -> list[Chart]:
    """Who pays, and who gains: every class's mean wait in every case."""
    names = list(result.cases[0].result.classes)
    if len(names) < 2 or not 1 < len(result.cases) <= MOST_CASES:
        return []
    rows = tuple(
        Row(
            name,
            tuple(
                case.result.classes[name].wait.mean.scaled(1.0 / size) if name in case.result.classes else None
                for case in result.cases
            ),
        )
        for name in names
    )
    return [
        Rows(
            title="Who pays, and who gains",
            picture_title=f"{result.model.name}: mean waits by class",
            about="classes",
            axis=time_axis("mean wait", unit),
            measures=tuple(case.name for case in result.cases),
            rows=rows,
            offer_log=True,
            confidence=result.confidence,
            note="Mean waits of every class in every case. Bars are intervals given the log.",
        )
    ]
