"""The page of a sweep: the same question at many points."""

from __future__ import annotations

import math
from collections.abc import Callable

from loynes.estimators.metrics import Metric, metric
from loynes.report.certificate import of_several
from loynes.report.content import Cell, Content, Grid, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, unit_note
from loynes.report.words import about, count, listed, times
from loynes.results.charts.sweep import charts
from loynes.results.paths import in_words
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.sweep import Point, Sweep
from loynes.results.tables import asked_percentiles


@page_for(Sweep)
def content(result: Sweep) -> Content:
    answers = [(point, point.result) for point in result.points if point.result is not None]
    verb = "changes" if len(result.vary) == 1 else "change"
    return Content(
        kind="sweep",
        title=f"{result.model.label}: waits as {listed([in_words(name) for name in result.vary])} {verb}",
        facts=[*cluster_facts(result.model, result.policy), count(len(result.points), "point")],
        summary=_sentences(result, answers),
        tiles=_tiles(result, answers),
        charts=charts(result),
        grids=[_grid(result)],
        sure=of_several([answer for _, answer in answers]),
        models=[(result.model.label, result.model)],
        how=how_of(
            result, confidence=result.confidence, jobs=sum(answer.jobs for _, answer in answers), model=result.model
        ),
    )


def _named(result: Sweep, point: Point) -> str:
    return ", ".join(f"{in_words(name)} {_text(result, name, value)}" for name, value in point.config.items())


def _text(result: Sweep, name: str, value: object) -> str:
    if not isinstance(value, float | int):
        return str(value)
    return result.rate_words(value) if name == "rate" else f"{value:g}"


def _ranked(answers: list[tuple[Point, Evaluation]]) -> list[tuple[float, Point]]:
    """Points by their mean wait, the shortest first."""
    means = [(answer.overall.wait.mean.estimate, point) for point, answer in answers]
    return sorted(((mean, point) for mean, point in means if math.isfinite(mean)), key=lambda pair: pair[0])


def _sentences(result: Sweep, answers: list[tuple[Point, Evaluation]]) -> list[str]:
    points = count(len(result.points), "point")
    sentences = [
        *_moves(result, answers),
        f"Varied: {'; '.join(_varied(result, name) for name in result.vary)}. {points} in all.",
    ]
    missing = len(result.points) - len(answers)
    if missing:
        sentences.append(
            f"{count(missing, 'point')} {'has' if missing == 1 else 'have'} no answer; the table says why."
        )
    return [
        *sentences,
        "All points were computed with the same random numbers, so they can be compared.",
        *unit_note(result),
    ]


def _varied(result: Sweep, name: str) -> str:
    values = [point.config[name] for point in result.points]
    if all(isinstance(value, float | int) for value in values):
        least, most = (_text(result, name, pick(values)) for pick in (min, max))
        return f"{in_words(name)} from {least} to {most}"
    return f"{in_words(name)} ({listed(sorted({_text(result, name, value) for value in values}), 6)})"


def _moves(result: Sweep, answers: list[tuple[Point, Evaluation]]) -> list[str]:
    """How waits and losses change from one end to the other, or between which waits lie."""
    ranked = _ranked(answers)
    name = result.vary[0]
    if len(result.vary) == 1 and len(answers) > 1 and all(isinstance(p.config[name], float | int) for p, _ in answers):
        ordered = sorted(answers, key=lambda pair: float(pair[0].config[name]))
        (low, first), (high, last) = ordered[0], ordered[-1]
        how = times(result.time_unit)
        where = f" between {_named(result, low)} and {_named(result, high)}"
        return [
            *_grows("The mean wait", first.overall.wait.mean.estimate, last.overall.wait.mean.estimate, where, how),
            *_grows("HOL loss", first.system.hol_loss.estimate, last.system.hol_loss.estimate, " servers"),
        ]
    if not ranked:
        return []
    how = times(result.time_unit)
    least, most = (f"{how(mean)} ({_named(result, point)})" for mean, point in (ranked[0], ranked[-1]))
    return [f"The mean wait lies between {least} and {most}."]


def _grows(label: str, first: float, last: float, where: str, how: Callable[[float], str] = about) -> list[str]:
    if not (math.isfinite(first) and math.isfinite(last)):
        return []
    return [f"{label} {'grows' if last >= first else 'falls'} from {how(first)} to {how(last)}{where}."]


def _tiles(result: Sweep, answers: list[tuple[Point, Evaluation]]) -> list[Tile]:
    of = "" if len(answers) == len(result.points) else f"of {len(result.points):,}"
    ranked = _ranked(answers)
    ends = (("shortest mean wait", ranked[0]), ("longest mean wait", ranked[-1])) if ranked else ()
    waits = [Tile(label, times(result.time_unit)(wait), f"at {_named(result, point)}") for label, (wait, point) in ends]
    return [Tile("points", f"{len(answers):,}", of), *waits]


def _grid(result: Sweep) -> Grid:
    rest = [name for name in ("rate", "load") if name not in result.vary]
    first = next((point.result.overall for point in result.points if point.result is not None), None)
    names = ("wait.mean", *(f"wait.{name}" for name in asked_percentiles(first)), "no_wait", "utilization", "hol_loss")
    shown = [metric(name) for name in names]
    rows = []
    for point in result.points:
        answer = point.result
        config = [
            Cell.of(result.in_rate(v) if n == "rate" else v if isinstance(v, float | int | str) else str(v))
            for n, v in point.config.items()
        ]
        if answer is None:
            rows.append([*config, *(Cell.of(None) for _ in (*rest, *shown)), Cell(point.why)])
            continue
        numbers = [Cell.of({"rate": result.in_rate(answer.rate), "load": answer.load}[name]) for name in rest]
        metrics = [
            Cell.of(result.in_unit(m.get(answer.overall if m.of == "class" else answer.system), m.unit)) for m in shown
        ]
        rows.append([*config, *numbers, *metrics, Cell(answer.standing)])
    columns = (*map(in_words, result.vary), *rest, *(_head(m) for m in shown), "note")
    return Grid("Every point, all jobs", columns, rows)


def _head(one: Metric) -> str:
    return "HOL loss" if one.name == "hol_loss" else one.column
