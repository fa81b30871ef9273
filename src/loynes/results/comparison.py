"""The answer of `compare`: two evaluations on the same jobs, and their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.from_pairs import Difference
from loynes.results.records import Evaluation
from loynes.results.saving import dump, save
from loynes.results.table import Table

ALL_JOBS = "all jobs"


@dataclass(frozen=True)
class Comparison:
    """Second minus first; classes are those that both have."""

    names: tuple[str, str]
    a: Evaluation
    b: Evaluation
    overall: Difference
    classes: dict[str, Difference]
    system: dict[str, Estimate]
    confidence: float
    seed: int
    seconds: float
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        return self.a.model

    @property
    def summary(self) -> Table:
        """Mean waits, their paired difference, and those of percentiles."""
        one, two = self.names
        columns = ("class", f"mean wait, {one}", two, "difference", "p50", "p95", "p99", "no wait")
        rows = []
        for name, found in ((ALL_JOBS, self.overall), *self.classes.items()):
            cells = (found.wait["mean"], found.wait["p50"], found.wait["p95"], found.wait["p99"], found.no_wait)
            rows.append((name, *found.means, *cells))
        return Table(f"{one} and {two}: waits, and differences on the same jobs", columns, tuple(rows), ("p50", "p99"))

    @property
    def system_summary(self) -> Table:
        rows = tuple((name.replace("_", " "), value) for name, value in self.system.items())
        return Table("system", ("quantity", "difference"), rows)

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.system_summary]

    @property
    def flat(self) -> Table:
        return self.tidy

    @property
    def tidy(self) -> Table:
        """Class x metric: the difference with its interval."""
        rows = [
            (name, metric, *vars(value).values())
            for name, found in ((ALL_JOBS, self.overall), *self.classes.items())
            for metric, value in _leaves(found)
        ]
        rows += [("system", metric, *vars(value).values()) for metric, value in self.system.items()]
        return Table(self.summary.title, ("class", "metric", "difference", "low", "high"), tuple(rows))

    @property
    def footer(self) -> str:
        jobs = self.a.jobs + self.b.jobs
        gain = self._gain()
        paired = f"pairing narrows the interval of the mean {gain:.2g} times, " if gain > 1.05 else ""
        sure = f"{100 * self.confidence:.7g}% intervals from {self.a.replicas} pairs of replicas"
        rates = (
            f"rates {self.a.rate:.6g} and {self.b.rate:.6g}"
            if self.a.rate != self.b.rate
            else f"rate {self.a.rate:.6g}"
        )
        return f"{rates}, {sure}, {paired}{jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"

    def _gain(self) -> float:
        """Two unpaired intervals together over the paired one."""
        apart = math.hypot(*(mean.half_width for mean in self.overall.means))
        paired = self.overall.wait["mean"].half_width
        return apart / paired if paired > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        return {
            "command": "compare",
            "names": list(self.names),
            "confidence": self.confidence,
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            "differences": {
                "overall": _to_dict(self.overall),
                "classes": {name: _to_dict(found) for name, found in self.classes.items()},
                "system": {name: value.to_dict() for name, value in self.system.items()},
            },
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        save(self, path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        differences = data["differences"]
        return cls(
            names=tuple(data["names"]),
            a=Evaluation.from_dict(data["a"]),
            b=Evaluation.from_dict(data["b"]),
            overall=_from_dict(differences["overall"]),
            classes={name: _from_dict(found) for name, found in differences["classes"].items()},
            system={name: Estimate.from_dict(value) for name, value in differences["system"].items()},
            seconds=data.get("seconds", math.nan),
            warnings=tuple(data["warnings"]),
            **{name: data[name] for name in ("confidence", "seed", "version")},
        )

    def plot(self, ax: Any = None) -> Any:
        from loynes.results.plots import plot_comparison

        return plot_comparison(self, ax)


def _leaves(found: Difference) -> list[tuple[str, Estimate]]:
    waits = [(f"wait.{name}", value) for name, value in found.wait.items()]
    return [
        *waits,
        *((f"response.{name}", value) for name, value in found.response.items()),
        ("no_wait", found.no_wait),
    ]


def _to_dict(found: Difference) -> dict[str, Any]:
    return {
        "means": [mean.to_dict() for mean in found.means],
        "wait": {name: value.to_dict() for name, value in found.wait.items()},
        "response": {name: value.to_dict() for name, value in found.response.items()},
        "no_wait": found.no_wait.to_dict(),
    }


def _from_dict(data: dict[str, Any]) -> Difference:
    wait, response = (
        {name: Estimate.from_dict(value) for name, value in data[what].items()} for what in ("wait", "response")
    )
    means = tuple(Estimate.from_dict(mean) for mean in data["means"])
    return Difference((means[0], means[1]), wait, response, Estimate.from_dict(data["no_wait"]))
