"""Tables that several kinds of results share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, System, Waits
from loynes.estimators.metrics import leaves, metric, tail
from loynes.results.table import Table

TIDY = ("class", "metric", "estimate", "low", "high")
# The metrics of a class that tables of waits show.
SHOWN = ("wait.mean", "wait.p50", "wait.p95", "wait.p99", "no_wait")


def everyone(overall: Waits, classes: Mapping[str, Waits]) -> dict[str, Waits]:
    """All jobs together, then every class."""
    return {ALL_JOBS: overall, **classes}


def wait_columns(waits: Waits, *, response: bool = True) -> dict[str, Estimate]:
    """Head -> value of what a table of waits shows of a class, P(wait > x) where it was asked for."""
    chosen = [metric(name) for name in SHOWN] + [tail(x) for x in waits.exceeds]
    chosen += [metric("response.mean")] if response else []
    return {one.column: one.get(waits) for one in chosen}


def tidy_table(title: str, overall: Waits, classes: Mapping[str, Waits], system: System) -> Table:
    """Every class and metric."""
    return Table(title, TIDY, tuple(tidy_rows(leaves(everyone(overall, classes), system))))


def tidy_rows(values: Iterable[tuple[str, str, Estimate]]) -> list[tuple[Any, ...]]:
    return [(name, metric_name, *vars(value).values()) for name, metric_name, value in values]


def system_table(system: System, *more: tuple[str, Any]) -> Table:
    return Table("system", ("quantity", "value"), (*system.rows, *more))
