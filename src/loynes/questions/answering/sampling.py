"""Samples are taken in batches, and written as they come: to one file, or to the parts of a run folder."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from loynes._version import __version__
from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, student
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.journal import Journal, Record
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.engine import Engine
from loynes.model import Model
from loynes.questions.answering.ending import cut_short
from loynes.questions.answering.evaluating import cpu_seconds
from loynes.questions.answering.independent_samples import DELTA, FIRST_AGREEMENT
from loynes.questions.answering.thresholds import JudgedRate, judged_rate
from loynes.results.files import check_writable, whole_file
from loynes.results.records.samples import SampleFile, SampleLevel
from loynes.results.sample_files import write_parquet, writer_of
from loynes.stationary.backward import Samples, backward_samples
from loynes.stationary.certificate import Certificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples, within_reach

if TYPE_CHECKING:
    from loynes.questions.sample import Sample

# Samples to a part, or a batch: so many, or so many bytes.
PART, PART_BYTES = 8_192, 1 << 26
# Confidence of the levels' intervals.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Totals:
    """Sums over samples: jobs, the longest past, and workloads at some places of the ascending vector.

    They are put together part by part, so that a run that was stopped between two parts has the same bits.
    """

    jobs: int = 0
    longest: int = 0
    count: int = 0
    sums: Array | float = 0.0
    squares: Array | float = 0.0

    def plus(self, other: Totals) -> Totals:
        longest, count = max(self.longest, other.longest), self.count + other.count
        return Totals(self.jobs + other.jobs, longest, count, self.sums + other.sums, self.squares + other.squares)

    @classmethod
    def of(cls, batch: Samples, places: Ints) -> Totals:
        at = batch.workload[:, places]
        return cls(batch.jobs, int(batch.length.max()), len(batch.length), at.sum(axis=0), (at * at).sum(axis=0))

    def levels(self) -> list[Estimate]:
        """The mean workload at each place."""
        mean = np.asarray(self.sums) / self.count
        spread = np.maximum(np.asarray(self.squares) - self.count * mean * mean, 0.0) / (self.count - 1)
        half = student(CONFIDENCE, self.count) * np.sqrt(spread / self.count)
        return [Estimate(m, max(m - h, 0.0), m + h) for m, h in zip(mean.tolist(), half.tolist(), strict=True)]


@dataclass(frozen=True)
class Sampler:
    """Samples about to be taken: how, and how many there are already."""

    question: Sample
    model: Model
    table: JobTable
    judged: JudgedRate
    method: str
    certificate: Certificate | None
    why: str
    warnings: tuple[str, ...]
    context: Context
    places: Ints  # of the workload vector, of which means are told

    @property
    def origin(self) -> dict[str, str]:
        """What a file says of where it comes from."""
        of = {"model": self.model.to_json(), "seed": str(self.question.seed), "method": self.method}
        data = TypeAdapter(Certificate | None).dump_json(self.certificate).decode()
        bound = {} if self.certificate is None else {"certificate": data}
        return of | {"loynes": __version__} | bound

    def part(self, first: int, count: int, engine: Engine) -> Iterator[Samples]:
        """Samples first .. first + count - 1."""
        q, delta = self.question, DELTA if self.question.delta is None else self.question.delta
        ways: dict[str, Any] = {"seed": q.seed, "first": first, "engine": engine}
        if self.certificate is not None:
            return perfect_samples(self.model, self.table, self.certificate, count, delta=delta, **ways)
        return backward_samples(self.table, count, confirmations=q.confirmations or 1, **ways)

    def report(self, taken: int) -> None:
        self.context.progress(taken / self.question.samples, f"{taken} of {self.question.samples} samples")

    def result(self, path: Path, totals: Totals, parts: list[dict[str, Any]]) -> SampleFile:
        if totals.count < 2:
            raise Stopped  # nothing is known yet
        warnings = self.warnings
        if totals.count < self.question.samples:
            warnings += (cut_short(self.context.deadline, f"at {totals.count} of {self.question.samples} samples"),)
        levels = zip(levels_of(self.model), totals.levels(), strict=True)
        return SampleFile(
            model=self.model,
            path=path,
            rate=self.judged.rate,
            threshold=self.judged.threshold,
            method=self.method,
            samples=totals.count,
            jobs=totals.jobs,
            longest=totals.longest,
            levels=tuple(SampleLevel(*name, time) for (name, _), time in levels),
            seed=self.question.seed,
            certificate=self.certificate,
            why=self.why,
            warnings=warnings,
            parts=tuple(parts),
        )


def levels_of(model: Model) -> list[tuple[tuple[str, int], int]]:
    """The first, a quarter, half, three quarters and all servers of every kind; and where these lie in the workload."""
    levels, first = [], 0
    for kind, units in zip(model.kinds, model.units, strict=True):
        for servers in sorted({1, -(-units // 4), -(-units // 2), -(-3 * units // 4), units}):
            levels.append(((kind, servers), first + servers - 1))
        first += units
    return levels


def sampler_of(question: Sample, context: Context) -> Sampler:
    """The rate, and what bounds the workload from above."""
    q = question
    judged = judged_rate(q.model, q.rate, q.load, seed=q.seed, context=context)
    table = job_table(q.model, judged.rate)
    context = context.for_work(cpu_seconds(table, judged.load, 1.0, q.samples, 0.99), table)
    certificate: Certificate | None = None
    method, warnings, why = str(q.method), judged.warnings, FIRST_AGREEMENT
    if method == "perfect":
        bound = certify(q.model, judged.rate, judged.threshold, seed=q.seed, max_jobs=q.max_jobs, context=context)
        delta = DELTA if q.delta is None else q.delta
        bound = within_reach(q.model, table, bound, delta)
        if isinstance(bound, Certificate):
            certificate = replace(bound, distance=Estimate(0.0, 0.0, delta))
            why = ""
        else:
            method, why = "backward", bound.why
            warnings += (f"no certificate, lower bounds only: {bound.why}; these are backward samples",)
            context.notice(warnings[-1])
    places = np.array([place for _, place in levels_of(q.model)])
    model = q.model.with_rate(judged.rate)
    return Sampler(q, model, table, judged, method, certificate, why, warnings, context, places)


def sample_to_file(question: Sample, path: Path, context: Context) -> SampleFile:
    write = writer_of(path)
    check_writable(path)
    sampler, totals = sampler_of(question, context), Totals()

    def batches() -> Iterator[Samples]:
        nonlocal totals
        for first in range(0, question.samples, PART):
            part = Totals()
            try:
                for batch in sampler.part(first, min(PART, question.samples - first), sampler.context.engine):
                    part = part.plus(Totals.of(batch, sampler.places))
                    sampler.report(totals.count + part.count)
                    yield batch
            except Stopped:
                totals = totals.plus(part)
                if totals.count < 2:
                    raise
                return
            totals = totals.plus(part)

    with whole_file(path) as draft:
        write(draft, sampler.model, batches(), sampler.origin)
    return sampler.result(path, totals, [])


def sample_to_folder(sampler: Sampler, folder: Path) -> SampleFile:
    samples, totals = sampler.question.samples, Totals()
    each = max(1, min(PART, PART_BYTES // (8 * sampler.model.servers)))
    parts = []
    for number, first in enumerate(range(0, samples, each)):
        path, count = folder / f"part-{number:05d}.parquet", min(each, samples - first)
        try:
            part, digest = _part(path, sampler, first, count)
        except Stopped:
            break
        totals = totals.plus(part)
        parts.append({"file": path.name, "samples": count, "sha256": digest.hex()})
        sampler.report(totals.count)
    return sampler.result(folder, totals, parts)


def _part(path: Path, sampler: Sampler, first: int, count: int) -> tuple[Totals, bytes]:
    """Write a part, unless the journal knows of it and it is there, unaltered; its sums, and its digest."""
    journal = sampler.context.journal
    assert journal is not None
    run, record = journal.begin(key := f"part {first} {count}")
    if record is not None and path.exists() and _digest(path) == record.arrays["sha256"].tobytes():
        known = record.arrays
        jobs, longest, taken = (int(x) for x in known["counts"])
        return Totals(jobs, longest, taken, known["sums"], known["squares"]), known["sha256"].tobytes()
    totals = Totals()
    # What there is of a long part is kept beside it meanwhile.
    part_journal = Journal(path.with_suffix(".journal"))
    engine = sampler.context.recorded_in(part_journal).engine

    def batches() -> Iterator[Samples]:
        nonlocal totals
        for batch in sampler.part(first, count, engine):
            totals = totals.plus(Totals.of(batch, sampler.places))
            yield batch

    with whole_file(path) as draft:
        write_parquet(draft, sampler.model, batches(), sampler.origin | {"first": str(first)})
        with draft.open("rb") as file:
            os.fsync(file.fileno())
    digest = _digest(path)
    arrays = {
        "sha256": np.frombuffer(digest, np.uint8),
        "counts": np.array((totals.jobs, totals.longest, totals.count)),
        "sums": np.asarray(totals.sums),
        "squares": np.asarray(totals.squares),
    }
    journal.write(run, Record(key, first + count, arrays))
    shutil.rmtree(part_journal.folder, ignore_errors=True)
    return totals, digest


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
