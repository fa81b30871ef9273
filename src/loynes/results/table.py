"""One table, many forms: what the terminal, CSV files and notebooks show is the same rows."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any

from loynes.estimate import Estimate


@dataclass(frozen=True)
class Table:
    """Named columns and rows of texts, numbers and estimates."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    spare: tuple[str, ...] = ()  # columns a narrow terminal goes without, the first to go first

    def to_rich(self) -> Any:
        from rich import box
        from rich.markup import escape
        from rich.table import Table as RichTable

        table = RichTable(title=escape(self.title), title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
        for number, column in enumerate(self.columns):
            last = number == len(self.columns) - 1
            prose = last and any(isinstance(row[number], str) and row[number].count(" ") > 5 for row in self.rows)
            table.add_column(escape(column), justify="left" if number == 0 or prose else "right", no_wrap=not prose)
        for row in self.rows:
            table.add_row(*(escape(shown(cell)) for cell in row))
        return table

    def without(self, column: str) -> Table:
        place = self.columns.index(column)
        keep = [i for i in range(len(self.columns)) if i != place]
        return Table(
            self.title,
            tuple(self.columns[i] for i in keep),
            tuple(tuple(row[i] for i in keep) for row in self.rows),
            tuple(name for name in self.spare if name != column),
        )

    def to_csv(self) -> str:
        """Estimates become three columns: name, name_low, name_high."""
        estimates = [any(isinstance(row[i], Estimate) for row in self.rows) for i in range(len(self.columns))]
        header: list[str] = []
        for column, wide in zip(self.columns, estimates, strict=True):
            header += [column, f"{column}_low", f"{column}_high"] if wide else [column]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        for row in self.rows:
            cells: list[Any] = []
            for cell, wide in zip(row, estimates, strict=True):
                if isinstance(cell, Estimate):
                    cells += [repr(x) for x in (cell.estimate, cell.low, cell.high)]
                else:
                    cells += [cell, "", ""] if wide else [cell]
            writer.writerow(cells)
        return out.getvalue()

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=160, color_system=None)
        console.print(self.to_rich())
        assert isinstance(console.file, io.StringIO)
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>"


def shown(cell: Any) -> str:
    """A cell for people: an estimate with as many digits as its interval supports, and the half-width after it."""
    if isinstance(cell, Estimate):
        return _with_error(cell)
    if isinstance(cell, float):
        return _plain(cell)
    return str(cell)


def _plain(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ("-" if math.isnan(value) else "inf")


def _with_error(value: Estimate) -> str:
    centre, half = value.estimate, value.half_width
    if half == 0.0:
        return _plain(centre)
    if not math.isfinite(half) or not math.isfinite(centre):
        return f"{_plain(centre)} (no interval)"
    if max(value.high - centre, centre - value.low) > 3.0 * min(value.high - centre, centre - value.low):
        return f"{centre:.4g} [{value.low:.4g}, {value.high:.4g}]"
    # Two digits of the half-width, and the estimate to the same place: no digit is printed that is only noise.
    decimals = 1 - math.floor(math.log10(half))
    if max(abs(centre), half) >= 1e7 or decimals > 8:
        digits = 2 + max(0, math.floor(math.log10(max(abs(centre), half)) - math.log10(half)))
        return f"{centre:.{min(digits, 12)}g} ±{half:.2g}"
    return f"{centre:.{max(decimals, 0)}f} ±{half:.{max(decimals, 0)}f}"
