"""Charts of a backtest: how often intervals held the truth, how wide they were, and where truths fell."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.estimators.forecasts import INTERVALS
from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.register import charts_for
from loynes.results.records.backtest import Backtest


@charts_for(Backtest)
def charts(result: Backtest) -> list[Chart]:
    size, unit = result.unit
    count = max(result.judged, 1)
    held = Rows(
        title="How often intervals held the truth",
        picture_title=result.title,
        about="coverage",
        axis="share of judged jobs",
        measures=tuple(f"{share:.0%} intervals" for share in INTERVALS),
        rows=tuple(
            Row(one.name, tuple(Estimate.exact(one.coverage[f"{share:g}"]) for share in INTERVALS))
            for one in result.scores
        ),
        note="A forecast is calibrated where each share is that of its interval.",
    )
    loss = Rows(
        title="Pinball loss, and width of the 80% intervals",
        about="loss",
        axis=unit,
        measures=("pinball loss", "width of 80% intervals"),
        rows=tuple(
            Row(one.name, (Estimate.exact(one.pinball / size), Estimate.exact(one.width["0.8"] / size)))
            for one in result.scores
        ),
        bars=True,
        note="Smaller is better: the loss counts both how wrong and how vague a forecast was.",
    )
    bins = len(result.places)
    places = Rows(
        title="Where the truth fell among the draws",
        about="places",
        axis="share of judged jobs",
        measures=("share",),
        rows=tuple(
            Row(f"{k / bins:g} to {(k + 1) / bins:g}", (Estimate.exact(n / count),))
            for k, n in enumerate(result.places)
        ),
        bars=True,
        note="Equal shares if forecasts are calibrated; more at both ends if they are too sure, more at one end if "
        "they are early or late.",
    )
    return [held, loss, places]
