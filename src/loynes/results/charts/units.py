"""Charts in units that people read: numbers are scaled to the unit that suits the largest, and axes say which."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from loynes.estimate import Estimate
from loynes.results.charts.chart import Bound, Chart, Limit, Lines, Place, Rows, Span, Value
from loynes.results.quantity import KINDS, scale_of

UNIT_OF_TIME = "units of time"


def in_units(chart: Chart, time_unit: str | None) -> Chart:
    """The chart of a result whose times are in a unit; as it is where none is named."""
    if time_unit is None:
        return chart
    if isinstance(chart, Rows) and chart.units:
        return _rows(chart, time_unit)
    return _lines(chart, time_unit) if isinstance(chart, Lines) and (chart.units or chart.across) else chart


def _scale(values: Iterable[float | None], kind: str, time_unit: str) -> tuple[float, str]:
    """One unit for all of these numbers: by what they are multiplied, and its name; 1 and nothing where they have
    none."""
    if kind not in KINDS:
        return 1.0, ""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    return scale_of(max(sizes, default=0.0), kind, time_unit)


def _labelled(label: str, unit: str) -> str:
    if not unit:
        return label
    return label.replace(UNIT_OF_TIME, unit) if UNIT_OF_TIME in label else f"{label} ({unit})"


def _scaled(value: Estimate | None, factor: float) -> Estimate | None:
    return None if value is None else value.scaled(factor)


def _rows(chart: Rows, time_unit: str) -> Rows:
    """One unit for all measures of a kind: they share the axis."""
    known = {
        kind: _scale(
            (None if row.values[i] is None else float(row.values[i] or 0) for row in chart.rows for i, one in
             enumerate(chart.units) if one == kind),
            kind, time_unit,
        )
        for kind in set(chart.units)
    }  # fmt: skip
    factors = [known[kind][0] for kind in chart.units]
    rows = tuple(
        replace(row, values=tuple(_scaled(value, factor) for value, factor in zip(row.values, factors, strict=True)))
        for row in chart.rows
    )
    if len(known) == 1:
        (factor, name), *_ = known.values()
        bound = None if chart.bound is None else chart.bound * factor
        return replace(chart, rows=rows, axis=_labelled(chart.axis, name), bound=bound)
    measures = tuple(_labelled(label, known[kind][1]) for label, kind in zip(chart.measures, chart.units, strict=True))
    return replace(chart, rows=rows, measures=measures)


def _lines(chart: Lines, time_unit: str) -> Lines:
    """A unit for each measure, and for what is across."""
    units = chart.units or ("",) * len(chart.measures)
    scales = [
        _scale(
            (None if value is None else value.estimate for place in chart.points if i < len(place.values)
             for value in place.values[i]),
            kind, time_unit,
        )
        for i, kind in enumerate(units)
    ]  # fmt: skip
    at = chart.against
    numbers = [place.config[at] for place in chart.points]
    factor, name = _scale((x for x in numbers if isinstance(x, float)), chart.across, time_unit)

    def across(value: Value) -> Value:
        return value * factor if isinstance(value, float) else value

    def moved(place: Place) -> Place:
        config = tuple(across(value) if i == at else value for i, value in enumerate(place.config))
        values = tuple(
            tuple(_scaled(value, scale) for value in row)
            for row, (scale, _) in zip(place.values, scales[: len(place.values)], strict=True)
        )
        return replace(place, config=config, values=values)

    def limited(limit: Limit) -> Limit:
        return replace(limit, at=limit.at * factor) if limit.axis == at else limit

    axes = [_labelled(label, name) if i == at else label for i, label in enumerate(chart.axes)]
    return replace(
        chart,
        points=tuple(map(moved, chart.points)),
        measures=tuple(_labelled(label, unit) for label, (_, unit) in zip(chart.measures, scales, strict=True)),
        labels=tuple(axes),
        limits=tuple(map(limited, chart.limits)),
        spans=tuple(Span(one.since * factor, one.until * factor, one.label) for one in chart.spans),
        bounds=tuple(
            None if bound is None else Bound(bound.at * scale, bound.at_least)
            for bound, (scale, _) in zip(chart.bounds, scales[: len(chart.bounds)], strict=True)
        ),
    )
