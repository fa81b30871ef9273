"""The answer of a comparison of policies: the same jobs under each, and what each can carry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.estimators.metrics import metric
from loynes.results.base import Nested, Result, SavedModel, how_sure
from loynes.results.quantity import UNNAMED
from loynes.results.records.simulation import Simulation
from loynes.results.table import Table
from loynes.results.tables import TIDY, asked_percentiles

# How the reason begins where a policy was not run at a rate.
NOT_RUN = "not run"


@dataclass(frozen=True)
class Limit:
    """The largest rate a policy can carry, and where that is known from."""

    rate: Estimate
    source: str


@dataclass(frozen=True)
class PolicyPoint:
    """A policy at a rate; its mean wait minus that of the baseline on the same jobs. Where there is no result, why."""

    policy: str
    rate: float
    load: float  # of the threshold of first come, first served
    result: Annotated[Simulation | None, Nested]
    difference: Estimate | None
    why: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyComparison(Result):
    """Policies on the same jobs, rate by rate: what strict order costs."""

    command: ClassVar[str] = "policies"
    tidy_csv: ClassVar[bool] = True

    model: SavedModel
    policies: tuple[str, ...]
    points: tuple[PolicyPoint, ...]
    limits: dict[str, Limit]
    ideal: float
    confidence: float

    @property
    def title(self) -> str:
        return f"{self.model.label}: policies on the same jobs"

    @property
    def headline(self) -> str:
        limits = [f"{name} carries {self.rate_words(limit.rate.estimate, 4)}" for name, limit in self.limits.items()]
        return ", ".join(limits or self.policies)

    @property
    def setting(self) -> str:
        return f"times in {UNNAMED}" if self.time_unit is None else ""

    @property
    def baseline(self) -> str:
        return self.policies[0]

    @property
    def summary(self) -> Table:
        """A row a rate and policy."""
        rows = []
        shown = asked_percentiles(next((one.result.overall for one in self.points if one.result is not None), None))
        for point in self.points:
            result = point.result
            if result is None:
                blanks = ("-" for _ in range(4 + len(shown)))
                rows.append((point.load, self.in_rate(point.rate), point.policy, *blanks, point.why))
                continue
            wait, system = result.overall.wait, result.system
            minus = "-" if point.difference is None else point.difference
            percentiles = (metric(f"wait.{name}").get(result.overall) for name in shown)
            waits = (self.in_time(x) for x in (wait.mean, minus, *percentiles))
            cells = (*waits, system.utilization.estimate, system.hol_loss)
            note = "; ".join(text.split(":")[0] for text in result.warnings)
            rows.append((point.load, self.in_rate(point.rate), point.policy, *cells, note))
        columns = ("load", "rate", "policy", "mean wait", f"minus {self.baseline}", *shown, "utilization",
                   "hol loss", "note")  # fmt: skip
        spare = (shown[-1], "utilization", "rate", "hol loss", *shown[:-1])
        table = Table(self.title, columns, tuple(rows), spare)
        return table if any(row[-1] for row in rows) else table.without("note")

    @property
    def limits_summary(self) -> Table:
        first = self.limits[self.baseline].rate.estimate if self.baseline in self.limits else math.nan
        rows = tuple(
            (
                name,
                self.in_rate(limit.rate),
                limit.rate.estimate / first,
                limit.rate.estimate / self.ideal,
                limit.source,
            )
            for name, limit in self.limits.items()
        )
        columns = ("policy", "largest rate", f"of {self.baseline}'s", "of the ideal", "known from")
        return Table("what each can carry", columns, rows)

    @property
    def tables(self) -> list[Table]:
        return [*([self.summary] if self.points else []), *([self.limits_summary] if self.limits else [])]

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
                rows.append((*config, ALL_JOBS, minus, *vars(point.difference).values()))
        return Table(self.title, ("load", "rate", "policy", *TIDY), tuple(rows))

    @property
    def footer(self) -> str:
        jobs = sum(point.result.jobs for point in self.points if point.result)
        sure = how_sure(self.confidence)
        return f"event by event on the same jobs, {sure}, {jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
