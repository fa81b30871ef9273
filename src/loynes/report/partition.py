"""The page of divided servers."""

from __future__ import annotations

import math

from loynes.report.comparison import clear, size_of
from loynes.report.content import Content, Grid, Sure, page_for
from loynes.report.simulation import BIAS, EVENTS
from loynes.report.waits import cluster_facts, how_of, intervals, unit_note
from loynes.report.words import between, times
from loynes.results.charts.partition import charts
from loynes.results.records.partition import Partition

RULE = (
    "Every class has servers in proportion to the work it brings, rounded down to whole jobs; what is left over, at "
    "least as many as the largest job needs, helps all, first come, first served (balanced splitting, Anselmi and "
    "Doncel 2024)."
)


@page_for(Partition)
def content(result: Partition) -> Content:
    how, less, text = times(result.time_unit), result.difference, "not told apart from that in"
    if less is not None and math.isfinite(less.estimate) and clear(less):
        moves = f"{how(abs(less.estimate))}{between(size_of(less), result.confidence, how)}"
        text = f"{moves} {'shorter' if less.estimate < 0 else 'longer'} than in"
    return Content(
        kind="plan partition",
        title=result.title,
        facts=cluster_facts(result.model)[:-1],
        summary=[f"With servers divided the mean wait is {text} a shared pool.", *unit_note(result)],
        tiles=[],
        charts=charts(result),
        grids=[Grid.of(table, table.title) for table in result.tables],
        sure=Sure([RULE, EVENTS, BIAS, intervals(result.confidence)]),
        models=[(result.model.label, result.model)],
        how=how_of(
            result, confidence=result.confidence, jobs=result.divided.jobs + result.shared.jobs, model=result.model
        ),
    )
