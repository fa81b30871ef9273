"""The answer of `replay`: what a recorded workload meets on a cluster, job by job, beside what the log recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from loynes.errors import UsageError
from loynes.estimators.measures import ALL_JOBS, Spread, System, Waits
from loynes.results.base import Result, Seconds
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.simulation import Pooled, pooled_table
from loynes.results.table import Table
from loynes.results.tables import shown_percentiles, system_table, wait_columns, wait_spare
from loynes.results.tails import Tails
from loynes.traces.units import unit_named

JOB_COLUMNS = ("id", "submitted", "submit", "need", "service", "wait", "response", "recorded_wait")


@dataclass(frozen=True)
class Log:
    """What was replayed, on how many servers."""

    name: str
    source: str
    format: str
    hash: str
    servers: int


def cluster_notes(details: Mapping[str, Any]) -> tuple[str, ...]:
    """What has to be said of nodes and of limits of users, by the details of a result."""
    notes = (str(details["tasks"]),) if "tasks" in details else ()
    if "user_limit" not in details:
        return notes
    who = "user" if "user_label" not in details else f"{details['user_label']}"
    more = f", and {details['user_borrow']} more that others leave" if "user_borrow" in details else ""
    return (*notes, f"no {who} holds more than {details['user_limit']}{more}")


@dataclass(frozen=True)
class ReplayedClass(Waits):
    """Waits of a class of recorded jobs, how many they are, and the least and largest of their needs."""

    jobs: int = 0
    need: tuple[int, int] = (0, 0)

    @property
    def need_text(self) -> str:
        return "-".join(str(n) for n in dict.fromkeys(self.need))


@dataclass(frozen=True)
class Recorded:
    """The waits that the log itself recorded, of the jobs replayed; None for a class without any."""

    jobs: int
    overall: Spread
    classes: dict[str, Spread | None]


@dataclass(frozen=True)
class Series:
    """Averages in windows of time, from the first submission to the last end; seconds since the first submission."""

    begin: tuple[float, ...]
    end: tuple[float, ...]
    busy_servers: tuple[float, ...]
    utilization: tuple[float, ...]
    hol_loss: tuple[float, ...]  # servers
    jobs_waiting: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Replay(Result):
    """Exact figures of one recorded workload on so many servers, under a policy."""

    command: ClassVar[str] = "replay"
    tidy_csv: ClassVar[bool] = True
    optional: ClassVar[tuple[str, ...]] = (*Result.optional, "recorded_tails")
    derived: ClassVar[tuple[str, ...]] = (
        "load", "method", "seed", "backend", "replicas", "threshold", "certificate", "why"
    )  # fmt: skip

    # What every document about waits says: a replay has no model that these could be about.
    load: ClassVar[None] = None
    threshold: ClassVar[None] = None
    certificate: ClassVar[None] = None
    method: ClassVar[str] = "replay"
    backend: ClassVar[str] = "cpu"
    replicas: ClassVar[int] = 1
    why: ClassVar[str] = "a replay is of the jobs recorded, not of a stationary model: its figures are exact for them"

    model: Log
    rate: float | None  # jobs a second between the first submission and the last
    span: float  # seconds from the first submission to the last end, which time averages are over
    by: str  # what classes are: need, or a label of the log
    overall: Waits
    classes: dict[str, ReplayedClass]
    system: System
    recorded: Recorded | None
    series: Series
    jobs: int
    records: int
    skipped: dict[str, int]
    repaired: dict[str, int]
    examples: tuple[str, ...]
    kernel: str
    policy: str = "fcfs"
    details: dict[str, Any] = field(default_factory=dict)  # the policy's numbers, and what it believed
    tails: Tails | None = None  # the share of jobs that wait longer than x, over x
    pooled: Pooled | None = None  # on nodes
    recorded_tails: Tails | None = None  # the same of the waits that the log recorded
    read_seconds: Seconds = field(default=0.0, compare=False)
    # One value a job, which files of results do not keep.
    each: Annotated[dict[str, Any], Field(exclude=True)] = field(default_factory=dict, compare=False)

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def servers(self) -> int:
        return self.model.servers

    @property
    def source(self) -> str:
        return self.model.source

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def title(self) -> str:
        under = "" if self.policy == "fcfs" else f" under {self.policy}"
        return f"{self.name}: waits on {self.cluster}{under}"

    @property
    def cluster(self) -> str:
        """How many servers, or how much of every resource."""
        resources = self.details.get("resources")
        if "nodes" in self.details:
            return ", ".join(self.details["nodes"])
        if resources:
            return ", ".join(f"{count} {unit_named(name)}" for name, count in resources.items())
        return f"{self.servers} {self.details.get('unit', 'servers')}"

    @property
    def headline(self) -> str:
        return f"mean wait {self.in_time(self.overall.wait.mean)} of {self.jobs} jobs"

    @property
    def whole(self) -> ReplayedClass:
        """All jobs together."""
        needs = [need for one in self.classes.values() for need in one.need]
        return ReplayedClass(**vars(self.overall), jobs=self.jobs, need=(min(needs), max(needs)))

    @property
    def summary(self) -> Table:
        """Waits per class and overall, one row each, and the recorded mean beside them."""
        recorded: dict[str, Spread | None] = {}
        if self.recorded is not None:
            recorded = {ALL_JOBS: self.recorded.overall, **self.recorded.classes}
        rows = []
        for name, waits in {ALL_JOBS: self.whole, **self.classes}.items():
            mean, *others = wait_columns(waits, self.time_unit).values()
            beside = np.nan if (log := recorded.get(name)) is None else self.in_time(log.mean)
            rows.append((name, waits.need_text, str(waits.jobs), mean, beside, *others))
        _, *heads = wait_columns(self.overall, self.time_unit)
        columns = ("class", "need", "jobs", "mean wait", "recorded", *heads)
        spare = wait_spare(self.overall, "need", "no wait", "jobs", *shown_percentiles(self.overall))
        return Table(self.title, columns, tuple(rows), spare)

    @property
    def system_summary(self) -> Table:
        return system_table(self.system, ("averaged over", self.in_time(self.span)))

    @property
    def pooled_summary(self) -> Table:
        return pooled_table(self, self.pooled)

    @property
    def trace_summary(self) -> Table:
        """What was read, what was not, and why."""
        rows: list[tuple[str, Any]] = [("data lines", str(self.records)), ("jobs replayed", str(self.jobs))]
        rows += [(f"skipped: {reason}", str(count)) for reason, count in self.skipped.items()]
        rows += [(f"repaired: {what}", str(count)) for what, count in self.repaired.items()]
        return Table(f"{self.source} ({self.model.format})", ("lines", "count"), tuple(rows))

    @property
    def series_summary(self) -> Table:
        columns = ("from", "to", "busy servers", "utilization", "hol loss", "jobs waiting")
        spare = ("utilization", "to", "hol loss")
        rows = tuple(zip(*vars(self.series).values(), strict=True))
        return Table("in windows of time (seconds)", columns, rows, spare)

    @property
    def tables(self) -> list[Table]:
        """The series only if its windows were asked for."""
        series = [self.series_summary] if "windows" in self.question else []
        pooled = [self.pooled_summary] if self.pooled is not None else []
        return [self.summary, self.system_summary, *pooled, self.trace_summary, *series]

    @property
    def tidy(self) -> Table:
        """One row a job."""
        if not self.each:
            raise UsageError("the jobs themselves are not kept in a result file; replay the trace again to write them")
        names = (*JOB_COLUMNS, *(name for name in self.each if name not in JOB_COLUMNS))
        columns = {name: self.each[name].tolist() for name in names}
        columns["recorded_wait"] = [None if np.isnan(wait) else wait for wait in columns["recorded_wait"]]
        return Table(self.title, names, tuple(zip(*columns.values(), strict=True)))

    @property
    def footer(self) -> str:
        took = f"read in {self.read_seconds:.2f} s, replayed in {self.seconds:.2f} s"
        believed = f", believing in {self.details['believed']}" if "believed" in self.details else ""
        order = "" if self.policy == "fcfs" else f"{self.policy}{believed}, "
        order += "".join(f"{text}, " for text in cluster_notes(self.details))
        damaged = "".join(f"damaged: {example}\n" for example in self.examples)
        return f"{damaged}replay, {order}{self.jobs} jobs, {self.kernel}; {took}"
