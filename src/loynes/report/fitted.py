"""The page of a model that was fitted to a log."""

from __future__ import annotations

from loynes.estimators.measures import ALL_JOBS
from loynes.report.content import Cell, Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of
from loynes.report.words import about, count, duration, percent
from loynes.results.charts.fitted import charts
from loynes.results.records.fitted import FittedModel

NOISE = (
    "A log is one draw of what could have happened: the interval of its replayed mean wait, from the means of "
    "successive stretches, says how far a log of this length determines it. A model whose interval overlaps it is as "
    "good as this log can tell."
)


@page_for(FittedModel)
def content(result: FittedModel) -> Content:
    return Content(
        kind="fit",
        title=f"{result.model.label}: a model of a log",
        facts=[*cluster_facts(result.model)[:-1], count(result.jobs, "job"), result.process, result.law],
        summary=_sentences(result),
        tiles=_tiles(result),
        charts=charts(result),
        grids=[_classes(result), *_arrivals(result), *_skipped(result)],
        sure=Sure([NOISE, *([f"The model was not evaluated: {result.why}."] if result.modelled is None else [])]),
        models=[(result.model.label, result.model)],
        how=how_of(("log", result.source), version=result.version, seconds=result.seconds, model=result.model),
        warnings=list(result.warnings),
    )


def _sentences(result: FittedModel) -> list[str]:
    log = result.replayed[ALL_JOBS].estimate
    sentences = [f"Replayed on {result.model.size}, the log's jobs wait {duration(log)} on average."]
    if result.modelled is not None:
        model = result.modelled[ALL_JOBS].estimate
        off = "" if result.difference is None else f", {percent(abs(result.difference))} "
        side = "" if result.difference is None else "less" if result.difference < 0 else "more"
        verdict = "within the log's own noise" if result.agrees else "beyond the log's own noise"
        sentences.append(f"In the model they wait {duration(model)}{off}{side}: {verdict}.")
    return [*sentences, f"Jobs come as {result.process}; run times are {result.law}. Times are in seconds."]


def _tiles(result: FittedModel) -> list[Tile]:
    tiles = [Tile("mean wait of the log", duration(result.replayed[ALL_JOBS].estimate))]
    if result.modelled is not None:
        tiles.append(Tile("mean wait of the model", duration(result.modelled[ALL_JOBS].estimate)))
    if result.difference is not None:
        sign = "+" if result.difference > 0 else "−"
        detail = "within the log's noise" if result.agrees else "beyond the log's noise"
        tiles.append(Tile("off by", f"{sign}{percent(abs(result.difference))}", detail))
    return [*tiles, Tile("squared cv of gaps", about(result.arrivals.gap_cv2), "1: as Poisson arrivals")]


def _classes(result: FittedModel) -> Grid:
    by_name = {c.label: c for c in result.model.classes}
    rows = []
    for name, log in result.replayed.items():
        c = by_name.get(name)
        model = None if result.modelled is None else result.modelled.get(name)
        need = "" if c is None else c.need_text
        mean = result.model.mean_service if c is None else c.service.mean
        about_class = [
            Cell(need, float(need) if need.isdecimal() else None),
            Cell.of(1.0 if c is None else c.probability),
            Cell.of(mean),
            Cell.of(None if c is None else c.service.variation),
        ]
        rows.append([Cell(name), *about_class, Cell.of(log), Cell.of(model)])
    columns = ("class", "need", "probability", "mean service", "cv", "mean wait, replayed", "mean wait, model")
    return Grid("Classes, in seconds", columns, rows, pinned=1)


def _arrivals(result: FittedModel) -> list[Grid]:
    measured = result.arrivals
    rows = [
        [Cell("jobs a second"), Cell.of(measured.rate)],
        [Cell("squared cv of gaps"), Cell.of(measured.gap_cv2)],
        [Cell("correlation of successive gaps"), Cell.of(measured.correlation)],
        [Cell("share of gaps that are 0"), Cell.of(measured.together)],
    ]
    scales = [
        [Cell.of(scale), Cell.of(dispersion), Cell.of(windows)]
        for scale, dispersion, windows in zip(measured.scale, measured.dispersion, measured.windows, strict=True)
    ]
    note = "Variance over mean of the number of arrivals in a window: 1 for Poisson arrivals at every length."
    return [
        Grid("Arrivals", ("quantity", "value"), rows),
        Grid("Dispersion of counts", ("window (seconds)", "dispersion", "windows"), scales, note=note),
    ]


def _skipped(result: FittedModel) -> list[Grid]:
    rows = [[Cell(reason), Cell.of(lines)] for reason, lines in result.skipped.items()]
    return [Grid("Lines that could not be used", ("why", "lines"), rows)] if rows else []
