"""Alibaba's GPU clusters: the pods of 2023 (openb), with parts of GPUs, and the tasks of 2020 (PAI), in hundredths."""

from __future__ import annotations

import numpy as np

from loynes.traces.jobs import UNFINISHED
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.readers.tables import csv_columns, must_have
from loynes.traces.trace import Trace
from loynes.traces.words import Bad, Words, numbers_of, which

STILL_RUNNING = "still running when the log ended: counted until then"
START_INSTEAD = "submission not recorded: start taken"

OPENB = {"submit": "creation_time", "start": "scheduled_time", "end": "deletion_time", "cpu_milli": "cpu_milli",
         "mem": "memory_mib", "gpu": "num_gpu", "gpu_milli": "gpu_milli"}  # fmt: skip
PAI = ("job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
       "gpu_type")  # fmt: skip
_PAI_STATES = (b"Terminated", b"Failed", b"Running", b"Waiting", b"Interrupted")


@reader(
    "openb",
    summary="Alibaba 2023: `openb_pod_list_*.csv`",
    reference="[cluster-trace-gpu-v2023](https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023)",
    units="gpus, thousandths of GPUs (gpu_milli) or of processors (cpu_milli); mem",
    recognises=lambda beginning: b"num_gpu,gpu_milli" in beginning.split(b"\n")[0],
    rank=3,
)
def read_openb(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    names, columns, jobs = csv_columns(data, ledger, asked)
    must_have(OPENB.values(), names, ledger)
    for ours, theirs in OPENB.items():
        jobs.put(ours, columns[theirs], theirs)
    # A part of one GPU, or several whole ones.
    jobs.demand["gpu_milli"] = jobs.demand["gpu"] * jobs.demand["gpu_milli"]
    jobs.labels = {name: columns[name] for name in ("name", "gpu_spec", "qos", "pod_phase") if name in columns}
    jobs.derive()
    end = jobs.value("end")
    ran = jobs.alive & (jobs.value("service") > 0) & (end == np.max(end, initial=0.0, where=~np.isnan(end)))
    running = _among(columns.get("pod_phase", [""] * len(jobs)), "Running")
    ledger.repair(STILL_RUNNING, int(np.count_nonzero(ran & running)))
    return jobs.trace("openb")


@reader(
    "pai",
    summary="Alibaba 2020: `pai_task_table.csv`, which has no header",
    reference="[cluster-trace-gpu-v2020](https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020)",
    units="hundredths of GPUs (gpu_percent) or of processors (cpu_percent); mem",
    recognises=lambda beginning: _is_pai(beginning.split(b"\n")[0]),
    rank=3,
)
def read_pai(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    _, columns, jobs = csv_columns(data, ledger, asked, PAI)
    instances, bad = numbers_of(columns["inst_num"])
    jobs.drop(_among(columns["status"], "Running", "Waiting"), UNFINISHED)
    jobs.damage(bad, columns["inst_num"], "inst_num", "a number")
    jobs.put("submit", columns["start_time"], "start_time")
    jobs.put("end", columns["end_time"], "end_time")
    jobs.values["start"] = jobs.values["submit"]
    for ours, theirs, scale in (("cpu_percent", "plan_cpu", 1.0), ("gpu_percent", "plan_gpu", 1.0),
                                ("mem", "plan_mem", 1024.0)):  # fmt: skip
        jobs.put(ours, columns[theirs], theirs, plain=scale)
        jobs.demand[ours] = np.nan_to_num(jobs.demand[ours]) * np.where(instances > 0, instances, 1.0)
    jobs.values["wait"] = np.full(len(jobs), np.nan)
    jobs.labels = {"job": columns["job_name"], "task": columns["task_name"], "state": columns["status"],
                   "gpu_type": columns["gpu_type"]}  # fmt: skip
    jobs.derive()
    ledger.repair(START_INSTEAD, int(np.count_nonzero(jobs.alive)))
    return jobs.trace("pai")


def _is_pai(line: bytes) -> bool:
    fields = line.strip().split(b",")
    return len(fields) == len(PAI) and fields[3] in _PAI_STATES


def _among(words: Words, *those: str) -> Bad:
    return which(words, lambda word: word in those)
