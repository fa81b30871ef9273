"""The answer of `simulate`: waits and the state of the cluster under a policy, event by event."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.metrics import System, Waits
from loynes.results.saving import dump, save
from loynes.results.table import Table
from loynes.results.tidy import ALL_JOBS, COLUMNS, SYSTEM, of_waits


@dataclass(frozen=True)
class Moment:
    """The cluster at a time: jobs waiting and in the system, busy and lost servers; waits of those who come then."""

    time: float
    wait: Estimate | None  # None if nobody does
    wait_p50: Estimate | None
    wait_p95: Estimate | None
    jobs_waiting: Estimate
    jobs_in_system: Estimate
    busy_servers: Estimate
    hol_loss: Estimate  # servers that idle while somebody waits

    def to_dict(self) -> dict[str, Any]:
        return {k: v.to_dict() if isinstance(v, Estimate) else v for k, v in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Moment:
        values: dict[str, Any] = {k: Estimate.from_dict(v) if isinstance(v, dict) else v for k, v in data.items()}
        return cls(**values)


@dataclass(frozen=True)
class Simulation:
    """Averages over independent replicas, without a certificate: what bias a burn-in leaves is not bounded."""

    model: Model
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
    seconds: float
    seed: int
    horizon: float | None = None  # averages are over the time until then
    details: dict[str, Any] = field(default_factory=dict)
    moments: tuple[Moment, ...] = ()
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> Table:
        rows = []
        for name, waits in ((ALL_JOBS, self.overall), *self.classes.items()):
            wait = waits.wait
            cells = (wait.mean, wait.p50, wait.p95, wait.p99, waits.no_wait, waits.response.mean, self.slowdown[name])
            rows.append((name, *cells))
        title = f"{self.model.label}: waits at rate {self.rate:.6g} under {self.policy}"
        columns = ("class", "mean wait", "p50", "p95", "p99", "no wait", "mean response", "slowdown")
        return Table(title, columns, tuple(rows), ("p50", "p99", "slowdown"))

    @property
    def system_summary(self) -> Table:
        return Table("system", ("quantity", "value"), self.system.rows)

    @property
    def moments_summary(self) -> Table:
        columns = ("time", "wait of those who come", "p50", "p95", "jobs waiting", "jobs in system", "busy servers",
                   "hol loss")  # fmt: skip
        rows = tuple(
            (m.time, *(value or "-" for value in (m.wait, m.wait_p50, m.wait_p95)), m.jobs_waiting, m.jobs_in_system,
             m.busy_servers, m.hol_loss)
            for m in self.moments
        )  # fmt: skip
        return Table(f"over time, from {self.start}", columns, rows, ("p50", "jobs in system"))

    @property
    def scenario_summary(self) -> Table:
        changes = self.model.scenario or ()
        rows = tuple((c.label, c.since, "for ever" if c.until is None else c.until) for c in changes)
        return Table("scenario", ("change", "from", "until"), rows)

    @property
    def tables(self) -> list[Table]:
        scenario = [self.scenario_summary] if self.model.scenario else []
        return [self.summary, self.system_summary, *scenario, *([self.moments_summary] if self.moments else [])]

    @property
    def footer(self) -> str:
        sure = f"{100 * self.confidence:.7g}% intervals from {self.replicas} replicas"
        until = "" if self.horizon is None else f" to time {self.horizon:g}"
        took = f"{self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        return f"event by event, from {self.start}{until}, {sure}, {took}"

    @property
    def flat(self) -> Table:
        """What a .csv file holds: the cluster over time, if it was followed, else the waits by class."""
        return self.moments_summary if self.moments else self.summary

    @property
    def tidy(self) -> Table:
        rows = [
            (name, metric, *vars(value).values())
            for name, waits in ((ALL_JOBS, self.overall), *self.classes.items())
            for metric, value in (of_waits(waits) | {"slowdown": self.slowdown[name]}).items()
        ]
        rows += [(SYSTEM, n, *vars(v).values()) for n, v in vars(self.system).items() if isinstance(v, Estimate)]
        rows += [
            (f"time {moment.time:g}", name, *vars(value).values())
            for moment in self.moments
            for name, value in vars(moment).items()
            if isinstance(value, Estimate)
        ]
        return Table(self.summary.title, COLUMNS, tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        return {
            "command": "simulate",
            "model": self.model.identity(),
            "rate": self.rate,
            "method": "simulate",
            "policy": self.policy,
            "start": self.start,
            "horizon": self.horizon,
            "confidence": self.confidence,
            "seed": self.seed,
            "replicas": self.replicas,
            "jobs": self.jobs,
            "seconds": None if math.isnan(self.seconds) else self.seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            "certificate": None,
            "why": "an event-driven simulation has none",
            "overall": self.overall.to_dict(),
            "classes": {name: waits.to_dict() for name, waits in self.classes.items()},
            "slowdown": {name: value.to_dict() for name, value in self.slowdown.items()},
            "system": self.system.to_dict(),
            "moments": [moment.to_dict() for moment in self.moments],
            "details": self.details,
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        save(self, path)

    def plot(self, ax: Any = None) -> Any:
        """Waits by class; with moments, the wait and the jobs waiting over time."""
        from loynes.results.plots import plot_over_time, plot_waits

        return plot_over_time(self, ax) if self.moments else plot_waits(self, ax)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Simulation:
        names = ("rate", "policy", "start", "horizon", "confidence", "replicas", "jobs", "seed", "details", "version")
        return cls(
            model=Model.model_validate(data["model"]["definition"]),
            overall=Waits.from_dict(data["overall"]),
            classes={name: Waits.from_dict(waits) for name, waits in data["classes"].items()},
            slowdown={name: Estimate.from_dict(value) for name, value in data["slowdown"].items()},
            system=System.from_dict(data["system"]),
            moments=tuple(Moment.from_dict(moment) for moment in data["moments"]),
            seconds=math.nan if data.get("seconds") is None else data["seconds"],
            warnings=tuple(data["warnings"]),
            **{name: data[name] for name in names},
        )
