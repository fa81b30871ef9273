"""The answer of `exact`: numbers without intervals."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.model.cluster import Model
from loynes.results.files import write_text
from loynes.results.table import Table


@dataclass(frozen=True)
class ClassWait:
    """A class's wait: mean, P(no wait), and what else was asked for and could be had (None otherwise)."""

    mean: float
    no_wait: float
    variance: float | None = None
    exceeds: dict[float, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Exact:
    """Threshold and saturation always; the rest if a rate was given and the chain is small enough."""

    model: Model
    threshold: float
    utilization: float  # largest
    hol_loss_saturated: float  # servers, of the bottleneck
    throughput: dict[str, float]  # per class, in saturation
    states: int  # of the saturated chain; 0 where a formula did
    method: str
    resources: dict[str, dict[str, float]] = field(default_factory=dict)  # HOL losses (and use) of every resource
    rate: float | None = None
    overall: ClassWait | None = None
    classes: dict[str, ClassWait] = field(default_factory=dict)
    mean_jobs: float | None = None
    hol_loss: float | None = None
    jobs: tuple[float, ...] = ()  # P(n jobs in the system), n = 0, 1, ...
    error: float | None = None  # busy servers against what they must be, relatively
    seconds: float = math.nan
    warnings: tuple[str, ...] = ()
    version: str = __version__

    @property
    def mean_wait(self) -> float | None:
        return None if self.overall is None else self.overall.mean

    @property
    def no_wait(self) -> float | None:
        return None if self.overall is None else self.overall.no_wait

    @property
    def load(self) -> float | None:
        return None if self.rate is None else self.rate / self.threshold

    @property
    def summary(self) -> Table:
        rows: list[tuple[str, Any]] = [
            ("threshold", digits(self.threshold)),
            ("ideal, without blocking", digits(self.model.ideal)),
            ("largest utilization", digits(self.utilization)),
        ]
        lost = {f"{kind} lost when saturated": values["hol_loss_saturated"] for kind, values in self.resources.items()}
        lost = lost or {"servers lost when saturated": self.hol_loss_saturated}
        rows += [(name, digits(value)) for name, value in lost.items()]
        if self.rate is not None:
            rows += [("rate", digits(self.rate)), ("load", digits(self.rate / self.threshold))]
        for name, value in (
            ("mean wait", self.mean_wait),
            ("no wait", self.no_wait),
            ("mean jobs in system", self.mean_jobs),
            *([] if self.resources else [("hol loss (servers)", self.hol_loss)]),
            *((f"hol loss ({kind})", values.get("hol_loss")) for kind, values in self.resources.items()),
        ):
            if value is not None:
                rows.append((name, digits(value)))
        return Table(f"{self.model.label}: exact", ("quantity", "value"), tuple(rows))

    @property
    def class_summary(self) -> Table:
        tails = tuple(self.overall.exceeds) if self.overall is not None else ()
        rows = []
        for c in self.model.classes:
            found = self.classes.get(c.label)
            row = [c.label, c.need_text, digits(self.throughput[c.label])]
            if found is not None:
                row += [digits(found.mean), digits(found.variance), digits(found.no_wait)]
                row += [digits(found.exceeds.get(x)) for x in tails]
            rows.append(tuple(row))
        columns = ["class", "need", "saturated rate"]
        if self.classes:
            columns += ["mean wait", "variance", "no wait", *(f"wait > {x:.15g}" for x in tails)]
        return Table("classes", tuple(columns), tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        def waits(found: ClassWait) -> dict[str, Any]:
            data = asdict(found) | {"exceeds": {f"{x:.15g}": p for x, p in found.exceeds.items()}}
            return {k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in data.items()}

        plain = ("threshold", "hol_loss_saturated", "states", "rate", "load", "mean_wait", "no_wait", "mean_jobs",
                 "hol_loss", "utilization", "throughput", "method", "error", "seconds", "version")  # fmt: skip
        values = {name: getattr(self, name) for name in plain}
        return {
            "model": self.model.identity(),
            **{k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in values.items()},
            "overall": None if self.overall is None else waits(self.overall),
            "classes": {name: waits(found) for name, found in self.classes.items()},
            "jobs_in_system": list(self.jobs),
            **({"resources": self.resources} if self.resources else {}),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """A .json file, or a .csv file with the table."""
        target = Path(path)
        write_text(target, self.to_json() if target.suffix.lower() == ".json" else self.summary.to_csv())


def digits(value: float | None) -> str:
    """Ten digits, or a dash where there is no number."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.10g}" if math.isfinite(value) else "inf"
