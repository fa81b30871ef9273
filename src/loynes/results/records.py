"""The answers themselves: frozen, saved as JSON, read back equal."""

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
from loynes.results.tidy import tidy
from loynes.stationary.certificate import Certificate

# Fields that JSON holds as they are.
_PLAIN = (
    "discipline", "rate", "method", "confidence", "replicas", "variance_reduction", "jobs", "seed", "backend",
    "details", "why", "version",
)  # fmt: skip


@dataclass(frozen=True)
class Threshold:
    """The answer of `stability`: the largest arrival rate a cluster can take."""

    model: Model
    threshold: Estimate
    ideal: float
    hol_loss: Estimate  # servers (of the bottleneck) lost to head-of-line blocking in saturation
    discipline: str
    method: str
    confidence: float
    replicas: int
    variance_reduction: float  # by control variates
    jobs: int
    seconds: float
    seed: int
    backend: str
    resources: dict[str, Estimate] = field(default_factory=dict)  # HOL loss in saturation, by resource
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def max_utilization(self) -> Estimate:
        return self.threshold.scaled(1.0 / self.ideal)

    @property
    def summary(self) -> Table:
        lost = {f"{kind} lost when saturated": loss for kind, loss in self.resources.items()}
        rows = (
            ("threshold", self.threshold),
            ("largest utilization", self.max_utilization),
            *(lost or {"servers lost when saturated": self.hol_loss}).items(),
            ("ideal, without blocking", Estimate.exact(self.ideal)),
        )
        cells = tuple((name, value, value.low, value.high) for name, value in rows)
        return Table(f"{self.model.label}: stability", ("quantity", "estimate", "low", "high"), cells)

    @property
    def flat(self) -> Table:
        """What a .csv file holds."""
        return self.summary

    @property
    def tidy(self) -> Table:
        """What a .parquet file holds."""
        rows = tuple((name, *vars(value).values()) for name, value, _, _ in self.summary.rows)
        return Table(self.summary.title, ("quantity", "estimate", "low", "high"), rows)

    @property
    def tables(self) -> list[Table]:
        """What the terminal shows."""
        return [self.summary]

    @property
    def footer(self) -> str:
        return _footer(self)

    def to_dict(self) -> dict[str, Any]:
        lost = {kind: {"hol_loss_saturated": loss.to_dict()} for kind, loss in self.resources.items()}
        return {
            "model": self.model.identity(),
            "threshold": self.threshold.to_dict(),
            "ideal": self.ideal,
            "max_utilization": self.max_utilization.estimate,
            "hol_loss_saturated": self.hol_loss.to_dict(),
            **({"resources": lost} if lost else {}),
            "variance_reduction": self.variance_reduction,
            **_how(self, "discipline", "method", "confidence", "replicas", "jobs", "seconds", "seed", "backend"),
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        save(self, path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Threshold:
        how = {name: data[name] for name in _PLAIN if name in data}
        return cls(
            model=_read_model(data),
            threshold=Estimate.from_dict(data["threshold"]),
            ideal=data["ideal"],
            hol_loss=Estimate.from_dict(data["hol_loss_saturated"]),
            resources={k: Estimate.from_dict(v["hol_loss_saturated"]) for k, v in data.get("resources", {}).items()},
            seconds=_seconds(data),
            warnings=tuple(data["warnings"]),
            **how,
        )


@dataclass(frozen=True)
class Evaluation:
    """The answer of `evaluate`: waits, overall and per class, and the state of the cluster at one arrival rate."""

    model: Model
    rate: float
    threshold: Estimate
    method: str
    overall: Waits
    classes: dict[str, Waits]
    system: System
    confidence: float
    replicas: int
    jobs: int
    seconds: float
    seed: int
    backend: str
    details: dict[str, Any] = field(default_factory=dict)  # burn-in, sample lengths: what the method tells of itself
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def load(self) -> float:
        """The rate as a fraction of the threshold's estimate."""
        return self.rate / self.threshold.estimate

    @property
    def summary(self) -> Table:
        """Waits per class and overall, one row each."""
        rows = [("all jobs", "", *_row(self.overall))]
        need = {c.label: c.need_text for c in self.model.classes}
        rows += [(name, need[name], *_row(waits)) for name, waits in self.classes.items()]
        title = f"{self.model.label}: waits at rate {self.rate:.6g} ({self.load:.1%} of the threshold)"
        if self.model.order != "fcfs":
            title += f", {self.model.order}"
        asked = tuple(f"wait > {x:.15g}" for x in self.overall.exceeds)
        columns = ("class", "need", "mean wait", "p50", "p95", "p99", "no wait", *asked, "mean response")
        return Table(title, columns, tuple(rows), ("p50", "mean response", "p99", "need", "no wait"))

    @property
    def system_summary(self) -> Table:
        return Table("system", ("quantity", "value"), self.system.rows)

    @property
    def certificate_summary(self) -> Table:
        """What bounds the bias, or why nothing does."""
        rows: list[tuple[str, Any]] = [("method", self.method), ("confidence of intervals", self.confidence)]
        rows += [("none", self.why)] if self.certificate is None else self.certificate.figures
        return Table("certificate", ("quantity", "value"), tuple(rows))

    @property
    def flat(self) -> Table:
        """What a .csv file holds."""
        return self.summary

    @property
    def tidy(self) -> Table:
        """Every class and metric: what a .parquet file holds."""
        return tidy(self)

    @property
    def tables(self) -> list[Table]:
        """What the terminal shows."""
        return [self.summary, self.system_summary, self.certificate_summary]

    @property
    def footer(self) -> str:
        return _footer(self) + (f"\nno certificate: {self.why}" if self.why else "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.identity(),
            "rate": self.rate,
            "load": self.load,
            **_how(self, "method", "confidence", "seed", "backend", "replicas", "jobs", "seconds"),
            "threshold": self.threshold.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "why": self.why,
            "overall": self.overall.to_dict(),
            "classes": {name: waits.to_dict() for name, waits in self.classes.items()},
            "system": self.system.to_dict(),
            "details": self.details,
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        """A .json, .csv or .parquet (tidy) file, or a folder with result.json, timing.json and model.toml."""
        save(self, path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Evaluation:
        how = {name: data[name] for name in _PLAIN if name in data}
        return cls(
            model=_read_model(data),
            threshold=Estimate.from_dict(data["threshold"]),
            overall=Waits.from_dict(data["overall"]),
            classes={name: Waits.from_dict(waits) for name, waits in data["classes"].items()},
            system=System.from_dict(data["system"]),
            certificate=None if data["certificate"] is None else Certificate.from_dict(data["certificate"]),
            seconds=_seconds(data),
            warnings=tuple(data["warnings"]),
            **how,
        )

    def plot(self, ax: Any = None) -> Any:
        """Mean wait and 95th percentile of every class with their intervals; returns the matplotlib axes."""
        from loynes.results.plots import plot_waits

        return plot_waits(self, ax)


Result = Threshold | Evaluation


def _row(waits: Waits) -> tuple[Estimate, ...]:
    wait = waits.wait
    return (wait.mean, wait.p50, wait.p95, wait.p99, waits.no_wait, *waits.exceeds.values(), waits.response.mean)


def _how(record: Result, *names: str) -> dict[str, Any]:
    told = {name: getattr(record, name) for name in names}
    if math.isnan(record.seconds):  # read back from a file that does not say
        told["seconds"] = None
    return told | {
        "version": record.version,
        "warnings": list(record.warnings),
    }


def _seconds(data: dict[str, Any]) -> float:
    return math.nan if data.get("seconds") is None else float(data["seconds"])


def _footer(record: Result) -> str:
    """How it was found, in a line."""
    sure = f"{100 * record.confidence:.7g}% intervals from {record.replicas} replicas"
    return f"{record.method}, {sure}, {record.jobs:.3g} jobs, {record.seconds:.1f} s, seed {record.seed}"


def _read_model(data: dict[str, Any]) -> Model:
    return Model.model_validate(data["model"]["definition"])
