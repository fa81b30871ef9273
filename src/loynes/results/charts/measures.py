"""Which metrics charts and pages show, and of whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Resource, System, Waits
from loynes.estimators.metrics import Metric, Unit, metric, percentiles_of, tail
from loynes.model.cluster import Model
from loynes.results.charts.chart import Bar, Part
from loynes.results.charts.units import UNIT_OF_TIME

WAITS = tuple(metric(f"wait.{name}") for name in ("mean", "p50", "p95", "p99"))
TIMES = (*WAITS, *(metric(name) for name in ("response.mean", "response.p95", "response.p99", "no_wait")))
SYSTEM = tuple(metric(name) for name in ("hol_loss", "utilization", "jobs_waiting", "jobs_in_system"))
BUSY, LOST, IDLE = "busy", "lost to head-of-line blocking", "idle otherwise"
FRAGMENTED = "fragmented over nodes"


class HasWaits(Protocol):
    """Evaluations, simulations and replays."""

    @property
    def overall(self) -> Waits: ...
    @property
    def classes(self) -> Mapping[str, Waits]: ...


def everyone(result: HasWaits) -> Iterator[tuple[str, Waits]]:
    """All jobs together, then every class: name and waits."""
    yield ALL_JOBS, result.overall
    yield from result.classes.items()


def time_axis(what: str, unit: str = UNIT_OF_TIME) -> str:
    """The name of an axis of times."""
    return f"{what} ({unit})"


def waits_of(waits: Waits | None) -> tuple[Metric, ...]:
    """Mean and percentiles of the wait: those that were asked for, or a few."""
    return (metric("wait.mean"), *percentiles_of(waits)) if waits is not None and waits.wait.percentiles else WAITS


def times_of(waits: Waits | None) -> tuple[Metric, ...]:
    """What charts offer of a class: of waits and of responses."""
    bounded = () if waits is None or waits.bounded_slowdown is None else (metric("bounded_slowdown"),)
    if waits is None or not waits.wait.percentiles:
        return (*TIMES, *bounded)
    responses = (metric("response.mean"), *percentiles_of(waits, "response"))
    return (*waits_of(waits), *responses, metric("no_wait"), *bounded)


def exceeds_of(waits: Waits) -> tuple[Metric, ...]:
    """P(wait > x) at every x that these waits have."""
    return tuple(tail(x) for x in waits.exceeds)


def resources_of(system: System) -> tuple[Metric, ...]:
    """The figures of every resource, where there are several."""

    def of(kind: str, name: str, get: Callable[[Resource], Estimate]) -> Metric:
        unit: Unit = "share" if name == "utilization" else "servers"
        label = f"{kind} {name.replace('_', ' ').replace('hol', 'HOL')}"
        return Metric(f"{kind}.{name}", label, unit, lambda record: get(record.resources[kind]), 0, "system")

    return tuple(of(kind, name, get) for kind in system.resources for name, get in FIGURES.items())


FIGURES: dict[str, Callable[[Resource], Estimate]] = {
    "busy": lambda r: r.busy,
    "utilization": lambda r: r.utilization,
    "idle": lambda r: r.idle,
    "hol_loss": lambda r: r.hol_loss,
}


def named(metric: Metric) -> str:
    """A metric's label, with its unit where that is servers and the label does not say so."""
    return f"{metric.label} (servers)" if metric.unit == "servers" and "servers" not in metric.label else metric.label


def kinds_of(system: System) -> dict[str, Resource]:
    """The figures of every kind of server; `servers` where there is one kind."""
    one = Resource(system.busy_servers, system.utilization, system.idle_servers, system.hol_loss)
    return system.resources or {"servers": one}


def units_of(model: Model) -> dict[str, int]:
    """How much there is of every kind of server."""
    return dict(zip(model.kinds, model.units, strict=True))


def use(units: dict[str, int], system: System) -> tuple[Bar, ...]:
    """Of every kind of server: how many are busy, lost to blocking, and idle otherwise."""
    bars = []
    for kind, one in kinds_of(system).items():
        total = float(units[kind])
        rest = Estimate.exact(max(total - one.busy.estimate - one.hol_loss.estimate, 0.0))
        lost = [Part(LOST, one.hol_loss, "lost")]
        if system.fragmentation:
            # Of what is lost, that which would do for the first in line on one node.
            apart = system.fragmentation[kind]
            other = Estimate.exact(max(one.hol_loss.estimate - apart.estimate, 0.0))
            lost = [Part(LOST, other, "lost"), Part(FRAGMENTED, apart, "c4")]
        bars.append(Bar(kind, total, (Part(BUSY, one.busy, "busy"), *lost, Part(IDLE, rest, "idle"))))
    return tuple(bars)


def full_use(units: dict[str, int], losses: dict[str, Estimate]) -> tuple[Bar, ...]:
    """The same when the cluster is full: what is not lost to blocking is busy."""
    bars = []
    for kind, loss in losses.items():
        busy = Estimate.exact(max(units[kind] - loss.estimate, 0.0))
        bars.append(Bar(kind, float(units[kind]), (Part(BUSY, busy, "busy"), Part(LOST, loss, "lost"))))
    return tuple(bars)
