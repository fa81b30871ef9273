"""The pages of a threshold and of a file of samples."""

from __future__ import annotations

from typing import Any

from loynes.estimate import Estimate
from loynes.report.certificate import explained
from loynes.report.content import Cell, Content, Grid, Sure, Tile, part, parts_chart, rows_chart
from loynes.report.evaluation import cluster_facts, load_fact
from loynes.report.leaves import Data, at, leaf, model_name, number, texts, triple, units_of
from loynes.report.reproduce import command_of, how_of
from loynes.report.words import about, between, cell, count, listed, percent

BRACKET = (
    "The limit lies between two bounds that hold for every length of run, not only for long ones: a pile of jobs grows "
    "at least as fast as its bottom, on average, and at most as fast as its top. A short run gives a wide bracket, "
    "never a wrong one."
)
CYCLES = (
    "Some jobs need all servers and end everything before them, so the run falls into independent pieces; their "
    "average is the answer, without any bias of where the run began."
)


def content(data: Data, asked: Data | None = None) -> Content:
    threshold, name = leaf(data, "threshold"), model_name(data)
    losses = _losses(data)
    ideal = number(data.get("ideal"))
    rows = [("limit", threshold), ("without blocking", None if ideal is None else Estimate.exact(ideal))]
    top = rows_chart(
        "Jobs a unit of time",
        "arrival rate",
        ["rate"],
        [(label, [triple(value)]) for label, value in rows],
        together=True,
        confidence=number(data.get("confidence")),
        note="Without blocking: if no server ever stood idle behind a job that waits for others.",
    )
    sure = [BRACKET if data.get("method") != "regenerative" else CYCLES]
    confidence = number(data.get("confidence"))
    if confidence is not None:
        sure.append(f"Each interval holds the true value with {percent(confidence, 7)} confidence.")
    reduction = number(data.get("variance_reduction"))
    terms = [("replicas", f"{data.get('replicas')}", "Independent runs that the interval comes from.")]
    if reduction is not None and reduction > 1:
        meaning = "By this factor the known means of the jobs' services narrowed the variance; no bias comes from it."
        terms.append(("variance reduction", about(reduction), meaning))
    values = [("limit", threshold), ("largest utilization", _utilization(threshold, ideal))]
    values += [(f"{kind} lost when saturated", loss) for kind, loss in losses.items()]
    values.append(("limit without blocking", None if ideal is None else Estimate.exact(ideal)))
    grid = Grid("Figures", ("quantity", "estimate", "low", "high"), [_row(label, value) for label, value in values])
    return Content(
        kind="stability",
        title=f"{name}: how much load it can take",
        facts=[
            *cluster_facts(data),
            *([str(data["discipline"])] if data.get("discipline") not in (None, "fcfs") else []),
        ],
        summary=_sentences(data, threshold, ideal, losses),
        tiles=_tiles(data, threshold, ideal, losses),
        charts=[top, *_saturated(data, losses)],
        grids=[grid],
        sure=Sure(sure, terms if data.get("replicas") is not None else []),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "stability", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )


def _losses(data: Data) -> dict[str, Estimate | None]:
    kinds = data.get("resources")
    if isinstance(kinds, dict) and kinds:
        return {kind: leaf(values, "hol_loss_saturated") for kind, values in kinds.items()}
    return {"servers": leaf(data, "hol_loss_saturated")}


def _utilization(threshold: Estimate | None, ideal: float | None) -> Estimate | None:
    return None if threshold is None or not ideal else threshold.scaled(1.0 / ideal)


def _row(label: str, value: Estimate | None) -> list[Cell]:
    ends = [None, None] if value is None else [number(value.low), number(value.high)]
    return [Cell(label), Cell.of(value), *(Cell("–") if end is None else Cell.of(end) for end in ends)]


def _sentences(
    data: Data, threshold: Estimate | None, ideal: float | None, losses: dict[str, Estimate | None]
) -> list[str]:
    if threshold is None:
        return ["No limit was found."]
    sure = between(threshold, data.get("confidence"))
    said = [
        f"The cluster can take up to {about(threshold.estimate, 4)} jobs a unit of time{sure}; above that the line "
        "grows without end."
    ]
    if ideal:
        share = threshold.estimate / ideal
        said.append(
            f"If no server were ever blocked it could take {about(ideal, 4)}: no more than {percent(share)} of the "
            "servers can be kept busy."
        )
    units = units_of(data)
    lost = [
        f"{about(loss.estimate)}" + (f" of {units[kind]:,.10g}" if kind in units else "") + f" {kind}"
        for kind, loss in losses.items()
        if loss is not None
    ]
    if lost:
        said.append(f"Head-of-line blocking costs {listed(lost)} when the cluster is full.")
    return said


def _tiles(
    data: Data, threshold: Estimate | None, ideal: float | None, losses: dict[str, Estimate | None]
) -> list[Tile]:
    found = []
    if threshold is not None:
        found.append(
            Tile("limit", about(threshold.estimate, 4), between(threshold, data.get("confidence")).strip(" ()"))
        )
    if threshold is not None and ideal:
        found.append(Tile("largest utilization", percent(threshold.estimate / ideal)))
    found += [Tile(f"{kind} lost when full", about(loss.estimate)) for kind, loss in losses.items() if loss is not None]
    if ideal:
        found.append(Tile("without blocking", about(ideal, 4), "jobs a unit of time"))
    return found


def _saturated(data: Data, losses: dict[str, Estimate | None]) -> list[dict[str, Any]]:
    bars = []
    for kind, total in units_of(data).items():
        loss = losses.get(kind)
        if loss is not None:
            busy = Estimate.exact(max(total - loss.estimate, 0.0))
            parts = [part("busy", busy, "busy"), part("lost to head-of-line blocking", loss, "lost")]
            bars.append({"label": kind, "total": total, "parts": parts})
    return [parts_chart("What the servers do when the cluster is full", bars)] if bars else []


def samples(data: Data, asked: Data | None = None) -> Content:
    """Of samples there are no figures, only where they are and what they rest on."""
    number_of, name = number(data.get("samples")) or 0.0, model_name(data)
    load, rate = number(data.get("load")), number(data.get("rate"))
    where = "its run folder" if data.get("parts") else str(data.get("path") or "a file")
    at_load = "" if load is None else f" at {percent(load)} of what the cluster can take"
    said = [f"{count(number_of, 'sample')} of the workload that an arriving job sees{at_load}, in {where}."]
    distance = leaf(data, "certificate", "distance")
    if not isinstance(data.get("certificate"), dict):
        said.append("There is no certificate, so they are lower bounds: the truth may be higher.")
    elif distance is not None and number(distance.high) is not None:
        said.append(f"Each is the true long-run workload, but for a chance of at most {distance.high:.2g}.")
    parts = data.get("parts") or []
    rows = [
        [Cell(str(at(one, "file"))), Cell.of(number(at(one, "samples"))), Cell(str(at(one, "sha256")))] for one in parts
    ]
    longest, jobs = number(data.get("longest")), number(data.get("jobs"))
    tiles = [Tile("samples", f"{number_of:,.10g}")]
    tiles += [Tile("longest past", about(longest), "jobs")] if longest is not None else []
    tiles += [Tile("jobs computed", about(jobs))] if jobs is not None else []
    threshold = leaf(data, "threshold")
    if threshold is not None:
        tiles.append(Tile("limit", cell(threshold), "jobs a unit of time"))
    return Content(
        kind="sample",
        title=f"{name}: samples of the workload",
        facts=[*cluster_facts(data), *([f"rate {rate:.6g}"] if rate is not None else []), *load_fact(data)],
        summary=said,
        tiles=tiles,
        charts=[],
        grids=[Grid("Files", ("file", "samples", "sha256"), rows)] if rows else [],
        sure=explained(data),
        models=[(name, at(data, "model", "definition"))],
        command=command_of(data, "sample", asked),
        how=how_of(data),
        warnings=texts(data.get("warnings")),
    )
