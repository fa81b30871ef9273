"""The page of a file of samples: no figures of their own, only where they are and what bounds them."""

from __future__ import annotations

from loynes.report.certificate import explained
from loynes.report.content import Cell, Content, Grid, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, rate_tile
from loynes.report.words import about, count, percent, small
from loynes.results.charts.samples import charts
from loynes.results.records.samples import SampleFile


@page_for(SampleFile)
def content(result: SampleFile) -> Content:
    rows = [[Cell(str(p["file"])), Cell.of(float(p["samples"])), Cell(str(p["sha256"]))] for p in result.parts]
    return Content(
        kind="sample",
        title=f"{result.model.label}: samples of the workload",
        facts=[*cluster_facts(result.model), f"rate {result.rate_words(result.rate)}", f"load {percent(result.load)}"],
        summary=_sentences(result),
        tiles=[
            Tile("samples", f"{result.samples:,}"),
            Tile("longest past", about(result.longest), "jobs"),
            Tile("jobs computed", about(result.jobs)),
            rate_tile("limit", result.threshold, result.time_unit),
        ],
        charts=charts(result),
        grids=[Grid("Files", ("file", "samples", "sha256"), rows)] if rows else [],
        sure=explained(result.certificate, result.why, result.method, result.time_unit),
        models=[(result.model.label, result.model)],
        how=how_of(result, method=result.method, jobs=result.jobs, model=result.model),
    )


def _sentences(result: SampleFile) -> list[str]:
    where = "its run folder" if result.parts else str(result.path)
    at = f"at {percent(result.load)} of what the cluster can take"
    first = f"{count(result.samples, 'sample')} of the workload that an arriving job sees {at}, in {where}."
    if result.certificate is None:
        return [first, "There is no certificate, so they are lower bounds: the truth may be higher."]
    distance = result.certificate.distance
    chance = "" if distance is None else f", but for a chance of at most {small(distance.high)}"
    return [first, f"Each is the true long-run workload{chance}."]
