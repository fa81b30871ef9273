"""The measures of a cluster: moments, percentiles and probabilities of waits, servers and jobs, each an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Annotated, Any, overload

from pydantic import PlainSerializer

from loynes.estimate import Estimate, key_text
from loynes.model.cluster import Model

# Percentiles that every spread has, in percent.
PERCENTILES = (50.0, 90.0, 95.0, 99.0)
# How tables call all jobs together, and the cluster as a whole.
ALL_JOBS, SYSTEM = "all jobs", "system"

# P(wait > x) by x; in JSON, whose keys are texts, x has as many digits as it needs.
Tails = Annotated[dict[float, Estimate], PlainSerializer(lambda tails: {key_text(x): p for x, p in tails.items()})]


@dataclass(frozen=True)
class Wanted:
    """What is asked for besides what all measures have: P(wait > x), other percentiles, whole distributions."""

    exceeds: tuple[float, ...] = ()
    percentiles: tuple[float, ...] = ()  # in percent
    tails: bool = False

    @property
    def quantiles(self) -> tuple[float, ...]:
        """As parts of 1, those that every spread has first."""
        return tuple(part_of(p) for p in (*PERCENTILES, *self.percentiles))

    def spread(self, mean: Estimate, variance: Estimate, percentiles: Sequence[Estimate]) -> Spread:
        """Of the percentiles at `quantiles`."""
        p50, p90, p95, p99, *more = percentiles
        named = dict(zip(map(percentile_name, self.percentiles), more, strict=True))
        return Spread(mean, variance, p50, p90, p95, p99, named)


NOTHING_MORE = Wanted()


def part_of(percentile: float) -> float:
    """99.9 -> 0.999, to the last digit."""
    return float(Decimal(key_text(percentile)) / 100)


def beyond(percentile: float) -> float:
    """The probability of what lies above: 99.9999 -> 1e-6, to the last digit."""
    return float(1 - Decimal(key_text(percentile)) / 100)


def percentile_name(percentile: float) -> str:
    return f"p{key_text(percentile)}"


@dataclass(frozen=True)
class Spread:
    """Mean, variance and percentiles of a time; by name, p99.9, the percentiles that were asked for."""

    mean: Estimate
    variance: Estimate
    p50: Estimate
    p90: Estimate
    p95: Estimate
    p99: Estimate
    percentiles: dict[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True)
class Waits:
    """Wait and response of one class, or of all jobs together; P(no wait), and P(wait > x) for every x asked for.

    The bounded slowdown is the mean of max(1, response / max(service, a threshold)), of jobs that were run one by one.
    """

    wait: Spread
    response: Spread
    no_wait: Estimate
    exceeds: Tails = field(default_factory=dict)
    bounded_slowdown: Estimate | None = None


@dataclass(frozen=True)
class Resource:
    """One kind of server: busy and idle are exact, the HOL loss is what idles because a job ahead waits."""

    busy: Estimate
    utilization: Estimate
    idle: Estimate
    hol_loss: Estimate


@dataclass(frozen=True)
class System:
    """The cluster as a whole; busy and idle servers are exact, the rest follows from waits (Little) and HOL loss.

    With several resources, those of the bottleneck, and each resource's in `resources`. On nodes, `fragmentation` is of
    every resource the part of the HOL loss that would be enough for the first job in line, were it not on several
    nodes.
    """

    busy_servers: Estimate
    utilization: Estimate
    idle_servers: Estimate
    hol_loss: Estimate
    jobs_in_system: Estimate
    jobs_waiting: Estimate
    resources: dict[str, Resource] = field(default_factory=dict)
    fragmentation: dict[str, Estimate] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[tuple[str, Estimate], ...]:
        """Quantity and value, for tables."""
        jobs = [("jobs in system", self.jobs_in_system), ("jobs waiting", self.jobs_waiting)]
        if self.resources:
            rows = []
            for kind, resource in self.resources.items():
                own = vars(resource) | ({"fragmentation": self.fragmentation[kind]} if self.fragmentation else {})
                rows += [(f"{kind} {name.replace('_', ' ')}", value) for name, value in own.items()]
            return (*rows, *jobs)
        left_out = ("resources", "fragmentation")
        return tuple((name.replace("_", " "), value) for name, value in vars(self).items() if name not in left_out)


@dataclass(frozen=True)
class Moment:
    """The cluster at a time: jobs waiting and in the system, busy and lost servers; waits of those who arrive then."""

    time: float
    wait: Estimate | None  # None if nobody does
    wait_p50: Estimate | None
    wait_p95: Estimate | None
    jobs_waiting: Estimate
    jobs_in_system: Estimate
    busy_servers: Estimate
    hol_loss: Estimate  # servers that idle while somebody waits


@dataclass(frozen=True)
class Measures:
    """All of it: overall, per class, system; and P(wait > x) over x, of all jobs and of every class, if asked for."""

    overall: Waits
    classes: dict[str, Waits]
    system: System
    tails: dict[str, dict[float, Estimate]] = field(default_factory=dict)


@overload
def bracket(lower: Estimate, upper: Estimate) -> Estimate: ...
@overload
def bracket(lower: Measures, upper: Measures) -> Measures: ...
def bracket(lower: Any, upper: Any) -> Any:
    """One measure, or all of them, from chains below and above stationarity: from the lowest end to the highest.

    What grows (or falls) with the workload lies between the two; a variance or the HOL loss need not: of these, this is
    the hull of both intervals, and `brackets` has what lies around them. Where the chains have met, both are the same
    thing and come back as they are.
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
    return system_from(model, kinds, response.scaled(rate), wait.scaled(rate))


def system_from(
    model: Model,
    kinds: dict[str, Resource],
    in_system: Estimate,
    waiting: Estimate,
    fragmentation: dict[str, Estimate] | None = None,
) -> System:
    """Servers are those of the scarcest kind; all kinds are listed where there are several."""
    scarce = kinds[model.kinds[model.bottleneck]]
    return System(
        busy_servers=scarce.busy,
        utilization=scarce.utilization,
        idle_servers=scarce.idle,
        hol_loss=scarce.hol_loss,
        jobs_in_system=in_system,
        jobs_waiting=waiting,
        resources=kinds if model.by_resource else {},
        fragmentation=fragmentation or {},
    )
