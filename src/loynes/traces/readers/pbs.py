"""Accounting of PBS Professional, OpenPBS and Torque: `date;E;job;name=value ...`, a record for every event."""

from __future__ import annotations

import re

import numpy as np

from loynes.traces.jobs import NEVER_STARTED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.templates import Learnt, Templates
from loynes.traces.text import lines_of
from loynes.traces.trace import Trace
from loynes.traces.words import by_distinct_word

NO_END = "record of another event than a job's end"
WHOLE_ARRAY = "array as a whole: its tasks are jobs of their own"

# What is looked for in a record of name=value pairs.
TIMES = ("ctime", "qtime", "etime", "start", "end")
ASKED = ("ncpus", "nodect", "ngpus", "mem", "walltime", "nodes", "select")
LABELS = {"user": "user", "group": "group", "queue": "queue", "account": "account", "project": "project"}
KEYS = (*TIMES, *(f"Resource_List.{name}" for name in ASKED), "exec_host", *LABELS.values())
_RECORD = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z]{1,2};")
_QUOTED = re.compile(r"""=(?:"([^"]*)"|'([^']*)')""")
_BLANK = "\x1f"  # a blank inside quotes, while fields are told apart by blanks
_SLOTS = re.compile(r"/(\d+)-(\d+)|\*(\d+)")


@reader(
    "pbs",
    summary="PBS Professional, OpenPBS, Torque: files of `server_priv/accounting`, records `E` (and `R`, of reruns)",
    reference="[Torque](https://docs.adaptivecomputing.com/torque/3-0-5/9.1accounting.php), "
    "PBS Professional Administrator's Guide",
    units="cpus; nodes, gpus, mem",
    endings=(".pbs",),
    recognises=lambda beginning: _RECORD.match(beginning) is not None,
)
def read_pbs(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    words: list[str] = []
    ids, place, damaged = list[str](), list[int](), list[tuple[int, str, str]]()
    records, fields = 0, Templates(_values, _learn).fields
    for line, text in lines_of(data, ledger):
        records += 1
        parts = text.split(";", 3)
        if len(parts) != 4:
            if len(parts) == 3 and parts[1] not in ("E", "R"):
                ledger.skip(NO_END)
            else:
                damaged.append((line, f"{len(parts)} parts", "date;E;job;name=value ..., separated by ;"))
            continue
        _, kind, job, message = parts
        if kind != "E" and not (kind == "R" and " start=" in message and " end=" in message):
            ledger.skip(NO_END)
            continue
        if "[]" in job:
            ledger.skip(WHOLE_ARRAY)
            continue
        words += fields(message)
        ids.append(job)
        place.append(line)
    columns = {name: words[i :: len(KEYS)] for i, name in enumerate(KEYS)}
    return _trace(columns, ids, Jobs(ledger, asked, place, records, damaged))


def _values(message: str) -> list[str]:
    """What a record says of KEYS; values with blanks are quoted."""
    if '"' in message or "'" in message:
        message = _QUOTED.sub(lambda match: "=" + (match[1] or match[2] or "").replace(" ", _BLANK), message)
    found = dict([pair.split("=", 1) for pair in message.split(" ") if "=" in pair])
    return [found.get(key, "").replace(_BLANK, " ") for key in KEYS]


def _learn(message: str) -> Learnt | None:
    """The same names in the same order, and no quotes nor blanks in values."""
    names = [pair.partition("=")[0] for pair in message.split(" ")]
    if "'" in message or "=" not in message or len(set(names)) < len(names) or not all(names):
        return None
    wanted = [name for name in names if name in KEYS]
    parts = [re.escape(name) + ('="?([^ "]*)"?' if name in KEYS else "=[^ ]*") for name in names]
    return " ".join(parts), tuple(wanted.index(key) + 1 if key in wanted else 0 for key in KEYS)


def _trace(columns: dict[str, list[str]], ids: list[str], jobs: Jobs) -> Trace:
    # qtime is when the job came into its queue, etime when it could have run.
    submit = [queued or created for queued, created in zip(columns["qtime"], columns["ctime"], strict=True)]
    jobs.put("submit", submit, "qtime")
    jobs.put("eligible", columns["etime"], "etime")
    jobs.put("start", columns["start"])
    jobs.put("end", columns["end"])
    jobs.put("requested_time", columns["Resource_List.walltime"])
    _resources(columns, jobs)
    jobs.labels = {ours: columns[theirs] for ours, theirs in LABELS.items() if any(columns[theirs])}
    # Where nothing was ever started, 0 stands for the time.
    start = jobs.value("start")
    jobs.values["eligible"] = np.where(jobs.value("eligible") > 0, jobs.value("eligible"), np.nan)
    jobs.derive()
    jobs.drop(np.isnan(start) | (start <= 0), NEVER_STARTED)
    jobs.once_each(ids)
    return jobs.trace("pbs", standard="cpu", origin=0.0)


def _resources(columns: dict[str, list[str]], jobs: Jobs) -> None:
    """Processors: as listed, or else as the nodes asked for have them, or else as many as the job ran on."""
    counts = {name: columns[f"Resource_List.{name}"] for name in ("ncpus", "nodect", "ngpus")}
    specs, chunks, hosts = columns["Resource_List.nodes"], columns["Resource_List.select"], columns["exec_host"]
    jobs.put("cpu", counts["ncpus"], "Resource_List.ncpus")
    jobs.put("node", counts["nodect"], "Resource_List.nodect")
    jobs.put("gpu", counts["ngpus"], "Resource_List.ngpus")
    jobs.put("mem", columns["Resource_List.mem"], "Resource_List.mem", plain=2.0**-20)
    cpu, gpu = jobs.demand["cpu"], jobs.demand["gpu"]
    if not (cpu > 0).all() or not (gpu > 0).all():
        specs = [spec or chunk for spec, chunk in zip(specs, chunks, strict=True)]
        slots, _ = by_distinct_word(specs, lambda text: _of_nodes(text)[0])
        gpus, _ = by_distinct_word(specs, lambda text: _of_nodes(text)[1])
        if not (cpu > 0).all():
            on, _ = by_distinct_word(hosts, _slots)
            cpu = np.where(cpu > 0, cpu, np.where(on > 0, on, slots))
        gpu = np.where(gpu > 0, gpu, gpus)
    node = jobs.demand["node"]
    if not (node > 0).all():
        node = np.where(node > 0, node, by_distinct_word(hosts, _hosts)[0])
    jobs.demand |= {"cpu": cpu, "node": node, "gpu": gpu}
    for kind in ("gpu", "mem"):
        if not np.any(jobs.demand[kind] > 0):
            del jobs.demand[kind]


def _of_nodes(text: str) -> tuple[float, float]:
    """Processors and GPUs of 2:ppn=6, of node1:ppn=4+node2:ppn=2, of 2:ncpus=4:ngpus=1."""
    cpus = gpus = 0.0
    for chunk in text.split("+") if text else ():
        first, *rest = chunk.split(":")
        count = float(first) if first.isdecimal() and len(first) < 10 else 1.0
        has = dict(pair.split("=", 1) for pair in (*rest, first) if "=" in pair)
        cpus += count * _number(has.get("ppn") or has.get("ncpus") or "1")
        gpus += count * _number(has.get("ngpus") or has.get("gpus") or "0")
    return cpus, gpus


def _number(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 10 else 0.0


def _slots(hosts: str) -> float:
    """Of host/0+host/1, host/0-7 or host/0*8."""
    total = 0
    for one in hosts.split("+") if hosts else ():
        match = _SLOTS.search(one)
        if match is None:
            total += 1
        else:
            total += int(match[3][:9]) if match[3] else max(int(match[2][:9]) - int(match[1][:9]) + 1, 1)
    return float(total)


def _hosts(hosts: str) -> float:
    if not hosts:
        return np.nan
    return float(len({one.partition("/")[0] for one in hosts.split("+")})) if "+" in hosts else 1.0
