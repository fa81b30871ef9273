"""The page of a replay: a recorded workload on a cluster, over time."""

from __future__ import annotations

from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.simulation import POOLED
from loynes.report.waits import extremes, how_of, losses, typical, wait_tiles
from loynes.report.words import count, duration, percent
from loynes.results.charts.replay import charts
from loynes.results.records.replay import Replay

EXACT = (
    "A replay runs the recorded jobs once, from an empty cluster. Its figures are exact for these jobs on these "
    "servers in this order; they are no forecast of other jobs, so there is nothing to be unsure of and no certificate."
)
RECORDED = (
    "Where the log itself has waits, they are shown beside: the real scheduler may have let small jobs overtake, kept "
    "servers back, or been down."
)


@page_for(Replay)
def content(result: Replay) -> Content:
    busy = result.system.utilization.estimate
    return Content(
        kind="replay",
        title=f"{result.name}: a recorded workload",
        facts=[count(result.servers, "server"), count(result.jobs, "job"), _order(result), f"classes by {result.by}"],
        summary=_sentences(result),
        tiles=[*wait_tiles(result, result.system, None, duration), Tile("utilization", percent(busy))],
        charts=charts(result),
        grids=[
            Grid.of(result.summary, "Waits by class", pinned=1),
            Grid.of(result.system_summary, "The cluster"),
            *([Grid.of(result.pooled_summary, "What nodes cost", note=POOLED)] if result.pooled else []),
            Grid.of(result.trace_summary, "What was read"),
        ],
        sure=Sure([EXACT, *([] if result.recorded is None else [RECORDED])]),
        how=how_of(result, ("log", result.source), method="replay"),
        warnings=[f"Damaged: {text}" for text in result.examples],
    )


def _order(result: Replay) -> str:
    return "first come, first served" if result.policy == "fcfs" else f"under {result.policy}"


def _sentences(result: Replay) -> list[str]:
    believed = result.details.get("believed")
    recorded = result.recorded
    beside = "" if recorded is None else f"; the log itself recorded {duration(recorded.overall.mean.estimate)}"
    skipped = sum(result.skipped.values())
    jobs, servers = count(result.jobs, "job"), count(result.servers, "server")
    return [
        f"Run on {servers}, {_order(result)}, {typical(result.overall, duration)}.",
        *([f"The scheduler believed in {believed}."] if believed else []),
        f"These are {jobs} of {result.source} over {duration(result.span)}.",
        f"The mean wait is {duration(result.overall.wait.mean.estimate)}{beside}.",
        f"{percent(result.system.utilization.estimate)} of the servers were busy, on average.",
        *extremes(result.classes, duration),
        *losses(result.system, {"servers": result.servers}),
        *([f"{count(skipped, 'line')} of the log could not be used."] if skipped else []),
    ]
