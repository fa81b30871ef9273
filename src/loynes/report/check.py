"""The page of a checked model."""

from __future__ import annotations

from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, rate_tile
from loynes.report.words import about, rates, times
from loynes.results.charts.check import charts
from loynes.results.records.check import Check

EXACT = "Nothing was run: these figures follow from the model alone, and are exact."


@page_for(Check)
def content(result: Check) -> Content:
    model = result.model
    tiles = [
        rate_tile("limit without blocking", model.ideal, model.time_unit),
        Tile("work of a job", times(model.time_unit)(model.work), f"{model.kinds[model.bottleneck]} x time"),
        Tile("mean service", times(model.time_unit)(model.mean_service), "" if model.time_unit else "units of time"),
    ]
    if result.threshold is not None:
        tiles.insert(
            0, rate_tile("limit", result.threshold.value, model.time_unit, detail=f"exact: {result.threshold.source}")
        )
    return Content(
        kind="check",
        title=f"{model.label}: the model",
        facts=[*cluster_facts(model), *([] if model.rate is None else [f"rate {result.rate_words(model.rate)}"])],
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
        limit = f"with blocking, {rates(model.time_unit, 4)(result.threshold.value)}"
    sentences = [
        f"The model is valid. Without blocking it could take {rates(model.time_unit, 4)(model.ideal)}; {limit}.",
        f"A job takes {times(model.time_unit)(model.work)} of {kind} x time, on average.",
    ]
    if model.rate is not None:
        busy = model.rate * model.work
        units = model.units[model.bottleneck]
        sentences.append(f"At the rate of the file {about(busy)} of {units:,} {kind} are busy.")
    return sentences
