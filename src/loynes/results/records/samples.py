"""The answer of `sample`: where samples of the stationary workload are, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import PlainSerializer

from loynes.estimate import Estimate
from loynes.results.base import Result, SavedModel
from loynes.results.table import Table
from loynes.results.tables import figures_of
from loynes.stationary.certificate import Certificate


@dataclass(frozen=True)
class SampleLevel:
    """The mean time until so many servers of a kind are free, over all samples."""

    kind: str
    servers: int
    time: Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class SampleFile(Result):
    """Where samples of the stationary workload were written, and the mean time until servers are free."""

    command: ClassVar[str] = "sample"
    tidy_csv: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("load",)
    optional: ClassVar[tuple[str, ...]] = (*Result.optional, "path", "parts")  # one of the two

    model: SavedModel
    path: Annotated[Path, PlainSerializer(str)]  # the file, or the run folder
    rate: float
    threshold: Estimate
    method: str
    samples: int
    jobs: int
    longest: int
    levels: tuple[SampleLevel, ...] = ()
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    parts: tuple[dict[str, Any], ...] = ()  # of a run folder: file, samples, sha256

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate

    @property
    def title(self) -> str:
        return f"{self.model.label}: stationary workload samples"

    @property
    def headline(self) -> str:
        return f"{self.samples} {self.method} samples at rate {self.rate_words(self.rate)} in {self.path}"

    @property
    def summary(self) -> Table:
        rows: tuple[tuple[str, Any], ...] = (
            ("folder" if self.parts else "file", str(self.path)),
            *((("parts", str(len(self.parts))),) if self.parts else ()),
            ("samples", str(self.samples)),
            ("method", self.method),
            ("rate", self.in_rate(self.rate)),
            ("load", self.load),
            ("longest past (jobs)", str(self.longest)),
            ("job steps", str(self.jobs)),
            ("seconds", self.seconds),
        )
        rows += (
            (("no certificate", self.why),)
            if self.certificate is None
            else tuple(figures_of(self.certificate, self.time_unit))
        )
        return Table(self.title, ("quantity", "value"), rows)

    @property
    def levels_summary(self) -> Table:
        rows = tuple((level.kind, str(level.servers), self.in_time(level.time)) for level in self.levels)
        return Table("mean time until servers are free", ("kind", "servers", "time"), rows)

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.levels_summary]

    @property
    def tidy(self) -> Table:
        rows = tuple((level.kind, level.servers, *vars(level.time).values()) for level in self.levels)
        return Table(self.title, ("kind", "servers", "estimate", "low", "high"), rows)

    def to_dict(self) -> dict[str, Any]:
        """A run folder can be moved, so what is in it does not say where it is."""
        data = super().to_dict()
        if self.parts:
            del data["path"]
        return data
