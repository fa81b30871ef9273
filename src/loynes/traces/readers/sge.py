"""Accounting of Grid Engine (Sun, Son of, Open, Univa, Altair): one line a job, its fields separated by colons."""

from __future__ import annotations

import re

import numpy as np

from loynes.arrays import Array
from loynes.traces.cells import Lines
from loynes.traces.jobs import NEVER_STARTED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import BEGINNING, Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.words import Words, by_distinct_word, which

TASK = "task of a parallel job, which has a line of its own"

# Field -> its place in the line, from 0, as accounting(5) has them.
PLACES = {"queue": 0, "group": 2, "user": 3, "job": 5, "account": 6, "submit": 8, "start": 9, "end": 10, "failed": 11,
          "project": 31, "department": 32, "slots": 34, "task": 35, "category": 39, "parallel_task": 41}  # fmt: skip
LEAST_FIELDS = 36
LABELS = ("queue", "user", "group", "project", "department", "account", "failed")
# Beyond this, times are milliseconds, as Univa's are.
MILLISECONDS = 1e11
_LIMIT = re.compile(r"\bh_rt=(\d{1,15})")


def _recognises(beginning: bytes) -> bool:
    for line in beginning.split(b"\n"):
        if line.strip() and not line.startswith(b"#"):
            fields = line.split(b":")
            return len(fields) >= LEAST_FIELDS and all(
                fields[PLACES[name]].strip().isdigit() for name in ("job", "submit", "start", "end", "slots")
            )
    return False


@reader(
    "sge",
    summary="Grid Engine: the file `accounting`",
    reference="[accounting(5)](https://manpages.ubuntu.com/manpages/xenial/en/man5/sge_accounting.5.html)",
    units="slots (cpus)",
    endings=(".sge", ".accounting"),
    recognises=_recognises,
)
def read_sge(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    width = _usual_width(data)

    def apart(text: str) -> list[str] | tuple[str, str]:
        fields = text.split(":")
        if len(fields) < LEAST_FIELDS:
            return f"{len(fields)} fields", f"at least {LEAST_FIELDS}, separated by :"
        return (fields + [""] * width)[:width]

    lines = Lines(data, ":", width, apart, ledger, comment="#")
    columns: dict[str, Words] = {name: lines.column(i) for name, i in PLACES.items() if i < width}
    columns |= {name: [""] * len(lines.place) for name, i in PLACES.items() if i >= width}
    jobs = Jobs(ledger, asked, lines.place, lines.records, lines.damaged)
    for name in ("submit", "start", "end"):
        jobs.put(name, columns[name])
        jobs.values[name] = _seconds(jobs.value(name))
    jobs.put("cpu", columns["slots"], "slots")
    jobs.values["requested_time"] = by_distinct_word(columns["category"], _limit)[0]
    jobs.labels = {name: columns[name] for name in LABELS}
    jobs.drop(which(columns["parallel_task"], lambda word: word not in ("", "NONE")), TASK)
    jobs.derive()
    jobs.drop(np.isnan(jobs.value("start")), NEVER_STARTED)
    jobs.once_each(columns["job"], columns["task"])
    jobs.ids = columns["job"]
    return jobs.trace("sge", standard="cpu", origin=0.0)


def _usual_width(data: bytes) -> int:
    """Fields of most lines among the first: later versions have more."""
    counts = [line.count(b":") + 1 for line in data[:BEGINNING].split(b"\n") if not line.startswith(b"#")]
    counts = [count for count in counts if count >= LEAST_FIELDS]
    return max(set(counts), key=counts.count, default=LEAST_FIELDS)


def _seconds(times: Array) -> Array:
    """Since 1970; 0 where there is none."""
    times = np.where(times > MILLISECONDS, times / 1e3, times)
    return np.where(times == 0, np.nan, times)


def _limit(category: str) -> float:
    """The run time that was asked for: h_rt, in seconds."""
    match = _LIMIT.search(category)
    return float(match[1]) if match else np.nan
