"""The page of one log in several cases."""

from __future__ import annotations

from loynes.estimators.measures import ALL_JOBS
from loynes.report.content import Content, Grid, Sure, page_for
from loynes.report.waits import how_of
from loynes.report.words import count, duration
from loynes.results.charts.replay_cases import charts
from loynes.results.records.replay_cases import ReplayCase, ReplayCases, percent

EXACT = (
    "Every case runs the recorded jobs once, from an empty cluster. Figures are exact for these jobs; they are no "
    "forecast of other ones. evaluate and compare, given a log, say how much of a difference the log's length leaves "
    "open."
)
ASSUMED = "Users are taken to submit what they submitted, however long they wait."


@page_for(ReplayCases)
def content(result: ReplayCases) -> Content:
    first, *others = result.cases
    tables = result.tables
    return Content(
        kind="replay",
        title=f"{result.model.name}: {count(len(result.cases), 'case')} of the same jobs",
        facts=[count(first.result.jobs, "job"), f"classes by {result.by}", *first.result.details.get("changes", ())],
        summary=[
            f"{first.name}: jobs wait {duration(first.result.overall.wait.mean.estimate)} on average.",
            *(_sentence(case) for case in others[:4]),
        ],
        tiles=[],
        charts=charts(result),
        grids=[Grid.of(table, "Cases" if table is tables[0] else table.title) for table in tables],
        sure=Sure([EXACT, ASSUMED]),
        how=how_of(result, ("log", result.model.source), method="replay"),
        warnings=[],
    )


def _sentence(case: ReplayCase) -> str:
    gain = case.gains.get(ALL_JOBS)
    if gain is None or gain.wait == 0:
        return f"{case.name}: the same on average."
    word = "less" if gain.wait < 0 else "more"
    return (
        f"{case.name}: {duration(abs(gain.wait))} {word} on average; {percent(gain.less)} of the jobs wait less, "
        f"{percent(gain.more)} more."
    )
