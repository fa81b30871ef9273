"""Accounting of IBM Spectrum LSF: the records JOB_FINISH of `lsb.acct`, numbers and quoted strings between blanks."""

from __future__ import annotations

import re

import numpy as np

from loynes.traces.jobs import NEVER_STARTED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.text import lines_of
from loynes.traces.trace import Trace

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
FIELDS = ("end", "job", "asked", "submit", "start", "user", "queue", "hosts", "project", "most", "index", "gpus")


@reader(
    "lsf",
    summary="IBM Spectrum LSF: `lsb.acct`, records `JOB_FINISH`",
    reference="[lsb.acct](https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=files-lsbacct)",
    units="slots (cpus); nodes, gpus",
    endings=(".acct",),
    recognises=lambda beginning: re.match(rb'"(JOB_FINISH|EVENT_ADRSV_FINISH|JOB_RESIZE)" "', beginning) is not None,
)
def read_lsf(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    words: list[str] = []
    place, damaged, records = list[int](), list[tuple[int, str, str]](), 0
    match_record, match_rest = _RECORD.match, _REST.match
    for line, text in lines_of(data, ledger):
        records += 1
        match = match_record(text) or _ANY_RECORD.match(text)
        if match is None:
            if text.startswith('"') and not text.startswith('"JOB_FINISH"') and text.count('"') > 1:
                ledger.skip(NOT_FINISHED_JOB)
            else:
                right = 'one that begins "JOB_FINISH" "version" and has as many fields as it says'
                damaged.append((line, "a record that cannot be read", right))
            continue
        end, job, want, submit, start, user, queue, hosts = match.groups()
        rest = match_rest(text, match.end()) or _ANY_REST.match(text, match.end())
        project, most, index = ("", "", f"line {line}") if rest is None else rest.groups()
        gpus = _GPUS.search(text) if "ngpus" in text else None
        words += (end, job, want, submit, start, user, queue, hosts, project, most, index, gpus[1] if gpus else "0")
        place.append(line)
    columns = {name: words[i :: len(FIELDS)] for i, name in enumerate(FIELDS)}
    jobs = Jobs(ledger, asked, place, records, damaged)
    for name in ("submit", "start", "end"):
        jobs.put(name, columns[name])
    jobs.put("cpu", columns["asked"], "numProcessors")
    _resources(columns, jobs)
    jobs.labels = {name: columns[name] for name in ("user", "queue", "project")}
    jobs.derive()
    jobs.drop(jobs.value("start") == 0, NEVER_STARTED)
    jobs.once_each(columns["job"], columns["index"])
    return jobs.trace("lsf", standard="cpu", origin=0.0)


def _resources(columns: dict[str, list[str]], jobs: Jobs) -> None:
    """Slots and hosts that a job had; where none are told, the processors that it asked for."""
    known: dict[str, tuple[float, float]] = {"": (np.nan, np.nan)}
    for text in columns["hosts"]:
        if text not in known:
            known[text] = _slots_and_hosts(text)
    slots, nodes = np.array([known[text] for text in columns["hosts"]]).reshape(-1, 2).T
    jobs.demand["cpu"] = np.where(slots > 0, slots, jobs.demand["cpu"])
    jobs.demand["node"] = np.where(nodes > 0, nodes, 1.0)
    gpus = np.array(list(map(float, columns["gpus"])))
    if np.any(gpus > 0):
        jobs.demand["gpu"] = gpus * jobs.demand["node"]  # so many on each host


def _slots_and_hosts(text: str) -> tuple[float, float]:
    """Of "host1" "host1" "host2", or as short files have it: "16*host1" "16*host2"."""
    slots, hosts = 0, set()
    for one in text.split('"')[1::2]:
        count, star, host = one.partition("*")
        slots += int(count) if star and count.isdecimal() and len(count) < 10 else 1
        hosts.add(host if star else one)
    return float(slots), float(len(hosts))
