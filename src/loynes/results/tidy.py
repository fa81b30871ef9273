"""Tidy tables: one row for every class and metric, with its interval, as data tools want them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.results.files import whole_file
from loynes.results.metrics import Waits
from loynes.results.table import Table

if TYPE_CHECKING:
    from loynes.results.records import Evaluation

COLUMNS = ("class", "metric", "estimate", "low", "high")
ALL_JOBS, SYSTEM = "all jobs", "system"


def leaves(result: Evaluation) -> Iterator[tuple[str, str, Estimate]]:
    """Everything an evaluation says: class (or all jobs, or system), metric, value."""
    for name, waits in ((ALL_JOBS, result.overall), *result.classes.items()):
        for metric, value in of_waits(waits).items():
            yield name, metric, value
    for metric, value in vars(result.system).items():
        if metric != "resources":
            yield SYSTEM, metric, value
    for kind, resource in result.system.resources.items():
        for metric, value in vars(resource).items():
            yield SYSTEM, f"{kind}.{metric}", value


def of_waits(waits: Waits) -> dict[str, Estimate]:
    """wait.mean, ..., response.p99, no_wait, wait>x."""
    found = {f"wait.{name}": value for name, value in vars(waits.wait).items()}
    found |= {f"response.{name}": value for name, value in vars(waits.response).items()}
    found["no_wait"] = waits.no_wait
    return found | {f"wait>{x:.15g}": value for x, value in waits.exceeds.items()}


def tidy(result: Evaluation) -> Table:
    rows = tuple((name, metric, *vars(value).values()) for name, metric, value in leaves(result))
    return Table(f"{result.model.label}: every metric", COLUMNS, rows)


def write_parquet(table: Table, path: str | Path) -> None:
    """A table of plain cells as a Parquet file; the columns' types are those of their cells."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or write a .csv)") from None
    columns = [pa.array([row[i] for row in table.rows]) for i in range(len(table.columns))]
    with whole_file(path) as draft:
        pq.write_table(pa.table(columns, names=list(table.columns)), draft)
