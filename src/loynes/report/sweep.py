"""The page of a sweep: the same question at many points."""

from __future__ import annotations

from typing import Any

from loynes.report.certificate import of_several
from loynes.report.content import SHOWN_AT_FIRST, Cell, Content, Grid, Tile
from loynes.report.evaluation import UNIT, cluster_facts
from loynes.report.leaves import (
    ALL,
    MEASURES,
    SYSTEM,
    Data,
    at,
    classes_of,
    exceeds_of,
    leaf,
    model_name,
    number,
    texts,
    triple,
)
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import about, count, listed

RATES = ("rate", "arrivals.rate")


def content(data: Data, asked: Data | None = None) -> Content:
    points = [p for p in data.get("points") or [] if isinstance(p, dict)]
    found = [p for p in points if isinstance(p.get("result"), dict)]
    vary, name = texts(data.get("vary")), model_name(data)
    return Content(
        kind="sweep",
        title=f"{name}: " + (f"waits as {listed(vary)} change{'s' * (len(vary) == 1)}" if vary else "a sweep"),
        facts=[*cluster_facts(data), count(len(points), "point")],
        summary=_sentences(points, found, vary),
        tiles=_tiles(points, found, vary),
        charts=[chart(data, points, vary)],
        grids=[_grid(points, vary)],
        sure=of_several([(_named(p, vary), p["result"]) for p in found]),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "sweep", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _named(point: Data, vary: list[str]) -> str:
    return ", ".join(f"{name} {_said(at(point, 'config', name))}" for name in vary)


def _said(value: Any) -> str:
    return f"{value:g}" if number(value) is not None else str(value)


def _ends(found: list[Data], vary: list[str]) -> tuple[Data, Data] | None:
    """The points of the smallest and the largest value, if one number was varied."""
    if len(vary) != 1 or len(found) < 2 or any(number(at(p, "config", vary[0])) is None for p in found):
        return None
    ordered = sorted(found, key=lambda p: float(p["config"][vary[0]]))
    return ordered[0], ordered[-1]


def _ranked(found: list[Data]) -> list[tuple[float, Data]]:
    """Points by their mean wait, the shortest first."""
    means = [(leaf(p["result"], "overall", "wait", "mean"), p) for p in found]
    return sorted(((mean.estimate, p) for mean, p in means if mean is not None), key=lambda pair: pair[0])


def _sentences(points: list[Data], found: list[Data], vary: list[str]) -> list[str]:
    said, varied = [], []
    for name in vary:
        values = [value for p in points if (value := at(p, "config", name)) is not None]
        numbers = [x for value in values if (x := number(value)) is not None]
        if values and len(numbers) == len(values):
            varied.append(f"{name} from {min(numbers):g} to {max(numbers):g}")
        elif values:
            varied.append(f"{name} ({listed(sorted({_said(value) for value in values}), 6)})")
    ends = _ends(found, vary)
    if ends is not None:
        for label, path in (("the mean wait", ("overall", "wait", "mean")), ("HOL loss", ("system", "hol_loss"))):
            first, last = (leaf(p["result"], *path) for p in ends)
            if first is not None and last is not None:
                moves = f"from {about(first.estimate)} to {about(last.estimate)}"
                grows = "grows" if last.estimate >= first.estimate else "falls"
                unit = " servers" if label == "HOL loss" else ""
                where = f" between {_named(ends[0], vary)} and {_named(ends[1], vary)}" if label != "HOL loss" else ""
                said.append(f"{label[0].upper()}{label[1:]} {grows} {moves}{unit}{where}.")
    elif ranked := _ranked(found):
        least, most = (f"{about(mean)} ({_named(point, vary)})" for mean, point in (ranked[0], ranked[-1]))
        said.append(f"The mean wait lies between {least} and {most}.")
    said += [f"Varied: {'; '.join(varied)}. {count(len(points), 'point')} in all."] if varied else []
    missing = len(points) - len(found)
    if missing:
        verb = "has" if missing == 1 else "have"
        said.append(f"{count(missing, 'point')} {verb} no answer; the table says why.")
    said.append("All points were computed with the same random numbers, so they can be compared. " + UNIT)
    return said


def _tiles(points: list[Data], found: list[Data], vary: list[str]) -> list[Tile]:
    tiles = [Tile("points", f"{len(found):,}", "" if len(found) == len(points) else f"of {len(points):,}")]
    if ranked := _ranked(found):
        for label, (wait, point) in (
            ("shortest mean wait", ranked[0]),
            ("longest mean wait", ranked[-1]),
        ):
            tiles.append(Tile(label, about(wait), f"at {_named(point, vary)}"))
    return tiles


def chart(data: Data, points: list[Data], vary: list[str]) -> dict[str, Any]:
    """One line a class for every measure; what is varied besides the axis is chosen by the reader."""
    results = [p["result"] for p in points if isinstance(p.get("result"), dict)]
    names = list(dict.fromkeys(name for result in results for name in classes_of(result)))
    measures = (*MEASURES, *(exceeds_of(results[0]) if results else ()))
    marks = []
    for point in points:
        result = point.get("result")
        waits = [at(result, "overall"), *(at(result, "classes", name) for name in names)]
        values = [[triple(leaf(one, *m.path)) for one in waits] for m in measures]
        values += [[triple(leaf(result, "system", *m.path))] for m in SYSTEM]
        config = [_point(at(point, "config", name)) for name in vary]
        marks.append({"config": config, "values": values, "why": str(point.get("why") or "")})
    first = next((vary.index(name) for name in ("load", "rate") if name in vary), 0)
    means = [m.estimate for r in results if (m := leaf(r, "overall", "wait", "mean")) is not None and m.estimate > 0]
    return {
        "kind": "lines",
        "title": "How it changes",
        "note": "Bands are intervals." + (" Crosses at the top have no answer." if len(results) < len(points) else ""),
        "measures": [m.label for m in (*measures, *SYSTEM)],
        "vary": vary,
        "against": first,
        "limits": [_limit(name, results) for name in vary],
        "series": [
            {"label": label, "shown": n <= SHOWN_AT_FIRST} for n, label in enumerate([ALL, *names])
        ],
        "points": marks,
        "log": bool(means) and max(means) > 100 * min(means),
        "confidence": number(data.get("confidence")),
    }  # fmt: skip


def _point(value: Any) -> float | str:
    found = number(value)
    return str(value) if found is None else found


def _limit(name: str, results: list[Data]) -> float | None:
    """Where the cluster becomes unstable: load 1, or the threshold if it is the same everywhere."""
    if name == "load":
        return 1.0
    found = [t for r in results if (t := leaf(r, "threshold")) is not None] if name in RATES else []
    same = found and max(t.low for t in found) <= min(t.high for t in found)
    return found[0].estimate if same else None


def _grid(points: list[Data], vary: list[str]) -> Grid:
    rest = [name for name in ("rate", "load") if name not in vary]
    paths = (("overall", "wait", "mean"), ("overall", "wait", "p95"), ("overall", "wait", "p99"),
             ("overall", "no_wait"), ("system", "utilization"), ("system", "hol_loss"))  # fmt: skip
    rows = []
    for point in points:
        result = point.get("result")
        config = [Cell.of(at(point, "config", name)) for name in vary]
        numbers = [leaf(result, name) for name in rest] + [leaf(result, *path) for path in paths]
        certified = isinstance(at(result, "certificate"), dict)
        note = str(point.get("why") or "") if result is None else "certified" if certified else "lower bound"
        rows.append([*config, *map(Cell.of, numbers), Cell(note)])
    columns = (*vary, *rest, "mean wait", "p95", "p99", "no wait", "utilization", "HOL loss", "note")
    return Grid("Every point, all jobs", columns, rows)
