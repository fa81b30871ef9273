"""The page of a checked model."""

from __future__ import annotations

from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of
from loynes.report.words import about
from loynes.results.charts.check import charts
from loynes.results.records.check import Check

EXACT = "Nothing was run: these figures follow from the model alone, and are exact."


@page_for(Check)
def content(result: Check) -> Content:
    model = result.model
    tiles = [
        Tile("limit without blocking", about(model.ideal, 4), "jobs a unit of time"),
        Tile("work of a job", about(model.work, 4), f"{model.kinds[model.bottleneck]} x time"),
        Tile("mean service", about(model.mean_service, 4), "units of time"),
    ]
    if result.threshold is not None:
        tiles.insert(0, Tile("limit", about(result.threshold.value, 4), f"exact: {result.threshold.source}"))
    return Content(
        kind="check",
        title=f"{model.label}: the model",
        facts=[*cluster_facts(model), *([] if model.rate is None else [f"rate {model.rate:.6g}"])],
        summary=_sentences(result),
        tiles=tiles,
        charts=charts(result),
        grids=[Grid.of(result.summary, "Classes"), Grid.of(result.figures, "Figures")],
        sure=Sure([EXACT, *(f"{name}: {answer}." for name, answer in result.methods.items() if answer != "yes")]),
        models=[(model.label, model)],
        how=how_of(result, model=model),
    )


def _sentences(result: Check) -> list[str]:
    model = result.model
    kind = model.kinds[model.bottleneck]
    limit = "loynes stability says how much blocking leaves of that"
    if result.threshold is not None:
        limit = f"with blocking, {about(result.threshold.value, 4)}"
    sentences = [
        f"The model is valid. Without blocking it could take {about(model.ideal, 4)} jobs a unit of time; {limit}.",
        f"A job takes {about(model.work)} {kind} x time, on average.",
    ]
    if model.rate is not None:
        busy = model.rate * model.work
        units = model.units[model.bottleneck]
        sentences.append(f"At the rate of the file {about(busy)} of {units:,} {kind} are busy.")
    return sentences
