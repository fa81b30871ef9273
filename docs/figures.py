"""Draws the pictures in the docs and computes the numbers behind them: make docs, or python docs/figures.py NAME ..."""

from __future__ import annotations

import csv
import math
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import loynes
from loynes.kernels.reference import clamp_step

HERE = Path(__file__).parent
EXACT = (3.7523494, 8.5944007, 14.932306, 23.490975, 35.586642, 53.857604, 84.464384, 145.89301, 330.57994)
THRESHOLD = 20.448071666

plt.rcParams |= {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "loynes",
    "svg.fonttype": "none",
}


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    figure.savefig(HERE / f"{name}.png", dpi=150)


def one_step() -> None:
    """How it works, in one picture: a job of need 3 meets a workload vector, and leaves another."""
    W = np.array([0.0, 0.6, 1.7, 2.1, 2.9, 3.4, 4.3, 4.6])
    a, sigma, tau = 3, 1.6, 0.8
    start, s = W[a - 1], len(W)
    after = clamp_step(W, a, sigma, tau)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), sharey=True, layout="constrained")
    grey, blue, red = "#b8bec7", "#3465a4", "#cc3b2f"
    axes[0].bar(range(s), W, color=grey, width=0.86)
    axes[0].set_title("an arriving job sees W, ascending")
    axes[0].annotate(
        "a job that needs 3 servers\nwaits until W[2]", (2.0, W[2]), (0.0, 4.6), arrowprops={"arrowstyle": "->"}
    )
    axes[1].bar(range(s), W, color=grey, width=0.86)
    axes[1].bar(range(a), start - W[:a], bottom=W[:a], color="none", edgecolor=red, hatch="////", width=0.86)
    axes[1].bar(range(a), [sigma] * a, bottom=start, color=blue, width=0.86)
    axes[1].set_title("it takes the 3 least loaded together")
    axes[1].annotate("its service", (1.0, start + 0.9 * sigma), (3.0, 4.9), arrowprops={"arrowstyle": "->"}, color=blue)
    axes[1].annotate("idle, but\nblocked", (0.1, 1.4), (-0.4, 4.3), arrowprops={"arrowstyle": "->"}, color=red)
    order = np.argsort(np.concatenate([np.full(a, start + sigma), W[a:]]), kind="stable")
    colours = [blue if i < a else grey for i in order]
    axes[2].bar(range(s), after, color=colours, width=0.86)
    axes[2].set_title("sorted, and a gap τ later: W′")
    axes[2].text(
        -0.4, 5.0, "W′[i] = max(0, median(W[i], v, W[i+a]) − τ)\nwith v = W[a−1] + σ: no sort needed", fontsize=8.5
    )
    for axis in axes:
        axis.set_xticks(range(s))
        axis.set_xlabel("server, least loaded first")
    axes[0].set_ylabel("time until free")
    axes[0].set_ylim(0, 5.7)
    save(figure, "one-step")


def backward_bias(samples: int = 20_000) -> None:
    """Sub-perfect samples against exact means: one-or-all, loads 0.1 to 0.9, three ways to stop."""
    rules = {
        "first past 512 jobs": {"initial_length": 512},
        "first past by the rarest class (default)": {},
        "default, 2 confirmations": {"confirmations": 2},
    }
    rows = []
    for name, options in rules.items():
        for tenth, exact in enumerate(EXACT, start=1):
            result = loynes.evaluate(
                "one-or-all", rate=0.1 * tenth * THRESHOLD, method="backward", samples=samples, **options
            )
            mean, length = result.overall.wait.mean, result.details["length"]
            rows.append((name, 0.1 * tenth, exact, mean.estimate, mean.low, mean.high, length["median"], length["max"]))
            print(f"{name}, load {0.1 * tenth:.1f}: {mean.estimate:.4g} ±{mean.half_width:.2g}, exact {exact:.5g}, "
                  f"{mean.estimate / exact - 1:+.1%}, {length}, {result.seconds:.1f} s", flush=True)  # fmt: skip
    with (HERE / "backward-bias.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rule", "load", "exact", "mean_wait", "low", "high", "median_length", "longest"])
        writer.writerows([(r[0], f"{r[1]:.1f}", *(f"{x:.6g}" for x in r[2:])) for r in rows])
    figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for shift, (name, marker) in enumerate(zip(rules, "sov", strict=True)):
        part = np.array([r[1:6] for r in rows if r[0] == name])
        load, exact, mean, low, high = part.T
        error = 100 * np.array([mean - low, high - mean]) / exact
        place = load + 0.012 * (shift - 1)
        axis.errorbar(place, 100 * (mean / exact - 1), yerr=error, fmt=marker, capsize=2, label=name, ms=4)
    axis.axhline(0, color="black", lw=0.8)
    axis.set_xlabel("load (fraction of the threshold)")
    axis.set_ylabel("mean wait against exact, %")
    axis.set_title(f"Backward samples lie below the truth (one-or-all, {samples} samples, 99% intervals)", fontsize=10)
    axis.legend(frameon=False, fontsize=8)
    save(figure, "backward-bias")


def sandwich(arrivals: int = 128 * 500) -> None:
    """one-or-all at load 0.9: what a short run says after ever longer burn-ins, from empty and from both sides."""
    burn_ins = [2**k for k in range(10, 22)]
    exact, rate = EXACT[8], 0.9 * THRESHOLD
    rows = []
    for burn_in in burn_ins:
        for method in ("forward", "sandwich"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", loynes.LoynesWarning)
                found = loynes.evaluate("one-or-all", rate=rate, method=method, burn_in=burn_in, samples=arrivals)
            mean = found.overall.wait.mean
            apart = found.certificate.distance.estimate if found.certificate else math.nan
            rows.append((burn_in, method, mean.low, mean.high, apart))
            print(f"{method}, burn-in {burn_in}: [{mean.low:.4g}, {mean.high:.4g}], apart {apart:.2g}, "
                  f"{found.seconds:.1f} s", flush=True)  # fmt: skip
    with (HERE / "sandwich.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["burn_in", "method", "low", "high", "apart"])
        writer.writerows([(*r[:2], *(f"{x:.6g}" for x in r[2:])) for r in rows])
    figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for method, colour, shift, label in (
        ("forward", "#cc3b2f", 0.94, "from empty: 99% interval"),
        ("sandwich", "#3465a4", 1.06, "sandwich: bracket"),
    ):
        part = [r for r in rows if r[1] == method]
        place = np.array([r[0] for r in part]) * shift
        low, high = (np.array([r[k] for r in part]) for k in (2, 3))
        axis.vlines(place, np.maximum(low, 1), high, color=colour, lw=5, label=label)
    axis.axhline(exact, color="black", lw=0.8, label=f"exact: {exact:.2f}")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(burn_ins[::2], [f"{n:,}" for n in burn_ins[::2]])
    axis.set_xlabel("burn-in, jobs")
    axis.set_ylabel("mean wait")
    axis.set_title(
        "A short run after a burn-in: from empty it is wrong and sure of itself (one-or-all, load 0.9)", fontsize=10
    )
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    save(figure, "sandwich")


def coverage() -> None:
    """How often 99% intervals held the truth, from benchmarks/intervals.py's table."""
    with (HERE / "coverage.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axis = plt.subplots(figsize=(7.5, 0.26 * len(rows) + 1.2), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        share, low, high = (100 * float(row[k]) for k in ("coverage", "low", "high"))
        colour = "#3465a4" if row["stop"].startswith("precision") else "#777777"
        axis.errorbar(share, place, xerr=[[share - low], [high - share]], fmt="o", color=colour, ms=4, capsize=2)
    axis.axvline(99, color="black", lw=0.8)
    axis.set_yticks(
        range(len(rows)), [f"{r['case']}: {r['quantity']}, {r['stop']}" for r in reversed(rows)], fontsize=8
    )
    axis.set_xlim(min(96.5, *(100 * float(row["low"]) - 0.2 for row in rows)), 100)
    figure.supxlabel("repetitions whose 99% interval held the exact value, %, with 95% intervals", fontsize=10)
    save(figure, "coverage")


def policies() -> None:
    """What strict order costs: four policies on the same jobs."""
    found = loynes.compare_policies(
        "five-class-exponential", ["fcfs", "easy", "first-fit", "most-servers-first"], loads="0.3:1.1:0.1"
    )
    save(found.plot().figure, "policies")


def scenario() -> None:
    """A burst, a failure and a maintenance window."""
    changes = [
        {"name": "burst", "from": 200, "until": 400, "rate_factor": 1.6},
        {"name": "a rack fails", "from": 800, "lost": "10%", "how": "failed"},
        {"name": "maintenance", "from": 1400, "until": 1500, "lost": 15},
    ]
    model = loynes.load(loynes.load("five-class-exponential").to_dict() | {"scenario": changes})
    found = loynes.simulate(model, load=0.7, start="stationary", horizon=2000, at=np.arange(0, 2001, 25))
    save(found.plot().figure, "scenario")


FIGURES = {
    "one-step": one_step,
    "backward-bias": backward_bias,
    "sandwich": sandwich,
    "coverage": coverage,
    "policies": policies,
    "scenario": scenario,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()
