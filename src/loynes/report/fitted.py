"""The page of a model that was fitted to a log."""

from __future__ import annotations

from loynes.estimators.measures import ALL_JOBS
from loynes.report.content import Cell, Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of
from loynes.report.words import about, count, duration, percent
from loynes.results.charts.fitted import charts
from loynes.results.records.fitted import FACTOR, FittedModel

NOISE = (
    "A log is one draw of what could have happened: intervals of its replayed waits, from resamples of its days, say "
    "how far a log of this length determines them. A model is accepted if what it gives lies in these intervals, on "
    "weeks that it was not fitted to and on the whole log."
)
DISPERSION = "Dispersion: variance over mean of the arrivals in a window, 1 for Poisson arrivals at every length."


@page_for(FittedModel)
def content(result: FittedModel) -> Content:
    return Content(
        kind="fit",
        title=f"{result.model.label}: a model of a log",
        facts=[*cluster_facts(result.model)[:-1], count(result.jobs, "job"), result.process, result.law],
        summary=_sentences(result),
        tiles=_tiles(result),
        charts=charts(result),
        grids=[
            *([Grid.of(result.candidates_summary, "Models that were tried")] if result.candidates else []),
            Grid.of(result.summary, "Classes", pinned=1),
            Grid.of(result.arrivals_summary, "Arrivals", note=DISPERSION),
            *_skipped(result),
        ],
        sure=Sure([NOISE, *([f"The model was not evaluated: {result.why}."] if result.modelled is None else [])]),
        models=[(result.model.label, result.model)],
        how=how_of(result, ("log", result.source), model=result.model),
    )


def _sentences(result: FittedModel) -> list[str]:
    log = result.replayed[ALL_JOBS].estimate
    sentences = [
        f"{result.verdict.capitalize()}.",
        f"Replayed under {result.policy} on {result.model.size}, the log's jobs wait {duration(log)} on average.",
    ]
    if result.modelled is not None:
        model = result.modelled[ALL_JOBS].estimate
        off = "" if result.difference is None else f", {result.beside}"
        verdict = "inside the log's interval" if result.agrees else "outside the log's interval"
        sentences.append(f"In the model they wait {duration(model)}{off}: {verdict}.")
    return [*sentences, f"Arrivals are {result.process}, run times {result.law}."]


def _tiles(result: FittedModel) -> list[Tile]:
    tiles = [Tile("mean wait of the log", duration(result.replayed[ALL_JOBS].estimate))]
    if result.modelled is not None:
        tiles.append(Tile("mean wait of the model", duration(result.modelled[ALL_JOBS].estimate)))
    if result.difference is not None:
        sign = "+" if result.difference > 0 else "−"
        detail = "inside the log's interval" if result.agrees else "outside the log's interval"
        small = result.difference <= FACTOR
        off = f"{sign}{percent(abs(result.difference))}" if small else about(1.0 + result.difference)
        tiles.append(Tile("off by" if small else "times the log's", off, detail))
    return [*tiles, Tile("squared cv of gaps", about(result.arrivals.gap_cv2), "1: as Poisson arrivals")]


def _skipped(result: FittedModel) -> list[Grid]:
    rows = [[Cell(reason), Cell.of(lines)] for reason, lines in result.skipped.items()]
    return [Grid("Lines that could not be used", ("why", "lines"), rows)] if rows else []
