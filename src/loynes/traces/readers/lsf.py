"""Accounting of IBM Spectrum LSF: the records JOB_FINISH of `lsb.acct`, numbers and quoted strings between blanks."""

from __future__ import annotations

import re
from itertools import count

import numpy as np

from loynes.traces.cells import Lines
from loynes.traces.jobs import NEVER_STARTED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import BEGINNING, Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.words import Words, distinct, numbers_of

NOT_FINISHED_JOB = "record of another kind than JOB_FINISH"

_PLAIN = r' "[^"]*"'
_TEXT = r' "[^"]*(?:""[^"]*)*"'  # a quote inside a string is written twice


def _patterns(text: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Up to the hosts that a job ran on; then, where they can be read, its project, processors and place in an array.

    Repeated parts are written out: so they match several times as fast.
    """
    head = r'"JOB_FINISH" "[^"]*" ([^ ]+) ([^ ]+) [^ ]+ [^ ]+ ([^ ]+) ([^ ]+) [^ ]+ [^ ]+ ([^ ]+) "([^"]*)" "([^"]*)"'
    hosts = rf"(?: 0|(?: \d+(?:{text})*)) \d+((?: \"[^\"]*\")*) \d+"
    rest = " [^ ]+" + 2 * text + 19 * r" [^ ]+" + text + r' "([^"]*)" [^ ]+ (\d+)' + 2 * text + r" (\d+)"
    return re.compile(head + 9 * text + hosts), re.compile(rest)


_RECORD, _REST = _patterns(_PLAIN)
_ANY_RECORD, _ANY_REST = _patterns(_TEXT)
_GPUS = re.compile(r"ngpus\w*=(\d{1,9}(?:\.\d*)?)")
# A record between its quotes: numbers, then strings with a blank between them. Of one that ran on a single host and was
# given none, the pieces that matter, and the blanks that tell that no string has a quote inside.
_NUMBERS, _USER, _QUEUE, _COUNTS, _HOST, _PROJECT, _INDEX = 4, 5, 7, 26, 27, 35, 40
_BLANKS = (2, *range(6, 25, 2), 30, 34, 38)


@reader(
    "lsf",
    summary="IBM Spectrum LSF: `lsb.acct`, records `JOB_FINISH`",
    reference="[lsb.acct](https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=files-lsbacct)",
    units="slots (cpus); nodes, gpus",
    endings=(".acct",),
    recognises=lambda beginning: re.match(rb'"(JOB_FINISH|EVENT_ADRSV_FINISH|JOB_RESIZE)" "', beginning) is not None,
)
def read_lsf(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    unknown = count()

    def apart(text: str) -> list[str] | tuple[str, str] | None:
        match = _RECORD.match(text) or _ANY_RECORD.match(text)
        if match is None:
            if text.startswith('"') and not text.startswith('"JOB_FINISH"') and text.count('"') > 1:
                ledger.skip(NOT_FINISHED_JOB)
                return None
            right = 'one that begins "JOB_FINISH" "version" and has as many fields as it says'
            return "a record that cannot be read", right
        end, job, want, submit, start, user, queue, hosts = match.groups()
        rest = _REST.match(text, match.end()) or _ANY_REST.match(text, match.end())
        project, index = ("", f"unknown{next(unknown)}") if rest is None else (rest[1], rest[3])
        gpus = _GPUS.search(text)
        numbers = f" {end} {job} - - {want} {submit} 0 0 {start} "
        return [numbers, user, queue, hosts, project, f" {index} ", gpus[1] if gpus else "0"]

    wanted = [(k, b"") for k in (_NUMBERS, _USER, _QUEUE, _HOST, _PROJECT, _INDEX, -1)]
    exactly = [(0, b""), (1, b"JOB_FINISH"), (_COUNTS, b" 0 1 "), *((k, b" ") for k in _BLANKS)]
    lines = Lines(data, '"', _usual(data), apart, ledger, peculiar=b"ngpus", wanted=wanted, exactly=exactly)
    jobs = Jobs(ledger, asked, lines.place, lines.records, lines.damaged)
    numbers = lines.column(0).parts(" ", 11, ledger)
    names = ("end", "job", "asked", "submit", "start")
    columns: dict[str, Words] = {name: numbers[k] for name, k in zip(names, (1, 2, 5, 6, 9), strict=True)}
    columns |= {name: lines.column(i) for i, name in enumerate(("user", "queue", "hosts", "project"), 1)}
    columns |= {"index": lines.column(5).parts(" ", 3, ledger)[1], "gpus": lines.column(6)}
    for name in ("submit", "start", "end"):
        jobs.put(name, columns[name])
    jobs.put("cpu", columns["asked"], "numProcessors")
    _resources(columns, jobs)
    jobs.labels = {name: columns[name] for name in ("user", "queue", "project")}
    jobs.derive()
    jobs.drop(jobs.value("start") == 0, NEVER_STARTED)
    jobs.once_each(columns["job"], columns["index"])
    jobs.ids = columns["job"]
    return jobs.trace("lsf", standard="cpu", origin=0.0)


def _usual(data: bytes) -> int:
    """Pieces between quotes of most records among the first, if they have as many as are looked for."""
    lines = [line.rstrip(b"\r").count(b'"') + 1 for line in data[:BEGINNING].split(b"\n")[:-1]]
    counts = [pieces for pieces in lines if pieces > _INDEX + 1]
    return max(set(counts), key=counts.count, default=-1)


def _resources(columns: dict[str, Words], jobs: Jobs) -> None:
    """Slots and hosts that a job had; where none are told, the processors that it asked for."""
    texts, code = distinct(columns["hosts"])
    slots, nodes = np.array([_slots_and_hosts(text) for text in texts]).reshape(-1, 2)[code].T
    jobs.demand["cpu"] = np.where(slots > 0, slots, jobs.demand["cpu"])
    jobs.demand["node"] = np.where(nodes > 0, nodes, 1.0)
    gpus = np.nan_to_num(numbers_of(columns["gpus"])[0])
    if np.any(gpus > 0):
        jobs.demand["gpu"] = gpus * jobs.demand["node"]  # so many on each host


def _slots_and_hosts(text: str) -> tuple[float, float]:
    """Of "host1" "host1" "host2", or as short files have it: "16*host1" "16*host2"; or of one without quotes."""
    slots, hosts = 0, set()
    for one in text.split('"')[1::2] if '"' in text else [text] if text else []:
        many, star, host = one.partition("*")
        slots += int(many) if star and many.isdecimal() and len(many) < 10 else 1
        hosts.add(host if star else one)
    return float(slots), float(len(hosts))
