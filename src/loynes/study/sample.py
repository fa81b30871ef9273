"""Samples of the stationary workload, streamed to a file or to the parts of a run folder."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings as python_warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from loynes._version import __version__
from loynes.errors import LoynesWarning, UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.backends import backend as choose
from loynes.kernels.backends import settle
from loynes.model import Model
from loynes.model import load as read
from loynes.results.files import check_writable, is_file_path, whole_file
from loynes.results.samples import SampleFile, write_parquet, writer_of
from loynes.stationary.backward import Samples, backward_samples
from loynes.stationary.certificate import Certificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples
from loynes.study.journal import Journal
from loynes.study.options import DELTA, Asked, asked_rate, check_common, check_discipline, cpu_seconds
from loynes.study.progress import Progress, heard_by, silent
from loynes.study.runfolder import finish, journal_of, recorded_in
from loynes.study.runs import FIRST_AGREEMENT
from loynes.study.spread import spread_over

METHODS = ("perfect", "backward")
# Samples to a part, or a batch: so many, or so many bytes.
PART, PART_BYTES = 8_192, 1 << 26
# What a run's folder says was asked.
RECORDED = ("rate", "load", "method", "samples", "confirmations", "delta", "max_jobs", "seed", "backend")


def sample(
    model: str | Path | Mapping[str, Any] | Model,
    path: str | Path | None = None,
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
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> SampleFile:
    """Write `samples` independent workload vectors to a .parquet or .csv file, one row each, or to a run folder.

    Methods: `perfect` samples are stationary but for a probability `delta` (1e-9) each; where nothing bounds the
    workload from above (a service tail heavier than exponential), and with `backward`, they are lower bounds, begun far
    enough back for `confirmations` (1) successive workloads to be equal.

    Columns: replica, length (how far back the sample began), doublings, and the workload, ascending: one list column in
    Parquet, w1 .. ws in CSV; with several resources one list each (workload_cpu), and cpu1, cpu2, ... in CSV. Memory
    does not grow with the number of samples, and a failed run leaves no file. A run folder has parts, each written when
    it is whole (part-00000.parquet, ...); after an interruption the run goes on with the next one. With an `executor`
    (a Dask client or any concurrent.futures.Executor) its workers make the samples.
    """
    began, options = time.perf_counter(), {name: value for name, value in locals().items() if name in RECORDED}
    check_common(samples=samples, confirmations=confirmations, delta=delta, max_jobs=max_jobs, seed=seed)
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    for name, value, other in (("confirmations", confirmations, "backward"), ("delta", delta, "perfect")):
        if value is not None and method != other:
            raise UsageError(f"{name} {value}: means nothing to method {method!r}")
    if (path is None) == (folder is None):
        raise UsageError("say where to: a path or a folder")
    if path is not None and is_file_path(path):
        writer_of(Path(path))
    else:
        folder = folder or path
    target = Path(folder or path or "")
    check_writable(target)
    check_discipline(discipline)
    model = read(model).with_discipline(discipline)
    with spread_over(executor), heard_by(progress):
        choose(backend)
        with journal_of(folder, "sample", model, options) as journal:
            with recorded_in(journal):
                taking = _prepare(model, progress=progress, **options)
            for text in taking.warnings:
                python_warnings.warn(text, LoynesWarning, stacklevel=2)
            parts: list[dict[str, Any]] = []
            if journal is None:
                with whole_file(target) as draft:
                    writer_of(target)(draft, taking.model, taking.batches(0, samples), taking.origin)
            else:
                each = max(1, min(PART, PART_BYTES // (8 * model.servers)))
                for number, first in enumerate(range(0, samples, each)):
                    path = target / f"part-{number:05d}.parquet"
                    parts.append(_part(path, journal, taking, first, min(each, samples - first)))
    found = SampleFile(
        model=taking.model,
        path=target,
        rate=taking.asked.rate,
        threshold=taking.asked.threshold,
        method=taking.method,
        samples=samples,
        jobs=taking.totals.jobs,
        longest=taking.totals.longest,
        seconds=time.perf_counter() - began,
        seed=seed,
        certificate=taking.certificate,
        why=taking.why,
        warnings=taking.warnings,
        parts=tuple(parts),
    )
    finish(folder, found)
    return found


@dataclass
class Totals:
    """What all samples so far took."""

    jobs: int = 0
    longest: int = 0
    count: int = 0

    def add(self, jobs: int, longest: int, count: int) -> None:
        self.jobs, self.longest, self.count = self.jobs + jobs, max(self.longest, longest), self.count + count


@dataclass(frozen=True)
class Taking:
    """Samples about to be taken: how, and how many there are already."""

    model: Model
    table: JobTable
    asked: Asked
    method: str
    certificate: Certificate | None
    why: str
    warnings: tuple[str, ...]
    samples: int
    confirmations: int
    delta: float
    seed: int
    backend: str
    progress: Progress
    totals: Totals = field(default_factory=Totals)

    @property
    def origin(self) -> dict[str, str]:
        """What a file says of where it comes from."""
        told = {"model": self.model.to_json(), "seed": str(self.seed), "method": self.method, "loynes": __version__}
        return told | ({} if self.certificate is None else {"certificate": json.dumps(self.certificate.to_dict())})

    def batches(self, first: int, count: int) -> Iterator[Samples]:
        for start in range(first, first + count, PART):
            for batch in self._some(start, min(PART, first + count - start)):
                self.totals.add(batch.jobs, int(batch.length.max()), len(batch.length))
                self.tell()
                yield batch

    def tell(self) -> None:
        self.progress(self.totals.count / self.samples, f"{self.totals.count} of {self.samples} samples")

    def _some(self, first: int, count: int) -> Iterator[Samples]:
        options: dict[str, Any] = {"seed": self.seed, "first": first, "backend": self.backend}
        if self.certificate is not None:
            return perfect_samples(self.table, self.certificate, count, delta=self.delta, **options)
        return backward_samples(self.table, count, confirmations=self.confirmations, **options)


def _prepare(
    model: Model,
    *,
    rate: float | None,
    load: float | None,
    method: str,
    samples: int,
    confirmations: int | None,
    delta: float | None,
    max_jobs: float | None,
    seed: int,
    backend: str,
    progress: Progress,
) -> Taking:
    """The rate, and what bounds the workload from above."""
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    table, found_load = job_table(model, asked.rate), asked.rate / asked.threshold.estimate
    backend = settle(backend, cpu_seconds(table, found_load, 1.0, samples, 0.99), table)
    max_jobs = choose(backend).most_jobs if max_jobs is None else max_jobs
    delta = DELTA if delta is None else delta
    certificate: Certificate | None = None
    warnings, why = asked.warnings, FIRST_AGREEMENT
    if method == "perfect":
        found = certify(
            model, asked.rate, asked.threshold, seed=seed, max_jobs=max_jobs, backend=backend, watch=progress
        )
        if isinstance(found, Certificate):
            certificate, why = replace(found, distance=Estimate(0.0, 0.0, delta)), ""
        else:
            method, why = "backward", found.why
            warnings += (f"no certificate, lower bounds only: {found.why}; these are backward samples",)
    return Taking(
        model.with_rate(asked.rate), table, asked, method, certificate, why, warnings, samples, confirmations or 1,
        delta, seed, backend, progress,
    )  # fmt: skip


def _part(path: Path, journal: Journal, taking: Taking, first: int, count: int) -> dict[str, Any]:
    """Write a part, unless the journal knows of it and it is there, unaltered."""
    call, record = journal.begin(key := f"part {first} {count}")
    if record is not None and path.exists() and _digest(path) == record.arrays["sha256"].tobytes():
        taking.totals.add(*(int(x) for x in record.arrays["totals"]))
        taking.tell()
        return {"file": path.name, "samples": count, "sha256": record.arrays["sha256"].tobytes().hex()}
    before = replace(taking.totals)
    # What there is of a long part is kept beside it meanwhile.
    own = Journal(path.with_suffix(".journal"))
    try:
        with recorded_in(own), whole_file(path) as draft:
            write_parquet(draft, taking.model, taking.batches(first, count), taking.origin | {"first": str(first)})
            _to_disk(draft)
    finally:
        own.close()
    digest = np.frombuffer(_digest(path), np.uint8)
    totals = (taking.totals.jobs - before.jobs, taking.totals.longest, count)
    journal.append(call, key, first + count, True, {"sha256": digest, "totals": np.array(totals)})
    own.remove()
    return {"file": path.name, "samples": count, "sha256": digest.tobytes().hex()}


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
