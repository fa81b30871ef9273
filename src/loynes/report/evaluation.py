"""The page of an evaluation; its tables and sentences also serve plans and comparisons."""

from __future__ import annotations

from typing import Any

from loynes.estimate import Estimate
from loynes.report.certificate import explained
from loynes.report.content import Cell, Content, Grid, Tile, part, parts_chart, rows_chart
from loynes.report.leaves import (
    TIMES,
    Data,
    Triple,
    at,
    classes_of,
    everyone,
    exceeds_of,
    leaf,
    model_name,
    number,
    texts,
    triple,
    units_of,
)
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import about, between, cell, count, listed, percent

UNIT = "Times are in the model's own unit."


def content(data: Data, asked: Data | None = None) -> Content:
    rate, name = number(data.get("rate")), model_name(data)
    facts = [*cluster_facts(data), *([f"rate {rate:.6g}"] if rate is not None else []), *load_fact(data)]
    return Content(
        kind="evaluate",
        title=f"{name}: how long jobs wait",
        facts=facts,
        summary=sentences(data),
        tiles=tiles(data),
        charts=[waits_chart(data), *servers_chart(data)],
        grids=[waits_grid(data), system_grid(data)],
        sure=explained(data),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "evaluate", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def cluster_facts(data: Data) -> list[str]:
    facts = [", ".join(f"{units:,.10g} {kind}" for kind, units in units_of(data).items())]
    classes = at(data, "model", "definition", "classes")
    facts.append(count(len(classes), "class", "classes") if isinstance(classes, list) else "")
    facts.append(str(at(data, "model", "definition", "discipline") or "first come, first served"))
    return [fact for fact in facts if fact]


def load_fact(data: Data) -> list[str]:
    load = number(data.get("load"))
    return [] if load is None else [f"load {percent(load)}"]


def sentences(data: Data) -> list[str]:
    """What was asked, what the answer is, how sure."""
    said = []
    waits, rate, load = data.get("overall"), number(data.get("rate")), number(data.get("load"))
    threshold = leaf(data, "threshold")
    if load is not None and threshold is not None and rate is not None:
        start = (
            f"At {percent(load)} of what it can take ({about(rate)} of {about(threshold.estimate)} jobs a unit of time)"
        )
    else:
        start = "At this rate"
    told = typical(waits)
    said.append(f"{start}, {told}." if told else f"{start}, there is no finite wait to report.")
    mean, no_wait = leaf(waits, "wait", "mean"), leaf(waits, "no_wait")
    more = []
    if mean is not None:
        more.append(f"the mean wait is {about(mean.estimate)}{between(mean, data.get('confidence'))}")
    if no_wait is not None:
        more.append(f"{percent(no_wait.estimate)} of all jobs start at once")
    if more:
        said.append(", and ".join(more)[0].upper() + ", and ".join(more)[1:] + ".")
    said += [text for text in (extremes(data), losses(data)) if text]
    if not isinstance(data.get("certificate"), dict):
        said.append("There is no certificate, so these are lower bounds: the truth may be higher.")
    said.append(UNIT)
    return said


def typical(waits: Any, how: Any = about) -> str:
    """Half wait less than this, one in a hundred more than that."""
    half, most = leaf(waits, "wait", "p50"), leaf(waits, "wait", "p99")
    told = []
    if half is not None:
        none = "at least half of all jobs do not wait at all"
        told.append(none if half.estimate <= 0 else f"half of all jobs wait less than {how(half.estimate)}")
    if most is not None and most.estimate > 0:
        told.append(f"one in a hundred more than {how(most.estimate)}")
    return "; ".join(told)


def extremes(data: Data, how: Any = about) -> str:
    """Which class waits longest, and which least."""
    means = {name: leaf(waits, "wait", "mean") for name, waits in classes_of(data).items()}
    found = {name: mean.estimate for name, mean in means.items() if mean is not None}
    if len(found) < 2:
        return ""
    longest, least = max(found, key=lambda name: found[name]), min(found, key=lambda name: found[name])
    return f"{longest} waits longest, {how(found[longest])} on average; {least} least, {how(found[least])}."


def losses(data: Data) -> str:
    """How many servers blocking costs."""
    units, system = units_of(data), data.get("system")
    kinds = at(system, "resources") or {"servers": system}
    lost = []
    for kind, values in kinds.items():
        loss = leaf(values, "hol_loss")
        if loss is not None:
            lost.append(f"{about(loss.estimate)}" + (f" of {units[kind]:,.10g}" if kind in units else "") + f" {kind}")
    return f"{listed(lost)} are lost to head-of-line blocking at any time." if lost else ""


def tiles(data: Data) -> list[Tile]:
    waits, system = data.get("overall"), data.get("system")
    load, threshold = number(data.get("load")), leaf(data, "threshold")
    found = [
        tile("mean wait", leaf(waits, "wait", "mean"), data),
        tile("99 in 100 wait at most", leaf(waits, "wait", "p99"), data),
        tile("lost to blocking", leaf(system, "hol_loss"), data, f"{_scarce(data)} on average"),
    ]
    if load is not None:
        detail = "" if threshold is None else f"limit: {cell(threshold)} jobs a unit of time"
        found.append(Tile("load", percent(load), detail))
    return [one for one in found if one is not None]


def _scarce(data: Data) -> str:
    """What HOL loss is counted in: servers, or the resource that has it."""
    kinds, loss = at(data, "system", "resources"), at(data, "system", "hol_loss")
    named = (
        [kind for kind, values in kinds.items() if at(values, "hol_loss") == loss] if isinstance(kinds, dict) else []
    )
    return named[0] if named else "servers"


def tile(label: str, value: Estimate | None, data: Data, unit: str = "") -> Tile | None:
    if value is None:
        return None
    told = between(value, data.get("confidence")).strip(" ()")
    return Tile(label, about(value.estimate), " · ".join(text for text in (unit, told) if text))


def waits_chart(data: Data, size: float = 1.0, unit: str = "") -> dict[str, Any]:
    """Waits in units of so many seconds, where the unit has a name."""

    def scaled(value: Estimate | None) -> Triple | None:
        return triple(None if value is None else value.scaled(1.0 / size))

    rows = [(name, [scaled(leaf(waits, *m.path)) for m in TIMES]) for name, waits in everyone(data)]
    return rows_chart(
        "Waits by class",
        "wait" + (f" ({unit})" if unit else ""),
        ["mean", "median", "p95", "p99"],
        rows,
        together=True,
        offer_log=True,
        confidence=number(data.get("confidence")),
        note="p95: 95 of 100 jobs wait at most so long."
        + (" Bars are intervals." if number(data.get("confidence")) is not None else ""),
    )


def servers_chart(data: Data) -> list[dict[str, Any]]:
    """Where the servers are: busy, lost, idle."""
    units, system = units_of(data), data.get("system")
    kinds = at(system, "resources")
    bars = []
    for kind, total in units.items():
        values = kinds.get(kind) if isinstance(kinds, dict) else system
        busy = leaf(values, "busy") or leaf(values, "busy_servers")
        loss = leaf(values, "hol_loss")
        if busy is None or loss is None:
            continue
        rest = Estimate.exact(max(total - busy.estimate - loss.estimate, 0.0))
        parts = [
            part("busy", busy, "busy"),
            part("lost to head-of-line blocking", loss, "lost"),
            part("idle otherwise", rest, "idle"),
        ]
        bars.append({"label": kind, "total": total, "parts": parts})
    note = (
        "Averages over time. Lost servers stand idle because the job at the head of the line needs more than are free."
    )
    return [parts_chart("What the servers do", bars, note)] if bars else []


def waits_grid(data: Data, title: str = "Waits by class") -> Grid:
    needs = need_texts(data)
    measures = (*TIMES, *exceeds_of(data))
    rows = []
    for name, waits in everyone(data):
        times = [leaf(waits, *m.path) for m in TIMES]
        tails = [leaf(waits, *m.path) for m in measures[len(TIMES) :]]
        values = [*times, leaf(waits, "no_wait"), *tails, leaf(waits, "response", "mean")]
        need = needs.get(name, "")
        rows.append([Cell(name), Cell(need, number(_whole(need))), *map(Cell.of, values)])
    columns = (
        "class",
        "need",
        "mean wait",
        "median",
        "p95",
        "p99",
        "no wait",
        *(m.label for m in measures[len(TIMES) :]),
    )
    return Grid(title, (*columns, "mean response"), rows, pinned=1)


def _whole(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


def need_texts(data: Data) -> dict[str, str]:
    """What each class needs, as other tables show it; empty where the model cannot be read."""
    from loynes.model.cluster import Model

    definition = at(data, "model", "definition")
    if not isinstance(definition, dict):
        return {}
    try:
        return {c.label: c.need_text for c in Model.model_validate(definition).classes}
    except ValueError:
        return {}


def system_grid(data: Data) -> Grid:
    system = data.get("system")
    jobs = ("jobs_in_system", "jobs_waiting")
    names: tuple[str, ...] = ("busy_servers", "utilization", "idle_servers", "hol_loss", *jobs)
    rows: list[tuple[str, Estimate | None]] = []
    kinds = at(system, "resources")
    if isinstance(kinds, dict) and kinds:
        for kind, values in kinds.items():
            own = ("busy", "utilization", "idle", "hol_loss")
            rows += [(f"{kind} {name.replace('_', ' ')}", leaf(values, name)) for name in own]
        names = jobs
    rows += [(name.replace("_", " ").replace("hol", "HOL"), leaf(system, name)) for name in names]
    return Grid("The cluster", ("quantity", "value"), [[Cell(name), Cell.of(value)] for name, value in rows])
