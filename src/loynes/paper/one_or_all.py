"""The table of mean waits of a cluster of 256 servers whose jobs need one of them or all: exact, forward, backward."""

from __future__ import annotations

from typing import Any

import loynes
from loynes.paper.item import Check, Effort, Item, holds
from loynes.results.charts.drawing import COLOURS, axes
from loynes.results.table import Table

TITLE = "Mean wait of one-or-all (256 servers): exact, certified and the paper's backward samples"
PRINTED = (3.75, 8.59, 14.93, 23.49, 35.59, 53.86, 84.47, 145.89, 330.59)
# Seconds of the paper's backward runs (i9-12900K, RTX 4080).
PRINTED_SECONDS = (410, 409, 408, 452, 1299, 3170, 5920, 16094, 80801)


def run(effort: Effort) -> Item:
    model, rows, checks = loynes.load("one-or-all"), [], []
    loads = [round(0.1 * k, 1) for k in range(1, 10)]
    for number, load in enumerate(loads):
        exact = loynes.exact(model, load=load)
        assert exact.mean_wait is not None
        # Checks that pass by chance fail by chance: one in a thousand each.
        ours = loynes.evaluate(
            model, load=load, precision=effort.precision, confidence=0.999, max_jobs=effort.max_jobs,
            **effort.ways(2 * number, 18),
        )  # fmt: skip
        backward = loynes.evaluate(
            model, load=load, method="backward", samples=400 if effort.quick else 4000,
            **effort.ways(2 * number + 1, 18),
        )  # fmt: skip
        wait, low = ours.overall.wait.mean, backward.overall.wait.mean
        rows.append(
            (load, exact.mean_wait, PRINTED[number], wait, ours.seconds, low, backward.seconds, PRINTED_SECONDS[number])
        )
        checks.append(
            Check(f"exact, load {load:g}", f"{exact.mean_wait:.5f}", f"{PRINTED[number]:g}",
                  abs(exact.mean_wait - PRINTED[number]) <= 0.02)
        )  # fmt: skip
        checks.append(holds(f"certified, load {load:g}", wait, exact.mean_wait))
    columns = ("load", "exact", "printed", "certified", "seconds", "backward", "backward seconds", "printed seconds")
    table = Table(TITLE, columns, tuple(rows))
    return Item(
        "one-or-all",
        TITLE,
        {"one-or-all": table},
        tuple(checks),
        lambda: _draw(rows),
        (
            "Backward samples are lower bounds: from load 0.6 on they lie visibly below the exact mean wait, which the "
            "paper's own runs avoid by starting far longer ago.",
        ),
    )


def _draw(rows: list[tuple[Any, ...]]) -> Any:
    ax = axes()
    load = [row[0] for row in rows]
    ax.plot(load, [row[1] for row in rows], color="black", linewidth=1.2, label="exact")
    for place, label, colour, marker in (
        (3, "certified, 99.9%", COLOURS[0], "o"),
        (5, "backward, 99%", COLOURS[1], "s"),
    ):
        values = [row[place] for row in rows]
        bars = [[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]]
        ax.errorbar(
            load,
            [v.estimate for v in values],
            yerr=bars,
            fmt=marker,
            color=colour,
            capsize=3,
            markersize=4,
            label=label,
        )
    ax.set_yscale("log")
    ax.set_xlabel("load (rate / threshold)")
    ax.set_ylabel("mean wait")
    ax.set_title("one-or-all, 256 servers")
    ax.legend(frameon=False)
    return ax.figure
