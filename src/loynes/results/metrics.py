"""What a result says about waits: moments, percentiles and probabilities, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, overload

from loynes.estimate import Estimate

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
class System:
    """The cluster as a whole; busy and idle servers are exact, the rest follows from waits (Little) and HOL loss."""

    busy_servers: Estimate
    utilization: Estimate
    idle_servers: Estimate
    hol_loss: Estimate
    jobs_in_system: Estimate
    jobs_waiting: Estimate

    def to_dict(self) -> dict[str, Any]:
        return {name: value.to_dict() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> System:
        return cls(**{name: Estimate.from_dict(value) for name, value in data.items()})


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
    rate: float, servers: int, work: float, wait: Estimate, response: Estimate, loss_per_job: Estimate
) -> System:
    """Busy servers are rate x E[need x service], exactly; jobs follow from Little's law."""
    busy = rate * work
    return System(
        busy_servers=Estimate.exact(busy),
        utilization=Estimate.exact(busy / servers),
        idle_servers=Estimate.exact(servers - busy),
        hol_loss=loss_per_job.scaled(rate).within(0.0, servers - busy),
        jobs_in_system=response.scaled(rate),
        jobs_waiting=wait.scaled(rate),
    )
