"""One table, many forms: what the terminal, CSV files and notebooks show is the same rows."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loynes import notebook
from loynes.errors import UsageError
from loynes.estimate import Estimate, number_text
from loynes.readable import readable
from loynes.results.quantity import Quantity

if TYPE_CHECKING:
    import pyarrow

# Of a table as text, where no terminal says how wide it is.
PLAIN_WIDTH = 160


@dataclass(frozen=True)
class Table:
    """Named columns and rows of texts, numbers and estimates."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    spare: tuple[str, ...] | None = None  # columns a narrow terminal goes without; None: from the right

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells for people."""
        return tuple(tuple(shown(cell) for cell in row) for row in self.rows)

    @property
    def heading(self) -> str:
        """The title for people."""
        return readable(self.title)

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the columns for people."""
        return tuple(map(readable, self.columns))

    @property
    def order_to_go(self) -> tuple[str, ...]:
        """The columns a narrow terminal goes without, the first to go first.

        Where the table does not say: from the right, but for the first column and the first of numbers, and at most
        half of them, since then a block for every row tells more.
        """
        if self.spare is not None:
            return tuple(name for name in self.spare if name in self.columns)
        others = range(1, len(self.columns))
        main = next((i for i in others if any(not isinstance(row[i], str) for row in self.rows)), 1)
        return tuple(self.columns[i] for i in reversed(others) if i != main)[: len(self.columns) // 2]

    def without(self, column: str) -> Table:
        place = self.columns.index(column)
        keep = [i for i in range(len(self.columns)) if i != place]
        return Table(
            self.title,
            tuple(self.columns[i] for i in keep),
            tuple(tuple(row[i] for i in keep) for row in self.rows),
            None if self.spare is None else tuple(name for name in self.spare if name != column),
        )

    @property
    def numbers(self) -> Table:
        """The same with plain numbers: an estimate becomes three columns, name, name_low and name_high."""
        plain = [[cell.value if isinstance(cell, Quantity) else cell for cell in row] for row in self.rows]
        wide = [any(isinstance(row[i], Estimate) for row in plain) for i in range(len(self.columns))]
        columns: list[str] = []
        for column, is_wide in zip(self.columns, wide, strict=True):
            columns += [column, f"{column}_low", f"{column}_high"] if is_wide else [column]
        rows = []
        for row in plain:
            cells: list[Any] = []
            for cell, is_wide in zip(row, wide, strict=True):
                if isinstance(cell, Estimate):
                    cells += [cell.estimate, cell.low, cell.high]
                else:
                    cells += [cell, None, None] if is_wide else [cell]
            rows.append(tuple(cells))
        return Table(self.title, tuple(columns), tuple(rows))

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table; the columns' types are those of their cells."""
        try:
            import pyarrow as pa
        except ImportError:
            raise UsageError(
                "Parquet files and Arrow tables need pyarrow: pip install 'loynes[io]' (or write a .csv)"
            ) from None
        return pa.table([pa.array(column) for column in self.cells], names=list(self.columns))

    @property
    def cells(self) -> list[list[Any]]:
        """The cells by column, each of one kind: texts where numbers and texts are mixed."""
        return [_column([row[i] for row in self.rows]) for i in range(len(self.columns))]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's interchange: polars, pandas, DuckDB and others read the table as it is, estimates as three columns.

        The protocol is that of https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.
        """
        return self.numbers.to_arrow().__arrow_c_stream__(requested_schema)

    def to_csv(self) -> str:
        """Estimates become three columns: name, name_low, name_high."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        numbers = self.numbers
        writer.writerow(numbers.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in numbers.rows)
        return out.getvalue()

    def __str__(self) -> str:
        from loynes.results.layout import as_text

        return as_text(self, PLAIN_WIDTH)

    def _repr_html_(self) -> str:
        return notebook.framed(self.to_html())

    def to_html(self, caption: str | None = None) -> str:
        """The table as HTML, under its title or another."""
        return notebook.table(self.title if caption is None else caption, self.heads, self.texts)


def _column(cells: list[Any]) -> list[Any]:
    """Texts where numbers and texts are mixed."""
    kinds = {isinstance(cell, str) for cell in cells if cell is not None}
    return [None if cell is None else str(cell) for cell in cells] if len(kinds) > 1 else cells


def shown(cell: object) -> str:
    """A cell for people."""
    return number_text(cell) if isinstance(cell, float) else readable(str(cell))
