"""Samples of the stationary workload, streamed to a file that other tools open."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import job_table
from loynes.model import Model
from loynes.model import load as read
from loynes.results.files import check_writable, whole_file
from loynes.results.table import Table
from loynes.stationary.backward import Samples, backward_samples
from loynes.study.options import asked_rate, check_common
from loynes.study.progress import Progress, silent

BATCH = 4_096
METHODS = ("backward",)


@dataclass(frozen=True)
class SampleFile:
    """What was written."""

    model: Model
    path: Path
    rate: float
    threshold: Estimate
    method: str
    samples: int
    jobs: int
    longest: int
    seconds: float
    seed: int
    version: str = __version__

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate

    @property
    def summary(self) -> Table:
        rows: tuple[tuple[str, Any], ...] = (
            ("file", str(self.path)),
            ("samples", str(self.samples)),
            ("rate", self.rate),
            ("load", self.load),
            ("longest past (jobs)", str(self.longest)),
            ("job steps", str(self.jobs)),
            ("seconds", self.seconds),
        )
        return Table(f"{self.model.label}: stationary workload samples", ("quantity", "value"), rows)

    def to_dict(self) -> dict[str, Any]:
        names = ("rate", "method", "samples", "jobs", "longest", "seconds", "seed", "version")
        return {
            "model": self.model.identity(),
            "path": str(self.path),
            "load": self.load,
            "threshold": self.threshold.to_dict(),
            **{name: getattr(self, name) for name in names},
        }


def sample(
    model: str | Path | Mapping[str, Any] | Model,
    path: str | Path,
    *,
    rate: float | None = None,
    load: float | None = None,
    method: str = "backward",
    samples: int = 10_000,
    confirmations: int = 1,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> SampleFile:
    """Write `samples` independent workload vectors to a .parquet or .csv file, one row each.

    Columns: replica, length (how far back the sample began), doublings, and the workload, ascending: one list column in
    Parquet, w1 .. ws in CSV. Memory does not grow with the number of samples, and a failed run leaves no file.
    """
    began = time.perf_counter()
    check_common(samples=samples, confirmations=confirmations, seed=seed)
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    target = Path(path)
    write = {".parquet": _write_parquet, ".csv": _write_csv}.get(target.suffix.lower())
    if write is None:
        raise UsageError(f"{target}: samples are written to a .parquet or .csv file")
    check_writable(target)
    model = read(model)
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    table = job_table(model, asked.rate)
    totals = {"jobs": 0, "longest": 0, "count": 0}

    def batches() -> Iterator[Samples]:
        for first in range(0, samples, BATCH):
            for batch in backward_samples(
                table, min(BATCH, samples - first), seed=seed, first=first, confirmations=confirmations, backend=backend
            ):
                totals["jobs"] += batch.jobs
                totals["longest"] = max(totals["longest"], int(batch.length.max()))
                totals["count"] += len(batch.length)
                progress(totals["count"] / samples, f"{totals['count']} of {samples} samples")
                yield batch

    origin = {
        "model": model.with_rate(asked.rate).to_json(),
        "seed": str(seed),
        "method": method,
        "loynes": __version__,
    }
    with whole_file(target) as draft:
        write(draft, model.servers, batches(), origin)
    return SampleFile(
        model=model.with_rate(asked.rate),
        path=target,
        rate=asked.rate,
        threshold=asked.threshold,
        method=method,
        samples=samples,
        jobs=totals["jobs"],
        longest=totals["longest"],
        seconds=time.perf_counter() - began,
        seed=seed,
    )


def _replicas(batch: Samples) -> np.ndarray:
    return np.arange(batch.first, batch.first + len(batch.length))


def _write_csv(path: Path, servers: int, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["replica", "length", "doublings", *(f"w{i}" for i in range(1, servers + 1))])
        for batch in batches:
            columns = (_replicas(batch), batch.length, batch.doublings, batch.workload)
            for replica, length, doublings, workload in zip(*(c.tolist() for c in columns), strict=True):
                writer.writerow([replica, length, doublings, *workload])


def _write_parquet(path: Path, servers: int, batches: Iterator[Samples], origin: dict[str, str]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or write a .csv)") from None
    vector = pa.list_(pa.float64(), servers)
    schema = pa.schema(
        [("replica", pa.int64()), ("length", pa.int64()), ("doublings", pa.int64()), ("workload", vector)],
        metadata=origin,
    )
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            flat = pa.array(batch.workload.ravel())
            columns = [
                pa.array(_replicas(batch)),
                pa.array(batch.length),
                pa.array(batch.doublings),
                pa.FixedSizeListArray.from_arrays(flat, servers),
            ]
            writer.write_table(pa.table(columns, schema=schema))
