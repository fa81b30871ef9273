"""The metrics' register, until `loynes.estimators.metrics` has it: names as in the tidy table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from loynes.estimate import Estimate
from loynes.results.metrics import System, Waits

Unit = Literal["time", "probability", "servers", "jobs"]


@dataclass(frozen=True)
class Metric:
    """A quantity of a class (`get` takes its Waits) or of the system (`get` takes the System)."""

    name: str
    label: str
    unit: Unit
    get: Callable[[Any], Estimate]
    grows: bool  # with the workload
    of: Literal["class", "system"]


def _waits(name: str, label: str, get: Callable[[Waits], Estimate], unit: Unit = "time", grows: bool = True) -> Metric:
    return Metric(name, label, unit, get, grows, "class")


def _system(name: str, unit: Unit, get: Callable[[System], Estimate], grows: bool = True, label: str = "") -> Metric:
    return Metric(name, label or name.replace("_", " "), unit, get, grows, "system")


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _waits("wait.mean", "mean wait", lambda w: w.wait.mean),
        _waits("wait.variance", "variance of the wait", lambda w: w.wait.variance),
        _waits("wait.p50", "median wait", lambda w: w.wait.p50),
        _waits("wait.p90", "p90 of the wait", lambda w: w.wait.p90),
        _waits("wait.p95", "p95 of the wait", lambda w: w.wait.p95),
        _waits("wait.p99", "p99 of the wait", lambda w: w.wait.p99),
        _waits("response.mean", "mean response", lambda w: w.response.mean),
        _waits("response.variance", "variance of the response", lambda w: w.response.variance),
        _waits("response.p50", "median response", lambda w: w.response.p50),
        _waits("response.p90", "p90 of the response", lambda w: w.response.p90),
        _waits("response.p95", "p95 of the response", lambda w: w.response.p95),
        _waits("response.p99", "p99 of the response", lambda w: w.response.p99),
        _waits("no_wait", "share that does not wait", lambda w: w.no_wait, "probability", False),
        _system("hol_loss", "servers", lambda s: s.hol_loss, False, "HOL loss"),
        _system("utilization", "probability", lambda s: s.utilization),
        _system("busy_servers", "servers", lambda s: s.busy_servers),
        _system("idle_servers", "servers", lambda s: s.idle_servers, False),
        _system("jobs_waiting", "jobs", lambda s: s.jobs_waiting),
        _system("jobs_in_system", "jobs", lambda s: s.jobs_in_system),
    )
}
