"""HTCondor's history as JSON: `condor_history -jsonl` (a job a line) or `-json` (a list)."""

from __future__ import annotations

import numpy as np

from loynes.traces.jobs import CANCELLED, NEVER_STARTED, UNFINISHED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.objects import number_in, objects_of, text_in
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Array, Trace

IDLE, RUNNING, REMOVED, COMPLETED = 1, 2, 3, 4
NUMBERS = (
    "QDate", "JobStartDate", "JobCurrentStartDate", "CompletionDate", "RemoteWallClockTime", "JobStatus", "MaxHosts",
    "RequestCpus", "CpusProvisioned", "RequestGPUs", "GPUsProvisioned", "RequestMemory", "MemoryProvisioned",
)  # fmt: skip
# Names differ in case from version to version.
ALSO = {"RequestGPUs": "RequestGpus", "GPUsProvisioned": "GpusProvisioned"}
LABELS = {"user": "Owner", "group": "AcctGroup"}


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
    numbers: list[float] = []
    ids, place, damaged = list[str](), list[int](), list[tuple[int, str, str]]()
    labels: dict[str, list[str]] = {name: [] for name in LABELS}
    for where, job in objects_of(data, ledger, damaged):
        get = job.get
        if "QDate" not in job:
            damaged.append((where, "no QDate", "a job of HTCondor's history"))
            continue
        for name in NUMBERS:
            value = get(name)
            if value is None:
                value = get(ALSO[name]) if name in ALSO else None
            numbers.append(value if value.__class__ is int and -(2**53) < value < 2**53 else number_in(value))
        ids.append(f"{get('ClusterId')}.{get('ProcId')}.{text_in(get('GlobalJobId'))}")
        for name, theirs in LABELS.items():
            labels[name].append(text_in(get(theirs)))
        place.append(where)
    table = np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS)).T
    columns = dict(zip(NUMBERS, table, strict=True))
    jobs = Jobs(ledger, asked, place, len(place) + len(damaged), damaged)
    jobs.labels = {name: words for name, words in labels.items() if any(words)}
    return _trace(columns, ids, jobs)


def _trace(columns: dict[str, Array], ids: list[str], jobs: Jobs) -> Trace:
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
    jobs.once_each(ids)
    return jobs.trace("htcondor", standard="cpu", origin=0.0)


def _above_0(times: Array) -> Array:
    return np.where(times > 0, times, np.nan)
