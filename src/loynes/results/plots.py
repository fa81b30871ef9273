"""Pictures of results; matplotlib is loaded only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate

if TYPE_CHECKING:
    from loynes.results.records import Evaluation
    from loynes.results.replay import Replay


def plot_waits(result: Evaluation, ax: Any = None) -> Any:
    """Mean and 95th percentile of the wait by class, smallest need first, with their intervals as bars."""
    ax = _axes(ax)
    names = [*result.classes, "all jobs"]
    waits = [*result.classes.values(), result.overall]
    place = np.arange(len(names))
    for shift, label, marker, values in (
        (-0.08, "mean wait", "o", [w.wait.mean for w in waits]),
        (0.08, "95th percentile", "s", [w.wait.p95 for w in waits]),
    ):
        ax.errorbar(place + shift, [v.estimate for v in values], yerr=_bars(values), fmt=marker, capsize=3, label=label)
    ax.set_xticks(place, names)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("wait (units of time)")
    ax.set_title(f"{result.model.label}, rate {result.rate:.4g} ({result.load:.0%} of the threshold)")
    ax.legend(frameon=False)
    return ax


def plot_series(result: Replay, ax: Any = None) -> Any:
    """Busy servers and, on top of them, those lost to HOL blocking, in steps over time; waiting jobs on the right."""
    ax = _axes(ax)
    series = result.series
    edges = np.array([*series.begin, series.end[-1]]) / 86400.0
    busy = np.array(series.busy_servers)
    ax.stairs(busy, edges, fill=True, alpha=0.5, label="busy servers")
    ax.stairs(busy + np.array(series.hol_loss), edges, baseline=busy, fill=True, alpha=0.5, label="HOL loss")
    ax.axhline(result.servers, color="black", linewidth=0.8)
    ax.set_ylim(0, 1.05 * result.servers)
    ax.set_xlabel("days since the first submission")
    ax.set_ylabel("servers")
    queue = ax.twinx()
    queue.stairs(series.jobs_waiting, edges, color="tab:red", label="jobs waiting")
    queue.set_ylim(bottom=0)
    queue.set_ylabel("jobs waiting")
    ax.set_title(f"{result.name}, {result.servers} servers", pad=26)
    shown = [one.get_legend_handles_labels() for one in (ax, queue)]
    # Above the axes: a series leaves no corner free.
    ax.legend(*(shown[0][i] + shown[1][i] for i in (0, 1)), frameon=False, ncols=3, loc="lower center",
              bbox_to_anchor=(0.5, 1.0))  # fmt: skip
    return ax


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'loynes[plot]'") from None
    return plt.subplots(figsize=(7, 4), layout="constrained")[1] if ax is None else ax


def _bars(values: list[Estimate]) -> np.ndarray:
    bars = np.array([[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]])
    return np.where(np.isfinite(bars), np.maximum(bars, 0.0), 0.0)
