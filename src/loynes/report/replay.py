"""The page of a replay: a recorded workload on a cluster, over time."""

from __future__ import annotations

import shlex
from typing import Any

from loynes.report.content import Cell, Content, Grid, Sure, Tile
from loynes.report.evaluation import extremes, losses, servers_chart, system_grid, typical, waits_chart
from loynes.report.leaves import Data, at, everyone, leaf, model_name, number, texts
from loynes.report.reproduce import how_of
from loynes.report.words import about, count, duration, percent

EXACT = (
    "A replay runs the recorded jobs once, from an empty cluster. Its figures are exact for these jobs on these "
    "servers in this order; they are no forecast of other jobs, so there is nothing to be unsure of and no certificate."
)
RECORDED = (
    "Where the log itself has waits, they are shown beside: the real scheduler may have let small jobs overtake, kept "
    "servers back, or been down."
)
SPAN_UNITS = ((3 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (300.0, 60.0, "minutes"))


def content(data: Data, asked: Data | None = None) -> Content:
    name, servers = model_name(data), number(at(data, "model", "servers"))
    by = str(data.get("by") or "need")
    jobs = number(data.get("jobs")) or 0
    source = str(at(data, "model", "source") or "the log")
    option = "" if by == "need" else f" --by {shlex.quote(by)}"
    size = "" if servers is None else f" --servers {servers:g}"
    policy = str(data.get("policy") or "fcfs")
    option += "" if policy == "fcfs" else f" --policy {shlex.quote(policy)}{_numbers_of(data.get('details'))}"
    return Content(
        kind="replay",
        title=f"{name}: a recorded workload",
        facts=[
            *([count(servers, "server")] if servers is not None else []),
            count(jobs, "job"),
            _order(policy),
            f"classes by {by}",
        ],
        summary=_sentences(data, jobs, servers, source, _order(policy)),
        tiles=_tiles(data),
        charts=[*series_charts(data, servers), _waits_chart(data), *servers_chart(data)],
        grids=[_waits(data), system_grid(data), *_lines(data)],
        sure=Sure([EXACT, *([RECORDED] if data.get("recorded") else [])]),
        models=[],
        command=[f"loynes replay {shlex.quote(source)}{size}{option}"],
        how=how_of({key: value for key, value in data.items() if key not in ("backend", "jobs")}, ("log", source)),
        warnings=texts(data.get("warnings")) + [f"Damaged: {text}" for text in texts(data.get("examples"))],
    )


def _order(policy: str) -> str:
    return "first come, first served" if policy == "fcfs" else f"under {policy}"


def _numbers_of(details: Any) -> str:
    """A policy's numbers, as options; requested times are what it believes in by default."""
    told = details if isinstance(details, dict) else {}
    asked = str(told.get("believed") or "").startswith("requested")
    names = [
        name for name in ("window", "threshold", "inflation") if name in told and not (name == "inflation" and asked)
    ]
    return "".join(f" --{name} {told[name]:g}" for name in names if number(told[name]) is not None)


def _sentences(data: Data, jobs: float, servers: float | None, source: str, order: str) -> list[str]:
    where = "" if servers is None else f" on {count(servers, 'server')}"
    span = number(data.get("span"))
    over = "" if span is None else f" over {duration(span)}"
    told = typical(data.get("overall"), duration)
    said = [f"Run{where}, {order}, {told}."] if told else []
    believed = at(data, "details", "believed")
    said += [f"The scheduler believed in {believed}."] if believed else []
    said.append(f"These are {count(jobs, 'job')} of {source}{over}.")
    mean, recorded = leaf(data, "overall", "wait", "mean"), leaf(data, "recorded", "overall", "mean")
    if mean is not None:
        beside = "" if recorded is None else f"; the log itself recorded {duration(recorded.estimate)}"
        said.append(f"The mean wait is {duration(mean.estimate)}{beside}.")
    use = leaf(data, "system", "utilization")
    if use is not None:
        said.append(f"{percent(use.estimate)} of the servers were busy, on average.")
    said += [text for text in (extremes(data, duration), losses(data)) if text]
    skipped = sum(int(n) for n in (data.get("skipped") or {}).values())
    if skipped:
        said.append(f"{count(skipped, 'line')} of the log could not be used.")
    return said


def _waits_chart(data: Data) -> dict[str, Any]:
    longest = leaf(data, "overall", "wait", "p99")
    return waits_chart(data, *_unit(0.0 if longest is None else longest.estimate))


def _unit(longest: float) -> tuple[float, str]:
    """The unit that times up to this are read best in: its seconds, its name."""
    return next(((size, name) for least, size, name in SPAN_UNITS if longest >= least), (1.0, "seconds"))


def _tiles(data: Data) -> list[Tile]:
    tiles = []
    for label, path, how, unit in (
        ("mean wait", ("overall", "wait", "mean"), duration, ""),
        ("99 in 100 wait at most", ("overall", "wait", "p99"), duration, ""),
        ("lost to blocking", ("system", "hol_loss"), about, "servers on average"),
        ("utilization", ("system", "utilization"), percent, ""),
    ):
        value = leaf(data, *path)
        if value is not None:
            tiles.append(Tile(label, how(value.estimate), unit))
    return tiles


def series_charts(data: Data, servers: float | None) -> list[dict[str, Any]]:
    series = data.get("series")
    begin, end = _numbers(series, "begin"), _numbers(series, "end")
    if not begin or len(begin) != len(end) or end[-1] is None:
        return []
    size, unit = _unit(end[-1])
    times = {
        "begin": [None if t is None else t / size for t in begin],
        "end": [None if t is None else t / size for t in end],
        "axis": f"{unit} since the first submission",
    }
    used = [("busy servers", "busy_servers"), ("lost to head-of-line blocking", "hol_loss")]
    lines = [{"label": label, "values": _numbers(series, key)} for label, key in used]
    waiting = [{"label": "waiting jobs", "values": _numbers(series, "jobs_waiting"), "colour": 2}]
    top = None if servers is None else {"value": servers, "label": count(servers, "server")}
    note = "Averages in windows of time."
    return [
        {"kind": "steps", "title": "Servers over time", "note": note, "series": lines, "top": top, "unit": "servers"}
        | times,
        {
            "kind": "steps",
            "title": "Waiting jobs over time",
            "note": note,
            "series": waiting,
            "top": None,
            "unit": "jobs",
        }
        | times,
    ]


def _numbers(series: Any, name: str) -> list[float | None]:
    found = at(series, name)
    return [number(x) for x in found] if isinstance(found, list | tuple) else []


def _waits(data: Data) -> Grid:
    told = at(data, "recorded", "classes")
    rows = []
    for place, (name, waits) in enumerate(everyone(data)):
        recorded = leaf(at(data, "recorded", "overall") if place == 0 else at(told, name), "mean")
        need = at(waits, "need")
        text = "" if not isinstance(need, list) else "–".join(f"{n}" for n in dict.fromkeys(need))
        jobs = number(data.get("jobs") if place == 0 else at(waits, "jobs"))
        times = [leaf(waits, "wait", "mean"), recorded, *(leaf(waits, "wait", p) for p in ("p50", "p95", "p99"))]
        more = [leaf(waits, "no_wait"), leaf(waits, "response", "mean")]
        first = number(need[0]) if isinstance(need, list) and need else None
        rows.append([Cell(name), Cell(text, first), Cell.of(jobs), *map(Cell.of, [*times, *more])])
    columns = ("class", "need", "jobs", "mean wait", "recorded", "median", "p95", "p99", "no wait", "mean response")
    return Grid("Waits by class, in seconds", columns, rows, pinned=1)


def _lines(data: Data) -> list[Grid]:
    rows = [[Cell("data lines"), Cell.of(number(data.get("records")))]]
    rows.append([Cell("jobs replayed"), Cell.of(number(data.get("jobs")))])
    for what in ("skipped", "repaired"):
        rows += [[Cell(f"{what}: {why}"), Cell.of(number(n))] for why, n in (data.get(what) or {}).items()]
    return [Grid("What was read", ("lines", "count"), rows)]
