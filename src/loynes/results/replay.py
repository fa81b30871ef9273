"""The answer of `replay`: what a recorded workload meets on a cluster, job by job, beside what the log recorded."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.results.files import check_writable, is_file_path, whole_file, write_text
from loynes.results.metrics import Spread, System, Waits
from loynes.results.table import Table

Array = NDArray[np.float64]

JOB_COLUMNS = ("submit", "need", "service", "wait", "response", "recorded_wait")


@dataclass(frozen=True)
class JobGroup:
    """Jobs of a class: how many, and between which needs."""

    jobs: int
    least_need: int
    largest_need: int

    @property
    def need_text(self) -> str:
        return (
            str(self.least_need) if self.least_need == self.largest_need else f"{self.least_need}-{self.largest_need}"
        )


@dataclass(frozen=True)
class Recorded:
    """The waits that the log itself recorded, of the jobs replayed; None for a class without any."""

    jobs: int
    overall: Spread
    classes: dict[str, Spread | None]

    def to_dict(self) -> dict[str, Any]:
        classes = {name: None if spread is None else spread.to_dict() for name, spread in self.classes.items()}
        return {"jobs": self.jobs, "overall": self.overall.to_dict(), "classes": classes}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recorded:
        classes = {
            name: None if spread is None else Spread.from_dict(spread) for name, spread in data["classes"].items()
        }
        return cls(data["jobs"], Spread.from_dict(data["overall"]), classes)


@dataclass(frozen=True)
class Series:
    """Averages in windows of time, from the first submission to the last end; seconds since the first submission."""

    begin: tuple[float, ...]
    end: tuple[float, ...]
    busy_servers: tuple[float, ...]
    utilization: tuple[float, ...]
    hol_loss: tuple[float, ...]  # servers
    jobs_waiting: tuple[float, ...]

    def to_dict(self) -> dict[str, list[float]]:
        return {name: list(values) for name, values in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Series:
        return cls(**{name: tuple(values) for name, values in data.items()})


@dataclass(frozen=True)
class Replay:
    """Exact figures of one recorded workload on so many servers, under a policy."""

    name: str
    source: str
    format: str
    hash: str
    servers: int
    rate: float | None  # jobs a second between the first submission and the last
    span: float  # seconds from the first submission to the last end, which time averages are over
    by: str  # what classes are: need, or a label of the log
    overall: Waits
    classes: dict[str, Waits]
    groups: dict[str, JobGroup]
    system: System
    recorded: Recorded | None
    series: Series
    jobs: int
    records: int
    skipped: dict[str, int]
    repaired: dict[str, int]
    examples: tuple[str, ...]
    kernel: str
    seconds: float
    read_seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    version: str = __version__
    policy: str = "fcfs"
    details: dict[str, Any] = field(default_factory=dict)  # the policy's numbers, and what it believed
    each: dict[str, NDArray[Any]] = field(default_factory=dict, compare=False, repr=False)  # one value a job

    @property
    def summary(self) -> Table:
        """Waits per class and overall, one row each, and the recorded mean beside them."""
        everyone = JobGroup(
            self.jobs,
            min(g.least_need for g in self.groups.values()),
            max(g.largest_need for g in self.groups.values()),
        )
        rows = [("all jobs", *self._row(everyone, self.overall, self.recorded.overall if self.recorded else None))]
        for name, waits in self.classes.items():
            told = self.recorded.classes[name] if self.recorded else None
            rows.append((name, *self._row(self.groups[name], waits, told)))
        columns = ("class", "need", "jobs", "mean wait", "recorded", "p50", "p95", "p99", "no wait", "mean response")
        under = "" if self.policy == "fcfs" else f" under {self.policy}"
        title = f"{self.name}: waits on {self.servers} servers{under}"
        return Table(title, columns, tuple(rows), ("p50", "mean response", "p99", "need", "no wait"))

    @staticmethod
    def _row(group: JobGroup, waits: Waits, recorded: Spread | None) -> tuple[Any, ...]:
        wait = waits.wait
        told = math.nan if recorded is None else recorded.mean
        times = (wait.mean, told, wait.p50, wait.p95, wait.p99, waits.no_wait, waits.response.mean)
        return (group.need_text, str(group.jobs), *times)

    @property
    def system_summary(self) -> Table:
        rows = (*self.system.rows, ("averaged over (seconds)", self.span))
        return Table("system", ("quantity", "value"), rows)

    @property
    def trace_summary(self) -> Table:
        """What was read, what was not, and why."""
        rows: list[tuple[str, Any]] = [("data lines", str(self.records)), ("jobs replayed", str(self.jobs))]
        rows += [(f"skipped: {reason}", str(count)) for reason, count in self.skipped.items()]
        rows += [(f"repaired: {what}", str(count)) for what, count in self.repaired.items()]
        return Table(f"{self.source} ({self.format})", ("lines", "count"), tuple(rows))

    @property
    def series_summary(self) -> Table:
        columns = ("from", "to", "busy servers", "utilization", "hol loss", "jobs waiting")
        return Table("in windows of time (seconds)", columns, tuple(zip(*vars(self.series).values(), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        groups = {name: {"jobs": g.jobs, "need": [g.least_need, g.largest_need]} for name, g in self.groups.items()}
        return {
            "model": {
                "name": self.name,
                "source": self.source,
                "format": self.format,
                "hash": self.hash,
                "servers": self.servers,
            },
            "rate": self.rate,
            "load": None,
            "method": "replay",
            "seed": None,
            "backend": "cpu",
            "kernel": self.kernel,
            "policy": self.policy,
            "details": self.details,
            "replicas": 1,
            "jobs": self.jobs,
            "seconds": self.seconds,
            "read_seconds": self.read_seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            "threshold": None,
            "certificate": None,
            "why": "a replay is of the jobs recorded, not of a stationary model: its figures are exact for them",
            "overall": self.overall.to_dict(),
            "by": self.by,
            "classes": {name: groups[name] | waits.to_dict() for name, waits in self.classes.items()},
            "system": self.system.to_dict(),
            "span": self.span,
            "records": self.records,
            "skipped": self.skipped,
            "repaired": self.repaired,
            "examples": list(self.examples),
            "recorded": None if self.recorded is None else self.recorded.to_dict(),
            "series": self.series.to_dict(),
        }

    def to_json(self) -> str:
        return _dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        """A .json file; a .csv or .parquet file with one row a job; or a folder with result.json and timing.json."""
        target = Path(path)
        check_path(target)
        match target.suffix.lower():
            case ".json":
                write_text(target, self.to_json())
            case ".csv":
                self._save_csv(target)
            case ".parquet":
                self._save_parquet(target)
            case _:
                target.mkdir(parents=True, exist_ok=True)
                data = self.to_dict()
                timing = {name: data.pop(name) for name in ("seconds", "read_seconds")}
                write_text(target / "timing.json", _dump(timing))
                write_text(target / "result.json", _dump(data))

    def _columns(self) -> list[NDArray[Any]]:
        if not self.each:
            raise UsageError("the jobs themselves are not kept in a result file; replay the trace again to write them")
        return [self.each[name] for name in JOB_COLUMNS]

    def _save_csv(self, target: Path) -> None:
        columns = [column.tolist() for column in self._columns()]
        columns[-1] = ["" if math.isnan(wait) else wait for wait in columns[-1]]
        with whole_file(target) as draft, draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(JOB_COLUMNS)
            writer.writerows(zip(*columns, strict=True))

    def _save_parquet(self, target: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or write a .csv)") from None
        columns = self._columns()
        arrays = [pa.array(column, from_pandas=True) for column in columns]  # NaN becomes null
        origin = {"trace": self.source, "hash": self.hash, "servers": str(self.servers), "loynes": self.version}
        with whole_file(target) as draft:
            pq.write_table(pa.table(arrays, names=list(JOB_COLUMNS)).replace_schema_metadata(origin), draft)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Replay:
        plain = ("rate", "span", "by", "jobs", "records", "skipped", "repaired", "kernel", "version")
        return cls(
            **data["model"],
            **{name: data[name] for name in plain},
            overall=Waits.from_dict(data["overall"]),
            classes={name: Waits.from_dict(waits) for name, waits in data["classes"].items()},
            groups={name: JobGroup(waits["jobs"], *waits["need"]) for name, waits in data["classes"].items()},
            system=System.from_dict(data["system"]),
            recorded=None if data["recorded"] is None else Recorded.from_dict(data["recorded"]),
            series=Series.from_dict(data["series"]),
            examples=tuple(data["examples"]),
            seconds=data.get("seconds", math.nan),
            read_seconds=data.get("read_seconds", math.nan),
            warnings=tuple(data["warnings"]),
            policy=data.get("policy", "fcfs"),
            details=data.get("details", {}),
        )

    def plot(self, ax: Any = None) -> Any:
        """Busy servers, HOL loss and waiting jobs over time; returns the matplotlib axes."""
        from loynes.results.plots import plot_series

        return plot_series(self, ax)


def check_path(path: str | Path) -> None:
    """Refuse, before any work is done, a path that a replay cannot be written to."""
    check_writable(path)
    if is_file_path(path) and Path(path).suffix.lower() not in (".json", ".csv", ".parquet"):
        raise UsageError(f"{path}: a replay is written to .json, .csv, .parquet or a run folder")


def _dump(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"
