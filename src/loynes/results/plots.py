"""Pictures of results; matplotlib is loaded only here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.results.files import whole_file
from loynes.results.records import Evaluation
from loynes.results.tidy import ALL_JOBS, leaves

if TYPE_CHECKING:
    from loynes.results.comparison import Comparison
    from loynes.results.plan import Plan
    from loynes.results.policies import PolicyComparison
    from loynes.results.replay import Replay
    from loynes.results.simulation import Simulation
    from loynes.results.sweep import Sweep

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; black is for all jobs, and limits.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
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
NAMES = {"wait": "wait", "response": "response", "mean": "mean", "variance": "variance of the", "no_wait": "P(no wait)"}


def plot_waits(result: Evaluation | Simulation, ax: Any = None) -> Any:
    """Mean and 95th percentile of the wait by class, smallest need first, with their intervals as bars."""
    ax = axes(ax)
    names = [*result.classes, ALL_JOBS]
    waits = [*result.classes.values(), result.overall]
    place = np.arange(len(names))
    for number, (shift, label, values) in enumerate(
        (
            (-0.08, "mean wait", [w.wait.mean for w in waits]),
            (0.08, "95th percentile", [w.wait.p95 for w in waits]),
        )
    ):
        ax.errorbar(
            place + shift, [v.estimate for v in values], yerr=_bars(values), fmt=MARKERS[number],
            color=COLOURS[number], capsize=3, label=label,
        )  # fmt: skip
    ax.set_xticks(place, names, rotation=45 if len(names) > 8 else 0, ha="right" if len(names) > 8 else "center")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("wait (units of time)")
    how = f"{result.load:.0%} of the threshold" if isinstance(result, Evaluation) else result.policy
    ax.set_title(f"{result.model.label}, rate {result.rate:.4g} ({how})")
    ax.legend(frameon=False)
    return ax


def plot_over_time(result: Simulation, ax: Any = None) -> Any:
    """The mean wait of those who come, and jobs waiting on the right, with bands; changes of the scenario shaded."""
    ax = axes(ax)
    times = [moment.time for moment in result.moments]
    bands(ax, {"mean wait": [(m.time, m.wait) for m in result.moments if m.wait is not None]}, log=False)
    queue = ax.twinx()
    queue.grid(visible=False)
    waiting = [m.jobs_waiting for m in result.moments]
    queue.plot(times, [v.estimate for v in waiting], color=COLOURS[1], marker=MARKERS[1], markersize=4, linewidth=1.4,
               label="jobs waiting")  # fmt: skip
    queue.fill_between(times, [v.low for v in waiting], [v.high for v in waiting], color=COLOURS[1], alpha=0.2, lw=0)
    queue.set_ylim(bottom=0)
    queue.set_ylabel("jobs waiting")
    for number, change in enumerate(result.model.scenario or ()):
        until = min(change.until or times[-1], times[-1])
        if change.since < until:
            ax.axvspan(change.since, until, color=COLOURS[2 + number % 5], alpha=0.12, linewidth=0, label=change.label)
    ax.set_xlabel("time")
    ax.set_ylabel("wait of those who come (units of time)")
    shown = [one.get_legend_handles_labels() for one in (ax, queue)]
    handles, labels = (shown[0][i] + shown[1][i] for i in (0, 1))
    lines = -(-len(labels) // 3)
    ax.set_title(
        f"{result.model.label}, rate {result.rate:.4g}, {result.policy}, from {result.start}", pad=12 + 15 * lines
    )
    ax.legend(handles, labels, frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize="small")
    return ax


def plot_sweep(
    result: Sweep, ax: Any = None, *, metric: str = "wait.mean", classes: list[str] | None = None, x: str | None = None
) -> Any:
    """A metric against what is varied: intervals as bands, stability limits as lines, a log axis over decades.

    With one thing varied, a line a class; with several, a line for all jobs (or the one class given) and every
    combination of the others. `metric` is a name of the tidy table, `x` what to put on the axis.
    """
    ax = axes(ax)
    x = x or next((name for name in ("rate", "load") if name in result.vary), result.vary[0])
    if x not in (*result.vary, "rate", "load"):
        raise UsageError(f"x {x!r}: must be one of {', '.join(result.vary)}, rate, load")
    points = [point for point in result.points if point.result is not None]
    others = [name for name in result.vary if name not in ("rate", "load") or name == x]
    others = [name for name in others if name != x]
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    limits: dict[str, float] = {}
    for point in points:
        found = point.result
        assert found is not None
        at = float(point.config.get(x, getattr(found, x, np.nan)))
        group = ", ".join(f"{name.rsplit('.', 1)[-1]} {point.config[name]}" for name in others)
        for name, what, value in leaves(found):
            wanted = name in classes if classes else name == ALL_JOBS or not others
            if what == metric and wanted:
                label = group if others and (not classes or len(classes) == 1) else f"{name} {group}".strip()
                lines.setdefault(label or name, []).append((at, value))
        limits[group] = 1.0 if x == "load" else found.threshold.estimate
    if not lines:
        known = sorted({what for point in points[:1] if point.result for _, what, _ in leaves(point.result)})
        raise UsageError(f"metric {metric!r}: not in these results; there are {', '.join(known)}")
    bands(ax, lines)
    if x in ("rate", "load"):
        for limit in sorted(set(limits.values())):
            ax.axvline(limit, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_xlabel({"rate": "arrival rate", "load": "load (rate / threshold)"}.get(x, x))
    ax.set_ylabel(_named(metric))
    ax.set_title(result.model.label)
    ax.legend(frameon=False, fontsize="small", ncols=2 if len(lines) > 6 else 1)
    return ax


def bands(ax: Any, lines: dict[str, list[tuple[float, Estimate]]], log: bool | None = None) -> None:
    """Lines with their intervals as bands; a log axis if asked for, or where positive values span two decades."""
    values = [value.estimate for line in lines.values() for _, value in line if np.isfinite(value.estimate)]
    if log is None:
        log = bool(values) and min(values) > 0 and max(values) > 100 * min(values)
    number = 0
    for label, points in lines.items():
        points = sorted(points, key=lambda point: point[0])
        at = np.array([x for x, _ in points])
        middle, low, high = (np.array([getattr(v, end) for _, v in points]) for end in ("estimate", "low", "high"))
        high = np.where(np.isfinite(high), high, middle)
        if log:  # what is 0 has no place there
            middle, low = (
                np.where(middle > 0, middle, np.nan),
                np.where(low > 0, low, np.where(middle > 0, middle, np.nan)),
            )
        colour = "black" if label == ALL_JOBS else COLOURS[number % len(COLOURS)]
        marker = "." if label == ALL_JOBS else MARKERS[number % len(MARKERS)]
        number += label != ALL_JOBS
        ax.plot(at, middle, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)
        ax.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
    if log:
        ax.set_yscale("log")
    elif values and min(values) >= 0:
        ax.set_ylim(bottom=0)


def plot_policies(result: PolicyComparison, ax: Any = None) -> Any:
    """Mean wait against the rate, a line a policy; what each can carry as a dashed line of its colour."""
    ax = axes(ax)
    lines: dict[str, list[tuple[float, Estimate]]] = {name: [] for name in result.policies}
    for point in result.points:
        if point.result is not None:
            lines[point.policy].append((point.rate, point.result.overall.wait.mean))
    bands(ax, lines, log=all(mean.estimate > 0 for line in lines.values() for _, mean in line))
    for number, name in enumerate(result.policies):
        if name in result.limits:
            ax.axvline(
                result.limits[name].rate.estimate, color=COLOURS[number % 7], linewidth=0.9, linestyle=(0, (4, 3))
            )
    ax.set_xlabel("arrival rate (dashed: what each can carry)")
    ax.set_ylabel("mean wait")
    ax.set_title(f"{result.model.label}: policies on the same jobs")
    ax.legend(frameon=False)
    return ax


def plot_comparison(result: Comparison, ax: Any = None) -> Any:
    """Differences of mean and 95th percentile of the wait, by class, with their intervals and a line at none."""
    ax = axes(ax)
    rows = {**result.classes, ALL_JOBS: result.overall}
    place = np.arange(len(rows))
    for number, (name, label) in enumerate((("mean", "mean wait"), ("p95", "95th percentile"))):
        values = [found.wait[name] for found in rows.values()]
        ax.errorbar(
            place + 0.16 * number - 0.08, [v.estimate for v in values], yerr=_bars(values), fmt=MARKERS[number],
            color=COLOURS[number], capsize=3, label=label,
        )  # fmt: skip
    ax.axhline(0.0, color="black", linewidth=0.9)
    ax.set_xticks(place, list(rows))
    ax.set_ylabel("difference of the wait")
    ax.set_title(f"{result.names[1]} less {result.names[0]}")
    ax.legend(frameon=False)
    return ax


def plot_plan(result: Plan, ax: Any = None) -> Any:
    """Every objective's quantity over its bound, at the value that fails, at the answer, and one further."""
    ax = axes(ax)
    places = [name for name in ("fails", "meets", "next") if getattr(result, name) is not None]
    for number, goal in enumerate(result.objectives):
        values = [getattr(goal, name) for name in places]
        scaled = [value.scaled(1.0 / goal.bound if goal.bound else 1.0) for value in values]
        ax.errorbar(
            np.arange(len(places)) + 0.06 * number, [v.estimate for v in scaled], yerr=_bars(scaled), capsize=3,
            marker=MARKERS[number % 7], color=COLOURS[number % 7], linewidth=1.2, label=goal.text,
        )  # fmt: skip
    ax.axhline(1.0, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
    step = {"fails": result.fails_at, "meets": result.answer, "next": result.answer + 1}
    ax.set_xticks(np.arange(len(places)), [f"{step[name]:g} ({name})" for name in places])
    ax.set_xlabel(result.noun)
    ax.set_ylabel("value / bound")
    ax.set_ylim(bottom=0)
    ax.set_title(result.statement, fontsize="medium", wrap=True)
    ax.legend(frameon=False)
    return ax


def plot_series(result: Replay, ax: Any = None) -> Any:
    """Busy servers and, on top of them, those lost to HOL blocking, in steps over time; waiting jobs on the right."""
    ax = axes(ax)
    series = result.series
    edges = np.array([*series.begin, series.end[-1]]) / 86400.0
    busy = np.array(series.busy_servers)
    ax.stairs(busy, edges, fill=True, alpha=0.5, color=COLOURS[0], label="busy servers")
    lost = busy + np.array(series.hol_loss)
    ax.stairs(lost, edges, baseline=busy, fill=True, alpha=0.5, color=COLOURS[4], label="HOL loss")
    ax.axhline(result.servers, color="black", linewidth=0.8)
    ax.set_ylim(0, 1.05 * result.servers)
    ax.set_xlabel("days since the first submission")
    ax.set_ylabel("servers")
    queue = ax.twinx()
    queue.grid(visible=False)
    queue.stairs(series.jobs_waiting, edges, color=COLOURS[1], label="jobs waiting")
    queue.set_ylim(bottom=0)
    queue.set_ylabel("jobs waiting")
    ax.set_title(f"{result.name}, {result.servers} servers", pad=26)
    shown = [one.get_legend_handles_labels() for one in (ax, queue)]
    # Above the axes: a series leaves no corner free.
    ax.legend(*(shown[0][i] + shown[1][i] for i in (0, 1)), frameon=False, ncols=3, loc="lower center",
              bbox_to_anchor=(0.5, 1.0))  # fmt: skip
    return ax


def save_picture(result: Any, path: str | Path) -> None:
    """A result's plot as a .png, .svg or .pdf file, the same bytes for the same result."""
    plt = pyplot()
    ending = Path(path).suffix.lower().removeprefix(".")
    with plt.rc_context(STYLE | {"backend": "agg"}), whole_file(path) as draft:
        figure = result.plot().figure
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        figure.savefig(draft, dpi=150, format=ending, metadata=dateless)
        plt.close(figure)


def axes(ax: Any = None, **options: Any) -> Any:
    """The axes given, or new ones in the house's style."""
    plt = pyplot()
    if ax is not None:
        return ax
    with plt.rc_context(STYLE):
        return plt.subplots(**{"figsize": (7, 4), "layout": "constrained"} | options)[1]


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'loynes[plot]'") from None
    return plt


def _named(metric: str) -> str:
    what, _, stat = metric.partition(".")
    if not stat:
        return NAMES.get(what, what.replace("_", " "))
    if stat.startswith("p") and stat[1:].isdigit():
        return f"{stat[1:]}th percentile of the {NAMES.get(what, what)}"
    return f"{NAMES.get(stat, stat)} {NAMES.get(what, what)}"


def _bars(values: list[Estimate]) -> np.ndarray:
    bars = np.array([[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]])
    return np.where(np.isfinite(bars), np.maximum(bars, 0.0), 0.0)
