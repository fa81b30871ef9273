"""Charts of a replay: servers and waiting jobs over time, waits by class, and where the servers are."""

from __future__ import annotations

from dataclasses import replace

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Spread
from loynes.results.charts.chart import Chart, Panel, Row, Rows, Step, Steps
from loynes.results.charts.evaluation import servers, waits
from loynes.results.charts.measures import everyone, time_axis
from loynes.results.charts.register import charts_for
from loynes.results.charts.tails import tail_chart
from loynes.results.records.replay import Replay
from loynes.results.tails import Tails
from loynes.results.times import unit_of


@charts_for(Replay)
def charts(result: Replay) -> list[Chart]:
    title = f"{result.name}, {result.servers} servers" + ("" if result.policy == "fcfs" else f", {result.policy}")
    size, unit = unit_of(result.overall.wait.p99.estimate)
    by_class = waits(result, title, None, size, unit)
    return [
        _over_time(result, title),
        *_recorded(result, title, size, unit),
        by_class,
        *_distribution(result, title, size, unit),
        servers({"servers": result.servers}, result.system),
    ]


def _recorded(result: Replay, title: str, size: float, unit: str) -> list[Chart]:
    """Waits as they were replayed beside those that the log recorded, by class."""
    if result.recorded is None:
        return []
    log = {ALL_JOBS: result.recorded.overall, **result.recorded.classes}

    def values(stat: str, spreads: tuple[Spread | None, ...]) -> list[Estimate | None]:
        return [None if one is None else getattr(one, stat).scaled(1.0 / size) for one in spreads]

    both = [(name, (waits.wait, log.get(name))) for name, waits in everyone(result)]
    return [
        Rows(
            title="Replayed, and recorded",
            picture_title=title,
            about="recorded",
            axis=time_axis("wait", unit),
            measures=("mean, replayed", "mean, recorded", "p95, replayed", "p95, recorded"),
            rows=tuple(Row(name, (*values("mean", pair), *values("p95", pair))) for name, pair in both),
            pinned=1,
            offer_log=True,
            note="Waits on these servers in this order, beside those that the log itself has of the same jobs.",
        )
    ]


def _distribution(result: Replay, title: str, size: float, unit: str) -> list[Chart]:
    """The share of jobs that wait longer than x: by class, and of all jobs beside what was recorded."""
    by_class = tail_chart(result.tails, title, None, size, unit)
    log = result.recorded_tails
    if log is None or result.tails is None:
        return by_class
    both = Tails(log.x, {"replayed": result.tails.classes[ALL_JOBS], "recorded": log.classes[ALL_JOBS]})
    beside = [
        replace(chart, title="How many wait longer than x, replayed and recorded", about="recorded tail")
        for chart in tail_chart(both, title, None, size, unit)
    ]
    return [*beside, *by_class]


def _over_time(result: Replay, title: str) -> Steps:
    series = result.series
    size, unit = unit_of(series.end[-1])
    used = (
        Step("busy servers", series.busy_servers, "busy"),
        Step("lost to head-of-line blocking", series.hol_loss, "lost"),
    )
    return Steps(
        title="Over time",
        about="time",
        picture_title=title,
        note="Averages in windows of time.",
        axis=f"{unit} since the first submission",
        begin=tuple(t / size for t in series.begin),
        end=tuple(t / size for t in series.end),
        panels=(
            Panel("servers", used, float(result.servers), f"{result.servers} servers"),
            Panel("jobs", (Step("jobs waiting", series.jobs_waiting, "c2"),)),
        ),
    )
