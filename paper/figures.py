"""The figures of paper.md: make paper-figures. Seeds are fixed, so that the same version draws the same figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

import loynes

HERE = Path(__file__).parent
# Small enough for exact values.
MODEL = loynes.load(
    {
        "name": "four servers",
        "servers": 4,
        "classes": [
            {"name": "one", "need": 1, "probability": 0.8, "service": {"law": "exponential", "mean": 1.0}},
            {"name": "all", "need": 4, "probability": 0.2, "service": {"law": "exponential", "mean": 0.5}},
        ],
    }
)
LOADS = (0.3, 0.5, 0.7, 0.8, 0.9)
POLICIES = ("fcfs", "easy", "first-fit")


def save(name: str, axes: plt.Axes) -> None:
    axes.set(xlabel="load, of the threshold under strict order", ylabel="mean wait", yscale="log")
    axes.set_yticks((0.2, 0.5, 1, 2, 5), ("0.2", "0.5", "1", "2", "5"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.figure.savefig(HERE / f"{name}.png", dpi=200, metadata={"Software": None})
    plt.close(axes.figure)


def axes() -> plt.Axes:
    return plt.subplots(figsize=(5.2, 3.2), layout="constrained")[1]


def waits() -> None:
    """Certified brackets of short runs, and the exact values."""
    ax = axes()
    exact = [loynes.exact(MODEL, load=load).mean_wait for load in LOADS]
    means = [one.result.overall.wait.mean for one in loynes.sweep(MODEL, loads=LOADS, samples=4_000, seed=1).points]
    ax.plot(LOADS, exact, color="0.6", label="exact")
    for load, mean in zip(LOADS, means, strict=True):
        ax.plot((load, load), (mean.low, mean.high), color="C0", linewidth=3, solid_capstyle="butt")
    ax.plot([], [], color="C0", linewidth=3, label="bracket, 99%")
    save("waits", ax)


def policies() -> None:
    """The same jobs under three policies."""
    ax = axes()
    found = loynes.compare_policies(MODEL, POLICIES, loads=LOADS, jobs=20_000, replicas=32, limits=False, seed=1)
    for policy in POLICIES:
        points = [point for point in found.points if point.policy == policy and point.result is not None]
        means = [point.result.overall.wait.mean for point in points]
        low, high = ([mean.estimate - mean.low for mean in means], [mean.high - mean.estimate for mean in means])
        ax.errorbar(LOADS[: len(means)], [mean.estimate for mean in means], (low, high), label=policy, capsize=2)
    save("policies", ax)


if __name__ == "__main__":
    waits()
    policies()
