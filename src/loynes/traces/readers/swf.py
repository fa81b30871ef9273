"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for what is not known.

A million lines are read in pieces as arrays of bytes: where words begin and end, how many a line has, and the digits of
the columns that matter. Only what is not plain digits is looked at one by one.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.cells import numbers_in
from loynes.traces.jobs import CANCELLED, REQUESTED_INSTEAD, Jobs
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.readers.register import Asked, reader
from loynes.traces.times import number
from loynes.traces.trace import Trace
from loynes.traces.units import resource_named

FIELDS = 18
# Field -> its place in the line, from 1.
NUMBER, SUBMIT, WAIT, SERVICE, ALLOCATED, REQUESTED, STATUS = 1, 2, 3, 4, 5, 8, 11
USED_MEMORY, REQUESTED_MEMORY = 7, 10
LABELS = {"requested_time": 9, "user": 12, "group": 13, "queue": 15, "partition": 16}
NEEDED = (SUBMIT, WAIT, SERVICE, ALLOCATED, REQUESTED, STATUS, *LABELS.values())
USED = (*NEEDED, USED_MEMORY, REQUESTED_MEMORY, NUMBER)
NAMES = {
    NUMBER: "job number",
    SUBMIT: "submit time", WAIT: "wait time", SERVICE: "run time", ALLOCATED: "allocated processors",
    REQUESTED: "requested processors", 9: "requested time", STATUS: "status", 12: "user", 13: "group", 15: "queue",
    16: "partition", USED_MEMORY: "used memory", REQUESTED_MEMORY: "requested memory",
}  # fmt: skip

PART = "part of a job (status 2, 3 or 4)"
MORE_FIELDS = "more than 18 fields: the first 18 read"
SEMICOLONS = "fields separated by semicolons"
MEMORY_UNKNOWN = "memory not recorded: taken as none"
HEADER_UNREAD = "header value not a number: ignored"

PIECE = 1 << 23  # bytes at a time: arrays that stay small, whatever the file
_BLANK = np.zeros(256, dtype=np.bool_)
_BLANK[[9, 10, 11, 12, 13, 32]] = True
_NEWLINE, _COMMENT = 10, 59
_HEADER = re.compile(r";\s*(MaxProcs|MaxNodes|UnixStartTime)\s*:\s*(\S*)", re.IGNORECASE)


_DATA_LINE = re.compile(rb"^(?![ \t\r\f\v]*;)[^\n]+", re.MULTILINE)
_LOOKED_AT = 100  # lines that tell how a file separates its fields, and how many it has


def _recognises(beginning: bytes) -> bool:
    first = beginning.split(b"\n")[0]
    return first.startswith(b";") or len(first.split()) == FIELDS


@reader(
    "swf",
    summary="Standard Workload Format: 18 numbers a line, and more columns that are not read",
    reference="[Parallel Workloads Archive](https://www.cs.huji.ac.il/labs/parallel/workload/swf.html)",
    units="cpus; mem",
    endings=(".swf",),
    recognises=_recognises,
    sure=False,
    rank=8,
)
def read_swf(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    header: dict[str, float] = {}
    columns: list[Array] = []
    places: list[Ints] = []
    data, width = _as_words(data, ledger)
    records, begin, line = 0, 0, 1
    while begin < len(data):
        end = data.find(b"\n", begin + PIECE) + 1 or len(data)
        part = _Part(data, begin, end, line)
        records += part.records
        part.header(header, ledger)
        values, place = part.values(ledger, width)
        columns.append(values)
        places.append(place)
        begin, line = end, line + part.lines
    value = dict(zip(USED, np.concatenate(columns, axis=1), strict=True))
    jobs = Jobs(ledger, asked, np.concatenate(places), records)
    if width > FIELDS:
        ledger.repair(MORE_FIELDS, len(jobs))
    return _trace(value, jobs, header)


def _as_words(data: bytes, ledger: Ledger) -> tuple[bytes, int]:
    """The file with blanks between fields, if it has semicolons there, and how many fields most lines have."""
    looked_at = [match[0] for match, _ in zip(_DATA_LINE.finditer(data), range(_LOOKED_AT), strict=False)]
    looked_at = [line for line in looked_at if line.strip()]
    if sum(line.count(b";") >= FIELDS - 1 for line in looked_at) > len(looked_at) / 2:
        ledger.repair(SEMICOLONS)
        data = _DATA_LINE.sub(lambda match: match[0].replace(b";", b" "), data)
        looked_at = [line.replace(b";", b" ") for line in looked_at]
    widths = [len(line.split()) for line in looked_at]
    usual = max(set(widths), key=widths.count, default=FIELDS)
    return data, usual if FIELDS <= usual < 2 * FIELDS - 1 and 2 * widths.count(usual) > len(widths) else FIELDS


def _trace(value: dict[int, Array], jobs: Jobs, header: dict[str, float]) -> Trace:
    """What is peculiar to the format; the rest is in jobs.py and gather.py."""
    service, status = value[SERVICE], value[STATUS]
    jobs.drop((status >= 2) & (status <= 4), PART)
    jobs.drop((status == 5) & (service <= 0), CANCELLED)
    allocated, requested = value[ALLOCATED], value[REQUESTED]
    # 0 allocated processors cannot have run anything: they were not recorded.
    instead = (allocated <= 0) & (requested > 0)
    need = np.where(instead, requested, _known(np.where(allocated == 0, -1.0, allocated)))
    counted = instead & (service > 0) & jobs.alive
    jobs.ledger.repair(REQUESTED_INSTEAD, int(np.count_nonzero(counted)))
    jobs.demand["cpu"] = need
    memory = np.where(value[REQUESTED_MEMORY] > 0, value[REQUESTED_MEMORY], value[USED_MEMORY])
    known = memory > 0
    if known.any():
        # KiB of each processor.
        jobs.demand["mem"] = np.where(known, memory * need / 1024.0, np.nan)
        if "mem" in map(resource_named, (*jobs.asked.resources, jobs.asked.unit or "")):
            jobs.ledger.repair(MEMORY_UNKNOWN, int(np.count_nonzero(~known & jobs.alive)))
    jobs.values = {"submit": _known(value[SUBMIT]), "service": _known(service), "wait": _known(value[WAIT])}
    jobs.ids = _whole(value[NUMBER])
    jobs.labels = {name: _whole(value[field]) for name, field in LABELS.items()}
    procs = header.get("maxprocs", header.get("maxnodes", -1.0))
    servers = int(procs) if procs >= 1 else None
    return jobs.trace("swf", standard="cpu", servers=servers, origin=header.get("unixstarttime"), none_is_wrong=True)


def _known(column: Array) -> Array:
    return np.where(column == -1.0, np.nan, column)


def _whole(column: Array) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        whole = np.clip(column, -(2.0**62), 2.0**62).astype(np.int64)
    return whole if np.array_equal(whole, column) else column


class _Part:
    """A piece of the file that begins and ends with a line."""

    def __init__(self, data: bytes, begin: int, end: int, line: int) -> None:
        self._bytes = np.frombuffer(data, dtype=np.uint8, count=end - begin, offset=begin)
        self._line = line
        ends = np.flatnonzero(self._bytes == _NEWLINE)
        self.lines = len(ends)
        starts = np.concatenate([[0], ends + 1])
        word = ~_BLANK[self._bytes]
        edge = np.flatnonzero(word[1:] != word[:-1]) + 1
        if len(word) and word[0]:
            edge = np.concatenate([[0], edge])
        if len(word) and word[-1]:
            edge = np.concatenate([edge, [len(word)]])
        self._from, self._to = edge[::2], edge[1::2]
        self._first = np.searchsorted(self._from, starts)  # each line's first word
        self._count = np.diff(np.append(self._first, len(self._from)))
        filled = self._count > 0
        self._comment = np.zeros(len(starts), dtype=np.bool_)
        self._comment[filled] = self._bytes[self._from[self._first[filled]]] == _COMMENT
        self._data = np.flatnonzero(filled & ~self._comment)
        self.records = len(self._data)

    def header(self, header: dict[str, float], ledger: Ledger) -> None:
        """Take what comments say of the machine; the first word on it counts."""
        for line in np.flatnonzero(self._comment):
            match = _HEADER.match(self._text(int(line)).decode("utf-8", "replace"))
            if match is None or match[1].lower() in header:
                continue
            try:
                value = number(match[2])
            except ValueError:
                value = math.nan
            if math.isfinite(value) and abs(value) < 1e12:
                header[match[1].lower()] = value
            else:
                ledger.repair(HEADER_UNREAD)

    def values(self, ledger: Ledger, width: int) -> tuple[Array, Ints]:
        """The used fields of all lines that have so many words and numbers where they are needed, and their numbers."""
        right = self._count[self._data] == width
        for line in self._data[~right]:
            problem = f"{self._count[line]} fields"
            ledger.damage(self._line + int(line), problem, f"{width} numbers")
        lines = self._data[right]
        first = self._first[lines]
        columns = np.empty((len(USED), len(lines)))
        sound = np.ones(len(lines), dtype=np.bool_)
        for row, field in enumerate(USED):
            columns[row] = self._numbers(first + (field - 1))
            if field not in NEEDED:
                columns[row] = np.where(np.isnan(columns[row]), -1.0, columns[row])
            for i in np.flatnonzero(np.isnan(columns[row]) & sound):
                word = self._word(int(first[i]) + field - 1)
                problem = f"field {field} ({NAMES[field]}) is {quoted(word)}"
                ledger.damage(self._line + int(lines[i]), problem, "a number")
                sound[i] = False
        return columns[:, sound], self._line + lines[sound]

    def _numbers(self, words: Ints) -> Array:
        """The words as numbers; NaN where one is none."""
        result, plain = numbers_in(self._bytes, self._from[words], self._to[words])
        for i in np.flatnonzero(~plain):
            result[i] = _odd(self._word(int(words[i])))
        return result

    def _word(self, word: int) -> bytes:
        return self._bytes[self._from[word] : self._to[word]].tobytes()

    def _text(self, line: int) -> bytes:
        first = self._first[line]
        return self._bytes[self._from[first] : self._to[first + self._count[line] - 1]].tobytes()


def _odd(word: bytes) -> float:
    """A number with a point or an exponent; NaN if it is none, or not finite."""
    try:
        value = float(word)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) and b"_" not in word else math.nan
