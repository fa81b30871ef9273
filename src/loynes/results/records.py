"""The answers themselves: frozen, saved as JSON, read back equal."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import LoynesError, UsageError
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.files import check_writable, is_file_path, write_text
from loynes.results.metrics import System, Waits
from loynes.results.replay import Replay
from loynes.results.samples import SampleFile
from loynes.results.table import Table
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
        return _dump(self.to_dict())

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
            seconds=data.get("seconds", math.nan),
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
        return _dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        """A .json or .csv file, or a folder with result.json, timing.json and model.toml."""
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
            seconds=data.get("seconds", math.nan),
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
    return {name: getattr(record, name) for name in names} | {
        "version": record.version,
        "warnings": list(record.warnings),
    }


def _footer(record: Result) -> str:
    """How it was found, in a line."""
    sure = f"{100 * record.confidence:.7g}% intervals from {record.replicas} replicas"
    return f"{record.method}, {sure}, {record.jobs:.3g} jobs, {record.seconds:.1f} s, seed {record.seed}"


def _read_model(data: dict[str, Any]) -> Model:
    return Model.model_validate(data["model"]["definition"])


def _dump(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def save(record: Result, path: str | Path) -> None:
    """Write a result by the ending of its path: .json, .csv, or else a folder."""
    target = Path(path)
    check_writable(target)
    match target.suffix.lower():
        case ".json":
            write_text(target, record.to_json())
        case ".csv":
            write_text(target, record.summary.to_csv())
        case ending if is_file_path(target):
            raise UsageError(f"{path}: results are written to .json, .csv or a run folder, not to {ending}")
        case _:
            save_folder(record, target)


def save_folder(record: Result | SampleFile, folder: Path) -> None:
    """result.json, which is the same for the same work, timing.json and model.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    data = record.to_dict()
    timing = {"seconds": data.pop("seconds")}
    write_text(folder / "model.toml", record.model.to_toml())
    write_text(folder / "timing.json", _dump(timing))
    write_text(folder / "result.json", _dump(data))


def read_result(path: str | Path) -> Result | Replay | SampleFile:
    """A result saved as .json, or the result of a run folder."""
    source = Path(path)
    timing = source / "timing.json"
    source = source / "result.json" if source.is_dir() else source
    try:
        data = json.loads(source.read_text(encoding="utf-8"))
        if timing.exists():
            data |= json.loads(timing.read_text(encoding="utf-8"))
        if data.get("method") == "replay":
            return Replay.from_dict(data)
        if "longest" in data:
            return SampleFile.from_dict(data, Path(path))
        return Evaluation.from_dict(data) if "overall" in data else Threshold.from_dict(data)
    except OSError as error:
        raise LoynesError(f"{source}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoynesError(f"{source}: not a result of loynes ({error.__class__.__name__}: {error})") from None
