"""The answer of a comparison of policies: the same jobs under each, and what each can carry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.saving import dump, save
from loynes.results.simulation import Simulation
from loynes.results.table import Table


@dataclass(frozen=True)
class Limit:
    """The largest rate a policy can carry, and where that is known from."""

    rate: Estimate
    source: str

    def to_dict(self) -> dict[str, Any]:
        return {"rate": self.rate.to_dict(), "source": self.source}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Limit:
        return cls(Estimate.from_dict(data["rate"]), data["source"])


@dataclass(frozen=True)
class PolicyPoint:
    """A policy at a rate; its mean wait minus that of the baseline on the same jobs. Where there is no result, why."""

    policy: str
    rate: float
    load: float  # of the threshold of first come, first served
    result: Simulation | None
    difference: Estimate | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {
            "result": None if self.result is None else self.result.to_dict(),
            "difference": None if self.difference is None else self.difference.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PolicyPoint:
        result, difference = data["result"], data["difference"]
        found = {
            "result": None if result is None else Simulation.from_dict(result),
            "difference": None if difference is None else Estimate.from_dict(difference),
        }
        return cls(**(data | found))


@dataclass(frozen=True)
class PolicyComparison:
    """Policies on the same jobs, rate by rate: what strict order costs."""

    model: Model
    policies: tuple[str, ...]
    points: tuple[PolicyPoint, ...]
    limits: dict[str, Limit]
    ideal: float
    confidence: float
    seed: int
    seconds: float
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def baseline(self) -> str:
        return self.policies[0]

    @property
    def summary(self) -> Table:
        """A row a rate and policy."""
        rows = []
        for point in self.points:
            found = point.result
            if found is None:
                rows.append((point.load, point.rate, point.policy, *("-" for _ in range(6)), point.why))
                continue
            wait, system = found.overall.wait, found.system
            minus = "-" if point.difference is None else point.difference
            cells = (wait.mean, minus, wait.p95, wait.p99, system.utilization.estimate, system.hol_loss)
            note = "; ".join(text.split(":")[0] for text in found.warnings)
            rows.append((point.load, point.rate, point.policy, *cells, note))
        noted = any(row[-1] for row in rows)
        columns = (
            "load",
            "rate",
            "policy",
            "mean wait",
            f"minus {self.baseline}",
            "p95",
            "p99",
            "utilization",
            "hol loss",
        )
        shown = tuple(tuple(row if noted else row[:-1]) for row in rows)
        title = f"{self.model.label}: policies on the same jobs"
        return Table(title, (*columns, "note") if noted else columns, shown, ("p99", "utilization", "rate"))

    @property
    def limits_summary(self) -> Table:
        first = self.limits[self.baseline].rate.estimate if self.baseline in self.limits else math.nan
        rows = tuple(
            (name, limit.rate, limit.rate.estimate / first, limit.rate.estimate / self.ideal, limit.source)
            for name, limit in self.limits.items()
        )
        columns = ("policy", "largest rate", f"of {self.baseline}'s", "of the ideal", "known from")
        return Table("what each can carry", columns, rows)

    @property
    def tables(self) -> list[Table]:
        return [*([self.summary] if self.points else []), *([self.limits_summary] if self.limits else [])]

    @property
    def flat(self) -> Table:
        return self.tidy

    @property
    def tidy(self) -> Table:
        """Rate x policy x class x metric, each with its interval."""
        rows = []
        for point in self.points:
            if point.result is None:
                continue
            config = (point.load, point.rate, point.policy)
            rows += [(*config, *row) for row in point.result.tidy.rows]
            if point.difference is not None:
                minus = f"wait.mean minus {self.baseline}"
                rows.append((*config, "all jobs", minus, *vars(point.difference).values()))
        columns = ("load", "rate", "policy", "class", "metric", "estimate", "low", "high")
        return Table(f"{self.model.label}: policies on the same jobs", columns, tuple(rows))

    @property
    def footer(self) -> str:
        jobs = sum(point.result.jobs for point in self.points if point.result)
        sure = f"{100 * self.confidence:.7g}% intervals"
        return f"event by event on the same jobs, {sure}, {jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "command": "policies",
            "model": self.model.identity(),
            "policies": list(self.policies),
            "ideal": self.ideal,
            "confidence": self.confidence,
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            "limits": {name: limit.to_dict() for name, limit in self.limits.items()},
            "points": [point.to_dict() for point in self.points],
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        save(self, path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PolicyComparison:
        return cls(
            model=Model.model_validate(data["model"]["definition"]),
            policies=tuple(data["policies"]),
            points=tuple(PolicyPoint.from_dict(point) for point in data["points"]),
            limits={name: Limit.from_dict(limit) for name, limit in data["limits"].items()},
            seconds=data.get("seconds", math.nan),
            warnings=tuple(data["warnings"]),
            **{name: data[name] for name in ("ideal", "confidence", "seed", "version")},
        )

    def plot(self, ax: Any = None) -> Any:
        """Mean wait against the rate, a line a policy; what each can carry as a dashed line of its colour."""
        from loynes.results.plots import plot_policies

        return plot_policies(self, ax)
