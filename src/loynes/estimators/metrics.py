"""The register of metrics: tables, tidy rows, objectives of plans, plots, pages and comparisons read them from here.

A metric is registered where it is defined: `register(Metric(...))`. One more, made of what the measures hold, needs
nothing else to appear in all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from loynes.estimate import Estimate, key_text
from loynes.estimators.measures import SYSTEM, System, Waits, percentile_name

Unit = Literal["time", "time²", "probability", "share", "servers", "jobs", "ratio"]


@dataclass(frozen=True)
class Metric:
    """A quantity of one class of jobs (or of all), got from its Waits; or of the cluster, got from its System."""

    name: str  # as in tidy tables: wait.p95
    label: str  # in words: 95th percentile of the wait
    unit: Unit
    get: Callable[[Any], Any]  # an Estimate; None where it is not known
    # 1: never falls as the rate grows or servers are taken away; -1: never rises; 0: may do either. Objectives of a
    # plan, whose search leans on it, must be one of the first two.
    grows: Literal[-1, 0, 1]
    of: Literal["class", "system"] = "class"
    short: str = ""  # as the head of a column
    everywhere: bool = True  # False: known only of jobs that were run one by one, in logs and simulations

    @property
    def column(self) -> str:
        return self.short or self.label


_METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    _METRICS[metric.name] = metric
    return metric


def unregister(name: str) -> None:
    del _METRICS[name]


def metrics(of: Literal["class", "system"] | None = None) -> list[Metric]:
    """All of them, in the order in which they were registered."""
    return [metric for metric in _METRICS.values() if of is None or metric.of == of]


def metric(name: str) -> Metric:
    """The metric of a name, wait>x (any x) and wait.p99.9 (any percentile) among them."""
    if name in _METRICS:
        return _METRICS[name]
    what, _, stat = name.partition(".")
    if what in ("wait", "response") and stat.startswith("p"):
        return percentile(what, float(stat[1:]))
    return tail(float(name.removeprefix("wait>"))) if name.startswith("wait>") else _METRICS[name]


def percentile(what: str, percent: float) -> Metric:
    """A percentile of the wait or the response: one that there always is, or one that was asked for."""
    name = percentile_name(percent)
    if f"{what}.{name}" in _METRICS:
        return _METRICS[f"{what}.{name}"]
    return Metric(f"{what}.{name}", f"{key_text(percent)}th percentile of the {what}", "time",
                  lambda waits: getattr(waits, what).percentiles[name], 1, "class", name)  # fmt: skip


def percentiles_of(waits: Waits, what: str = "wait") -> list[Metric]:
    """The percentiles that were asked for of these waits."""
    return [metric(f"{what}.{name}") for name in waits.wait.percentiles]


def tail(x: float) -> Metric:
    """P(wait > x), where it was asked for."""
    return Metric(f"wait>{key_text(x)}", f"P(wait > {key_text(x)})", "probability", lambda w: w.exceeds[x], 1, "class",
                  f"wait > {key_text(x)}")  # fmt: skip


def of_waits(waits: Waits) -> dict[str, Estimate]:
    """Every metric of a class, by name."""
    asked = [*percentiles_of(waits), *percentiles_of(waits, "response"), *(tail(x) for x in waits.exceeds)]
    found = {metric.name: metric.get(waits) for metric in (*metrics("class"), *asked)}
    return {name: value for name, value in found.items() if value is not None}


def of_system(system: System) -> dict[str, Estimate]:
    """Every metric of the cluster; with several resources, also each one's own."""
    values = {metric.name: metric.get(system) for metric in metrics("system")}
    for kind, resource in system.resources.items():
        values |= {f"{kind}.{name}": value for name, value in vars(resource).items()}
    return values | {f"{kind}.fragmentation": value for kind, value in system.fragmentation.items()}


def leaves(classes: dict[str, Waits], system: System) -> Iterator[tuple[str, str, Estimate]]:
    """Class (or the system), metric and value of everything."""
    for name, waits in classes.items():
        for metric_name, value in of_waits(waits).items():
            yield name, metric_name, value
    for metric_name, value in of_system(system).items():
        yield SYSTEM, metric_name, value


def _spread(what: str) -> None:
    """Mean, variance and percentiles of a time."""

    def get(stat: str) -> Callable[[Waits], Estimate]:
        return lambda waits: getattr(getattr(waits, what), stat)

    register(Metric(f"{what}.mean", f"mean {what}", "time", get("mean"), 1))
    register(Metric(f"{what}.variance", f"variance of the {what}", "time²", get("variance"), 0))
    for q in (50, 90, 95, 99):
        label = f"{q}th percentile of the {what}"
        register(Metric(f"{what}.p{q}", label, "time", get(f"p{q}"), 1, "class", f"p{q}"))


_spread("wait")
_spread("response")
register(Metric("no_wait", "P(no wait)", "probability", lambda waits: waits.no_wait, -1, "class", "no wait"))
register(Metric("bounded_slowdown", "bounded slowdown", "ratio", lambda waits: waits.bounded_slowdown, 1,
                everywhere=False))  # fmt: skip
register(Metric("busy_servers", "busy servers", "servers", lambda system: system.busy_servers, 0, "system"))
register(Metric("utilization", "utilization", "share", lambda system: system.utilization, 1, "system"))
register(Metric("idle_servers", "idle servers", "servers", lambda system: system.idle_servers, 0, "system"))
register(Metric("hol_loss", "servers lost to blocking", "servers", lambda system: system.hol_loss, 0, "system",
                "hol loss"))  # fmt: skip
register(Metric("jobs_in_system", "jobs in system", "jobs", lambda system: system.jobs_in_system, 1, "system"))
register(Metric("jobs_waiting", "jobs waiting", "jobs", lambda system: system.jobs_waiting, 1, "system"))
