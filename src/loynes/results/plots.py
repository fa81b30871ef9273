"""The pictures' old names: everything lives in `loynes.results.charts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loynes.results.charts.drawing import COLOURS, STYLE, axes, bands, draw, picture, pyplot, save_picture
from loynes.results.charts.sweep import lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from loynes.results.sweep import Sweep

__all__ = ["COLOURS", "STYLE", "axes", "bands", "plot_comparison", "plot_over_time", "plot_plan", "plot_policies",
           "plot_series", "plot_sweep", "plot_waits", "pyplot", "save_picture"]  # fmt: skip

plot_waits = plot_over_time = plot_policies = plot_comparison = plot_plan = plot_series = picture


def plot_sweep(
    result: Sweep, ax: Axes | None = None, *, metric: str = "wait.mean", classes: list[str] | None = None,
    x: str | None = None,
) -> Axes:  # fmt: skip
    """A metric against what is varied: options as of `loynes.results.charts.sweep.lines`."""
    return draw(lines(result, metric=metric, classes=classes, x=x), ax)
