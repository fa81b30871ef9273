"""Charts as pictures; matplotlib is loaded only here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import singledispatch
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.readable import readable, readable_throughout
from loynes.results.base import Result
from loynes.results.charts.chart import (
    SHOWN_AT_FIRST,
    Bar,
    Bound,
    Chart,
    Lines,
    Parts,
    Place,
    Row,
    Rows,
    Steps,
    Timeline,
    decades,
)
from loynes.results.charts.register import charts_of
from loynes.results.files import whole_file
from loynes.results.paths import in_words
from loynes.results.table import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; black is for all jobs, and limits.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
NAMED = {f"c{n}": colour for n, colour in enumerate(COLOURS)} | {
    "busy": "#0072B2", "lost": "#D55E00", "idle": "#c9c9c6", "allowed": "#009E73",
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHED = (0, (4, 3))
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "loynes",
    "svg.fonttype": "none",
}
# Letters of all names under an axis that fit beside each other.
MOST_LETTERS = 72
LONGEST_NAME = 28
# A longer word would leave no room for the drawing itself.
ENDLESS = re.compile(r"\S{61,}")
# Whole numbers across, fewer than these, have ticks at whole numbers.
MOST_TICKS = 12


def draw(chart: Chart, ax: Axes | None = None) -> Axes:
    """A chart on the axes given, or on new ones; returns the axes."""
    ax = axes(ax, _size(chart))
    _draw(_with_plain_texts(chart), ax)
    return ax


def _with_plain_texts(chart: Chart) -> Chart:
    """The chart with texts that matplotlib shows as they are: it takes $ for the beginning of a formula, and leaves
    names that begin with an underscore out of legends."""

    def plain(text: str) -> str:
        shown = ENDLESS.sub(lambda word: _short(word[0]), readable(text)).replace("$", r"\$")
        return f" {shown}" if shown.startswith("_") else shown

    return readable_throughout(chart, plain)


def _size(chart: Chart) -> tuple[float, float]:
    if isinstance(chart, Parts):
        return 7.0, 1.5 + 0.75 * len(chart.bars)
    if isinstance(chart, Rows) and chart.bars:
        return 7.0, 1.2 + 0.26 * max(len(chart.drawn), 4)
    if isinstance(chart, Timeline):
        return 7.0, 1.4 + 0.2 * max(len(chart.rows), 6)
    return 7.0, 4.0


def picture(result: Result, ax: Axes | None = None, kind: str | None = None, **options: object) -> Axes:
    """The first of a result's charts, which is its picture, or the first of a kind, such as "tail"; options are those
    of the function that makes them."""
    return draw(_first_chart(result, kind, **options), ax)


def _first_chart(result: Result, kind: str | None = None, **options: object) -> Chart:
    charts = charts_of(result, **options)
    if not charts:
        raise UsageError("there is nothing to draw in this result")
    if kind is None:
        return charts[0]
    kinds = {chart.about: chart for chart in reversed(charts) if chart.about}
    if kind not in kinds:
        raise UsageError(
            f"kind {kind!r}: there is no such chart of this result; there are {', '.join(kinds) or 'none'}"
        )
    return kinds[kind]


def save_picture(result: Result, path: str | Path) -> None:
    """A result's picture as a .png, .svg or .pdf file, the same bytes for the same result.

    The figure is none of pyplot's, so that no backend is chosen for it and a notebook does not show it.
    """
    rc_context = pyplot().rc_context
    from matplotlib.figure import Figure

    ending = Path(path).suffix.lower().removeprefix(".")
    chart = _first_chart(result)
    with rc_context(STYLE), whole_file(path) as draft:
        figure = Figure(figsize=_size(chart), layout="constrained")
        _draw(_with_plain_texts(chart), figure.subplots())
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        figure.savefig(draft, dpi=150, format=ending, metadata=dateless)


def axes(ax: Axes | None = None, size: tuple[float, float] = (7.0, 4.0)) -> Axes:
    """The axes given, or new ones in the house's style."""
    pyplot()
    if ax is not None:
        return ax
    made: Axes = panels(1, 1, size)[1][0][0]
    return made


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A new figure, and its axes by row and column, in the house's style.

    The figure is made before the style is set: the first figure of a program chooses its backend, and what that sets,
    a notebook's interactive mode among it, would be undone with the style.
    """
    plt = pyplot()
    figure = plt.figure(figsize=size, layout="constrained")
    with plt.rc_context(STYLE):
        return figure, figure.subplots(rows, columns, squeeze=False)


def pyplot() -> ModuleType:
    """matplotlib.pyplot; a usage error where it is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'loynes[plot]'") from None
    module: ModuleType = plt
    return module


@singledispatch
def _draw(chart: Chart, ax: Axes) -> None:
    raise UsageError(f"there is no drawer of {chart.kind}")


@_draw.register(Rows)
def _rows(chart: Rows, ax: Axes) -> None:
    if chart.bars:
        _bars_from_zero(chart, ax)
        return
    rows = [*chart.drawn[chart.pinned :], *chart.drawn[: chart.pinned]]
    measures = chart.first or tuple(range(len(chart.measures)))
    shift = 0.16 if len(measures) < 5 else 0.6 / len(measures)
    for place, m in enumerate(measures):
        label = chart.measures[m]
        for colour, hollow in dict.fromkeys(_look(chart, row, m, place) for row in rows):
            group = [
                (at + shift * (place - 0.5 * (len(measures) - 1)), value)
                for at, row in enumerate(rows)
                if (value := row.values[m]) is not None
                and math.isfinite(value.estimate)
                and _look(chart, row, m, place) == (colour, hollow)
            ]
            if group:
                ax.errorbar(
                    [x for x, _ in group], [v.estimate for _, v in group], yerr=_bars([v for _, v in group]),
                    fmt=MARKERS[place % len(MARKERS)], color=colour, capsize=3, label=label,
                    fillstyle="none" if hollow else "full",
                )  # fmt: skip
                label = "_nolegend_"
    names = [_short(row.label) for row in rows]
    tilted = len(names) > 8 or sum(map(len, names)) > MOST_LETTERS
    ax.set_xticks(range(len(names)), names, rotation=30 if tilted else 0, ha="right" if tilted else "center")
    ax.set_xlim(-0.5, len(names) - 0.5)
    if chart.zero:
        ax.axhline(0.0, color="black", linewidth=0.9)
    else:
        ax.set_ylim(0.0, 1.06 * ax.get_ylim()[1])
    if chart.bound is not None:
        _bound(ax, Bound(chart.bound, chart.at_least))
    ax.set_ylabel(chart.axis)
    _title(ax, chart.picture_title)
    if len(measures) > 1 and ax.containers:
        ax.legend(frameon=False)


def _bars_from_zero(chart: Rows, ax: Axes) -> None:
    """The first measure as horizontal bars, the first row on top; those that may be none are hollow."""
    rows = [(y, row, value) for y, row in enumerate(chart.drawn) if (value := row.values[0]) is not None]
    for y, row, value in rows:
        colour, hollow = COLOURS[value.estimate > 0], _look(chart, row, 0, 0)[1]
        fill = "none" if hollow else colour
        ax.barh(y, value.estimate, height=0.6, color=fill, edgecolor=colour, alpha=1.0 if hollow else 0.75)
    places, values = [y for y, _, _ in rows], [value for _, _, value in rows]
    centres = [value.estimate for value in values]
    ax.errorbar(centres, places, xerr=_bars(values), fmt="none", ecolor="black", elinewidth=1.1, capsize=2.5)
    ax.axvline(0.0, color="black", linewidth=0.9)
    ax.set_yticks(range(len(chart.drawn)), [_short(row.label) for row in chart.drawn])
    ax.set_ylim(len(chart.drawn) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(chart.axis)
    _title(ax, chart.picture_title)


def _look(chart: Rows, row: Row, m: int, place: int) -> tuple[str, bool]:
    """Colour of a mark, and whether it is hollow because there may be no difference."""
    value = row.values[m]
    hollow = chart.zero and value is not None and not (value.low > 0 or value.high < 0)
    return NAMED.get(row.colour, COLOURS[place % len(COLOURS)]), hollow


@_draw.register(Parts)
def _parts(chart: Parts, ax: Axes) -> None:
    one = len(chart.bars) == 1
    labels: set[str] = set()
    for y, bar in enumerate(chart.bars):
        left = 0.0
        for part in bar.parts:
            if not math.isfinite(part.value.estimate):
                continue
            share = max(part.value.estimate, 0.0) / bar.total
            label = f"{part.label}: {shown(part.value)}" if one else part.label
            name = "_nolegend_" if label in labels else label
            ax.barh(y, share, left=left, height=0.55, color=NAMED[part.colour], edgecolor="white", label=name)
            labels.add(label)
            if share >= 0.07 and not one:
                ink = "black" if part.colour in ("idle", "c4", "c5", "c3") else "white"
                ax.text(left + 0.5 * share, y, _amount(part.value.estimate, bar), ha="center", va="center", color=ink)
            left += share
    ax.set_yticks(range(len(chart.bars)), [_short(_whole(bar)) for bar in chart.bars])
    ax.set_ylim(len(chart.bars) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    ax.grid(visible=False, axis="y")
    if labels:
        columns = 2 if one else 3 if max(map(len, labels)) > 12 else 6
        ax.legend(frameon=False, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    _title(ax, chart.picture_title)


@_draw.register(Timeline)
def _timeline(chart: Timeline, ax: Axes) -> None:
    for y, row in enumerate(chart.rows):
        for begin, end, sure in row.stretches:
            ax.barh(y, end - begin, left=begin, height=0.7, color=NAMED[row.colour], alpha=0.85 * sure, linewidth=0)
        if math.isfinite(row.at):
            ax.plot([row.at] * 2, [y - 0.35, y + 0.35], color=NAMED[row.colour], linewidth=1.6)
        if row.limit is not None and row.limit <= chart.end:
            ax.plot([row.limit] * 2, [y - 0.35, y + 0.35], color="#7F7F7F", linewidth=1.0, linestyle=DASHED)
    for colour, label in chart.colours:
        ax.barh(0, 0, color=NAMED[colour], label=label)
    ax.axvline(0.0, color="black", linewidth=1.0)
    ax.set_xlim(chart.begin, chart.end)
    ax.set_yticks(range(len(chart.rows)), [_short(row.label) for row in chart.rows])
    ax.set_ylim(len(chart.rows) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(chart.axis)
    ax.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    _title(ax, chart.picture_title)


def _whole(bar: Bar) -> str:
    """A bar's name, with how much it is of; parts of 1 are shares."""
    return bar.label if bar.total == 1.0 else f"{bar.total:.6g} {bar.label}"


def _amount(value: float, bar: Bar) -> str:
    return f"{value:.0%}" if bar.total == 1.0 else f"{value:.3g}"


@_draw.register(Lines)
def _lines(chart: Lines, ax: Axes) -> None:
    across = chart.against
    places = [point.config[across] for point in chart.points]
    words = list(dict.fromkeys(str(v) for v in places)) if any(isinstance(v, str) for v in places) else []
    drawn = chart.pictured or tuple(range(min(len(chart.series), SHOWN_AT_FIRST)))
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for point in chart.points:
        at = float(words.index(str(point.config[across]))) if words else float(point.config[across])
        for series, value in enumerate(point.values[chart.first[0]]):
            if series in drawn and value is not None:
                name = chart.measures[chart.first[0]] if len(chart.first) > 1 else _name(chart, point, series, drawn)
                lines.setdefault(name, []).append((at, value))
    colours = bands(ax, lines, chart.log, "" if chart.marks else "none")
    for limit in chart.limits:
        if limit.axis == across and not words:
            colour = "black" if limit.series is None else colours.get(chart.series[limit.series], "black")
            ax.axvline(limit.at, color=colour, linewidth=0.9, linestyle=DASHED)
    bound = chart.bounds[chart.first[0]] if chart.bounds else None
    if bound is not None:
        _bound(ax, bound)
    for number, span in enumerate(chart.spans):
        ax.axvspan(span.since, span.until, color=COLOURS[2 + number % 5], alpha=0.12, linewidth=0, label=span.label)
    if words:
        ax.set_xticks(range(len(words)), words)
    elif all(isinstance(x, float) and x.is_integer() for x in places) and len(set(places)) < MOST_TICKS:
        ax.locator_params(axis="x", integer=True)  # there is no half of a server
    dashed = " (dashed: what each can carry)" if any(limit.series is not None for limit in chart.limits) else ""
    ax.set_xlabel(chart.axes[across] + dashed)
    ax.set_ylabel(chart.measures[chart.first[0]])
    if len(chart.first) > 1:
        _beside(chart, ax, drawn[0])
        return
    _title(ax, chart.picture_title)
    if len(lines) > 1 or chart.spans:
        ax.legend(frameon=False, fontsize="small", ncols=2 if len(lines) > 6 else 1)


def _name(chart: Lines, point: Place, series: int, drawn: tuple[int, ...]) -> str:
    """A line's name: its series, and the setting of what else is varied."""
    others = [
        f"{in_words(name)} {value if isinstance(value, str) else f'{value:g}'}"
        for n, (name, value) in enumerate(zip(chart.vary, point.config, strict=True))
        if n != chart.against and len({other.config[n] for other in chart.points}) > 1
    ]
    if not others:
        return chart.series[series]
    return ", ".join(others) if len(drawn) == 1 else f"{chart.series[series]} {', '.join(others)}"


def _beside(chart: Lines, ax: Axes, series: int) -> None:
    """A second measure on the right; the legend above, since lines and stretches leave no corner free."""
    right = ax.twinx()
    right.grid(visible=False)
    label = chart.measures[chart.first[1]]
    values = [(float(point.config[chart.against]), point.values[chart.first[1]][series]) for point in chart.points]
    line = [(at, value) for at, value in values if value is not None]
    _band(right, line, COLOURS[1], MARKERS[1], label)
    right.set_ylim(bottom=0)
    right.set_ylabel(label)
    _legend_above(chart.picture_title, ax, right)


def _legend_above(title: str, *both: Axes) -> None:
    entries = [one.get_legend_handles_labels() for one in both]
    handles = [handle for some, _ in entries for handle in some]
    labels = [str(label) for _, some in entries for label in some]
    columns = 3 if max(map(len, labels)) < 26 else 2
    both[0].set_title(title, pad=12 + 15 * -(-len(labels) // columns))
    both[0].legend(
        handles, labels, frameon=False, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize="small"
    )


def bands(
    ax: Axes, lines: Mapping[str, Sequence[tuple[float, Estimate]]], log: bool | None = None, marker: str = ""
) -> dict[str, str]:
    """Lines with their intervals as bands; a log axis if asked for, or where positive values span two decades.

    Returns the colour of every line.
    """
    values = [value for line in lines.values() for _, value in line if math.isfinite(value.estimate)]
    if log is None:
        log = all(value.estimate > 0 for value in values) and decades(values)
    if log:
        ax.set_yscale("log")
    colours: dict[str, str] = {}
    number = 0
    for label, points in lines.items():
        whole = label == ALL_JOBS
        colours[label] = "black" if whole else COLOURS[number % len(COLOURS)]
        _band(ax, points, colours[label], marker or ("." if whole else MARKERS[number % len(MARKERS)]), label)
        number += not whole
    if not log and values and min(value.estimate for value in values) >= 0:
        ax.set_ylim(bottom=0)
    return colours


def _band(ax: Axes, points: Sequence[tuple[float, Estimate]], colour: str, marker: str, label: str) -> None:
    points = sorted(points, key=lambda point: point[0])
    at = np.array([x for x, _ in points])
    middle, low, high = (
        np.array([end for _, value in points for end in (getattr(value, name),)])
        for name in ("estimate", "low", "high")
    )
    middle = np.where(np.isfinite(middle), middle, np.nan)
    high = np.where(np.isfinite(high), high, middle)
    low = np.where(np.isfinite(low), low, middle)
    if ax.get_yscale() == "log":  # 0 has no place there
        middle = np.where(middle > 0, middle, np.nan)
        low = np.where(low > 0, low, middle)
        # A low end that is next to nothing would leave all others a strip at the top.
        least = np.nanmin(middle) if np.isfinite(middle).any() else 1.0
        low = np.maximum(low, 0.3 * least)
    ax.plot(at, middle, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)
    ax.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)


@_draw.register(Steps)
def _steps(chart: Steps, ax: Axes) -> None:
    edges = np.array([*chart.begin, chart.end[-1]])
    both = [ax]
    for place, panel in enumerate(chart.panels):
        if place:
            ax = both[0].twinx()
            ax.grid(visible=False)
            both.append(ax)
        floor = np.zeros(len(chart.begin))
        for one in panel.series:
            top = floor + np.array(one.values)
            colour, filled = NAMED[one.colour], place == 0
            ax.stairs(
                top, edges, baseline=floor if filled else None, fill=filled, alpha=0.5 if filled else 1.0, color=colour,
                label=one.label,
            )  # fmt: skip
            floor = top
        if panel.top is not None:
            ax.axhline(panel.top, color="black", linewidth=0.8)
        highest = float(np.nanmax(floor, initial=0.0)) if panel.top is None else panel.top
        ax.set_ylim(0, 1.05 * highest or 1.0)
        ax.set_ylabel(panel.unit if len(panel.series) > 1 else panel.series[0].label)
    both[0].set_xlabel(chart.axis)
    _legend_above(chart.picture_title, *both)


def _bound(ax: Axes, bound: Bound) -> None:
    """The bound of an objective, and the side of it that is good."""
    low, high = ax.get_ylim()
    high = max(high, 1.15 * bound.at)
    ax.axhline(bound.at, color="black", linewidth=0.9, linestyle=DASHED)
    ends = (bound.at, high) if bound.at_least else (low, bound.at)
    ax.axhspan(*ends, color=NAMED["allowed"], alpha=0.07, linewidth=0)
    ax.set_ylim(low, high)


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text, fontsize="large" if len(text) < 60 else "medium", wrap=True)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _bars(values: Sequence[Estimate]) -> np.ndarray:
    bars = np.array([[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]])
    return np.where(np.isfinite(bars), np.maximum(bars, 0.0), 0.0)
