"""Charts of a replay: servers and waiting jobs over time, waits by class, and where the servers are."""

from __future__ import annotations

from loynes.results.charts.chart import Chart, Panel, Step, Steps
from loynes.results.charts.evaluation import servers, waits
from loynes.results.charts.register import charts_for
from loynes.results.records.replay import Replay
from loynes.results.times import unit_of


@charts_for(Replay)
def charts(result: Replay) -> list[Chart]:
    title = f"{result.name}, {result.servers} servers" + ("" if result.policy == "fcfs" else f", {result.policy}")
    size, unit = unit_of(result.overall.wait.p99.estimate)
    by_class = waits(result, title, None, size, unit)
    return [_over_time(result, title), by_class, servers({"servers": result.servers}, result.system)]


def _over_time(result: Replay, title: str) -> Steps:
    series = result.series
    size, unit = unit_of(series.end[-1])
    used = (
        Step("busy servers", series.busy_servers, "busy"),
        Step("lost to head-of-line blocking", series.hol_loss, "lost"),
    )
    return Steps(
        title="Over time",
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
