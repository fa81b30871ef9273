"""What a page says, before it is HTML: every kind of result becomes one of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loynes.estimate import Estimate
from loynes.report.leaves import Triple
from loynes.report.words import cell


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, and the number it sorts by (None: by the text, or last among numbers)."""

    text: str
    value: float | None = None

    @classmethod
    def of(cls, value: Any) -> Cell:
        if isinstance(value, Estimate) or value is None:
            return cls(cell(value), None if value is None else value.estimate)
        if isinstance(value, float | int) and not isinstance(value, bool):
            return cls(f"{value:,.10g}" if float(value).is_integer() else f"{value:.6g}", float(value))
        return cls(str(value))


@dataclass(frozen=True)
class Grid:
    """A table; rows of `pinned` stay on top however it is sorted."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    pinned: int = 0
    note: str = ""


@dataclass(frozen=True)
class Tile:
    """A figure to be seen first."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Sure:
    """What the answer rests on: sentences, then terms with their values and meanings."""

    sentences: list[str]
    terms: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Content:
    """A page, top to bottom."""

    kind: str
    title: str
    facts: list[str]
    summary: list[str]
    tiles: list[Tile]
    charts: list[dict[str, Any]]
    grids: list[Grid]
    sure: Sure
    models: list[tuple[str, Any]]  # heading, and a model's definition or text
    command: list[str]
    how: list[tuple[str, str]]  # seed, version, ...
    warnings: list[str]


# Colours of a chart: the ink of the text for all jobs, then the palette in turn.
INK = -1
# Rows that a chart can hold and still be read; the table has all of them.
MOST_ROWS = 40
# Lines that are drawn before anybody asks for more.
SHOWN_AT_FIRST = 7


def rows_chart(
    title: str,
    axis: str,
    measures: list[str],
    rows: list[tuple[str, list[Triple | None]]],
    **more: Any,
) -> dict[str, Any]:
    """A row of marks with interval bars for every name; `together` shows all measures, else one is selected."""
    note, colours = more.pop("note", ""), more.pop("colours", {})
    if len(rows) > MOST_ROWS:
        note = f"{note} The first {MOST_ROWS} of {len(rows)} rows; the table has all.".strip()
    listed = [
        {"label": name, "values": values} | ({"colour": colours[name]} if name in colours else {})
        for name, values in rows[:MOST_ROWS]
    ]
    return {"kind": "rows", "title": title, "axis": axis, "measures": measures, "rows": listed, "note": note} | more


def parts_chart(title: str, bars: list[dict[str, Any]], note: str = "") -> dict[str, Any]:
    """What a whole is made of: busy, lost and idle servers."""
    return {"kind": "parts", "title": title, "bars": bars, "note": note}


def part(label: str, value: Estimate | None, colour: str) -> dict[str, Any]:
    ends = None if value is None else [max(value.estimate, 0.0), value.low, value.high]
    finite = None if ends is None else [x if abs(x) != float("inf") else None for x in ends]
    return {"label": label, "value": finite, "colour": colour}
