"""The page of a stability threshold."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, intervals, lost, rate_tile, tile
from loynes.report.words import about, between, percent, rate_scale, rates
from loynes.results.charts.measures import units_of
from loynes.results.charts.threshold import charts, losses
from loynes.results.records.threshold import BY_WORK, Threshold

BRACKET = (
    "The limit lies between two bounds that hold for every length of run, not only for long ones: a pile of jobs grows "
    "at least as fast as its bottom, on average, and at most as fast as its top. A short run gives a wide bracket, "
    "never a wrong one."
)
CYCLES = (
    "Some jobs need all servers and end everything before them, so the run falls into independent pieces; their "
    "average is the answer, without any bias of where the run began."
)
WORK = (
    "Strictly in turn, a job waits only while fewer servers are free than it needs, so in a full cluster at most one "
    "server less than the largest need idles, and all others work. Both ends follow from that and from the mean "
    "services alone: they are proved, and nothing was sampled."
)
WATCHED = (
    "Nothing bounds this limit: it was found by watching. At two rates a little beyond it the line never runs out, and "
    "the servers that are kept busy say how many jobs the policy carries; the limit is where the straight line through "
    "both meets the rate itself. The interval is that of the runs, extended by a quarter of what the line takes off."
)
WHY = {"regenerative": CYCLES, BY_WORK: WORK}
LIMIT = "above that the line grows without end."


@page_for(Threshold)
def content(result: Threshold) -> Content:
    kinds = losses(result)
    sampled = result.method != BY_WORK
    terms = [("replicas", str(result.replicas), "Independent runs that the interval comes from.")] if sampled else []
    if result.variance_reduction > 1:
        meaning = "By this factor the known means of the jobs' services narrowed the variance; no bias comes from it."
        terms.append(("variance reduction", about(result.variance_reduction), meaning))
    why = WATCHED if result.is_estimate else WHY.get(result.method, BRACKET)
    return Content(
        kind="stability",
        title=f"{result.model.label}: how much load it can take",
        facts=cluster_facts(result.model, result.policy),
        summary=sentences(
            result.threshold, result.ideal, kinds, units_of(result.model), result.confidence, result.time_unit
        ),
        tiles=[
            *_limit(result),
            *capacity_tiles(result.max_utilization.estimate, kinds, result.ideal, result.time_unit),
        ],
        charts=charts(result),
        grids=[Grid.of(result.summary, "Figures")],
        sure=Sure([why, *([intervals(result.confidence)] if sampled else [])], terms),
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


def _limit(result: Threshold) -> list[Tile]:
    factor, name = rate_scale(result.threshold.estimate, result.time_unit)
    scaled = result.threshold.scaled(factor)
    return tile("limit", scaled, result.confidence, name if result.time_unit else "", how=lambda x: about(x, 4))


def sentences(
    threshold: Estimate,
    ideal: float,
    kinds: dict[str, Estimate],
    units: dict[str, int],
    confidence: float | None,
    time_unit: str | None,
) -> list[str]:
    """How much the cluster can take, and what blocking costs when it is full."""
    if not math.isfinite(threshold.estimate):
        return ["There is no finite limit to report."]
    text, how = lost(kinds, units), rates(time_unit, 4)
    ends = between(threshold, confidence, about if time_unit is None else how)
    return [
        f"The cluster can take up to {how(threshold.estimate)}{ends}; {LIMIT}",
        f"If no server were ever blocked it could take {how(ideal)}: no more than "
        f"{percent(threshold.estimate / ideal)} of the servers can be kept busy.",
        *([f"Head-of-line blocking costs {text} when the cluster is full."] if text else []),
    ]


def capacity_tiles(utilization: float, kinds: dict[str, Estimate], ideal: float, time_unit: str | None) -> list[Tile]:
    """Largest utilization, servers lost when full, and the limit without blocking."""
    return [
        Tile("largest utilization", percent(utilization)),
        *(Tile(f"{kind} lost when full", about(loss.estimate)) for kind, loss in kinds.items()),
        rate_tile("without blocking", ideal, time_unit),
    ]
