"""Pictures of results; matplotlib is loaded only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate

if TYPE_CHECKING:
    from loynes.results.records import Evaluation


def plot_waits(result: Evaluation, ax: Any = None) -> Any:
    """Mean and 95th percentile of the wait by class, smallest need first, with their intervals as bars."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'loynes[plot]'") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
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


def _bars(values: list[Estimate]) -> np.ndarray:
    bars = np.array([[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]])
    return np.where(np.isfinite(bars), np.maximum(bars, 0.0), 0.0)
