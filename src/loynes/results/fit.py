"""The answer of `fit`: a model of a log, what was seen of its arrivals, and how its waits compare with the log's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.files import check_writable, write_text
from loynes.results.table import Table
from loynes.traces.burstiness import Burstiness


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, and waits of the log itself (replayed, with the noise of its length) beside the model's."""

    model: Model
    source: str
    jobs: int
    skipped: dict[str, int]
    seen: Burstiness
    process: str
    law: str
    replayed: dict[str, Estimate]  # mean wait overall ("all jobs") and by class
    modelled: dict[str, Estimate] | None  # None where the model was not evaluated, or is unstable
    why: str  # why it was not
    seconds: float
    warnings: tuple[str, ...] = ()
    version: str = __version__

    @property
    def difference(self) -> float | None:
        """The model's mean wait over the log's, less 1."""
        if self.modelled is None or self.replayed["all jobs"].estimate == 0:
            return None
        return self.modelled["all jobs"].estimate / self.replayed["all jobs"].estimate - 1.0

    @property
    def agrees(self) -> bool | None:
        """Whether the two mean waits differ by no more than the log's own noise."""
        if self.modelled is None:
            return None
        log, model = self.replayed["all jobs"], self.modelled["all jobs"]
        return bool(log.low <= model.high and model.low <= log.high)

    @property
    def summary(self) -> Table:
        """Classes, and their waits in the log and in the model."""
        share = {c.label: (c.need_text, c.probability, c.service.mean, c.service.variation) for c in self.model.classes}
        rows = [
            (name, *share.get(name, ("", 1.0, self.model.mean_service, "")), log, self._modelled(name))
            for name, log in self.replayed.items()
        ]
        columns = ("class", "need", "probability", "mean service", "cv", "mean wait, replayed", "mean wait, model")
        return Table(f"{self.model.label}: {self.model.size}", columns, tuple(rows))

    def _modelled(self, name: str) -> Any:
        return self.why if self.modelled is None else self.modelled[name]

    @property
    def arrivals_summary(self) -> Table:
        s = self.seen
        rows: list[tuple[str, Any]] = [
            ("jobs a second", s.rate),
            ("squared cv of gaps", s.gap_cv2),
            ("correlation of successive gaps", s.correlation),
        ]
        rows += [(f"dispersion of counts over {t:.4g} s", d) for t, d in zip(s.scale, s.dispersion, strict=True)]
        rows.append(("arrivals", self.process))
        return Table("arrivals", ("quantity", "value"), tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.identity(),
            "source": self.source,
            "jobs": self.jobs,
            "skipped": self.skipped,
            "arrivals": {"process": self.process} | vars(self.seen),
            "law": self.law,
            "replayed": {name: value.to_dict() for name, value in self.replayed.items()},
            "modelled": self.modelled and {name: value.to_dict() for name, value in self.modelled.items()},
            "why": self.why,
            "difference": self.difference,
            "agrees": self.agrees,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "version": self.version,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def save(self, path: str | Path) -> None:
        """The model, as a .toml or .json file that every command reads."""
        check_model_path(str(path))
        write_text(Path(path), self.model.to_toml() if str(path).endswith(".toml") else self.model.to_json())


def check_model_path(path: str) -> None:
    if not path.endswith((".toml", ".json")):
        raise UsageError(f"{path}: a model is written to a .toml or .json file")
    check_writable(path)
