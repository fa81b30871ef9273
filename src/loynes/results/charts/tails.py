"""Chart of the distribution of waits: P(wait > x) over x, with a band, for all jobs and every class."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Lines, Place
from loynes.results.charts.measures import time_axis
from loynes.results.charts.units import UNIT_OF_TIME
from loynes.results.tails import Tails

BANDS = "Bands are pointwise: each interval holds its own probability, at its own x, with the confidence said."


def tail_chart(
    tails: Tails | None, title: str, confidence: float | None = None, size: float = 1.0, unit: str = UNIT_OF_TIME
) -> list[Chart]:
    """A line for all jobs and every class, in units of so many of the record's own; nothing where nobody waits."""
    return (
        [] if tails is None else lines_of({name: name for name in tails.classes}, tails, title, confidence, size, unit)
    )


def lines_of(
    named: dict[str, str], tails: Tails, title: str, confidence: float | None, size: float, unit: str
) -> list[Chart]:
    """Lines of these classes, under these names."""
    if len(tails.x) < 2:
        return []
    columns = [tails.classes[name].values for name in named]
    points = tuple(
        Place((x / size,), (tuple(_known(column[place]) for column in columns),)) for place, x in enumerate(tails.x)
    )
    exact = confidence is None
    return [
        Lines(
            title="How many wait longer than x",
            picture_title=title,
            about="tail",
            note="The share of jobs that wait longer than x, for every x." + ("" if exact else f" {BANDS}"),
            vary=("x",),
            labels=(time_axis("x", unit),),
            across="time" if unit == UNIT_OF_TIME else "",
            measures=("P(wait > x)",),
            series=tuple(named.values()),
            points=points,
            log=True,
            marks=False,
            confidence=confidence,
        )
    ]


def _known(value: Estimate) -> Estimate | None:
    return value if value.estimate == value.estimate else None
