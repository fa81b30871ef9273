"""Replicas of the event-driven simulation: here or on workers, and kept in a journal as they end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesError
from loynes.kernels.cpu.compiled import FINGERPRINT
from loynes.kernels.cpu.threads import cores
from loynes.kernels.events.engine import Events, ReplicaRecord, simulate
from loynes.kernels.events.loop import Observations
from loynes.study.journal import Journal
from loynes.study.progress import Progress
from loynes.study.spread import A_WORKER, Pool, result_of

# Replicas between two records, for every core.
A_RECORD = 4


def run_replicas(
    plan: Events, count: int, *, executor: Any = None, journal: Journal | None = None, progress: Progress
) -> list[ReplicaRecord]:
    """All replicas, in order; which workers run them, and what a journal knew before, changes nothing."""
    found: list[ReplicaRecord] = []
    did = getattr(progress, "did", None)
    if did is not None:
        did(0)

    def done(replicas: int = 1) -> None:
        finished[0] += replicas
        progress(finished[0] / count, f"{plan.policy}, {finished[0]} of {count} replicas")

    finished = [0]
    for batch in _batches(plan, count, executor, journal, done):
        found += batch
        if did is not None:
            did(sum(one.arrived for one in batch))
    return found


def _batches(
    plan: Events, count: int, executor: Any, journal: Journal | None, done: Any
) -> Iterator[list[ReplicaRecord]]:
    pool = None if executor is None else Pool(executor)
    size = count
    if pool is not None:
        size = max(1, count // (A_WORKER * pool.slots(False)))
    elif journal is not None:
        size = A_RECORD * cores()
    parts = [(first, min(size, count - first)) for first in range(0, count, size)]
    known = [_known(journal, plan, first, many) for first, many in parts]
    futures = {
        first: pool.executor(False).submit(_elsewhere, _part(plan, first, many), many, first, FINGERPRINT)
        for (first, many), (_, before) in zip(parts, known, strict=True)
        if pool is not None and before is None
    }
    for (first, many), (call, before) in zip(parts, known, strict=True):
        if before is not None:
            batch = _unpacked(plan, before)
            done(many)
        elif pool is not None:
            batch = _unpacked(plan, result_of(futures[first]))
            done(many)
        else:
            batch = simulate(_part(plan, first, many), many, done, first=first)
        if journal is not None and before is None:
            journal.append(call, _key(plan, first, many), 0, True, _packed(batch))
        yield batch


def _part(plan: Events, first: int, many: int) -> Events:
    rows = slice(first, first + many)
    workload = None if plan.workload is None else plan.workload[rows]
    return replace(plan, workload=workload, past=None if plan.past is None else plan.past[rows])


def _key(plan: Events, first: int, many: int) -> str:
    return f"{plan.policy.key} {plan.option} {plan.inflation!r} {plan.table.gap_mean!r} {first} {many}"


def _known(journal: Journal | None, plan: Events, first: int, many: int) -> tuple[int, dict[str, NDArray[Any]] | None]:
    if journal is None:
        return 0, None
    call, record = journal.begin(_key(plan, first, many))
    return call, None if record is None or not record.final else record.arrays


def _elsewhere(plan: Events, many: int, first: int, fingerprint: str) -> dict[str, NDArray[Any]]:
    """What a worker does."""
    if fingerprint != FINGERPRINT:
        raise LoynesError("a worker has other kernels than this machine: install the same loynes on both")
    return _packed(simulate(plan, many, workers=1, first=first))


def _packed(batch: list[ReplicaRecord]) -> dict[str, NDArray[Any]]:
    """Replicas as plain arrays; of the rows for jobs, those that are used."""
    rows = [one.observations.jobs[~np.isnan(one.observations.jobs[:, 2])] for one in batch]
    return {
        "sums": np.array([one.observations.sums for one in batch]),
        "bins": np.array([one.observations.bins for one in batch]),
        "response_bins": np.array([one.observations.response_bins for one in batch]),
        "time": np.array([one.observations.time for one in batch]),
        "moments": np.array([one.moments for one in batch]),
        "numbers": np.array([(one.arrived, one.observed, one.overrun) for one in batch], np.int64),
        "rows": np.array([len(some) for some in rows]),
        "jobs": np.concatenate(rows),
    }


def _unpacked(plan: Events, arrays: dict[str, NDArray[Any]]) -> list[ReplicaRecord]:
    jobs = np.split(arrays["jobs"], np.cumsum(arrays["rows"])[:-1])
    found = []
    for i, (arrived, observed, overrun) in enumerate(arrays["numbers"].tolist()):
        sums, bins, response_bins, time = (arrays[name][i] for name in ("sums", "bins", "response_bins", "time"))
        observations = Observations(1.0 / plan.unit, sums, bins, response_bins, time, jobs[i])
        found.append(ReplicaRecord(observations, arrays["moments"][i], arrived, observed, bool(overrun)))
    return found
