"""Samples of the stationary workload in files that other tools open: one file, or parts in a run folder."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.table import Table
from loynes.stationary.backward import Samples
from loynes.stationary.certificate import Certificate


@dataclass(frozen=True)
class SampleFile:
    """What was written."""

    model: Model
    path: Path  # the file, or the run folder
    rate: float
    threshold: Estimate
    method: str
    samples: int
    jobs: int
    longest: int
    seconds: float
    seed: int
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    warnings: tuple[str, ...] = ()
    parts: tuple[dict[str, Any], ...] = ()  # of a run folder: file, samples, sha256
    version: str = __version__

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate

    @property
    def summary(self) -> Table:
        rows: tuple[tuple[str, Any], ...] = (
            ("folder" if self.parts else "file", str(self.path)),
            *((("parts", str(len(self.parts))),) if self.parts else ()),
            ("samples", str(self.samples)),
            ("method", self.method),
            ("rate", self.rate),
            ("load", self.load),
            ("longest past (jobs)", str(self.longest)),
            ("job steps", str(self.jobs)),
            ("seconds", self.seconds),
        )
        rows += (("no certificate", self.why),) if self.certificate is None else tuple(self.certificate.figures)
        return Table(f"{self.model.label}: stationary workload samples", ("quantity", "value"), rows)

    @property
    def tables(self) -> list[Table]:
        """What the terminal shows."""
        return [self.summary]

    @property
    def footer(self) -> str:
        return ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON; a run folder can be moved, so what is in it does not say where it is."""
        names = ("rate", "method", "samples", "jobs", "longest", "seconds", "seed", "version")
        return {
            "model": self.model.identity(),
            **({"parts": list(self.parts)} if self.parts else {"path": str(self.path)}),
            "load": self.load,
            "threshold": self.threshold.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "why": self.why,
            "warnings": list(self.warnings),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], folder: Path) -> SampleFile:
        names = ("rate", "method", "samples", "jobs", "longest", "seed", "why", "version")
        return cls(
            model=Model.model_validate(data["model"]["definition"]),
            path=Path(data.get("path", folder)),
            threshold=Estimate.from_dict(data["threshold"]),
            certificate=None if data["certificate"] is None else Certificate.from_dict(data["certificate"]),
            seconds=data.get("seconds", math.nan),
            warnings=tuple(data["warnings"]),
            parts=tuple(data.get("parts", ())),
            **{name: data[name] for name in names},
        )


def writer_of(path: Path) -> Any:
    """What writes a file of this ending: (path, model, batches, origin)."""
    write = {".parquet": write_parquet, ".csv": write_csv}.get(path.suffix.lower())
    if write is None:
        raise UsageError(f"{path}: samples are written to a .parquet or .csv file, or to a run folder")
    return write


def _replicas(batch: Samples) -> np.ndarray:
    return np.arange(batch.first, batch.first + len(batch.length))


def write_csv(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [kind if model.resources else "w" for kind in model.kinds]
        units = zip(names, model.units, strict=True)
        writer.writerow(
            ["replica", "length", "doublings", *(f"{name}{i}" for name, n in units for i in range(1, n + 1))]
        )
        for batch in batches:
            columns = (_replicas(batch), batch.length, batch.doublings, batch.workload)
            for replica, length, doublings, workload in zip(*(c.tolist() for c in columns), strict=True):
                writer.writerow([replica, length, doublings, *workload])


def write_parquet(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or write a .csv)") from None
    names = [f"workload_{kind}" if model.resources else "workload" for kind in model.kinds]
    vectors = [(name, pa.list_(pa.float64(), n)) for name, n in zip(names, model.units, strict=True)]
    schema = pa.schema(
        [("replica", pa.int64()), ("length", pa.int64()), ("doublings", pa.int64()), *vectors], metadata=origin
    )
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            kinds = np.split(batch.workload, np.cumsum(model.units)[:-1], axis=1)
            columns = [
                pa.array(_replicas(batch)),
                pa.array(batch.length),
                pa.array(batch.doublings),
                *(pa.FixedSizeListArray.from_arrays(pa.array(w.ravel()), w.shape[1]) for w in kinds),
            ]
            writer.write_table(pa.table(columns, schema=schema))
