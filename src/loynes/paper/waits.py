"""Waits and losses of the five-class mix against the rate, under four service laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import loynes
from loynes.estimate import Estimate
from loynes.paper.densities import densities
from loynes.paper.item import Check, Effort, Item, within
from loynes.results.charts.drawing import COLOURS, bands, panels
from loynes.results.records.sweep import Sweep
from loynes.results.table import Table

LAWS = {"exponential": 1.81, "erlang": 1.84, "hyperexponential": 1.50, "pareto": 1.72}  # printed thresholds
METRICS = (("wait.mean", "mean"), ("wait.variance", "variance"), ("wait.p90", "90th percentile"))
LOSS_TITLE = "Servers lost to blocking against the rate, under four service laws"
LAWS_TITLE = "Waits of the smallest and the largest class against the rate, under four service laws"
DENSITY_TITLE = "Densities of waits per class, bounded Pareto services, three quarters of the threshold"


def swept(law: str, effort: Effort, part: int, parts: int) -> Sweep:
    if law not in effort.sweeps:
        effort.sweeps[law] = loynes.sweep(
            f"five-class-{law}",
            loads=effort.loads,
            precision=effort.precision,
            max_jobs=effort.max_jobs,
            **effort.ways(part, parts),
        )
    return effort.sweeps[law]


def loss(effort: Effort) -> Item:
    sweeps = {law: swept(law, effort, k, 4) for k, law in enumerate(LAWS)}
    checks = [within(f"threshold, {law}", _threshold(sweeps[law]), LAWS[law], 0.01) for law in LAWS]
    grow = all(_losses(s)[0][1].low < _losses(s)[-1][1].high for s in sweeps.values())
    checks.append(Check("losses grow with the rate", "yes" if grow else "no", "yes", grow))

    def draw() -> Any:
        figure, ax = _figure(1, 1)
        bands(ax[0][0], {law: _losses(s) for law, s in sweeps.items()})
        _limits(ax[0][0], [_threshold(s).estimate for s in sweeps.values()])
        ax[0][0].set(xlabel="arrival rate", ylabel="servers lost, of 20", title="HOL loss")
        ax[0][0].legend(frameon=False)
        return figure

    return Item("hol-rate", LOSS_TITLE, {f"hol-rate-{law}": _only(s, "hol_loss") for law, s in sweeps.items()},
                 tuple(checks), draw)  # fmt: skip


def of_law(law: str) -> Callable[[Effort], Item]:
    title = f"Mean, variance and 90th percentile of waits per class against the rate, {law} services"

    def run(effort: Effort) -> Item:
        sweep = swept(law, effort, 0, 1)
        checks = [within(f"threshold, {law}", _threshold(sweep), LAWS[law], 0.01), _ordered(sweep)]

        def draw() -> Any:
            lines = {metric: _lines(sweep, metric) for metric, _ in METRICS}
            return draw_law(law, lines, _threshold(sweep).estimate)

        return Item(f"waits-{law}", title, {f"waits-{law}": sweep.tidy}, tuple(checks), draw)

    return run


def laws(effort: Effort) -> Item:
    sweeps = {law: swept(law, effort, k, 4) for k, law in enumerate(LAWS)}
    rows = []
    for law, sweep in sweeps.items():
        for name, metric in ((n, m) for n in ("T1", "T15") for m, _ in METRICS):
            rows += [(law, name, metric, rate, *vars(value).values()) for rate, value in _lines(sweep, metric)[name]]
    worst = {law: _lines(s, "wait.mean")["T1"][-1][1].estimate for law, s in sweeps.items()}
    ordered = worst["erlang"] < worst["exponential"] < worst["hyperexponential"]
    checks = [
        Check("T1 waits longer the more services vary", " < ".join(sorted(worst, key=lambda law: worst[law])),
              "erlang < exponential < hyperexponential", ordered)
    ]  # fmt: skip

    def draw() -> Any:
        lines = {
            (name, metric): {law: _lines(s, metric)[name] for law, s in sweeps.items()}
            for name in ("T1", "T15")
            for metric, _ in METRICS
        }
        return draw_laws(lines, [_threshold(s).estimate for s in sweeps.values()])

    columns = ("law", "class", "metric", "rate", "estimate", "low", "high")
    return Item("waits-laws", LAWS_TITLE, {"waits-laws": Table(LAWS_TITLE, columns, tuple(rows))}, tuple(checks), draw)


def density(effort: Effort) -> Item:
    precision = effort.precision / 2
    options = {"load": 0.75, "precision": precision, "max_jobs": effort.max_jobs, "seed": effort.seed}
    result, by_class = densities("five-class-pareto", context=effort.context, backend=effort.backend, **options)
    rows = [(name, *row) for name, one in by_class.items() for row in one]
    checks = []
    for name, one in by_class.items():
        mass = math.fsum((high - low) * value for low, high, value in one) + result.classes[name].no_wait.estimate
        checks.append(Check(f"{name}: density and P(no wait) sum to 1", f"{mass:.4f}", "1", abs(mass - 1) < 0.002))

    def draw() -> Any:
        return draw_densities(by_class, result.rate)

    table = Table(DENSITY_TITLE, ("class", "from", "to", "density"), tuple(rows))
    return Item("densities", DENSITY_TITLE, {"densities": table}, tuple(checks), draw)


def draw_law(law: str, lines: dict[str, Any], limit: float) -> Any:
    """Three panels of one law: a line a class."""
    figure, ax = _figure(1, 3)
    for place, (metric, label) in enumerate(METRICS):
        bands(ax[0][place], lines[metric], log=True)
        _limits(ax[0][place], [limit], black=True)
        ax[0][place].set(xlabel="arrival rate", title=label)
    ax[0][0].set_ylabel("wait")
    ax[0][0].legend(frameon=False, fontsize="small")
    figure.suptitle(f"{law} services, 20 servers")
    return figure


def draw_laws(lines: dict[tuple[str, str], Any], limits: list[float]) -> Any:
    """Two classes, three metrics: a line a law."""
    figure, ax = _figure(2, 3)
    for row, name in enumerate(("T1", "T15")):
        for place, (metric, label) in enumerate(METRICS):
            bands(ax[row][place], lines[name, metric], log=True)
            _limits(ax[row][place], limits)
            ax[row][place].set(title=f"{name}: {label}", xlabel="arrival rate" if row else "")
    ax[0][0].legend(frameon=False, fontsize="small")
    return figure


def draw_densities(by_class: dict[str, Any], rate: float) -> Any:
    figure, ax = _figure(1, 1)
    for number, (name, one) in enumerate(by_class.items()):
        # Below a hundredth there is little to see, and little was seen.
        shown = [(low, high, value) for low, high, value in one if value > 0 and low >= 0.01]
        at = [math.sqrt(low * high) for low, high, _ in shown]
        ax[0][0].plot(at, [value for *_, value in shown], color=COLOURS[number], label=name)
    ax[0][0].set(xscale="log", yscale="log", xlabel="wait", ylabel="density")
    ax[0][0].set_title(f"bounded Pareto services, rate {rate:.4g}")
    ax[0][0].legend(frameon=False)
    return figure


def _lines(sweep: Sweep, metric: str) -> dict[str, list[tuple[float, Estimate]]]:
    what, stat = metric.split(".")
    names = [c.label for c in sweep.model.classes]
    results = [point.result for point in sweep.points if point.result]
    return {n: [(r.rate, getattr(getattr(r.classes[n], what), stat)) for r in results] for n in names}


def _losses(sweep: Sweep) -> list[tuple[float, Estimate]]:
    return [(point.result.rate, point.result.system.hol_loss) for point in sweep.points if point.result]


def _threshold(sweep: Sweep) -> Estimate:
    return max((p.result.threshold for p in sweep.points if p.result), key=lambda t: -t.half_width)


def _only(sweep: Sweep, metric: str) -> Table:
    tidy = sweep.tidy
    place = tidy.columns.index("metric")
    return Table(tidy.title, tidy.columns, tuple(row for row in tidy.rows if row[place] == metric))


def _ordered(sweep: Sweep) -> Check:
    """A class that needs more servers waits longer, at every rate."""
    lines = [[value.estimate for _, value in line] for line in _lines(sweep, "wait.mean").values()]
    fine = all(a <= b for one, other in pairwise(lines) for a, b in zip(one, other, strict=True))
    return Check("larger needs wait longer", "yes" if fine else "no", "yes", fine)


def _limits(ax: Any, limits: list[float], black: bool = False) -> None:
    for number, limit in enumerate(limits):
        ax.axvline(limit, color="black" if black else COLOURS[number], linewidth=0.9, linestyle=(0, (4, 3)))


def _figure(rows: int, columns: int) -> Any:
    return panels(rows, columns, (7.0, 4.0) if columns == 1 else (3.6 * columns, 3.4 * rows))
