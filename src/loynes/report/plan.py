"""The page of a plan: what meets every objective, and what does not."""

from __future__ import annotations

import math
from collections.abc import Callable

from loynes.report.certificate import of_several
from loynes.report.content import Cell, Content, Grid, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, losses, rate_tile, typical, unit_note
from loynes.report.words import about, between, percent, sentence, times
from loynes.results.charts.measures import units_of
from loynes.results.charts.plan import charts, places, value_of, verdict
from loynes.results.records.plan import Goal, Plan

TRIED = "At the closest look at each; a value counts as met, or not, only if its whole interval does."


@page_for(Plan)
def content(result: Plan) -> Content:
    rate = [] if result.vary == "rate" else [f"rate {result.rate_words(result.rate)}"]
    what = "the largest rate that is good enough" if result.vary == "rate" else "how many it takes"
    answers = [one for one in (result.fails, result.meets, result.next) if one is not None]
    title = f"Waits at {result.named(result.answer)}"
    return Content(
        kind="plan",
        title=f"{result.model.label}: {what}",
        facts=[*cluster_facts(result.model, result.policy)[1:], *rate],
        summary=_sentences(result),
        tiles=[
            _answer(result),
            *(
                Tile(goal.text, _how(result, goal)(goal.meets.estimate), verdict(goal, goal.meets))
                for goal in result.objectives[:3]
            ),
        ],
        charts=charts(result),
        grids=[
            _grid(result),
            Grid.of(result.meets.summary, title, pinned=1),
            Grid.of(result.curve_summary, "All values that were tried", note=TRIED),
        ],
        sure=of_several(answers),
        models=[(result.model.label, result.model)],
        how=how_of(result, confidence=result.confidence, jobs=sum(one.jobs for one in answers), model=result.model),
    )


def _sentences(result: Plan) -> list[str]:
    sentences = [sentence(result.statement)]
    for goal in result.objectives:
        how = _how(result, goal)
        text = f"{goal.text}: {how(goal.meets.estimate)}{between(goal.meets, result.confidence, how)}"
        if goal.fails is not None and result.fails_at is not None:
            judged = verdict(goal, goal.fails)
            text += f"; {how(goal.fails.estimate)} at {result.named(result.fails_at)}, where it is {_also(judged)}"
        sentences.append(text + ".")
    if result.fails is None and result.fails_why:
        sentences.append(f"Less was not evaluated: {result.fails_why.rstrip('.')}.")
    sentences.append(f"At {result.named(result.answer)}, {typical(result.meets.overall, times(result.time_unit))}.")
    sentences += losses(result.meets.system, units_of(result.meets.model))
    mean = result.meets.overall.wait.mean.estimate
    if result.next is not None and result.vary != "rate" and 0 < mean < math.inf:
        saved = percent(1 - result.next.overall.wait.mean.estimate / mean)
        sentences.append(f"One more would take {saved} off the mean wait of {times(result.time_unit)(mean)}.")
    return [*sentences, *unit_note(result)]


def _answer(result: Plan) -> Tile:
    if result.vary == "rate":
        return rate_tile("rate", result.answer, result.time_unit, 6, "meets every objective")
    return Tile(result.noun, f"{result.answer:,.6g}", "meets every objective")


def _how(result: Plan, goal: Goal) -> Callable[[float], str]:
    """What writes an objective's quantity."""
    return times(result.time_unit) if goal.unit == "time" else about


def _also(judged: str) -> str:
    return {"met": "met as well", "cannot be told": "too close to the bound to be told"}.get(judged, judged)


def _grid(result: Plan) -> Grid:
    rows = []
    for place, at, there in places(result):
        cells = []
        for goal in result.objectives:
            value = value_of(goal, place)
            judged = "" if value is None else f", {verdict(goal, value)}"
            shown = Cell.of(result.in_unit(value, goal.unit))
            cells.append(Cell(shown.text + judged, shown.value, shown.ends))
        more = [None, None] if there is None else [result.in_time(there.overall.wait.mean), there.system.hol_loss]
        met = "no" if place == "beside the answer" else "yes"
        rows.append(
            [
                Cell.of(result.in_rate(at) if result.vary == "rate" else at),
                *cells,
                *map(Cell.of, more),
                Cell(met),
                Cell(place),
            ]
        )
    columns = (result.noun, *(goal.text for goal in result.objectives), "mean wait", "HOL loss", "all met", "place")
    return Grid("At the answer and beside it", columns, rows)
