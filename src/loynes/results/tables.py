"""Tables that several kinds of results share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loynes.estimate import Estimate, key_text
from loynes.estimators.measures import ALL_JOBS, System, Waits
from loynes.estimators.metrics import Metric, leaves, metric, tail
from loynes.results.quantity import quantity, time_text
from loynes.results.table import Table
from loynes.results.tails import Tails
from loynes.stationary.certificate import Certificate

TIDY = ("class", "metric", "estimate", "low", "high")
# The percentiles of waits that tables and charts show, unless others are asked for.
SHOWN = ("p50", "p95", "p99")


def everyone(overall: Waits, classes: Mapping[str, Waits]) -> dict[str, Waits]:
    """All jobs together, then every class."""
    return {ALL_JOBS: overall, **classes}


def shown_percentiles(waits: Waits) -> tuple[str, ...]:
    """Names of the percentiles to show: p50, p99.9."""
    return tuple(waits.wait.percentiles) or SHOWN


def asked_percentiles(waits: Waits | None, otherwise: tuple[str, ...] = ("p95", "p99")) -> tuple[str, ...]:
    """Names of the percentiles that a table of many points shows: those asked for, or a few."""
    return otherwise if waits is None else tuple(waits.wait.percentiles) or otherwise


def wait_spare(waits: Waits, *last: str) -> tuple[str, ...]:
    """Columns of waits that a narrow terminal goes without, the first to go first."""
    names = shown_percentiles(waits)
    return tuple(dict.fromkeys((names[0], "mean response", names[-1], *last, "bounded slowdown")))


def shown_metrics(waits: Waits) -> list[Metric]:
    """What a table of waits shows of a class, P(wait > x) where it was asked for."""
    names = ("wait.mean", *(f"wait.{name}" for name in shown_percentiles(waits)), "no_wait")
    bounded = [] if waits.bounded_slowdown is None else [metric("bounded_slowdown")]
    return [*map(metric, names), *map(tail, waits.exceeds), metric("response.mean"), *bounded]


def wait_columns(waits: Waits, time_unit: str | None) -> dict[str, object]:
    """Head -> cell of what a table of waits shows of a class."""
    chosen = shown_metrics(waits)
    return {in_words(one, time_unit): quantity(one.get(waits), one.unit, time_unit) for one in chosen}


def in_words(one: Metric, time_unit: str | None) -> str:
    """A metric as the head of a column; the x of P(wait > x) with its unit."""
    x = one.name.removeprefix("wait>")
    return one.column if time_unit is None or x == one.name else f"wait > {time_text(float(x), time_unit)}"


def tidy_table(
    title: str, overall: Waits, classes: Mapping[str, Waits], system: System, tails: Tails | None = None
) -> Table:
    """Every class and metric, and the distribution of waits, where there is one."""
    rows = tidy_rows(leaves(everyone(overall, classes), system))
    asked = {name: {f"wait>{key_text(x)}" for x in one.exceeds} for name, one in everyone(overall, classes).items()}
    return Table(title, TIDY, (*rows, *([] if tails is None else tails.tidy(asked))))


def tidy_rows(values: Iterable[tuple[str, str, Estimate]]) -> list[tuple[Any, ...]]:
    return [(name, metric_name, *vars(value).values()) for name, metric_name, value in values]


def figures_of(certificate: Certificate, time_unit: str | None) -> list[tuple[str, Any]]:
    """Quantity and value of a certificate, with units where there are some."""
    figures = dict(certificate.figures)
    if time_unit is not None:
        kinds = {"theta": "1/time", "time set aside": "time"}
        for name, value in figures.items():
            kind = next((kind for start, kind in kinds.items() if name.startswith(start)), "")
            figures[name] = quantity(value, kind, time_unit)
        if certificate.long is not None:
            from_ = (f"{c} {time_text(t, time_unit)}" for c, t in certificate.long.thresholds.items())
            figures["services are long from"] = ", ".join(from_)
    return list(figures.items())


def system_table(system: System, *more: tuple[str, Any]) -> Table:
    return Table("system", ("quantity", "value"), (*system.rows, *more))
