"""The answer of `simulate`: waits and the state of the cluster under a policy, event by event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Moment, System, Waits
from loynes.model.sizes import Size
from loynes.results.base import SavedModel, how_sure
from loynes.results.judged import Judged, WithObjectives
from loynes.results.table import Table
from loynes.results.tables import TIDY, everyone, shown_percentiles, system_table, tidy_rows, tidy_table, wait_columns
from loynes.results.tails import Tails


@dataclass(frozen=True)
class Pooled:
    """The pooled cluster beside one of nodes: the same jobs, policy and rules where a job takes units of any nodes."""

    wait: Estimate | None  # mean, of all jobs
    cost: Estimate | None  # what nodes add to it, job by job on the same jobs
    exact_wait: Estimate | None = None  # the same wait by a formula or a chain, where one gives it at once
    source: str = ""  # which


class OnNodes(Protocol):
    """A simulation or a replay."""

    @property
    def overall(self) -> Waits: ...
    def in_time(self, value: object) -> object: ...


def pooled_table(result: OnNodes, pooled: Pooled | None) -> Table:
    """The mean wait on nodes, on the pooled cluster, and what nodes add to it."""
    rows: list[tuple[str, object]] = [("on these nodes", result.in_time(result.overall.wait.mean))]
    if pooled is not None:
        known = {
            "pooled": pooled.wait,
            "nodes cost": pooled.cost,
            f"pooled, exactly ({pooled.source})": pooled.exact_wait,
        }
        rows += [(name, result.in_time(value)) for name, value in known.items() if value is not None]
    return Table("what nodes cost", ("cluster", "mean wait"), tuple(rows))


@dataclass(frozen=True, kw_only=True, repr=False)
class Simulation(WithObjectives):
    """Averages over independent replicas, without a certificate: what bias a burn-in leaves is not bounded."""

    command: ClassVar[str] = "simulate"
    derived: ClassVar[tuple[str, ...]] = ("method", "certificate", "why")

    method: ClassVar[str] = "simulate"
    certificate: ClassVar[None] = None
    why: ClassVar[str] = "an event-driven simulation has none"

    model: SavedModel
    rate: float
    policy: str
    start: str
    overall: Waits
    classes: dict[str, Waits]
    slowdown: dict[str, Estimate]  # response over service, by class and of all jobs
    system: System
    confidence: float
    replicas: int
    jobs: int
    horizon: float | None = None  # averages are over the time until then
    details: dict[str, Any] = field(default_factory=dict)
    moments: tuple[Moment, ...] = ()
    objectives: tuple[Judged, ...] = ()  # what was asked for, and whether it is met
    tails: Tails | None = None  # P(wait > x) over x
    pooled: Pooled | None = None  # of a model with nodes

    @property
    def title(self) -> str:
        return f"{self.model.label}: waits at rate {self.rate_words(self.rate)} under {self.policy}"

    @property
    def headline(self) -> str:
        return f"mean wait {self.in_time(self.overall.wait.mean)}"

    @property
    def summary(self) -> Table:
        waits = everyone(self.overall, self.classes)
        rows = {
            name: wait_columns(one, self.time_unit) | {"slowdown": self.slowdown[name]} for name, one in waits.items()
        }
        cells = tuple((name, *row.values()) for name, row in rows.items())
        percentiles = shown_percentiles(self.overall)
        spare = tuple(
            dict.fromkeys((percentiles[0], percentiles[-1], "slowdown", "mean response", "no wait", "bounded slowdown"))
        )
        return Table(self.title, ("class", *rows[ALL_JOBS]), cells, spare)

    @property
    def system_summary(self) -> Table:
        units = zip(self.model.kinds, self.model.unit_sizes, strict=True)
        return system_table(
            self.system, *((f"one unit of {kind}", str(Size(size))) for kind, size in units if size > 1)
        )

    @property
    def pooled_summary(self) -> Table:
        return pooled_table(self, self.pooled)

    @property
    def moments_summary(self) -> Table:
        columns = ("time", "wait of those who come", "p50", "p95", "jobs waiting", "jobs in system", "busy servers",
                   "hol loss")  # fmt: skip
        rows = tuple(
            (*(self.in_time("-" if x is None else x) for x in (m.time, m.wait, m.wait_p50, m.wait_p95)), m.jobs_waiting,
             m.jobs_in_system, m.busy_servers, m.hol_loss)
            for m in self.moments
        )  # fmt: skip
        return Table(
            f"over time, from {self.start}", columns, rows, ("p50", "jobs in system", "hol loss", "p95", "busy servers")
        )

    @property
    def scenario_summary(self) -> Table:
        changes = self.model.scenario or ()
        rows = tuple(
            (c.label, self.in_time(c.since), "for ever" if c.until is None else self.in_time(c.until)) for c in changes
        )
        return Table("scenario", ("change", "from", "until"), rows)

    @property
    def tables(self) -> list[Table]:
        scenario = [self.scenario_summary] if self.model.scenario else []
        moments = [self.moments_summary] if self.moments else []
        asked = [self.objectives_summary] if self.objectives else []
        pooled = [self.pooled_summary] if self.pooled is not None else []
        return [self.summary, self.system_summary, *pooled, *scenario, *moments, *asked]

    @property
    def footer(self) -> str:
        until = "" if self.horizon is None else f" to time {self.time_words(self.horizon, 6)}"
        took = f"{self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        return f"event by event, from {self.start}{until}, {how_sure(self.confidence, self.replicas)}, {took}"

    @property
    def flat(self) -> Table:
        """What a .csv file holds: the cluster over time, if it was followed, else the waits by class."""
        return self.moments_summary if self.moments else self.summary

    @property
    def tidy(self) -> Table:
        rows = tidy_table("", self.overall, self.classes, self.system, self.tails).rows
        slowdowns = tidy_rows((name, "slowdown", value) for name, value in self.slowdown.items())
        over_time = tidy_rows(
            (f"time {moment.time:g}", name, value)
            for moment in self.moments
            for name, value in vars(moment).items()
            if isinstance(value, Estimate)
        )
        beside = [] if self.pooled is None else [("pooled", "wait.mean", self.pooled.wait),
                                                 ("pooled", "wait.cost", self.pooled.cost)]  # fmt: skip
        pooled = tidy_rows((who, what, value) for who, what, value in beside if value is not None)
        return Table(self.title, TIDY, (*rows, *slowdowns, *pooled, *over_time))
