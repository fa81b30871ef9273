"""A page before it is HTML: every kind of result becomes one of these."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.report.words import NONE, cell, minus
from loynes.results.base import Result
from loynes.results.charts.chart import Chart
from loynes.results.charts.register import CHARTS, Register, load_modules
from loynes.results.quantity import Quantity
from loynes.results.table import Table


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, and the number it sorts by (None: by the text, or last among numbers)."""

    text: str
    value: float | None = None
    ends: tuple[float, float] | None = None  # of an interval, for those who download the table

    @classmethod
    def of(cls, value: object) -> Cell:
        """An estimate with its error, a number, or a text; a dash where there is no finite number."""
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Quantity):  # shown with its unit, sorted and downloaded in the model's own
            plain = cls.of(value.value)
            return plain if plain.value is None else cls(minus(str(value)), plain.value, plain.ends)
        if isinstance(value, Estimate):
            known = math.isfinite(value.estimate)
            return cls(cell(value), value.estimate if known else None, (value.low, value.high) if known else None)
        if not isinstance(value, int | float) or not math.isfinite(value):
            return cls(NONE)
        return cls(f"{value:,.10g}" if float(value).is_integer() else f"{value:.6g}", float(value))


@dataclass(frozen=True)
class Grid:
    """A table; rows of `pinned` stay on top however it is sorted, the note stands under the title."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    pinned: int = 0
    note: str = ""

    @classmethod
    def of(cls, table: Table, title: str, pinned: int = 0, note: str = "") -> Grid:
        """A table of a record, as the terminal shows it."""
        name = _head if table.columns[0] == "quantity" else str
        first = [Cell(name(row[0])) if isinstance(row[0], str) else Cell.of(row[0]) for row in table.rows]
        rows = [[cell, *(_parsed(value) for value in row[1:])] for cell, row in zip(first, table.rows, strict=True)]
        return cls(title, tuple(_head(name) for name in table.columns), rows, pinned, note)


def _parsed(value: Estimate | float | str) -> Cell:
    """A cell; a text that is a number sorts like one, and a dash is none."""
    if value == "-":
        return Cell(NONE)
    try:
        return Cell(value, float(value)) if isinstance(value, str) and math.isfinite(float(value)) else Cell.of(value)
    except ValueError:
        return Cell.of(value)


def _head(name: str) -> str:
    return name.replace("hol loss", "HOL loss").replace("p50", "median")


@dataclass(frozen=True)
class Tile:
    """A figure that catches the eye."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Sure:
    """Why the answer can be trusted: sentences, then terms with their values and meanings."""

    sentences: list[str]
    terms: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Picture:
    """A drawing that was made elsewhere, as SVG."""

    title: str
    svg: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """A page, top to bottom."""

    kind: str
    title: str
    facts: list[str]
    summary: list[str]
    tiles: list[Tile]
    charts: list[Chart]
    grids: list[Grid]
    sure: Sure
    how: list[tuple[str, str]]  # seed, version, ...
    models: list[tuple[str, Model]] = field(default_factory=list)  # heading and model
    warnings: list[str] = field(default_factory=list)  # besides the result's own
    pictures: list[Picture] = field(default_factory=list)


PAGES: Register[Content] = Register()
page_for = PAGES.enter


def content_of(result: Result) -> Content:
    """The page of any result: its own, or else what every result says of itself."""
    load_modules("loynes.report")
    content = PAGES.make(result)
    if content is not None:
        return content
    return Content(
        kind=result.command,
        title=result.title,
        facts=[],
        summary=[result.headline],
        tiles=[],
        charts=_charts(result),
        grids=[Grid.of(table, table.title) for table in result.tables],
        sure=Sure([line for line in result.footer.splitlines() if line]),
        how=[("loynes", result.version)],
        warnings=list(result.warnings),
    )


def _charts(result: Result) -> list[Chart]:
    """Those of the result's kind, none where it has none."""
    load_modules("loynes.results.charts")
    return CHARTS.make(result) or []
