"""The page of an exact answer."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.report.content import Cell, Content, Grid, Sure, Tile, page_for
from loynes.report.threshold import capacity_tiles, sentences
from loynes.report.waits import cluster_facts, how_of, rate_tile, unit_note
from loynes.report.words import percent, times
from loynes.results.charts.exact import charts, losses
from loynes.results.charts.measures import units_of
from loynes.results.records.exact import Exact

EXACT = (
    "These are numbers without intervals: the equations of a Markov chain were solved, or a formula was evaluated. "
    "They share no code with the samplers, which they are there to check."
)
TAILS = "For large x, a job waits longer than x with probability constant × exp(−decay rate × x)."
MOST_JOBS = 30


@page_for(Exact)
def content(result: Exact) -> Content:
    kinds = losses(result)
    at_rate = (
        [] if result.rate is None else [f"rate {result.rate_words(result.rate)}", f"load {percent(result.load or 0.0)}"]
    )
    chain = [f"chain of {result.states:,} states"] if result.states else []
    first = [] if result.overall is None else [Tile("mean wait", times(result.time_unit)(result.overall.mean))]
    return Content(
        kind="exact",
        title=f"{result.model.label}: exact figures",
        facts=[*cluster_facts(result.model), *at_rate, *chain],
        summary=[
            *_waits(result),
            *sentences(
                Estimate.exact(result.threshold),
                result.model.ideal,
                kinds,
                units_of(result.model),
                None,
                result.time_unit,
            ),
            *unit_note(result),
        ],
        tiles=[
            *first,
            rate_tile("limit", result.threshold, result.time_unit, 6),
            *capacity_tiles(result.utilization, kinds, result.model.ideal, result.time_unit),
        ],
        charts=charts(result),
        grids=[
            Grid.of(result.class_summary, "By class"),
            *([] if result.decay_rate is None else [Grid.of(result.tail_summary, "Tails of waits", note=TAILS)]),
            Grid.of(result.summary, "Figures"),
            *_jobs(result),
        ],
        sure=Sure([EXACT, *_error(result)]),
        models=[(result.model.label, result.model)],
        how=how_of(result, method=result.method, model=result.model),
    )


def _waits(result: Exact) -> list[str]:
    if result.overall is None or result.load is None:
        return []
    start = f"{percent(result.overall.no_wait)} of all jobs start at once"
    mean = times(result.time_unit)(result.overall.mean)
    return [f"At {percent(result.load)} of what it can take, the mean wait is {mean}; {start}."]


def _error(result: Exact) -> list[str]:
    if result.error is None or not math.isfinite(result.error):
        return []
    right = [] if result.digits is None else [f"Of waits, {result.digits} digits are right; others are not shown."]
    return [
        f"Busy servers, which are known beforehand, came out right but for a relative error of {result.error:.1g}.",
        *right,
    ]


def _jobs(result: Exact) -> list[Grid]:
    rows = [[Cell.of(n), Cell.of(p)] for n, p in enumerate(result.jobs_in_system[:MOST_JOBS])]
    more = len(result.jobs_in_system) - MOST_JOBS
    note = f"{more:,} larger numbers are left out." if more > 0 else ""
    return [Grid("Jobs in the system", ("jobs", "probability"), rows, note=note)] if rows else []
