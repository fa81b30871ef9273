"""The page of an event-driven simulation: waits under a policy, and the cluster over time."""

from __future__ import annotations

import math

from loynes.report.content import Content, Grid, Sure, page_for
from loynes.report.objectives import objective_grids, verdicts
from loynes.report.waits import cluster_facts, extremes, how_of, intervals, losses, typical, unit_note, wait_tiles
from loynes.report.words import between, times
from loynes.results.charts.measures import units_of
from loynes.results.charts.simulation import charts
from loynes.results.records.simulation import Simulation

EVENTS = (
    "Events were run one after the other: arrivals, ends of jobs, and after each the policy said who starts. Replicas "
    "are independent, so intervals are honest for what was run."
)
BIAS = (
    "There is no certificate: replicas that start empty are a little too lightly loaded at first, and what is left of "
    "that after the burn-in is not bounded."
)
SLOWDOWN = "Slowdown: response over service. Its mean is infinite where services can be arbitrarily short."
POOLED = (
    "The same jobs, policy and rules on a pooled cluster, where a job may take its units from any nodes. Fragmentation "
    "is what idles although it would be enough for the first job in line, because it lies on different nodes."
)
OVER_TIME = "All replicas begin in the same way and are followed over time; averages are over that time."


@page_for(Simulation)
def content(result: Simulation) -> Content:
    until = "" if result.horizon is None else f" to time {result.time_words(result.horizon, 6)}"
    settled = result.horizon is None and result.start == "empty"
    return Content(
        kind="simulate",
        title=f"{result.model.label}: {result.policy}, event by event",
        facts=[
            *cluster_facts(result.model)[:-1],
            result.policy,
            f"rate {result.rate_words(result.rate)}",
            f"from {result.start}{until}",
        ],
        summary=[*verdicts(result.objectives), *_sentences(result)],
        tiles=wait_tiles(result, result.system, result.confidence, times(result.time_unit)),
        charts=charts(result),
        grids=[
            *objective_grids(result.objectives, result.objectives_summary),
            *([Grid.of(result.scenario_summary, "Scenario")] if result.model.scenario else []),
            *([Grid.of(result.moments_summary, "Over time")] if result.moments else []),
            Grid.of(result.summary, "Waits by class", pinned=1, note=SLOWDOWN),
            Grid.of(result.system_summary, "The cluster"),
            *([Grid.of(result.pooled_summary, "What nodes cost", note=POOLED)] if result.pooled else []),
        ],
        sure=Sure([EVENTS, BIAS if settled else OVER_TIME, intervals(result.confidence, result.replicas)]),
        models=[(result.model.label, result.model)],
        how=how_of(result, method="simulate", confidence=result.confidence, jobs=result.jobs, model=result.model),
    )


def _sentences(result: Simulation) -> list[str]:
    mean, how = result.overall.wait.mean, times(result.time_unit)
    sentences = [f"Under {result.policy}, {typical(result.overall, how)}."]
    if math.isfinite(mean.estimate):
        sentences.append(f"The mean wait is {how(mean.estimate)}{between(mean, result.confidence, how)}.")
    waits = [(m.time, m.wait.estimate) for m in result.moments if m.wait and math.isfinite(m.wait.estimate)]
    if len(waits) > 1:
        least, most = (pick(waits, key=lambda moment: moment[1]) for pick in (min, max))
        sentences.append(
            f"Over time, those who come at {how(most[0])} wait longest, {how(most[1])} on average; those who come at "
            f"{how(least[0])} least, {how(least[1])}."
        )
    return [
        *sentences,
        *extremes(result.classes, how),
        *losses(result.system, units_of(result.model)),
        *unit_note(result),
    ]
