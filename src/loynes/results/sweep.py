"""The answer of `sweep`: one evaluation a point, or why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.model.cluster import Model
from loynes.results.records import Evaluation
from loynes.results.saving import dump, save
from loynes.results.table import Table
from loynes.results.tidy import COLUMNS, leaves


@dataclass(frozen=True)
class Point:
    """One configuration, and its evaluation; where there is none, why."""

    config: dict[str, Any]  # what is varied -> value
    result: Evaluation | None
    why: str = ""


@dataclass(frozen=True)
class Sweep:
    """A model at many rates, or changed in many ways, under the same random numbers."""

    model: Model
    vary: tuple[str, ...]
    points: tuple[Point, ...]
    confidence: float
    seed: int
    seconds: float
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> Table:
        """A row a point."""
        rest = tuple(name for name in ("rate", "load") if name not in self.vary)
        columns = (*self.vary, *rest, "mean wait", "p95", "p99", "no wait", "utilization", "hol loss", "method")
        rows = []
        for point in self.points:
            config = tuple(point.config[name] for name in self.vary)
            found = point.result
            if found is None:
                rows.append((*config, *("" for _ in rest), *("-" for _ in range(6)), point.why.split(":")[0]))
                continue
            wait, system = found.overall.wait, found.system
            named = tuple(getattr(found, name) for name in rest)
            cells = (wait.mean, wait.p95, wait.p99, found.overall.no_wait, system.utilization.estimate, system.hol_loss)
            method = found.method if found.certificate else f"{found.method}, lower bound"
            rows.append((*config, *named, *cells, method))
        return Table(f"{self.model.label}: sweep", columns, tuple(rows), ("p99", "utilization", "method", "no wait"))

    @property
    def tidy(self) -> Table:
        """Configuration x class x metric, each with its interval; points without a result have no rows."""
        rest = tuple(name for name in ("rate", "load") if name not in self.vary)
        rows = []
        for number, point in enumerate(self.points):
            if point.result is None:
                continue
            found = point.result
            config = [point.config[name] for name in self.vary] + [getattr(found, name) for name in rest]
            certified = found.certificate is not None
            rows += [
                (number, *config, found.threshold.estimate, certified, name, metric, *vars(value).values())
                for name, metric, value in leaves(found)
            ]
        columns = ("point", *self.vary, *rest, "threshold", "certified", *COLUMNS)
        return Table(f"{self.model.label}: sweep", columns, tuple(rows))

    @property
    def flat(self) -> Table:
        """What a .csv file holds."""
        return self.tidy

    @property
    def tables(self) -> list[Table]:
        return [self.summary]

    @property
    def footer(self) -> str:
        jobs = sum(point.result.jobs for point in self.points if point.result)
        sure = f"{100 * self.confidence:.7g}% intervals"
        return (
            f"{len(self.points)} points, {sure}, {jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed} at every point"
        )

    def to_dict(self) -> dict[str, Any]:
        points = [
            {
                "config": point.config,
                "result": None if point.result is None else point.result.to_dict(),
                "why": point.why,
            }
            for point in self.points
        ]
        return {
            "command": "sweep",
            "model": self.model.identity(),
            "vary": list(self.vary),
            "confidence": self.confidence,
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            "points": points,
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        """The tidy table as .csv or .parquet, everything as .json, or a run folder."""
        save(self, path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sweep:
        points = tuple(
            Point(p["config"], None if p["result"] is None else Evaluation.from_dict(p["result"]), p["why"])
            for p in data["points"]
        )
        return cls(
            model=Model.model_validate(data["model"]["definition"]),
            vary=tuple(data["vary"]),
            points=points,
            seconds=data.get("seconds", math.nan),
            warnings=tuple(data["warnings"]),
            **{name: data[name] for name in ("confidence", "seed", "version")},
        )

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """A metric against what is varied; options as of `plot_sweep`."""
        from loynes.results.plots import plot_sweep

        return plot_sweep(self, ax, **options)
