"""The page of a plan: what meets every objective, and what does not."""

from __future__ import annotations

from typing import Any

from loynes.report.certificate import of_several
from loynes.report.content import Cell, Content, Grid, Tile, rows_chart
from loynes.report.evaluation import UNIT, cluster_facts, losses, servers_chart, typical, waits_chart, waits_grid
from loynes.report.leaves import Data, Triple, at, leaf, model_name, number, texts, triple, units_of
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import NONE, about, between, percent

PLACES = (("fails", "not met"), ("meets", "met"), ("next", "one further"))


def content(data: Data, asked: Data | None = None) -> Content:
    name, vary = model_name(data), str(data.get("vary") or "")
    goals = [goal for goal in data.get("objectives") or [] if isinstance(goal, dict)]
    places = _places(data)
    meets: Data = at(data, "meets") if isinstance(at(data, "meets"), dict) else {}
    detailed = [waits_chart(meets), *servers_chart(meets)] if meets else []
    for chart in detailed:
        chart["title"] += f" at {_said(data.get('answer'), vary)}"
    return Content(
        kind="plan",
        title=f"{name}: " + ("the largest rate that is good enough" if vary == "rate" else "how many it takes"),
        facts=[*cluster_facts(data)[1:], *_rate(data, vary)],
        summary=_sentences(data, goals, vary, meets),
        tiles=_tiles(data, goals, vary, places),
        charts=[_chart(goal, places, vary, data) for goal in goals] + detailed,
        grids=[_grid(data, goals, places, vary)]
        + ([waits_grid(meets, f"Waits at {_said(data.get('answer'), vary)}")] if meets else []),
        sure=of_several([(label, data.get(key)) for key, label in PLACES]),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "plan", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _rate(data: Data, vary: str) -> list[str]:
    rate = number(data.get("rate"))
    return [f"rate {rate:.6g}"] if rate is not None and vary != "rate" else []


def _said(value: Any, vary: str) -> str:
    text = f"{value:,.6g}" if number(value) is not None else str(value)
    return f"rate {text}" if vary == "rate" else f"{text} {vary.removeprefix('resources.')}"


def _places(data: Data) -> list[tuple[str, str, Any]]:
    """Where objectives were evaluated: key, what it is, value of what is varied."""
    vary = str(data.get("vary") or "")
    values = {"meets": data.get("answer"), "fails": data.get("fails_at"), "next": None}
    for key in ("fails", "next"):
        result = data.get(key)
        if values[key] is None and isinstance(result, dict):
            kind = vary.removeprefix("resources.")
            values[key] = result.get("rate") if vary == "rate" else units_of(result).get(kind)
    return [(key, label, values[key]) for key, label in PLACES]


def _value(data: Data, goal: Data, key: str) -> Any:
    """A goal's quantity at a place; where the goal does not say, what lies in that evaluation where it lies in the one
    that meets it."""
    if goal.get(key) is not None:
        return leaf(goal, key)
    meets = goal.get("meets")
    path = _path_of(data.get("meets"), meets) if isinstance(meets, dict) else None
    return None if path is None else leaf(data.get(key), *path)


def _path_of(data: Any, wanted: Data, path: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    if not isinstance(data, dict):
        return None
    if path and data == wanted:
        return path
    names = ("overall", "classes", "system") if not path else tuple(data)
    found = (_path_of(data.get(name), wanted, (*path, name)) for name in names)
    return next((one for one in found if one is not None), None)


def _sentences(data: Data, goals: list[Data], vary: str, meets: Data) -> list[str]:
    statement = str(data.get("statement") or f"{_said(data.get('answer'), vary)} meet every objective")
    said = [statement[0].upper() + statement[1:].rstrip(".") + "."]
    for goal in goals:
        met, not_met = _value(data, goal, "meets"), _value(data, goal, "fails")
        if met is not None:
            text = f"{goal.get('text')}: {about(met.estimate)}{between(met, data.get('confidence'))}"
            text += f"; {about(not_met.estimate)} where it is not met" if not_met is not None else ""
            said.append(text + ".")
    if not isinstance(data.get("fails"), dict) and data.get("fails_why"):
        said.append(f"Less was not evaluated: {str(data['fails_why']).rstrip('.')}.")
    if meets:
        told = typical(meets.get("overall"))
        said += [f"At {_said(data.get('answer'), vary)}, {told}."] if told else []
        said += [text for text in (losses(meets),) if text]
    further, mean = leaf(data, "next", "overall", "wait", "mean"), leaf(meets, "overall", "wait", "mean")
    if further is not None and mean is not None and mean.estimate > 0 and vary != "rate":
        saved = 1 - further.estimate / mean.estimate
        said.append(f"One more would take {percent(saved)} off the mean wait of {about(mean.estimate)}.")
    said.append(UNIT)
    return said


def _tiles(data: Data, goals: list[Data], vary: str, places: list[tuple[str, str, Any]]) -> list[Tile]:
    answer = number(data.get("answer"))
    tiles = [
        Tile(vary.removeprefix("resources."), NONE if answer is None else f"{answer:,.6g}", "meet every objective")
    ]
    for goal in goals[:3]:
        value, bound = _value(data, goal, "meets"), number(goal.get("bound"))
        if value is not None:
            tiles.append(
                Tile(str(goal.get("text")), about(value.estimate), "" if bound is None else f"bound {bound:g}")
            )
    return tiles


def _chart(goal: Data, places: list[tuple[str, str, Any]], vary: str, data: Data) -> dict[str, Any]:
    rows: list[tuple[str, list[Triple | None]]] = []
    colours: dict[str, str] = {}
    for key, label, value in places:
        found = _value(data, goal, key)
        if found is not None:
            rows.append((f"{_said(value, vary)}, {label}" if value is not None else label, [triple(found)]))
            colours |= {rows[-1][0]: "c1"} if key == "fails" else {}
    text = str(goal.get("text"))
    return rows_chart(
        f"Objective: {text}",
        text.partition("<")[0].partition(">=")[0].strip(),
        ["value"],
        rows,
        together=True,
        colours=colours,
        bound=number(goal.get("bound")),
        at_least=">=" in text,
        confidence=number(data.get("confidence")),
        note="The whole interval must lie on the shaded side of the bound.",
    )


def _grid(data: Data, goals: list[Data], places: list[tuple[str, str, Any]], vary: str) -> Grid:
    rows = []
    for key, label, value in places:
        result = data.get(key)
        if value is None and not isinstance(result, dict):
            continue
        cells = [_value(data, goal, key) for goal in goals]
        cells += [leaf(result, *path) for path in (("overall", "wait", "mean"), ("system", "hol_loss"))]
        met = "no" if key == "fails" else "yes"
        rows.append([Cell.of(number(value)), *map(Cell.of, cells), Cell(met), Cell(label)])
    columns = (vary or "value", *(str(goal.get("text")) for goal in goals), "mean wait", "HOL loss", "met", "place")
    return Grid("At the answer and beside it", columns, rows)
