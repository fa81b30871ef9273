"""The page of a comparison: B minus A, with the interval of the difference."""

from __future__ import annotations

from typing import Any

from loynes.estimate import Estimate
from loynes.report.certificate import of_several
from loynes.report.content import Cell, Content, Grid, Tile, rows_chart
from loynes.report.evaluation import UNIT, waits_grid
from loynes.report.leaves import ALL, MEASURES, Data, at, leaf, model_name, number, texts, triple
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import about, between, listed, percent


def content(data: Data, asked: Data | None = None) -> Content:
    a, b = _names(data)
    different = data.get("differences")
    rows = [(ALL, at(different, "overall")), *(at(different, "classes") or {}).items()]
    measures = [m for m in MEASURES if any(leaf(waits, *m.path) is not None for _, waits in rows)]
    chart = rows_chart(
        f"{b} minus {a}",
        "difference",
        [m.label for m in measures],
        [(name, [triple(leaf(waits, *m.path)) for m in measures]) for name, waits in rows],
        zero=True,
        confidence=number(data.get("confidence")),
        note=f"Left of zero: less with “{b}”. Hollow marks: the interval holds zero, so there may be no difference.",
    )
    sides = [(a, data.get("a")), (b, data.get("b"))]
    return Content(
        kind="compare",
        title=f"{a} against {b}",
        facts=[f"{name}{_of(name, side)}{_at(side)}" for name, side in sides],
        summary=_sentences(data, f"“{a}”", f"“{b}”", rows),
        tiles=_tiles(data),
        charts=[chart] if measures else [],
        grids=[_grid(rows, measures, a, b), *_system(data, a, b)]
        + [waits_grid(side, f"Waits by class: {name}") for name, side in sides if isinstance(side, dict)],
        sure=of_several(sides),
        models=[(f"{name}{_of(name, side)}", at(side, "model", "definition")) for name, side in sides],
        command=command_of(data, "compare", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _names(data: Data) -> tuple[str, str]:
    given = texts(data.get("names"))
    return (given[0], given[1]) if len(given) == 2 else ("A", "B")


def _of(name: str, side: Any) -> str:
    return "" if model_name(side) == name else f": {model_name(side)}"


def _at(side: Any) -> str:
    rate = number(at(side, "rate"))
    return "" if rate is None else f" at rate {rate:.6g}"


def _clear(value: Estimate) -> bool:
    return value.low > 0 or value.high < 0


def _sentences(data: Data, a: str, b: str, rows: list[tuple[str, Any]]) -> list[str]:
    said = []
    mean, before = leaf(data, "differences", "overall", "wait", "mean"), leaf(data, "a", "overall", "wait", "mean")
    if mean is not None:
        moves = "shorter" if mean.estimate < 0 else "longer"
        share = f" or {percent(abs(mean.estimate) / before.estimate)}" if before and before.estimate > 0 else ""
        if _clear(mean):
            sure = between(_size(mean), data.get("confidence"))
            said.append(f"With {b} the mean wait is {about(abs(mean.estimate))}{sure}{share} {moves} than with {a}.")
        else:
            said.append(
                f"Between {a} and {b} no difference of the mean wait can be told"
                f"{between(mean, data.get('confidence'))}."
            )
    found = [(name, leaf(waits, "wait", "mean")) for name, waits in rows[1:]]
    groups: dict[str, list[str]] = {"shorter": [], "longer": [], "not told apart": []}
    for name, value in found:
        if value is not None:
            key = "not told apart" if not _clear(value) else "shorter" if value.estimate < 0 else "longer"
            groups[key].append(name)
    everyone = {key: len(names) == len(found) for key, names in groups.items()}
    parts = [f"{key} for {'all' if everyone[key] else listed(names)}" for key, names in groups.items() if names]
    if len(found) > 1 and parts:
        said.append(f"By class, waits with {b} are " + "; ".join(parts) + ".")
    loss = leaf(data, "differences", "system", "hol_loss")
    if loss is not None:
        more = "more" if loss.estimate > 0 else "fewer"
        verb = f"loses {about(abs(loss.estimate))} {more} servers" if _clear(loss) else "loses about as many servers"
        said.append(
            f"{b} {verb} to head-of-line blocking than {a}." if _clear(loss) else f"{b} {verb} to blocking as {a}."
        )
    said.append(
        "Both were driven by the same random numbers, so the interval of a difference is narrower than theirs. " + UNIT
    )
    return said


def _size(value: Estimate) -> Estimate:
    """Of a difference that is clear, its size."""
    return value if value.estimate >= 0 else Estimate(-value.estimate, -value.high, -value.low)


def _tiles(data: Data) -> list[Tile]:
    tiles = []
    for label, path in (
        ("mean wait", ("overall", "wait", "mean")),
        ("p99 of the wait", ("overall", "wait", "p99")),
        ("HOL loss", ("system", "hol_loss")),
    ):
        change = leaf(data, "differences", *path)
        if change is not None:
            sides = [leaf(data, side, *path) for side in ("a", "b")]
            detail = " → ".join("?" if one is None else about(one.estimate) for one in sides)
            sign = "+" if change.estimate > 0 else ""
            tiles.append(Tile(f"{label}: change", f"{sign}{about(change.estimate)}", detail))
    return tiles


def _grid(rows: list[tuple[str, Any]], measures: list[Any], a: str, b: str) -> Grid:
    lines = [[Cell(name), *(Cell.of(leaf(waits, *m.path)) for m in measures)] for name, waits in rows]
    return Grid(f"Differences: {b} minus {a}", ("class", *(m.label for m in measures)), lines, pinned=1)


def _system(data: Data, a: str, b: str) -> list[Grid]:
    system = at(data, "differences", "system")
    names = [name for name in system if name != "resources"] if isinstance(system, dict) else []
    rows = []
    for name in names:
        values = [leaf(data, "a", "system", name), leaf(data, "b", "system", name), leaf(system, name)]
        rows.append([Cell(name.replace("_", " ").replace("hol", "HOL")), *map(Cell.of, values)])
    return [Grid("The cluster", ("quantity", a, b, f"{b} minus {a}"), rows)] if rows else []
