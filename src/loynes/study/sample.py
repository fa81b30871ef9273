"""Samples of the stationary workload, streamed to a file that other tools open."""

from __future__ import annotations

import csv
import json
import time
import warnings as python_warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from loynes._version import __version__
from loynes.errors import LoynesWarning, UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import job_table
from loynes.kernels.backends import backend as choose
from loynes.kernels.backends import settle
from loynes.model import Model
from loynes.model import load as read
from loynes.results.files import check_writable, whole_file
from loynes.results.table import Table
from loynes.stationary.backward import Samples, backward_samples
from loynes.stationary.certificate import Certificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples
from loynes.study.options import DELTA, asked_rate, check_common, check_discipline, cpu_seconds
from loynes.study.progress import Progress, silent
from loynes.study.runs import FIRST_AGREEMENT

BATCH = 4_096
METHODS = ("perfect", "backward")


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
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    warnings: tuple[str, ...] = ()
    version: str = __version__

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate

    @property
    def summary(self) -> Table:
        rows: tuple[tuple[str, Any], ...] = (
            ("file", str(self.path)),
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

    def to_dict(self) -> dict[str, Any]:
        names = ("rate", "method", "samples", "jobs", "longest", "seconds", "seed", "version")
        return {
            "model": self.model.identity(),
            "path": str(self.path),
            "load": self.load,
            "threshold": self.threshold.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "why": self.why,
            "warnings": list(self.warnings),
            **{name: getattr(self, name) for name in names},
        }


def sample(
    model: str | Path | Mapping[str, Any] | Model,
    path: str | Path,
    *,
    rate: float | None = None,
    load: float | None = None,
    method: str = "perfect",
    samples: int = 10_000,
    confirmations: int | None = None,
    delta: float | None = None,
    discipline: str | None = None,
    max_jobs: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> SampleFile:
    """Write `samples` independent workload vectors to a .parquet or .csv file, one row each.

    Methods: `perfect` samples are stationary but for a probability `delta` (1e-9) each; where nothing bounds the
    workload from above (a service tail heavier than exponential), and with `backward`, they are lower bounds, begun far
    enough back for `confirmations` (1) successive workloads to be equal.

    Columns: replica, length (how far back the sample began), doublings, and the workload, ascending: one list column in
    Parquet, w1 .. ws in CSV; with several resources one list each (workload_cpu), and cpu1, cpu2, ... in CSV. Memory
    does not grow with the number of samples, and a failed run leaves no file.
    """
    began = time.perf_counter()
    check_common(samples=samples, confirmations=confirmations, delta=delta, max_jobs=max_jobs, seed=seed)
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    for name, value, other in (("confirmations", confirmations, "backward"), ("delta", delta, "perfect")):
        if value is not None and method != other:
            raise UsageError(f"{name} {value}: means nothing to method {method!r}")
    target = Path(path)
    write = {".parquet": _write_parquet, ".csv": _write_csv}.get(target.suffix.lower())
    if write is None:
        raise UsageError(f"{target}: samples are written to a .parquet or .csv file")
    check_writable(target)
    choose(backend)
    check_discipline(discipline)
    model = read(model).with_discipline(discipline)
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    table, found_load = job_table(model, asked.rate), asked.rate / asked.threshold.estimate
    backend = settle(backend, cpu_seconds(table, found_load, 1.0, samples, 0.99), table)
    max_jobs = choose(backend).most_jobs if max_jobs is None else max_jobs
    certificate: Certificate | None = None
    warnings, why = asked.warnings, FIRST_AGREEMENT
    if method == "perfect":
        found = certify(
            model, asked.rate, asked.threshold, seed=seed, max_jobs=max_jobs, backend=backend, watch=progress
        )
        if isinstance(found, Certificate):
            certificate = replace(found, distance=Estimate(0.0, 0.0, delta or DELTA))
        else:
            method, why = "backward", found.why
            warnings += (f"no certificate, lower bounds only: {found.why}; these are backward samples",)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    totals = {"jobs": 0, "longest": 0, "count": 0}

    def some(first: int, count: int) -> Iterator[Samples]:
        if certificate is not None:
            return perfect_samples(
                table, certificate, count, delta=delta or DELTA, seed=seed, first=first, backend=backend
            )
        return backward_samples(table, count, seed=seed, first=first, confirmations=confirmations or 1, backend=backend)

    def batches() -> Iterator[Samples]:
        for first in range(0, samples, BATCH):
            for batch in some(first, min(BATCH, samples - first)):
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
    if certificate is not None:
        origin["certificate"] = json.dumps(certificate.to_dict())
    with whole_file(target) as draft:
        write(draft, model, batches(), origin)
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
        certificate=certificate,
        why="" if certificate is not None else why,
        warnings=warnings,
    )


def _replicas(batch: Samples) -> np.ndarray:
    return np.arange(batch.first, batch.first + len(batch.length))


def _write_csv(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
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


def _write_parquet(path: Path, model: Model, batches: Iterator[Samples], origin: dict[str, str]) -> None:
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
