"""The page of an event-driven simulation: waits under a policy, and the cluster over time."""

from __future__ import annotations

from typing import Any

from loynes.report.content import Cell, Content, Grid, Sure
from loynes.report.evaluation import (
    UNIT,
    cluster_facts,
    extremes,
    losses,
    servers_chart,
    system_grid,
    tiles,
    typical,
    waits_chart,
    waits_grid,
)
from loynes.report.leaves import Data, Measure, at, everyone, leaf, model_name, number, texts, triple
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import about, between, count, percent

EVENTS = (
    "Events were run one after the other: arrivals, ends of jobs, and after each the policy said who starts. Replicas "
    "are independent, so intervals are honest for what was run."
)
BIAS = (
    "There is no certificate: replicas that start empty are a little too lightly loaded at first, and what is left of "
    "that after the burn-in is not bounded."
)
OVER_TIME = "All replicas begin in the same way and are followed over time; averages are over that time."
AT_MOMENTS = (
    Measure("mean wait of those who come", ("wait",)),
    Measure("median wait of those who come", ("wait_p50",)),
    Measure("p95 of the wait of those who come", ("wait_p95",)),
    Measure("jobs waiting", ("jobs_waiting",)),
    Measure("jobs in system", ("jobs_in_system",)),
    Measure("busy servers", ("busy_servers",)),
    Measure("HOL loss (servers)", ("hol_loss",)),
)


def content(data: Data, asked: Data | None = None) -> Content:
    rate, name, policy = number(data.get("rate")), model_name(data), str(data.get("policy") or "fcfs")
    facts = [*cluster_facts(data)[:-1], policy, *([f"rate {rate:.6g}"] if rate is not None else [])]
    moments, horizon = _moments(data), number(data.get("horizon"))
    facts.append(f"from {data.get('start') or 'empty'}" + ("" if horizon is None else f" to time {horizon:g}"))
    return Content(
        kind="simulate",
        title=f"{name}: {policy}, event by event",
        facts=facts,
        summary=_sentences(data, policy, moments),
        tiles=tiles(data),
        charts=[*_over_time(data, moments), waits_chart(data), *servers_chart(data)],
        grids=[*_scenario(data), *_at_moments(moments), waits_grid(data), _slowdowns(data), system_grid(data)],
        sure=_sure(data, horizon),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "simulate", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _moments(data: Data) -> list[Data]:
    return [m for m in data.get("moments") or [] if isinstance(m, dict) and number(m.get("time")) is not None]


def _sentences(data: Data, policy: str, moments: list[Data]) -> list[str]:
    said = []
    told, mean = typical(data.get("overall")), leaf(data, "overall", "wait", "mean")
    if told:
        said.append(f"Under {policy}, {told}.")
    if mean is not None:
        said.append(f"The mean wait is {about(mean.estimate)}{between(mean, data.get('confidence'))}.")
    found = [(m["time"], wait) for m in moments if (wait := leaf(m, "wait")) is not None]
    if len(found) > 1:
        least, most = (pick(found, key=lambda one: one[1].estimate) for pick in (min, max))
        said.append(
            f"Over time, those who come at {most[0]:g} wait longest, {about(most[1].estimate)} on average; those who "
            f"come at {least[0]:g} least, {about(least[1].estimate)}."
        )
    said += [text for text in (extremes(data), losses(data)) if text]
    return [*said, UNIT]


def _over_time(data: Data, moments: list[Data]) -> list[dict[str, Any]]:
    if len(moments) < 2:
        return []
    marks = [
        {"config": [number(m["time"])], "values": [[triple(leaf(m, *one.path))] for one in AT_MOMENTS], "why": ""}
        for m in moments
    ]
    return [
        {
            "kind": "lines",
            "title": "Over time",
            "note": "Bands are intervals.",
            "measures": [one.label for one in AT_MOMENTS],
            "vary": ["time"],
            "against": 0,
            "limits": [None],
            "series": [{"label": "all jobs", "shown": True}],
            "points": marks,
            "log": False,
            "confidence": number(data.get("confidence")),
        }
    ]


def _at_moments(moments: list[Data]) -> list[Grid]:
    rows = [[Cell.of(number(m["time"])), *(Cell.of(leaf(m, *one.path)) for one in AT_MOMENTS)] for m in moments]
    return [Grid("Over time", ("time", *(one.label for one in AT_MOMENTS)), rows)] if rows else []


def _scenario(data: Data) -> list[Grid]:
    from loynes.model.cluster import Model

    try:
        changes = Model.model_validate(at(data, "model", "definition")).scenario or ()
    except ValueError:
        return []
    rows = [
        [Cell(c.label), Cell.of(c.since), Cell("for ever") if c.until is None else Cell.of(c.until)] for c in changes
    ]
    return [Grid("Scenario", ("change", "from", "until"), rows)] if rows else []


def _slowdowns(data: Data) -> Grid:
    rows = [[Cell(name), Cell.of(leaf(data, "slowdown", name))] for name, _ in everyone(data)]
    note = "Response over service. Its mean is infinite where services can be arbitrarily short."
    return Grid("Slowdowns", ("class", "mean slowdown"), rows, pinned=1, note=note)


def _sure(data: Data, horizon: float | None) -> Sure:
    confidence, replicas = number(data.get("confidence")), number(data.get("replicas"))
    said = [EVENTS, BIAS if horizon is None and data.get("start") == "empty" else OVER_TIME]
    if confidence is not None:
        base = f" They come from {count(replicas, 'independent replica')}." if replicas else ""
        said.append(f"Each interval holds the true value with {percent(confidence, 7)} confidence.{base}")
    return Sure(said)
