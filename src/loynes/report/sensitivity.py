"""The page of a sensitivity: what every change of a little does."""

from __future__ import annotations

import math
from collections.abc import Callable

from loynes.report.content import Cell, Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, intervals, tile, unit_note
from loynes.report.words import about, between, count, listed, percent, sentence, times
from loynes.results.charts.sensitivity import charts
from loynes.results.quantity import quantity
from loynes.results.records.sensitivity import Effect, HasEffects, Sensitivity, most_effective

DERIVATIVE = (
    "Derivatives are taken along the simulated paths: every wait is a sum of services and gaps, and a derivative says "
    "how much of it is made of each class's services, or of gaps."
)
DIFFERENCE = (
    "Differences are between two runs on the same jobs, so that chance cancels. Where a step to both sides is given, "
    "they have a bias of the order of its square, which the interval does not hold."
)


@page_for(Sensitivity)
def content(result: Sensitivity) -> Content:
    model = result.model
    methods = {one.method for one in result.effects}
    how = [text for name, text in (("derivative", DERIVATIVE), ("difference", DIFFERENCE)) if name in methods]
    return Content(
        kind="sensitivity",
        title=result.title,
        facts=[*([] if model is None else cluster_facts(model)), f"rate {result.rate_words(result.rate)}"],
        summary=_sentences(result),
        tiles=effects_tiles(result, result.confidence),
        charts=charts(result, result.confidence),
        grids=[effects_grid(result)],
        sure=Sure([intervals(result.confidence, result.replicas), *how, *map(sentence, result.remarks)]),
        models=[] if model is None else [(model.label, model)],
        how=how_of(result, backend=result.backend, confidence=result.confidence, jobs=result.jobs, model=result.model),
    )


def _sentences(result: Sensitivity) -> list[str]:
    sentences = [sentence(result.statement)]
    small = most_effective(tuple(one for one in result.effects if one.reverse), result.grows)
    best = most_effective(result.effects, result.grows)
    if small is not None and best is not None and small.words != best.words:
        sentences.append(sentence(f"of all small changes, {result.told(small)}"))
    unstable = [one.words for one in result.effects if not math.isfinite(one.effect.estimate)]
    if unstable:
        sentences.append(sentence(f"the cluster would be unstable with {listed(unstable)}"))
    return [*sentences, *unit_note(result)]


def _how(result: HasEffects) -> Callable[[float], str]:
    """What writes the objective."""
    return times(result.time_unit) if result.unit == "time" else about


def effects_tiles(result: HasEffects, confidence: float) -> list[Tile]:
    best = most_effective(result.effects, result.grows)
    tiles = tile(result.label, result.base, confidence, how=_how(result))
    if best is not None:
        sign = "+" if best.effect.estimate > 0 else ""
        tiles.append(Tile("most effective", f"{sign}{_how(result)(best.effect.estimate)}", best.words))
    return [*tiles, Tile("changes tried", count(len(result.effects), "change"), "")]


def effects_grid(result: HasEffects) -> Grid:
    columns = ("what changes", "by", f"change of {result.noun}", "interval", "in percent", "method", "step")
    rows = [_row(result, one) for one in result.effects]
    return Grid("Effects", columns, rows, note="The largest first; of one percent more, one more or one fewer.")


def _row(result: HasEffects, one: Effect) -> list[Cell]:
    finite = math.isfinite(one.effect.estimate)
    value = Cell.of(quantity(one.effect, result.unit, result.time_unit)) if finite else Cell(one.note or "unstable")
    ends = between(one.effect, None, _how(result)).strip(" ()") if finite else ""
    step = "" if one.step is None else f"±{percent(one.step, 2)}"
    share = result.share(one)
    told = Cell(f"{share:+.3g}".replace("-", "−"), share) if finite and math.isfinite(share) else Cell.of(None)
    return [
        Cell(one.lever), Cell(one.change.replace("-", "−")), value, Cell(ends), told,
        Cell(one.method), Cell(step),
    ]  # fmt: skip
