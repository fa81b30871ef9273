"""Slurm's accounting, as `sacct -aP --format=JobID,Submit,Start,End,Elapsed,AllocCPUS,State,...` prints it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from loynes.traces.gather import gather
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.swf import CANCELLED, REQUESTED_INSTEAD
from loynes.traces.text import first_of, lines_of
from loynes.traces.times import duration, number, stamp
from loynes.traces.trace import Trace

STEP = "job step, not a job"
UNFINISHED = "not finished: pending, running or suspended"
NEVER_STARTED = "never started"
MIXED = "stamp without an offset from UTC in a file that has offsets: taken as UTC"

# Columns that may say how many servers a job had, the first one there counts; then those that say what it asked for.
HAD = ("alloccpus", "ncpus", "allocnodes", "nnodes")
REQUESTED = {"alloccpus": "reqcpus", "ncpus": "reqcpus", "allocnodes": "reqnodes", "nnodes": "reqnodes"}
LABELS = ("partition", "user", "account", "qos", "state", "cluster", "group", "timelimit")
_GOING_ON = ("PENDING", "RUNNING", "SUSPENDED", "RESIZING", "CONFIGURING", "COMPLETING")


def read_sacct(data: bytes, ledger: Ledger, columns: Mapping[str, str]) -> Trace:
    lines = lines_of(data, ledger)
    line, head = first_of(lines, ledger)
    table = _Header(line, head, ledger, columns)
    jobs = _Jobs(table, ledger)
    records = 0
    for line, text in lines:
        records += 1
        fields = text.split("|")
        if len(fields) == table.width + 1 and fields[-1].strip() == "":
            fields.pop()  # --parsable ends its lines with the separator, --parsable2 does not
        if len(fields) == table.width:
            jobs.add(line, fields)
        else:
            ledger.damage(line, f"{len(fields)} fields", f"{table.width} fields separated by |, as in the header")
    return jobs.trace(records)


class _Header:
    """Which column holds what."""

    def __init__(self, line: int, text: str, ledger: Ledger, columns: Mapping[str, str]) -> None:
        names = [name.strip().lower() for name in text.split("|")]
        if names and names[-1] == "":
            names.pop()
        self.width = len(names)
        place = {name: i for i, name in reversed(list(enumerate(names)))}
        renamed = {ours: theirs.lower() for ours, theirs in columns.items()}
        for ours, theirs in renamed.items():
            if theirs not in place:
                raise ledger.error(f"line {line}: no column {theirs!r} for {ours}; there are: {', '.join(names)}")
        self.id = place.get("jobid")
        self.state = place.get("state")
        self.submit = place.get(renamed.get("submit", "submit"), -1)
        self.start, self.end = place.get("start"), place.get("end")
        self.elapsed = place.get(renamed.get("service", "elapsedraw"), place.get("elapsed"))
        self.wait = place.get(renamed["wait"]) if "wait" in renamed else None
        need = renamed.get("need", next((name for name in HAD if name in place), "reqcpus"))
        self.need = place.get(need, -1)
        self.requested = place.get(REQUESTED.get(need, ""))
        self.labels = {name: place[name] for name in LABELS if name in place}
        self.labels |= {ours: place[theirs] for ours, theirs in renamed.items() if ours not in _OURS}
        if self.submit < 0:
            raise ledger.error(f"line {line}: no column Submit in the header; there are: {', '.join(names)}")
        if self.need < 0:
            raise ledger.error(
                f"line {line}: no column AllocCPUS, NCPUS, ReqCPUS or NNodes; there are: {', '.join(names)}"
            )
        if self.elapsed is None and (self.start is None or self.end is None):
            raise ledger.error(f"line {line}: no column Elapsed (nor Start and End); there are: {', '.join(names)}")


_OURS = ("submit", "need", "service", "wait")


class _Jobs:
    """The lines that are jobs, one by one: stamps and states are words, not numbers."""

    def __init__(self, table: _Header, ledger: Ledger) -> None:
        self._table, self._ledger = table, ledger
        self._place: list[int] = []
        self._columns: tuple[list[float], ...] = ([], [], [], [])
        self._labels: dict[str, list[str]] = {name: [] for name in table.labels}
        self._zoned = self._naive = self._requested = 0

    def add(self, line: int, fields: list[str]) -> None:
        table, ledger = self._table, self._ledger
        if table.id is not None and "." in fields[table.id]:
            ledger.skip(STEP)
            return
        state = fields[table.state].strip().upper() if table.state is not None else ""
        if state.startswith(_GOING_ON):
            ledger.skip(UNFINISHED)
            return
        try:
            submit, zoned = stamp(fields[table.submit])
            start = math.nan if table.start is None else stamp(fields[table.start])[0]
            if table.elapsed is None:
                assert table.end is not None
                service = stamp(fields[table.end])[0] - start
            else:
                service = duration(fields[table.elapsed])
            wait = start - submit if table.wait is None else duration(fields[table.wait])
            need = number(fields[table.need])
            requested = math.nan if table.requested is None else number(fields[table.requested])
        except (ValueError, OverflowError):
            ledger.damage(
                line, self._culprit(fields), "a stamp like 2024-03-01T12:00:00, a time like 1-02:03:04, or a number"
            )
            return
        if not service > 0 and state.startswith("CANCELLED"):
            ledger.skip(CANCELLED)
            return
        if not service > 0 and table.start is not None and math.isnan(start):
            ledger.skip(NEVER_STARTED)
            return
        if not need > 0 and requested > 0:
            need = requested
            self._requested += 1
        self._zoned += zoned is True
        self._naive += zoned is False
        self._place.append(line)
        for column, value in zip(self._columns, (submit, need, service, wait), strict=True):
            column.append(value)
        for name, place in table.labels.items():
            # "CANCELLED by 1000" is a state and somebody's number.
            self._labels[name].append(fields[place].split(" by ")[0] if name == "state" else fields[place])

    def _culprit(self, fields: list[str]) -> str:
        """The first field of a line that cannot be read."""
        table = self._table
        stamps = (table.submit, table.start, table.end if table.elapsed is None else None)
        for places, reader in (
            (stamps, stamp),
            ((table.elapsed, table.wait), duration),
            ((table.need, table.requested), number),
        ):
            for place in places:
                if place is None:
                    continue
                try:
                    reader(fields[place])
                except (ValueError, OverflowError):
                    return f"field {place + 1} is {quoted(fields[place])}"
        return "a time that cannot be read"

    def trace(self, records: int) -> Trace:
        if self._zoned:
            self._ledger.repair(MIXED, self._naive)
        self._ledger.repair(REQUESTED_INSTEAD, self._requested)
        submit, need, service, wait = (np.array(column, dtype=np.float64) for column in self._columns)
        return gather(
            self._ledger,
            form="sacct",
            place=np.array(self._place, dtype=np.int64),
            submit=submit,
            need=need,
            service=service,
            wait=wait,
            labels={name: np.array(values, dtype=np.str_) for name, values in self._labels.items()},
            records=records,
            origin=0.0,
        )
