"""The pages of forecasts of starts, and of how good such forecasts were."""

from __future__ import annotations

import math

from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.waits import how_of
from loynes.report.words import count, duration, listed, percent
from loynes.results.charts.backtest import charts as backtest_charts
from loynes.results.charts.eta import charts as eta_charts
from loynes.results.records.backtest import Backtest
from loynes.results.records.eta import Eta, Recalibration, clock

DRAWN = (
    "Every draw gives each job a run time and lets the policy start the jobs; a running job's time is drawn given that "
    "it exceeds what it has run already. Intervals are those of the draws."
)
IN_TURN = "First come, first served, nobody passes the jobs in line: whoever comes later does not matter."
LATER = "Jobs that come later are days of the history, drawn at random for every draw."
UNIFORM = "There is no history: run times are taken to be uniform up to each job's limit, which is a guess."
LEARNT = "Run times are learnt from jobs that had ended, of like limits, users and needs."
MODELLED = "Run times are by the laws of a model's classes, given what each job has run, and at most its limit."
ON_NODES = (
    "Jobs are tasks that each run on one node. Running jobs are on the nodes that the listing names; where it names "
    "none, they are put as closely together as they fit."
)
TEST_IT = "How often such intervals hold on a log of yours, eta --backtest says."
JUDGED = (
    "At random instants at which somebody waits, up to ten waiting jobs are judged, evenly over the line. The truths "
    "of one log hang together; standard errors of shares take stretches of the log as independent, not jobs."
)


@page_for(Eta)
def content(result: Eta) -> Content:
    now = [] if result.now is None else [clock(result.now)]
    size = ", ".join(f"{units} {kind}" for kind, units in result.model.units.items())
    laws = MODELLED if "model" in result.history else LEARNT if result.history else UNIFORM
    nodes = [ON_NODES] if result.model.nodes else []
    tested = TEST_IT if result.recalibration is None else _recalibrated(result.recalibration)
    sure = [DRAWN, IN_TURN if result.horizon is None else LATER, laws, *nodes, tested]
    return Content(
        kind="eta",
        title=f"{result.model.name}: when waiting jobs start",
        facts=[size, f"policy {result.policy}", *now],
        summary=_sentences(result),
        tiles=[
            Tile("waiting", f"{result.waiting:,}", "jobs"),
            Tile("running", f"{len(result.running):,}", "jobs"),
            Tile("draws", f"{result.draws:,}"),
        ],
        charts=eta_charts(result),
        grids=[Grid.of(table, table.title) for table in result.tables],
        sure=Sure(sure),
        how=how_of(result, ("listing", result.model.source), method="draws"),
    )


def _sentences(result: Eta) -> list[str]:
    sentences = []
    if result.jobs:
        first, last = result.jobs[0], max(result.jobs, key=lambda one: one.median)
        sentences.append(f"Job {first.id} starts within {_within(first.median)} in half of all draws.")
        if last is not first:
            sentences.append(f"The last one to start, job {last.id}, does within {_within(last.median)}.")
    for one in result.what_if[:3]:
        sentences.append(f"What if: {one.id} would start within {_within(one.median)} in half of all draws.")
    if result.left_out:
        sentences.append(f"{count(len(result.left_out), 'job')} left out: the table has why.")
    return sentences


def _recalibrated(found: Recalibration) -> str:
    held = listed([f"{percent(value)} in {percent(float(share))} intervals" for share, value in found.held.items()])
    return (
        f"Quantiles are recalibrated: of {found.judged:,} jobs that waited at {found.instants} earlier instants of "
        f"{found.source}, {held} of the draws held {found.truth}; those are taken that would have held as often as "
        "they should. What is shown over time, of the line and of the servers, is that of the draws."
    )


def _within(seconds: float) -> str:
    return duration(seconds) if math.isfinite(seconds) else "the horizon or later"


@page_for(Backtest)
def backtest(result: Backtest) -> Content:
    ours = result.scores[0]
    held = listed([f"{percent(value)} in {percent(float(share))} intervals" for share, value in ours.coverage.items()])
    return Content(
        kind="eta backtest",
        title=f"{result.model.name}: how good forecasts of starts were",
        facts=[f"policy {result.policy}", f"against {result.truth}", count(result.instants, "instant")],
        summary=[
            f"Of what happened, {held}.",
            f"The pinball loss is {percent(result.saved)} below that of a forecast in which all jobs use their limits.",
        ],
        tiles=[
            Tile("in 80% intervals", percent(ours.coverage["0.8"])),
            Tile("in 95% intervals", percent(ours.coverage["0.95"])),
            Tile("judged", f"{result.judged:,}", "jobs"),
        ],
        charts=backtest_charts(result),
        grids=[Grid.of(table, table.title) for table in result.tables],
        sure=Sure([DRAWN, JUDGED]),
        how=how_of(result, ("log", result.model.source), method="draws"),
    )
