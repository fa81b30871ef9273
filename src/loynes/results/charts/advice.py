"""Charts of what each policy would give: waits, the best first."""

from __future__ import annotations

from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.logs import case_charts
from loynes.results.charts.measures import named, times_of
from loynes.results.charts.register import charts_for
from loynes.results.records.advice import Advice, LogAdvice


@charts_for(Advice)
def charts(result: Advice) -> list[Chart]:
    answers = [(one.policy, one.result) for one in result.choices if one.result is not None]
    times = times_of(answers[0][1].overall if answers else None)
    return [
        Rows(
            title="What each policy would give",
            picture_title=result.title,
            axis="of all jobs",
            measures=tuple(named(one) for one in times),
            units=tuple(one.unit for one in times),
            first=(0,),
            together=False,
            rows=tuple(Row(name, tuple(one.get(answer.overall) for one in times)) for name, answer in answers),
            offer_log=True,
            confidence=result.confidence,
            note="The best first; bars are intervals. Where work piles up a longer run would show longer waits.",
        )
    ]


@charts_for(LogAdvice)
def log_charts(result: LogAdvice) -> list[Chart]:
    return case_charts(result)
