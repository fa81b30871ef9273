"""What a result says about waits: moments, percentiles and probabilities, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, overload

from loynes.estimate import Estimate
from loynes.model.cluster import Model

PERCENTILES = (0.50, 0.90, 0.95, 0.99)


@dataclass(frozen=True)
class Spread:
    """Mean, variance and percentiles of a time."""

    mean: Estimate
    variance: Estimate
    p50: Estimate
    p90: Estimate
    p95: Estimate
    p99: Estimate

    def to_dict(self) -> dict[str, Any]:
        return {name: value.to_dict() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Spread:
        return cls(**{name: Estimate.from_dict(value) for name, value in data.items()})


@dataclass(frozen=True)
class Waits:
    """Wait and response of one class, or of all jobs together; P(no wait), and P(wait > x) for every x asked for."""

    wait: Spread
    response: Spread
    no_wait: Estimate
    exceeds: dict[float, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = {"wait": self.wait.to_dict(), "response": self.response.to_dict(), "no_wait": self.no_wait.to_dict()}
        if self.exceeds:
            data["exceeds"] = {f"{x:.15g}": value.to_dict() for x, value in self.exceeds.items()}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Waits:
        return cls(
            Spread.from_dict(data["wait"]),
            Spread.from_dict(data["response"]),
            Estimate.from_dict(data["no_wait"]),
            {float(x): Estimate.from_dict(value) for x, value in data.get("exceeds", {}).items()},
        )


@dataclass(frozen=True)
class Resource:
    """One kind of server: busy and idle are exact, the HOL loss is what idles because a job ahead waits."""

    busy: Estimate
    utilization: Estimate
    idle: Estimate
    hol_loss: Estimate

    def to_dict(self) -> dict[str, Any]:
        return {name: value.to_dict() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Resource:
        return cls(**{name: Estimate.from_dict(value) for name, value in data.items()})


@dataclass(frozen=True)
class System:
    """The cluster as a whole; busy and idle servers are exact, the rest follows from waits (Little) and HOL loss.

    With several resources, those of the bottleneck, and each resource's in `resources`.
    """

    busy_servers: Estimate
    utilization: Estimate
    idle_servers: Estimate
    hol_loss: Estimate
    jobs_in_system: Estimate
    jobs_waiting: Estimate
    resources: dict[str, Resource] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[tuple[str, Estimate], ...]:
        """Quantity and value, for tables."""
        jobs = [("jobs in system", self.jobs_in_system), ("jobs waiting", self.jobs_waiting)]
        if self.resources:
            return tuple([(f"{kind} {name.replace('_', ' ')}", value) for kind, resource in self.resources.items()
                          for name, value in vars(resource).items()] + jobs)  # fmt: skip
        own = {name.replace("_", " "): value for name, value in vars(self).items() if name != "resources"}
        return tuple(own.items())

    def to_dict(self) -> dict[str, Any]:
        data = {name: value.to_dict() for name, value in vars(self).items() if name != "resources"}
        if self.resources:
            data["resources"] = {kind: resource.to_dict() for kind, resource in self.resources.items()}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> System:
        own = {name: Estimate.from_dict(value) for name, value in data.items() if name != "resources"}
        return cls(**own, resources={k: Resource.from_dict(v) for k, v in data.get("resources", {}).items()})


@dataclass(frozen=True)
class Measures:
    """All of it: overall, per class, system."""

    overall: Waits
    classes: dict[str, Waits]
    system: System


@overload
def bracket(lower: Estimate, upper: Estimate) -> Estimate: ...
@overload
def bracket(lower: Measures, upper: Measures) -> Measures: ...
def bracket(lower: Any, upper: Any) -> Any:
    """One measure, or all of them, from chains below and above stationarity: from the lowest end to the highest.

    What grows (or falls) with the workload lies between the two; a variance or the HOL loss need not, and gets the hull
    of both intervals all the same. Where the chains have met, both are the same thing and come back as they are.
    """
    if lower is upper:
        return lower
    if isinstance(lower, Estimate):
        ends = (lower.low, lower.high, upper.low, upper.high)
        return Estimate(0.5 * (lower.estimate + upper.estimate), min(ends), max(ends))
    if isinstance(lower, dict):
        return {key: bracket(lower[key], upper[key]) for key in lower}
    parts = {f.name: bracket(getattr(lower, f.name), getattr(upper, f.name)) for f in fields(lower)}
    return type(lower)(**parts)


def system_of(
    model: Model, rate: float, wait: Estimate, response: Estimate, losses_per_job: Sequence[Estimate]
) -> System:
    """Busy servers are rate x E[need x service], exactly; jobs follow from Little's law."""
    kinds = {}
    for kind, units, work, loss in zip(model.kinds, model.units, model.works, losses_per_job, strict=True):
        busy = rate * work
        kinds[kind] = Resource(
            busy=Estimate.exact(busy),
            utilization=Estimate.exact(busy / units),
            idle=Estimate.exact(units - busy),
            hol_loss=loss.scaled(rate).within(0.0, units - busy),
        )
    scarce = kinds[model.kinds[model.bottleneck]]
    return System(
        busy_servers=scarce.busy,
        utilization=scarce.utilization,
        idle_servers=scarce.idle,
        hol_loss=scarce.hol_loss,
        jobs_in_system=response.scaled(rate),
        jobs_waiting=wait.scaled(rate),
        resources=kinds if model.resources else {},
    )
