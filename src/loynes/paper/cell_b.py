"""Mean wait of Google's Borg Cell B against the rate, with an event-driven simulation beside it."""

from __future__ import annotations

from typing import Any

import loynes
from loynes.paper.item import Check, Effort, Item, within
from loynes.results.charts.drawing import COLOURS, axes, bands
from loynes.results.table import Table

TITLE = "Mean wait of Borg's Cell B (2048 servers, 17 classes) against the rate, beside an event-driven simulation"
PRINTED = 2.38


def run(effort: Effort) -> Item:
    loads = [0.2, 0.4, 0.6, 0.8] if effort.quick else [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    model = loynes.load("borg-cell-b")
    rates = [round(load * PRINTED, 4) for load in loads]
    precision = 0.05 if effort.quick else 0.02
    swept = loynes.sweep(
        model, rates=rates, precision=precision, confidence=0.99, max_jobs=3 * effort.max_jobs, **effort.ways()
    )
    rows: list[tuple[Any, ...]] = []
    checks = []
    for point in swept.points:
        assert point.result is not None
        ours = point.result.overall.wait.mean
        # Long enough for the queue to forget how it began, several times.
        jobs = int(min(max(6 * point.result.details["burn_in"], 1_000_000), 2e7 if effort.quick else 1e8))
        size: dict[str, Any] = {"jobs": jobs * 3 // 4, "burn_in": jobs // 4, "replicas": 8, "seed": effort.seed + 1}
        events = loynes.simulate(model, rate=point.result.rate, **size).overall.wait.mean
        rows.append((point.result.rate, ours, events))
        meet = events.low <= ours.high and ours.low <= events.high
        checks.append(Check(f"rate {point.result.rate:g}, intervals meet", str(ours), f"{events} (events)", meet))
    threshold = swept.points[-1].result.threshold if swept.points[-1].result else None
    assert threshold is not None
    checks.append(within("threshold", threshold, PRINTED, 0.01))

    def draw() -> Any:
        ax = axes()
        bands(ax, {"recurrence, 99%": [(rate, ours) for rate, ours, _ in rows]}, log=True)
        values = [events for *_, events in rows]
        bars = [[v.estimate - v.low for v in values], [v.high - v.estimate for v in values]]
        ax.errorbar([row[0] for row in rows], [v.estimate for v in values], yerr=bars, fmt="s", color=COLOURS[1],
                    capsize=3, markersize=4, label="event by event, 99%")  # fmt: skip
        ax.axvline(threshold.estimate, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
        ax.set(xlabel="arrival rate", ylabel="mean wait", title="Cell B, 2048 servers")
        ax.legend(frameon=False)
        return ax.figure

    table = Table(TITLE, ("rate", "mean wait", "event by event"), tuple(rows))
    remarks = (
        "The classes are those of the published Cell B table with a probability of at least 1e-4, renormalised: the "
        "paper's own table is an image, and the thresholds, printed and ours, are how the reduction was identified.",
    )
    return Item("cell-b", TITLE, {"cell-b": table}, tuple(checks), draw, remarks)
