"""Draws the pictures in the docs and computes the numbers behind them: make docs, or python docs/figures.py NAME ...

`python docs/figures.py --draw` draws what it can from the tables (.csv, .json) that are there, and computes nothing.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Text

import loynes
from loynes.kernels.reference import clamp_step

HERE = Path(__file__).parent
EXACT = (3.7523494, 8.5944007, 14.932306, 23.490975, 35.586642, 53.857604, 84.464384, 145.89301, 330.57994)
THRESHOLD = 20.448071666

# Pages are read on white and on black: backgrounds are transparent, and what would be black is this grey, whose
# contrast is about 4.5 to both.
GREY = "#777b80"
ARROW = {"arrowstyle": "->", "color": GREY}

plt.rcParams |= {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "loynes",
    "svg.fonttype": "none",
}


def save(figure: plt.Figure, name: str) -> None:
    """As an SVG that reads on white and on black."""
    for artist in (*figure.findobj(Text), *figure.findobj(Line2D)):
        if max(to_rgb(artist.get_color())) < 0.3:
            artist.set_color(GREY)
    for axis in figure.axes:
        axis.spines[:].set_edgecolor(GREY)
        for line in (*axis.get_xgridlines(), *axis.get_ygridlines()):
            line.set(color=GREY, alpha=0.25)
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None}, transparent=True)
    plt.close(figure)


def table(name: str) -> list[dict[str, str]]:
    with (HERE / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def report() -> None:
    """The page that README and landing page show, as a browser shows it, light and dark: the cluster in examples/."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit(
            "report: a page is pictured by chromium, chromium-browser or google-chrome; none is on the PATH"
        )
    text = loynes.evaluate(HERE.parent / "examples" / "gpu-nodes.toml").report()
    with tempfile.TemporaryDirectory() as folder:
        for theme in ("light", "dark"):
            page = Path(folder) / f"{theme}.html"
            page.write_text(text.replace("<html", f'<html data-theme="{theme}"', 1), encoding="utf-8")
            subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,1044",
                 f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000",
                 f"--screenshot={HERE}/report-{theme}.png", page.as_uri()],
                check=True, capture_output=True,
            )  # fmt: skip


def one_step() -> None:
    """How it works, in one picture: a job of need 3 meets a workload vector, and leaves another."""
    W = np.array([0.0, 0.6, 1.7, 2.1, 2.9, 3.4, 4.3, 4.6])
    a, sigma, tau = 3, 1.6, 0.8
    start, s = W[a - 1], len(W)
    after = clamp_step(W, a, sigma, tau)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), sharey=True, layout="constrained")
    grey, blue, red = "#a3abb5", "#3b73bd", "#d5453a"
    axes[0].bar(range(s), W, color=grey, width=0.86)
    axes[0].set_title("an arriving job sees W, ascending")
    axes[0].annotate("a job that needs 3 servers\nwaits until W[2]", (2.0, W[2]), (0.0, 4.6), arrowprops=ARROW)
    axes[1].bar(range(s), W, color=grey, width=0.86)
    axes[1].bar(range(a), start - W[:a], bottom=W[:a], color="none", edgecolor=red, hatch="////", width=0.86)
    axes[1].bar(range(a), [sigma] * a, bottom=start, color=blue, width=0.86)
    axes[1].set_title("it takes the 3 least loaded together")
    axes[1].annotate("its service", (1.0, start + 0.9 * sigma), (3.0, 4.9), arrowprops=ARROW, color=blue)
    axes[1].annotate("idle, but\nblocked", (0.1, 1.4), (-0.4, 4.3), arrowprops=ARROW, color=red)
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
    draw_backward_bias(samples)


def draw_backward_bias(samples: int = 20_000) -> None:
    rows = table("backward-bias")
    figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for shift, (name, marker) in enumerate(zip(dict.fromkeys(row["rule"] for row in rows), "sov", strict=True)):
        part = [
            [float(row[k]) for k in ("load", "exact", "mean_wait", "low", "high")]
            for row in rows
            if row["rule"] == name
        ]
        load, exact, mean, low, high = np.array(part).T
        error = 100 * np.array([mean - low, high - mean]) / exact
        place = load + 0.012 * (shift - 1)
        axis.errorbar(place, 100 * (mean / exact - 1), yerr=error, fmt=marker, capsize=2, label=name, ms=4)
    axis.axhline(0, color=GREY, lw=0.8)
    axis.set_xlabel("load (fraction of the threshold)")
    axis.set_ylabel("mean wait against exact, %")
    axis.set_title(f"Backward samples lie below the truth (one-or-all, {samples} samples, 99% intervals)", fontsize=10)
    axis.legend(frameon=False, fontsize=8)
    save(figure, "backward-bias")


def sandwich(arrivals: int = 128 * 500) -> None:
    """one-or-all at load 0.9: what a short run says after ever longer burn-ins, from empty and from both sides."""
    burn_ins = [2**k for k in range(10, 22)]
    rate = 0.9 * THRESHOLD
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
    draw_sandwich()


def draw_sandwich() -> None:
    rows, exact = table("sandwich"), EXACT[8]
    burn_ins = list(dict.fromkeys(int(row["burn_in"]) for row in rows))
    figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for method, colour, shift, label in (
        ("forward", "#d5453a", 0.94, "from empty: 99% interval"),
        ("sandwich", "#3b73bd", 1.06, "sandwich: bracket"),
    ):
        part = [row for row in rows if row["method"] == method]
        place, low, high = np.array([[float(row[k]) for k in ("burn_in", "low", "high")] for row in part]).T
        axis.vlines(place * shift, np.maximum(low, 1), high, color=colour, lw=5, label=label)
    axis.axhline(exact, color=GREY, lw=0.8, label=f"exact: {exact:.2f}")
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
    rows = table("coverage")
    figure, axis = plt.subplots(figsize=(7.5, 0.26 * len(rows) + 1.2), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        share, low, high = (100 * float(row[k]) for k in ("coverage", "low", "high"))
        colour = "#3b73bd" if row["stop"].startswith("precision") else "#777777"
        axis.errorbar(share, place, xerr=[[share - low], [high - share]], fmt="o", color=colour, ms=4, capsize=2)
    axis.axvline(99, color=GREY, lw=0.8)
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


def growth() -> None:
    """What benchmarks/growth.py measured: cost against size, both by powers of ten, a panel an axis and unit."""
    measured = json.loads((HERE.parent / "benchmarks" / "results" / "growth.json").read_text())["series"]
    panels = {
        "servers": ("servers", "job"),
        "servers ": ("servers", "answer"),
        "classes": ("classes", "job"),
        "classes ": ("classes", "answer"),
        "1 / (1 - load)": ("load", "answer"),
        "jobs": ("jobs", "answer"),
    }
    colours = ("#3b73bd", "#d5453a", "#3d9970", "#b07cc6", "#c98a1b")
    found = {key: [one for one in measured if (one["axis"], one["unit"]) == key] for key in panels.values()}
    panels = {label: key for label, key in panels.items() if found[key]}
    rows = -(-len(panels) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(9, 3.2 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (label, key) in zip(axes.flat, panels.items(), strict=False):
        lines = found[key]
        for one, colour, marker in zip(lines, colours, "osv^D", strict=False):
            size = np.array(one["sizes"])
            place = 1.0 / (1.0 - size) if key[0] == "load" else size
            text = f"{one['name']}: {one['exponent']:.2f}"
            axis.loglog(place, one["seconds"], marker=marker, ms=4, lw=1.2, color=colour, label=text)
        axis.set_xlabel(label.strip())
        axis.set_ylabel(f"processor time, s {'a job' if key[1] == 'job' else 'an answer'}")
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low) ** (0.14 * len(lines)))  # room for the legend
        axis.grid(visible=True)
        axis.legend(frameon=False, fontsize=8, loc="upper left")
    save(figure, "growth")


FIGURES = {
    "report": report,
    "one-step": one_step,
    "backward-bias": backward_bias,
    "sandwich": sandwich,
    "coverage": coverage,
    "policies": policies,
    "scenario": scenario,
    "growth": growth,
}
FROM_TABLES = {
    "one-step": one_step,
    "backward-bias": draw_backward_bias,
    "sandwich": draw_sandwich,
    "coverage": coverage,
    "growth": growth,
}

if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--draw"]
    figures = FROM_TABLES if "--draw" in sys.argv else FIGURES
    for name in names or figures:
        figures[name]()
