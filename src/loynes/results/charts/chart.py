"""A chart, described once: a page's script and matplotlib draw the same record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from loynes.estimate import Estimate
from loynes.results.paths import in_words

# A value of what is varied: a number, or a word such as a discipline.
Value = float | str
# Rows that a chart can hold and still be read; the table has all of them.
MOST_ROWS = 40
# Lines that are drawn before a reader chooses more.
SHOWN_AT_FIRST = 8
AXES = {"rate": "arrival rate", "load": "load (rate / threshold)"}


def number(value: float | None) -> float | None:
    """A finite number as it is; None for all others, since JSON has no infinities."""
    return float(value) if value is not None and math.isfinite(value) else None


def triple(value: Estimate | None) -> list[float | None] | None:
    """Estimate, low end and high end; an end that is not finite is None, and so is all of it without an estimate."""
    if value is None or not math.isfinite(value.estimate):
        return None
    return [number(x) for x in (value.estimate, value.low, value.high)]


def decades(values: Iterable[Estimate | None], ratio: float = 100.0) -> bool:
    """Whether positive values lie so far apart that a logarithmic axis shows them better."""
    positive = [v.estimate for v in values if v is not None and 0 < v.estimate < math.inf]
    return bool(positive) and max(positive) > ratio * min(positive)


@dataclass(frozen=True, kw_only=True)
class Chart(ABC):
    """What all charts have: a title on a page, a title of a picture that stands alone, a note, a confidence."""

    kind: ClassVar[str]
    title: str
    picture_title: str = ""
    note: str = ""
    about: str = ""  # what it is chosen by: plot(kind="tail")
    confidence: float | None = None

    @abstractmethod
    def to_data(self) -> dict[str, object]:
        """The chart as plain data for JSON: what the page's script reads."""

    def _data(self, **own: object) -> dict[str, object]:
        shared = {"kind": self.kind, "title": self.title, "note": self.note, "confidence": self.confidence}
        return shared | own


@dataclass(frozen=True)
class Row:
    """A name, and an estimate for every measure of the chart."""

    label: str
    values: tuple[Estimate | None, ...]
    colour: str = ""


@dataclass(frozen=True, kw_only=True)
class Rows(Chart):
    """Marks with interval bars, a row for every name."""

    kind: ClassVar[str] = "rows"
    axis: str
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    units: tuple[str, ...] = ()  # of the measures, where they are times or rates in the model's own unit
    first: tuple[int, ...] = ()  # the measures that a picture shows; all where there are none
    together: bool = True  # a page shows all measures at once, else the one that is chosen
    pinned: int = 0  # so many rows are about all jobs: first on a page, last in a picture
    offer_log: bool = False
    zero: bool = False  # values are differences, and may be none
    bars: bool = False  # a bar from zero to every mark; a picture then has a line for every name
    bound: float | None = None
    at_least: bool = False  # values must lie above the bound, not below it

    @property
    def drawn(self) -> tuple[Row, ...]:
        return self.rows[:MOST_ROWS]

    def to_data(self) -> dict[str, object]:
        cut = f"The first {MOST_ROWS} of {len(self.rows)} rows; the table has all."
        rows = [
            {"label": row.label, "values": [triple(v) for v in row.values]}
            | ({"colour": row.colour} if row.colour else {})
            for row in self.drawn
        ]
        return self._data(
            axis=self.axis, measures=list(self.measures), rows=rows, together=self.together, zero=self.zero,
            bars=self.bars, offer_log=self.offer_log, bound=number(self.bound), at_least=self.at_least,
        ) | ({"note": f"{self.note} {cut}".strip()} if len(self.rows) > MOST_ROWS else {})  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A piece of a bar; colours are busy, lost, idle, or c0 to c6."""

    label: str
    value: Estimate
    colour: str


@dataclass(frozen=True)
class Bar:
    """A whole and its parts."""

    label: str
    total: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Parts(Chart):
    """What wholes are made of: busy, lost and idle servers."""

    kind: ClassVar[str] = "parts"
    bars: tuple[Bar, ...]

    def to_data(self) -> dict[str, object]:
        bars = [
            {
                "label": bar.label,
                "total": bar.total,
                "parts": [{"label": p.label, "value": triple(p.value), "colour": p.colour} for p in bar.parts],
            }
            for bar in self.bars
        ]
        return self._data(bars=bars)


@dataclass(frozen=True)
class Place:
    """A point of every line: the values of what is varied, and for every measure an estimate for every series."""

    config: tuple[Value, ...]
    values: tuple[tuple[Estimate | None, ...], ...]
    why: str = ""  # why there are no estimates


@dataclass(frozen=True)
class Limit:
    """A value of what is varied that a line must not pass: of all series or of one, everywhere or at one setting of
    what else is varied (`where` is a configuration without a value on the limit's own axis)."""

    at: float
    label: str
    axis: int = 0
    series: int | None = None
    where: tuple[Value | None, ...] = ()


@dataclass(frozen=True)
class Span:
    """A stretch of the axis that has a name: a change of a scenario."""

    since: float
    until: float
    label: str


@dataclass(frozen=True)
class Bound:
    """A value that a measure must not pass: at most so much, or at least."""

    at: float
    at_least: bool = False


@dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """Lines with bands against what is varied."""

    kind: ClassVar[str] = "lines"
    vary: tuple[str, ...]
    measures: tuple[str, ...]
    series: tuple[str, ...]
    points: tuple[Place, ...]
    names: str = "Classes"  # what the series are
    units: tuple[str, ...] = ()  # of the measures, where some are times in the model's own unit
    across: str = ""  # the unit of what is across, where that is a time or a rate in the model's own
    labels: tuple[str, ...] = ()  # of the axes, where names of what is varied would not do
    against: int = 0  # which of the varied is across
    first: tuple[int, ...] = (0,)  # the measure shown first; in a picture, a second one on the right
    pictured: tuple[int, ...] = ()  # the series of a picture; those a page begins with where there are none
    limits: tuple[Limit, ...] = ()
    spans: tuple[Span, ...] = ()
    bounds: tuple[Bound | None, ...] = ()  # of every measure, where objectives have some
    log: bool = False
    marks: bool = True

    @property
    def axes(self) -> list[str]:
        return list(self.labels) or [AXES.get(name, in_words(name)) for name in self.vary]

    def to_data(self) -> dict[str, object]:
        points = [
            {"config": list(p.config), "values": [[triple(v) for v in row] for row in p.values], "why": p.why}
            for p in self.points
        ]
        return self._data(
            vary=[in_words(name) for name in self.vary], axes=self.axes, measures=list(self.measures), points=points,
            names=self.names,
            series=[{"label": label, "shown": n < SHOWN_AT_FIRST} for n, label in enumerate(self.series)],
            against=self.against, first=self.first[0], log=self.log, marks=self.marks,
            limits=[vars(limit) | {"where": list(limit.where)} for limit in self.limits],
            spans=[vars(span) for span in self.spans],
            bounds=[None if bound is None else vars(bound) for bound in self.bounds],
        )  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A value in every window of time."""

    label: str
    values: tuple[float, ...]
    colour: str


@dataclass(frozen=True)
class Panel:
    """Series of one unit, on top of each other, and how high they can be."""

    unit: str
    series: tuple[Step, ...]
    top: float | None = None
    top_label: str = ""


@dataclass(frozen=True, kw_only=True)
class Steps(Chart):
    """Averages in windows of time, panel under panel."""

    kind: ClassVar[str] = "steps"
    axis: str
    begin: tuple[float, ...]
    end: tuple[float, ...]
    panels: tuple[Panel, ...]

    def to_data(self) -> dict[str, object]:
        panels = [
            {
                "unit": panel.unit,
                "top": None if panel.top is None else {"value": panel.top, "label": panel.top_label},
                "series": [vars(one) | {"values": [number(x) for x in one.values]} for one in panel.series],
            }
            for panel in self.panels
        ]
        return self._data(axis=self.axis, begin=list(self.begin), end=list(self.end), panels=panels)


@dataclass(frozen=True)
class Fading:
    """A job on a line of time: stretches with how surely it runs in each, when it should end or start, and a limit."""

    label: str
    stretches: tuple[tuple[float, float, float], ...]  # from, to, probability
    at: float  # the median of what is not sure
    colour: str
    told: tuple[str, ...]  # in words, for who points at it
    limit: float | None = None


@dataclass(frozen=True, kw_only=True)
class Timeline(Chart):
    """Jobs over time, as surely as is known: bars that fade where it is not."""

    kind: ClassVar[str] = "timeline"
    axis: str
    rows: tuple[Fading, ...]
    begin: float
    end: float
    colours: tuple[tuple[str, str], ...]  # colour, and the jobs that have it

    def to_data(self) -> dict[str, object]:
        rows = [
            {
                "label": row.label,
                "stretches": [list(stretch) for stretch in row.stretches],
                "at": number(row.at),
                "colour": row.colour,
                "told": list(row.told),
                "limit": number(row.limit),
            }
            for row in self.rows
        ]
        return self._data(
            axis=self.axis, rows=rows, begin=self.begin, end=self.end, colours=[list(pair) for pair in self.colours]
        )
