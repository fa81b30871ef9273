"""The page of an evaluation."""

from __future__ import annotations

import math

from loynes.report.certificate import estimated, explained
from loynes.report.content import Content, Grid, Tile, page_for
from loynes.report.objectives import objective_grids, verdicts
from loynes.report.waits import cluster_facts, extremes, how_of, intervals, losses, typical, unit_note, wait_tiles
from loynes.report.words import between, percent, rates, sentence, times
from loynes.results.charts.evaluation import charts
from loynes.results.charts.measures import units_of
from loynes.results.records.evaluation import Evaluation

WITHOUT_VARIANCE = (
    "Services are so long now and then that the wait has no variance, and no run is long enough for ordinary intervals "
    "of means; the intervals of mean waits and responses, of jobs waiting and in the system, and of losses to blocking "
    "are wide brackets."
)
STANDING = {
    "certified": [],
    "lower bound": ["There is no certificate, so these are lower bounds: the truth may be higher."],
    "estimate": ["These are estimates from simulated runs: nothing certifies them."],
}


@page_for(Evaluation)
def content(result: Evaluation) -> Content:
    limit = (
        f"{'fcfs can take' if result.is_estimate else 'limit:'} {rates(result.time_unit, 4)(result.threshold.estimate)}"
    )
    return Content(
        kind="evaluate",
        title=f"{result.model.label}: how long jobs wait",
        facts=[
            *cluster_facts(result.model, result.policy),
            f"rate {result.rate_words(result.rate)}",
            f"load {percent(result.load)}",
        ],
        summary=[*verdicts(result.objectives), *_sentences(result)],
        tiles=[
            *wait_tiles(result, result.system, result.confidence, times(result.time_unit)),
            Tile("load", percent(result.load), limit),
        ],
        charts=charts(result),
        grids=[
            *objective_grids(result.objectives, result.objectives_summary),
            Grid.of(result.summary, "Waits by class", pinned=1),
            Grid.of(result.system_summary, "The cluster"),
        ],
        sure=estimated(result)
        if result.is_estimate
        else explained(
            result.certificate,
            result.why,
            result.method,
            result.time_unit,
            intervals(result.confidence, result.replicas),
            *([f"Pairs of chains still apart: {result.between}."] if result.between else []),
            *([f"{WITHOUT_VARIANCE} {sentence(f'they are {result.cut}')}"] if result.cut else []),
        ),
        models=[(result.model.label, result.model)],
        how=how_of(
            result,
            method=result.method,
            backend=result.backend,
            confidence=result.confidence,
            jobs=result.jobs,
            model=result.model,
        ),
    )


def _sentences(result: Evaluation) -> list[str]:
    waits, load = result.overall, percent(result.load)
    how = times(result.time_unit)
    of = f"{result.rate_words(result.rate, 3)} of {rates(result.time_unit)(result.threshold.estimate)}"
    mean = f"the mean wait is {how(waits.wait.mean.estimate)}{between(waits.wait.mean, result.confidence, how)}"
    parts = [mean] if math.isfinite(waits.wait.mean.estimate) else []
    if math.isfinite(waits.no_wait.estimate):
        parts.append(f"{percent(waits.no_wait.estimate)} of all jobs start at once")
    takes = "it can take" if result.policy == "fcfs" else "first come, first served can take"
    return [
        f"At {load} of what {takes} ({of}), {typical(waits, how)}.",
        *([sentence(", and ".join(parts))] if parts else []),
        *extremes(result.classes, how),
        *losses(result.system, units_of(result.model)),
        *STANDING[result.standing],
        *unit_note(result),
    ]
