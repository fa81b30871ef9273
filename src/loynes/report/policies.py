"""The page of a comparison of policies: the same jobs under each, and what each can carry."""

from __future__ import annotations

from typing import Any

from loynes.estimate import Estimate
from loynes.report.content import SHOWN_AT_FIRST, Cell, Content, Grid, Sure, Tile
from loynes.report.evaluation import UNIT, cluster_facts
from loynes.report.leaves import MEASURES, SYSTEM, Data, at, leaf, model_name, number, texts, triple
from loynes.report.reproduce import command_of, how_of
from loynes.report.simulation import BIAS, EVENTS
from loynes.report.words import about, between, count, listed, percent

LIMITS = (
    "What first come, first served can carry is the threshold of the recurrence. For the other policies it is an "
    "estimate: at many rates runs were watched for work that piles up. Its interval is a judgement, not a certificate."
)


def content(data: Data, asked: Data | None = None) -> Content:
    name, policies = model_name(data), texts(data.get("policies"))
    points = [p for p in data.get("points") or [] if isinstance(p, dict)]
    return Content(
        kind="compare policies",
        title=f"{name}: {listed(policies)} on the same jobs" if policies else f"{name}: policies",
        facts=[*cluster_facts(data)[:-1], count(len(policies), "policy", "policies")],
        summary=_sentences(data, policies, points),
        tiles=_tiles(data, policies),
        charts=[_chart(data, policies, points)] if points else [],
        grids=[*_limits(data), *_grid(policies, points)],
        sure=Sure([EVENTS, BIAS, *([LIMITS] if data.get("limits") else []), *_paired(data, policies)]),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "policies", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _sentences(data: Data, policies: list[str], points: list[Data]) -> list[str]:
    said = []
    compared = [(p, leaf(p, "difference")) for p in points if leaf(p, "difference") is not None]
    if compared and policies:
        last = max(number(p.get("load")) or 0.0 for p, _ in compared)
        for point, less in compared:
            if number(point.get("load")) == last and less is not None:
                moves = "shorter" if less.estimate < 0 else "longer"
                size = Estimate(abs(less.estimate), *sorted((abs(less.low), abs(less.high))))
                clear = less.low > 0 or less.high < 0
                sure = between(size, data.get("confidence"))
                said.append(
                    f"At {percent(last)} of what {policies[0]} can take, the mean wait under {point.get('policy')} is "
                    + (f"{about(size.estimate)}{sure} {moves}." if clear else "not told apart from it.")
                )
    carried = [f"{name} {about(rate.estimate)}" for name, rate in _rates(data) if rate is not None]
    if carried:
        said.append(f"Jobs a unit of time that each can carry: {', '.join(carried)}.")
    return [*said, "All policies had the very same jobs. " + UNIT]


def _rates(data: Data) -> list[tuple[str, Estimate | None]]:
    limits = data.get("limits")
    return [(str(n), leaf(limit, "rate")) for n, limit in limits.items()] if isinstance(limits, dict) else []


def _tiles(data: Data, policies: list[str]) -> list[Tile]:
    ideal = number(data.get("ideal"))
    found = []
    for name, rate in _rates(data)[:6]:
        if rate is not None:
            share = "" if not ideal else f"jobs a unit of time, {percent(rate.estimate / ideal)} of the ideal"
            found.append(Tile(f"{name} can carry", about(rate.estimate), share))
    return found


def _chart(data: Data, policies: list[str], points: list[Data]) -> dict[str, Any]:
    measures = (*MEASURES, *SYSTEM)
    by_place = {(number(p.get("load")), str(p.get("policy"))): p for p in points}
    loads = sorted({load for load, _ in by_place if load is not None})
    marks, means = [], []
    for load in loads:
        here = [at(by_place.get((load, name)), "result") for name in policies]
        waits = [[triple(leaf(at(r, "overall"), *m.path)) for r in here] for m in MEASURES]
        system = [[triple(leaf(at(r, "system"), *m.path)) for r in here] for m in SYSTEM]
        means += [m.estimate for r in here if (m := leaf(r, "overall", "wait", "mean")) is not None and m.estimate > 0]
        marks.append({"config": [load], "values": waits + system, "why": "no policy can carry it"})
    return {
        "kind": "lines",
        "title": "Policies against each other",
        "note": "Bands are intervals. Load is the rate over what first come, first served can take.",
        "measures": [m.label for m in measures],
        "vary": ["load"],
        "against": 0,
        "limits": [None],
        "names": "Policies",
        "series": [{"label": name, "shown": n <= SHOWN_AT_FIRST} for n, name in enumerate(policies)],
        "points": marks,
        "log": bool(means) and max(means) > 20 * min(means),
        "confidence": number(data.get("confidence")),
    }


def _limits(data: Data) -> list[Grid]:
    ideal = number(data.get("ideal"))
    rows = []
    for name, rate in _rates(data):
        share = None if rate is None or not ideal else rate.estimate / ideal
        rows.append([Cell(name), Cell.of(rate), Cell.of(share), Cell(str(at(data, "limits", name, "source") or ""))])
    return [Grid("What each can carry", ("policy", "largest rate", "of the ideal", "known from"), rows)] if rows else []


def _grid(policies: list[str], points: list[Data]) -> list[Grid]:
    paths = (("wait", "mean"), ("wait", "p95"), ("wait", "p99"), ("no_wait",))
    rows = []
    for point in points:
        result = point.get("result")
        place = [Cell.of(number(point.get("load"))), Cell.of(number(point.get("rate"))), Cell(str(point.get("policy")))]
        values = [leaf(result, "overall", *path) for path in paths]
        values.insert(1, leaf(point, "difference"))
        values += [leaf(result, "system", name) for name in ("utilization", "hol_loss")]
        note = "; ".join(texts(at(result, "warnings"))) if result is not None else str(point.get("why") or "")
        rows.append([*place, *map(Cell.of, values), Cell(note)])
    baseline = policies[0] if policies else "the first"
    columns = ("load", "rate", "policy", "mean wait", f"minus {baseline}", "p95", "p99", "no wait", "utilization",
               "HOL loss", "note")  # fmt: skip
    return [Grid("Every rate and policy, all jobs", columns, rows)] if rows else []


def _paired(data: Data, policies: list[str]) -> list[str]:
    confidence = number(data.get("confidence"))
    if confidence is None or not policies:
        return []
    return [
        f"Each interval holds the true value with {percent(confidence, 7)} confidence. Differences from {policies[0]} "
        "are taken on the same jobs, and known better than the waits themselves."
    ]
