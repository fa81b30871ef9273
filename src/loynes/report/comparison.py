"""The page of a comparison: second minus first, with the interval of the difference."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.estimators.metrics import metric
from loynes.model.cluster import Model
from loynes.model.units import shown_in
from loynes.report.certificate import of_several
from loynes.report.content import Cell, Content, Grid, Tile, page_for
from loynes.report.waits import how_of, unit_note
from loynes.report.words import about, between, listed, percent, step, times
from loynes.results.charts.comparison import charts, compared, differences, minus
from loynes.results.quantity import quantity
from loynes.results.records.comparison import Comparison
from loynes.results.tables import shown_percentiles


@page_for(Comparison)
def content(result: Comparison) -> Content:
    a, b = result.called
    sides = [
        (name if side.model.label == name else f"{name}: {side.model.label}", side)
        for name, side in zip(result.called, (result.a, result.b), strict=True)
    ]
    metrics = compared(result)
    rows = [
        [Cell(name), *(Cell.of(quantity(minus(one, m), m.unit, result.time_unit)) for m in metrics)]
        for name, one in differences(result)
    ]
    return Content(
        kind="compare",
        title=f"{a} against {b}",
        facts=[f"{name} at rate {side.rate_words(side.rate)}" for name, side in sides],
        summary=_sentences(result),
        tiles=_tiles(result),
        charts=charts(result),
        grids=[
            Grid(f"Differences: {b} minus {a}", ("class", *(m.column for m in metrics)), rows, pinned=1),
            _system(result),
            *(Grid.of(side.summary, f"Waits by class: {name}", pinned=1) for name, side in sides),
        ],
        sure=of_several([result.a, result.b]),
        models=[(sides[0][0], sides[0][1].model), (sides[1][0], _second(result))],
        how=how_of(
            result,
            method=result.a.method,
            backend=result.a.backend,
            confidence=result.confidence,
            jobs=result.a.jobs + result.b.jobs,
        ),
    )


def _second(result: Comparison) -> Model:
    """The second model as it was given: its own rate, which another one may have replaced, is part of the question."""
    given = result.question.get("other")
    return result.b.model if given is None else Model.model_validate(given)


def clear(value: Estimate) -> bool:
    """Whether a difference is surely one."""
    return value.low > 0 or value.high < 0


def size_of(value: Estimate) -> Estimate:
    """The size of a difference that is clear."""
    return value if value.estimate >= 0 else Estimate(-value.estimate, -value.high, -value.low)


def _sentences(result: Comparison) -> list[str]:
    a, b = (f"“{name}”" for name in result.called)
    mean, before = result.overall.wait["mean"], result.a.overall.wait.mean.estimate
    sentences, how = [], times(result.time_unit)
    if clear(mean):
        share = f" or {percent(abs(mean.estimate) / before)}" if 0 < before < math.inf else ""
        size = f"{how(abs(mean.estimate))}{between(size_of(mean), result.confidence, how)}{share}"
        sentences.append(f"With {b} the mean wait is {size} {_side(mean)} than with {a}.")
    else:
        ends = between(mean, result.confidence, how)
        sentences.append(f"Between {a} and {b} no difference of the mean wait can be told{ends}.")
    groups: dict[str, list[str]] = {"shorter": [], "longer": [], "not told apart": []}
    for name, one in result.classes.items():
        value = one.wait["mean"]
        groups[_side(value) if clear(value) else "not told apart"].append(name)
    parts = [
        f"{key} for {'all' if len(names) == len(result.classes) else listed(names)}"
        for key, names in groups.items()
        if names
    ]
    if len(result.classes) > 1:
        sentences.append(f"By class, waits with {b} are {'; '.join(parts)}.")
    loss = result.system["hol_loss"]
    if clear(loss):
        more = "more" if loss.estimate > 0 else "fewer"
        sentences.append(f"{b} loses {about(abs(loss.estimate))} {more} servers to head-of-line blocking than {a}.")
    else:
        sentences.append(f"{b} loses about as many servers to blocking as {a}.")
    paired = "Both were driven by the same random numbers, so the interval of a difference is narrower than theirs."
    return [*sentences, paired, *unit_note(result)]


def _side(value: Estimate) -> str:
    return "shorter" if value.estimate < 0 else "longer"


def _tiles(result: Comparison) -> list[Tile]:
    waits, systems = (result.a.overall, result.b.overall), (result.a.system, result.b.system)
    last = shown_percentiles(result.a.overall)[-1]
    changes = [
        # Means are of the classes that both have, as their difference is.
        ("wait.mean", result.overall.means, result.overall.wait["mean"]),
        (f"wait.{last}", [metric(f"wait.{last}").get(side) for side in waits], result.overall.wait[last]),
        ("hol_loss", [metric("hol_loss").get(side) for side in systems], result.system["hol_loss"]),
    ]
    tiles = []
    for name, (before, after), change in changes:
        unit = ""
        if result.time_unit is not None and metric(name).unit == "time":
            factor, unit = shown_in(change.estimate, result.time_unit)
            before, after, change = (one.scaled(factor) for one in (before, after, change))
        value, detail = step(before.estimate, after.estimate, change.estimate)
        tiles.append(
            Tile(f"{metric(name).label}: change", f"{value} {unit}".strip(), f"{detail} {unit}" if detail else "")
        )
    return tiles


def _system(result: Comparison) -> Grid:
    a, b = result.called
    rows = []
    for name, change in result.system.items():
        one = metric(name)
        sides = [one.get(side.system) for side in (result.a, result.b)]
        rows.append([Cell(one.label), *map(Cell.of, (*sides, change))])
    return Grid("The cluster", ("quantity", a, b, f"{b} minus {a}"), rows)
