"""The answer of `plan --partition`: whose the servers are, and waits beside those of a shared pool."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.results.base import Nested, Result, SavedModel, how_sure
from loynes.results.quantity import UNNAMED
from loynes.results.records.simulation import Simulation
from loynes.results.table import Table
from loynes.results.tables import TIDY, everyone


@dataclass(frozen=True)
class Part:
    """Servers of a class, or of the helpers."""

    name: str
    need: int  # of a job; 0 for helpers
    share: float  # of all work
    servers: int
    jobs: int  # that they hold at once
    full: float | None  # the probability that all are busy, if whoever finds them so went away


@dataclass(frozen=True, kw_only=True, repr=False)
class Partition(Result):
    """Servers divided among classes, and what that does to waits."""

    command: ClassVar[str] = "partition"
    tidy_csv: ClassVar[bool] = True

    model: SavedModel
    rate: float
    parts: tuple[Part, ...]
    divided: Annotated[Simulation, Nested]
    shared: Annotated[Simulation, Nested]
    # Of the mean wait of all jobs, divided minus shared, on the same jobs; none where some jobs did not end.
    difference: Estimate | None
    confidence: float

    @property
    def title(self) -> str:
        return f"{self.model.label}: {self.model.servers} servers divided, at rate {self.rate_words(self.rate)}"

    @property
    def headline(self) -> str:
        divided, shared = (self.in_time(one.overall.wait.mean) for one in (self.divided, self.shared))
        return f"mean wait {divided} divided, {shared} in a shared pool"

    @property
    def setting(self) -> str:
        return f"times in {UNNAMED}" if self.time_unit is None else ""

    @property
    def summary(self) -> Table:
        """A row a class: its servers, and its waits both ways."""
        here, there = (everyone(one.overall, one.classes) for one in (self.divided, self.shared))
        rows: list[tuple[Any, ...]] = []
        for part in self.parts:
            waits: tuple[Any, ...] = ("-", "-")
            if part.name in here:
                waits = tuple(self.in_time(one[part.name].wait.mean) for one in (here, there))
            known = part.full is not None
            rows.append((
                part.name, part.need or "-", part.servers, part.jobs if known else "-", part.share if known else "-",
                "-" if part.full is None else part.full, *waits,
            ))  # fmt: skip
        waits = tuple(self.in_time(one[ALL_JOBS].wait.mean) for one in (here, there))
        rows.append((ALL_JOBS, "-", self.model.servers, "-", "-", "-", *waits))
        columns = ("class", "need", "servers", "holds jobs", "share of work", "all busy", "wait, divided",
                   "wait, shared")  # fmt: skip
        return Table(self.title, columns, tuple(rows), ("holds jobs", "share of work", "all busy"))

    @property
    def tables(self) -> list[Table]:
        known = self.difference is not None and math.isfinite(self.difference.estimate)
        minus = self.in_time(self.difference) if known else "not known"
        systems = (("divided", self.divided.system), ("shared", self.shared.system))
        rows = tuple((name, one.utilization.estimate, one.hol_loss, one.jobs_waiting) for name, one in systems)
        columns = ("servers are", "utilization", "idle while somebody waits", "jobs waiting")
        return [self.summary, Table(f"mean wait, divided minus shared, on the same jobs: {minus}", columns, rows)]

    @property
    def tidy(self) -> Table:
        rows = [("divided", *row) for row in self.divided.tidy.rows]
        rows += [("shared", *row) for row in self.shared.tidy.rows]
        rows += [("divided", part.name, "servers", part.servers, part.servers, part.servers) for part in self.parts]
        if self.difference is not None:
            rows.append(("divided", ALL_JOBS, "wait.mean minus shared", *vars(self.difference).values()))
        return Table(self.title, ("servers are", *TIDY), tuple(rows))

    @property
    def footer(self) -> str:
        sure = how_sure(self.confidence, self.divided.replicas)
        return (
            f"an estimate, event by event on the same jobs from empty, nothing certified; {sure}, "
            f"{self.divided.jobs + self.shared.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        )
