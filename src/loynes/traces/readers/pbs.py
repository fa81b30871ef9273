"""Accounting of PBS Professional, OpenPBS and Torque: `date;E;job;name=value ...`, a record for every event."""

from __future__ import annotations

import re

import numpy as np

from loynes.arrays import Array
from loynes.traces.cells import Lines
from loynes.traces.jobs import NEVER_STARTED, Jobs, label_of
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import BEGINNING, Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.words import Words, by_distinct_word, distinct, which

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
    width, wanted = _usual(data)

    def apart(text: str) -> list[str] | tuple[str, str] | None:
        parts = text.split(";", 3)
        if len(parts) < 3 or (len(parts) == 3 and parts[1] in ("E", "R")):
            return f"{len(parts)} parts", "date;E;job;name=value ..., separated by ;"
        kind, job, message = (*parts[1:], "")[:3]
        if kind != "E" and not (kind == "R" and " start=" in message and " end=" in message):
            ledger.skip(NO_END)
            return None
        return ["", job, *_values(message)]

    lines = Lines(data, " ;", width, apart, ledger, wanted=wanted)
    columns: dict[str, Words] = {name: lines.column(i) for i, name in enumerate(("kind", "job", *KEYS))}
    jobs = Jobs(ledger, asked, lines.place, lines.records, lines.damaged)
    arrays = np.flatnonzero(lines.column(1).holds("["))
    whole = np.zeros(len(jobs), dtype=np.bool_)
    whole[[i for i in arrays.tolist() if "[]" in columns["job"][i]]] = True
    jobs.drop(whole, WHOLE_ARRAY)
    return _trace(columns, jobs)


def _usual(data: bytes) -> tuple[int, list[tuple[int, bytes]]]:
    """How a record E mostly looks: fields between blanks and semicolons, and where the wanted ones are."""
    names: dict[tuple[bytes, ...], int] = {}
    for line in data[:BEGINNING].split(b"\n")[:-1]:
        words = line.rstrip(b"\r").replace(b";", b" ").split(b" ")
        fields = tuple(word.partition(b"=")[0] for word in words)
        plain = line.count(b";") == 3 and b"'" not in line and all(b"=" in word for word in words[4:])
        if plain and fields[2:3] == (b"E",) and len(set(fields)) == len(fields):
            names[fields] = names.get(fields, 0) + 1
    usual = max(names, key=lambda one: names[one], default=())
    place = {name: k for k, name in enumerate(usual) if k > 3}
    keys = [(place.get(key.encode(), -1), f"{key}=".encode()) for key in KEYS]
    # The kind must be E, and is cut off; without a usual record every line is taken apart.
    return len(usual) or -1, [(2 if usual else -1, b"E"), (3 if usual else -1, b""), *keys]


def _values(message: str) -> list[str]:
    """What a record says of KEYS; values with blanks are quoted."""
    if '"' in message or "'" in message:
        message = _QUOTED.sub(lambda match: "=" + (match[1] or match[2] or "").replace(" ", _BLANK), message)
    found = dict([pair.split("=", 1) for pair in message.split(" ") if "=" in pair])
    return [found.get(key, "").replace(_BLANK, " ") for key in KEYS]


def _trace(columns: dict[str, Words], jobs: Jobs) -> Trace:
    # qtime is when the job came into its queue, etime when it could have run.
    jobs.put("submit", columns["ctime"], "ctime")
    created = jobs.value("submit")
    jobs.put("submit", columns["qtime"], "qtime")
    jobs.values["submit"] = np.where(np.isnan(jobs.value("submit")), created, jobs.value("submit"))
    jobs.put("eligible", columns["etime"], "etime")
    jobs.put("start", columns["start"])
    jobs.put("end", columns["end"])
    jobs.put("requested_time", columns["Resource_List.walltime"])
    _resources(columns, jobs)
    labels = {ours: label_of(columns[theirs]) for ours, theirs in LABELS.items()}
    jobs.labels = {name: np.char.strip(words, '"') for name, words in labels.items() if (words != "").any()}
    # Where nothing was ever started, 0 stands for the time.
    start = jobs.value("start")
    jobs.values["eligible"] = np.where(jobs.value("eligible") > 0, jobs.value("eligible"), np.nan)
    jobs.derive()
    jobs.drop(np.isnan(start) | (start <= 0), NEVER_STARTED)
    jobs.once_each(columns["job"])
    jobs.ids = columns["job"]
    return jobs.trace("pbs", standard="cpu", origin=0.0)


def _resources(columns: dict[str, Words], jobs: Jobs) -> None:
    """Processors: as listed, or else as the nodes asked for have them, or else as many as the job ran on."""
    counts = {name: columns[f"Resource_List.{name}"] for name in ("ncpus", "nodect", "ngpus")}
    specs, chunks, hosts = columns["Resource_List.nodes"], columns["Resource_List.select"], columns["exec_host"]
    jobs.put("cpu", counts["ncpus"], "Resource_List.ncpus")
    jobs.put("node", counts["nodect"], "Resource_List.nodect")
    jobs.put("gpu", counts["ngpus"], "Resource_List.ngpus")
    jobs.put("mem", columns["Resource_List.mem"], "Resource_List.mem", plain=2.0**-20)
    cpu, gpu = jobs.demand["cpu"], jobs.demand["gpu"]
    if not (cpu > 0).all() or not (gpu > 0).all():
        by_nodes, by_chunks = _all_of_nodes(specs), _all_of_nodes(chunks)
        slots, gpus = np.where(which(specs, lambda text: not text), by_chunks, by_nodes)
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


def _all_of_nodes(specs: Words) -> Array:
    texts, code = distinct(specs)
    return np.array([_of_nodes(text) for text in texts]).reshape(-1, 2)[code].T


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
