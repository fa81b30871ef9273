"""Slurm's accounting, as `sacct -aP --format=JobID,Submit,Start,End,Elapsed,AllocCPUS,State,...` prints it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array
from loynes.traces.cells import Cells, Lines, header_of
from loynes.traces.jobs import CANCELLED, MIXED, NEVER_STARTED, REQUESTED_INSTEAD, UNFINISHED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.words import Bad, Words, by_distinct_word, distinct, mebibytes, numbers_of, which

__all__ = ["CANCELLED", "MIXED", "NEVER_STARTED", "REQUESTED_INSTEAD", "UNFINISHED", "read_sacct", "tres_of"]

STEP = "job step, not a job"
COMPONENT = "component of a heterogeneous job: counted with the first one"

# Resource -> columns that may say how much a job had of it, the first one there counts; then what it asked for.
HAD = {"cpu": ("alloccpus", "ncpus"), "node": ("allocnodes", "nnodes")}
REQUESTED = {"cpu": "reqcpus", "node": "reqnodes"}
LABELS = ("partition", "user", "account", "qos", "state", "cluster", "group", "timelimit")
_GOING_ON = ("PENDING", "RUNNING", "SUSPENDED", "RESIZING", "CONFIGURING", "COMPLETING")
_OURS = ("submit", "need", "service", "wait")
# The fields that Open XDMoD asks sacct for, without a header: versions since 9.5, and before.
XDMOD = (
    "jobid|jobidraw|cluster|partition|qos|account|group|gid|user|uid|submit|eligible|start|end|elapsed|exitcode|state|"
    "nnodes|ncpus|reqcpus|reqmem|reqtres|alloctres|timelimit|nodelist|jobname",
    "jobid|jobidraw|cluster|partition|account|group|gid|user|uid|submit|eligible|start|end|elapsed|exitcode|state|"
    "nnodes|ncpus|reqcpus|reqmem|reqgres|reqtres|timelimit|nodelist|jobname",
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown")


def _recognises(beginning: bytes) -> bool:
    first = beginning.split(b"\n")[0]
    names = first.lower().split(b"|")
    if b"jobid" in names or (b"submit" in names and len(names) > 1):
        return True
    return _without_header(first.decode("utf-8", "replace")) is not None


def _without_header(line: str) -> str | None:
    """The header that Open XDMoD's exports do not have, if the line is one of theirs."""
    fields = line.rstrip("\r").split("|")
    for names in XDMOD:
        width, submit = names.count("|") + 1, names.split("|").index("submit")
        if len(fields) >= width and all(_MOMENT.fullmatch(field) for field in fields[submit : submit + 4]):
            return names
    return None


@reader(
    "sacct",
    summary="Slurm: `sacct -aP` with its header, or as Open XDMoD exports it, without one",
    reference="[sacct](https://slurm.schedmd.com/sacct.html), [Open XDMoD](https://open.xdmod.org/resource-manager-slurm.html)",
    units="cpus; nodes, gpus, mem and other TRES",
    endings=(".sacct",),
    recognises=_recognises,
    columns=True,
    rank=2,
)
def read_sacct(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    line, head, begin = header_of(data, ledger)
    implied = _without_header(head)
    names = [name.strip().lower() for name in (implied or head).split("|")]
    # --parsable ends its lines with the separator, --parsable2 does not.
    ended = names[-1] == ""
    width = len(names) - ended
    table = _Header(line, names[:width], ledger, asked.columns)
    right = f"{width} fields separated by |" + ("" if implied else ", as in the header")

    def apart(text: str) -> list[str] | tuple[str, str]:
        fields = text.split("|")
        if len(fields) == width + 1 and fields[-1].strip() == "":
            fields.pop()
        if len(fields) > width and names[-1] == "jobname":
            fields[width - 1 :] = ["|".join(fields[width - 1 :])]  # people name their jobs as they like
        if len(fields) != width:
            return f"{len(fields)} fields", right
        return [*fields, ""] if ended else fields

    begin, line = (begin, line + 1) if implied is None else (0, 1)  # without a header the first line is a job
    lines = Lines(data, "|", len(names), apart, ledger, begin=begin, line=line)
    columns: dict[str, Words] = {}
    for i, name in enumerate(names[:width]):
        columns.setdefault(name, lines.column(i))
    jobs = Jobs(ledger, asked, lines.place, lines.records, lines.damaged)
    if ended:
        last = lines.column(width)
        more = np.flatnonzero(last.lengths > 0)
        wrong = np.zeros(len(jobs), dtype=np.bool_)
        wrong[[i for i in more.tolist() if last[i].strip()]] = True
        jobs.damage(wrong, last, "after the last", "nothing behind the last |")
    return _Log(columns, table, jobs).trace()


class _Header:
    """Which column holds what."""

    def __init__(self, line: int, names: Sequence[str], ledger: Ledger, columns: Mapping[str, str]) -> None:
        there, listed = set(names), ", ".join(names)
        renamed = {ours: theirs.lower() for ours, theirs in columns.items()}
        for ours, theirs in renamed.items():
            if theirs not in there:
                raise ledger.error(f"line {line}: no column {theirs!r} for {ours}; there are: {listed}")
        self.submit = renamed.get("submit", "submit")
        self.eligible = "eligible" if "eligible" in there and "submit" not in renamed else None
        self.elapsed = renamed.get("service") or next((n for n in ("elapsedraw", "elapsed") if n in there), None)
        self.wait, self.need = renamed.get("wait"), renamed.get("need")
        self.had = {kind: next((name for name in some if name in there), None) for kind, some in HAD.items()}
        self.requested = {kind: name for kind, name in REQUESTED.items() if name in there}
        self.tres = [name for name in ("alloctres", "reqtres") if name in there]
        self.labels = {name: name for name in LABELS if name in there}
        if "partition" in there:
            self.labels["queue"] = "partition"
        self.labels |= {ours: theirs for ours, theirs in renamed.items() if ours not in _OURS}
        if self.submit not in there:
            raise ledger.error(f"line {line}: no column Submit in the header; there are: {listed}")
        if not (self.need or any(self.had.values()) or self.requested or self.tres):
            raise ledger.error(
                f"line {line}: no column AllocCPUS, NCPUS, ReqCPUS, NNodes or AllocTRES; there are: {listed}"
            )
        if self.elapsed is None and not {"start", "end"} <= there:
            raise ledger.error(f"line {line}: no column Elapsed (nor Start and End); there are: {listed}")

    @property
    def standard(self) -> str | None:
        """What counts, of the columns that have a single number: processors before nodes, had before asked for."""
        return next((kind for some in (self.had, self.requested) for kind in HAD if some.get(kind)), None)


class _Log:
    """The rules of sacct, on columns of words."""

    def __init__(self, columns: Mapping[str, Words], table: _Header, jobs: Jobs) -> None:
        self._columns, self._table, self._jobs = columns, table, jobs
        self._told = np.zeros(len(jobs), dtype=np.bool_)  # by AllocTRES, and so ReqTRES does not count

    def trace(self) -> Trace:
        columns, table, jobs = self._columns, self._table, self._jobs
        ids = columns.get("jobid")
        if ids is not None:
            jobs.drop(_holding(ids, "."), STEP)
            jobs.ids = ids
        jobs.drop(self._in_state(*_GOING_ON), UNFINISHED)
        for ours, theirs in (("submit", table.submit), ("eligible", table.eligible), ("start", "start"),
                             ("end", "end" if table.elapsed is None else None), ("service", table.elapsed),
                             ("wait", table.wait), ("need", table.need)):  # fmt: skip
            if theirs is not None and theirs in columns:
                jobs.put(ours, columns[theirs], theirs)
        jobs.labels = {ours: columns[theirs] for ours, theirs in table.labels.items()}
        if "state" in columns:
            jobs.labels["state"] = _stated(columns["state"])
        self._resources()
        if ids is not None:
            jobs.once_each(*(columns[name] for name in ("cluster", "jobid") if name in columns))
        jobs.derive()
        nothing = ~(jobs.value("service") > 0)
        jobs.drop(nothing & self._in_state("CANCELLED"), CANCELLED)
        if "start" in jobs.values:
            jobs.drop(nothing & np.isnan(jobs.value("start")), NEVER_STARTED)
        if ids is not None:
            self._together(ids)
        return jobs.trace("sacct", standard=table.standard, origin=0.0, none_is_wrong=True)

    def _in_state(self, *beginnings: str) -> Bad:
        words = self._columns.get("state")
        if words is None:
            return np.zeros(len(self._jobs), dtype=np.bool_)
        return which(words, lambda word: word.strip().upper().startswith(beginnings))

    def _resources(self) -> None:
        """From the columns of single numbers, and what else AllocTRES tells, or else ReqTRES."""
        jobs, table = self._jobs, self._table
        tres = self._tres()
        for kind in HAD:
            had, requested = self._number(table.had[kind]), self._number(table.requested.get(kind))
            told = [column for column in (had, tres.pop(kind, None), requested) if column is not None]
            if not told:
                continue
            units = told[0]
            for other in told[1:]:
                instead = ~(units > 0) & (other > 0)
                if other is requested and kind == table.standard:
                    counted = instead & jobs.alive & (self._ran())
                    jobs.ledger.repair(REQUESTED_INSTEAD, int(np.count_nonzero(counted)))
                units = np.where(instead, other, units)
            jobs.demand[kind] = units
        jobs.demand |= tres
        if "mem" not in jobs.demand and "reqmem" in self._columns:
            jobs.demand["mem"] = self._memory(self._columns["reqmem"])

    def _ran(self) -> Bad:
        """Which jobs have held anything: those without a run time are skipped later."""
        jobs = self._jobs
        service = jobs.value("service") if "service" in jobs.values else jobs.value("end") - jobs.value("start")
        return np.asarray(service > 0)

    def _number(self, name: str | None) -> Array | None:
        if name is None:
            return None
        values, bad = numbers_of(self._columns[name])
        self._jobs.damage(bad, self._columns[name], name, "a number")
        return values

    def _tres(self) -> dict[str, Array]:
        """Units of everything that AllocTRES tells of, or ReqTRES where that is empty."""
        columns = [self._columns[name] for name in self._table.tres]
        total: dict[str, Array] = {}
        for words, name in zip(columns, self._table.tres, strict=True):
            texts, code = distinct(words)
            found, bad = list[dict[str, float]](), np.zeros(len(texts), dtype=np.bool_)
            for i, word in enumerate(texts):
                try:
                    found.append(tres_of(word))
                except (ValueError, OverflowError):
                    found.append({})
                    bad[i] = True
            empty = np.array([not word.strip() for word in texts], dtype=np.bool_)[code]
            self._jobs.damage(bad[code] & ~self._told, words, name, "like cpu=4,mem=16G,node=1,gres/gpu=8")
            for kind in sorted({kind for one in found for kind in one}, key=_rank):
                units = np.array([one.get(kind, 0.0) for one in found])[code]
                total[kind] = np.where(self._told, total.get(kind, 0.0), units)
            self._told |= ~empty
        return dict(sorted(total.items(), key=lambda item: _rank(item[0])))

    def _memory(self, words: Words) -> Array:
        """ReqMem in MiB: of the job, or (before Slurm 21.08) of each of its nodes (n) or processors (c)."""
        values, _ = by_distinct_word(words, lambda word: mebibytes(word.rstrip("nc")))
        for letter, kind in (("n", "node"), ("c", "cpu")):
            each = which(words, lambda word, letter=letter: word.endswith(letter))  # type: ignore[misc]
            values = np.where(each, values * self._jobs.demand.get(kind, np.ones(len(values))), values)
        return values

    def _together(self, ids: Words) -> None:
        """Components of a heterogeneous job start together: one job that needs what they all do, for the longest."""
        jobs = self._jobs
        groups: dict[tuple[str, float], list[int]] = {}
        submit = jobs.value("submit").tolist()
        for i in np.flatnonzero(jobs.alive & _holding(ids, "+")).tolist():
            groups.setdefault((str(ids[i]).partition("+")[0], submit[i]), []).append(i)
        rest = np.zeros(len(jobs), dtype=np.bool_)
        for first, *others in groups.values():
            members = [first, *others]
            rest[others] = True
            columns = [*jobs.demand.values(), *([jobs.values["need"]] if "need" in jobs.values else [])]
            for column in columns:
                column[first] = np.nansum(column[members])
            service = jobs.values["service"]
            if not np.isnan(service[members]).all():
                service[first] = np.nanmax(service[members])
        jobs.drop(rest, COMPONENT)


def tres_of(text: str) -> dict[str, float]:
    """Units by resource: `billing=4,cpu=4,gres/gpu:h200=8,gres/gpu=8,mem=16G,node=1` has 8 GPUs, told twice."""
    whole: dict[str, float] = {}
    by_type: dict[str, float] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = part.partition("=")
        name = name.strip().lower()
        if not equals:
            raise ValueError(f"not a resource and its number: {part}")
        units = mebibytes(value) if name == "mem" else _count(value)
        kind, colon, _ = name.removeprefix("gres/").partition(":")
        if colon:
            by_type[kind] = by_type.get(kind, 0.0) + units
        elif kind not in ("billing", "energy"):
            whole[kind] = units
    return by_type | whole


def _count(text: str) -> float:
    """A number, perhaps with a letter for thousands: 12K."""
    text = text.strip()
    factor = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:].upper(), 1.0)
    value = float(text[:-1] if factor > 1 else text)
    if not 0 <= value < 1e15 or "_" in text:
        raise ValueError(f"not a number of units: {text}")
    return value * factor


def _rank(kind: str) -> tuple[int, str]:
    usual = ("node", "cpu", "gpu", "mem")
    return (usual.index(kind) if kind in usual else len(usual), kind)


def _stated(words: Words) -> NDArray[np.str_]:
    """Without who cancelled a job: "CANCELLED by 1000" is a state and somebody's number."""
    texts, code = distinct(words)
    return np.array([word.split(" by ")[0] for word in texts], dtype=np.str_)[code]


def _holding(words: Words, letter: str) -> Bad:
    return words.holds(letter) if isinstance(words, Cells) else which(words, lambda word: letter in word)
