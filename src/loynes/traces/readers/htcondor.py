"""HTCondor's history as JSON: `condor_history -jsonl` (a job a line) or `-json` (a list)."""

from __future__ import annotations

from itertools import islice
from types import NoneType
from typing import Any

import numpy as np

from loynes.arrays import Array
from loynes.traces.jobs import CANCELLED, NEVER_STARTED, UNFINISHED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.objects import number_in, objects_of, text_in
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Trace

REMOVED, COMPLETED = 3, 4
AT_A_TIME = 256  # objects, so few that they stay in the processor's cache
NUMBERS = (
    "ClusterId", "ProcId",
    "QDate", "JobStartDate", "JobCurrentStartDate", "CompletionDate", "RemoteWallClockTime", "JobStatus", "MaxHosts",
    "RequestCpus", "CpusProvisioned", "RequestGPUs", "GPUsProvisioned", "RequestMemory", "MemoryProvisioned",
)  # fmt: skip
# Names differ in case from version to version.
ALSO = {"RequestGPUs": "RequestGpus", "GPUsProvisioned": "GpusProvisioned"}
LABELS = {"user": "Owner", "group": "AcctGroup", "id": "GlobalJobId"}


def _recognises(beginning: bytes) -> bool:
    return beginning[:1] in (b"{", b"[") and (b'"QDate"' in beginning or b'"ClusterId"' in beginning)


@reader(
    "htcondor",
    summary="HTCondor: `condor_history -jsonl` or `-json`",
    reference="[job ClassAd attributes](https://htcondor.readthedocs.io/en/latest/classad-attributes/job-classad-attributes.html)",
    units="cpus; gpus, mem",
    endings=(".jsonl",),
    recognises=_recognises,
)
def read_htcondor(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    place, damaged = list[int](), list[tuple[int, str, str]]()
    labels: dict[str, list[str]] = {name: [] for name in LABELS}
    parts: dict[str, list[Array]] = {name: [] for name in NUMBERS}
    found = objects_of(data, ledger, damaged)
    while some := list(islice(found, AT_A_TIME)):
        damaged += [(where, "no QDate", "a job of HTCondor's history") for where, job in some if "QDate" not in job]
        place += [where for where, job in some if "QDate" in job]
        known = [job for _, job in some if "QDate" in job]
        for name, theirs in LABELS.items():
            words = [job.get(theirs, "") for job in known]
            labels[name] += words if set(map(type, words)) == {str} else map(text_in, words)
        for name, column in parts.items():
            values = [job.get(name) for job in known]
            if name in ALSO and None in values:
                values = [
                    job.get(ALSO[name]) if value is None else value for value, job in zip(values, known, strict=True)
                ]
            column.append(_numbers(values))
    columns = {name: np.concatenate(column) if column else np.empty(0) for name, column in parts.items()}
    jobs = Jobs(ledger, asked, place, len(place) + len(damaged), damaged)
    # Of several schedulers each counts its own clusters: begin#cluster.process#time.
    schedulers = [word.partition("#")[0] for word in labels.pop("id")]
    jobs.labels = {name: words for name, words in labels.items() if any(words)}
    return _trace(columns, schedulers, jobs)


def _numbers(values: list[Any]) -> Array:
    if set(map(type, values)) <= {int, float, NoneType}:
        try:
            return np.array(values, dtype=np.float64)  # nothing is NaN
        except OverflowError:
            pass
    return np.array(list(map(number_in, values)), dtype=np.float64)


def _trace(columns: dict[str, Array], schedulers: list[str], jobs: Jobs) -> Trace:
    status = columns["JobStatus"]
    jobs.values["submit"] = columns["QDate"]
    jobs.values["start"] = _above_0(columns["JobStartDate"])
    # All runs of a job together, if it was started more than once.
    ran = columns["CompletionDate"] - _above_0(columns["JobCurrentStartDate"])
    wall = columns["RemoteWallClockTime"]
    jobs.values["service"] = np.where(wall > 0, wall, np.where(columns["CompletionDate"] > 0, ran, np.nan))
    # Machines of the parallel universe, each with so many of everything.
    machines = np.where(columns["MaxHosts"] > 1, columns["MaxHosts"], 1.0)
    for kind, had, wanted in (
        ("cpu", "CpusProvisioned", "RequestCpus"),
        ("gpu", "GPUsProvisioned", "RequestGPUs"),
        ("mem", "MemoryProvisioned", "RequestMemory"),
    ):
        units = machines * np.where(columns[had] > 0, columns[had], columns[wanted])
        if kind == "cpu" or np.any(units > 0):
            jobs.demand[kind] = units
    jobs.derive()
    jobs.drop(~np.isnan(status) & (status != REMOVED) & (status != COMPLETED), UNFINISHED)
    nothing = ~(jobs.value("service") > 0)
    jobs.drop(nothing & (status == REMOVED), CANCELLED)
    jobs.drop(nothing & np.isnan(jobs.value("start")), NEVER_STARTED)
    jobs.once_each(schedulers, columns["ClusterId"], columns["ProcId"])
    return jobs.trace("htcondor", standard="cpu", origin=0.0)


def _above_0(times: Array) -> Array:
    return np.where(times > 0, times, np.nan)
