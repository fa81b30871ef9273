"""Workloads in named columns: CSV and Parquet files, dictionaries of arrays, data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from loynes.errors import UsageError
from loynes.reading import PARQUET
from loynes.traces.cells import Lines, header_of
from loynes.traces.jobs import RESOURCES, Jobs
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.units import resource_named
from loynes.traces.words import Words

OURS = ("submit", "need", "service", "wait")
DELIMITERS = ",;\t|"
# Ours -> how files call it, the first one there counts. Our own names always do.
NAMES: dict[str, tuple[str, ...]] = {
    "submit": ("submit_time", "submission_time", "submitted_time", "submitted", "submit_at", "arrival_time", "arrival",
               "creation_time", "create_time", "created", "created_at", "submittime", "queued_time", "qtime"),
    "eligible": ("eligible", "eligible_time", "etime"),
    "start": ("start", "start_time", "started", "started_at", "scheduled_time", "dispatch_time", "begin_time",
              "starttime", "start_at"),
    "end": ("end", "end_time", "ended", "ended_at", "finish_time", "finished", "finished_at", "completion_time",
            "deletion_time", "stop_time", "endtime", "end_at"),
    "service": ("run_time", "runtime", "duration", "elapsed", "elapsedraw", "elapsed_time", "run", "service_time",
                "walltime_used", "wallclock_used"),
    "wait": ("wait_time", "waiting_time", "queue_wait", "wait_seconds"),
    "requested_time": ("requested_time", "wallclock_req", "walltime_req", "req_walltime", "timelimit", "time_limit",
                       "requested_walltime", "wall_time_limit"),
    "node": ("nodes", "nodes_req", "nodes_alloc", "nnodes", "num_nodes", "node_num", "n_nodes", "num_hosts",
             "node_count", "req_nodes"),
    "cpu": ("cpus", "cores", "processors", "processors_req", "cpus_req", "cores_req", "ncpus", "num_cpus", "num_cores",
            "cpu_num", "n_cpus", "n_cores", "cpu_count", "alloccpus", "reqcpus", "num_procs", "procs", "slots"),
    "gpu": ("gpus", "gpus_req", "ngpus", "num_gpus", "num_gpu", "gpu_num", "n_gpus", "gpu_count", "gpus_alloc"),
    "mem": ("mem", "mem_req", "memory", "memory_req", "memory_mib", "memory_mb", "mem_mb", "mem_mib", "reqmem",
            "mem_gb", "memory_gb", "max_mem_gb"),
    "cpu_milli": ("cpu_milli",),
    "gpu_milli": ("gpu_milli",),
    "user": ("user", "user_id", "userid", "username", "uid", "owner"),
    "queue": ("queue", "queue_name", "partition", "vc"),
    "group": ("group", "group_id", "gid"),
}  # fmt: skip
# What a size without a letter counts, in MiB, by the ending of a column's name.
SIZES = {"_gb": 1024.0, "_gib": 1024.0, "_kb": 1 / 1024, "_kib": 1 / 1024}
# Columns that say what jobs are called.
IDS = ("job_id", "jobid", "id", "job", "job_name")
# Every column is looked at.
MOST_COLUMNS = 10_000
TIMES = ("submit", "eligible", "start", "end", "service", "wait", "requested_time")


def _recognises_csv(beginning: bytes) -> bool:
    first = beginning.split(b"\n")[0]
    return any(mark in first for mark in (b",", b"\t", b"|")) and b"\0" not in first


@reader(
    "csv",
    summary="A header, then one job a line; columns are recognised by [their names](#names-of-columns)",
    reference="below",
    units="need; nodes, cpus, gpus, mem",
    endings=(".csv", ".tsv"),
    recognises=_recognises_csv,
    sure=False,
    columns=True,
    rank=9,
)
def read_csv(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    """A header of names, then one job a line. Fields may be quoted; a line end inside quotes is not supported."""
    names, columns, jobs = csv_columns(data, ledger, asked)
    return from_names(columns, find(names, asked, ledger), jobs, "csv")


def csv_columns(
    data: bytes, ledger: Ledger, asked: Asked, names: Sequence[str] | None = None
) -> tuple[list[str], dict[str, Words], Jobs]:
    """Names and columns of a file with a header, or with the names given; of columns of one name the first counts."""
    begin, line, comma = 0, 1, ","
    if names is None:
        line, head, begin = header_of(data, ledger)
        line += 1
        comma = max(DELIMITERS, key=head.count)
        names = [name.strip() for name in _fields(head, comma)]
        if len(names) > MOST_COLUMNS:
            raise ledger.error(f"has {len(names)} columns, at most {MOST_COLUMNS} are read")
        find(names, asked, ledger)  # before a million lines are read in vain
    width = len(names)

    def apart(text: str) -> list[str] | tuple[str, str]:
        fields = text.split(comma) if '"' not in text else _fields(text, comma)
        if len(fields) == width:
            return fields
        return f"{len(fields)} fields", f"{width} separated by {comma!r}, as in the header"

    lines = Lines(data, comma, width, apart, ledger, begin=begin, line=line, quotes=True)
    columns: dict[str, Words] = {}
    for i, name in enumerate(names):
        columns.setdefault(name, lines.column(i))
    return list(names), columns, Jobs(ledger, asked, lines.place, lines.records, lines.damaged)


def _fields(line: str, comma: str) -> list[str]:
    """Of one line: an open quote must not swallow the lines after it."""
    try:
        return next(csv.reader([line], delimiter=comma))
    except csv.Error:
        return []


@reader(
    "parquet",
    summary="The same columns (needs `loynes[io]`); stamps and durations may have their own types",
    reference="below",
    units="need; nodes, cpus, gpus, mem",
    endings=(".parquet", ".pq"),
    recognises=lambda beginning: beginning.startswith(PARQUET),
    columns=True,
    rank=1,
)
def read_parquet(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or use a .csv)") from None
    try:
        table = pq.read_table(io.BytesIO(data))
        arrays = dict[str, Any]()
        for i, name in enumerate(table.column_names):
            arrays.setdefault(str(name), table.column(i).to_numpy())
    except Exception as error:  # a damaged file makes the decoder raise almost anything
        raise ledger.error(f"not a whole Parquet file: {' '.join(str(error).split())[:200]}") from None
    return from_columns(arrays, ledger, asked, "parquet")


def from_columns(table: Mapping[str, Any], ledger: Ledger, asked: Asked, form: str = "arrays") -> Trace:
    """Arrays by name, or whatever numpy makes arrays of."""
    ledger.word = "row"
    arrays: dict[str, Words] = {name: np.asarray(values) for name, values in table.items()}
    shapes = {np.shape(values) for values in arrays.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ledger.error("columns must be one-dimensional and of the same length")
    length = len(next(iter(arrays.values()))) if arrays else 0
    column_of = find(tuple(arrays), asked, ledger)
    return from_names(arrays, column_of, Jobs(ledger, asked, np.arange(1, length + 1), length), form)


def find(names: Sequence[str], asked: Asked, ledger: Ledger) -> dict[str, str]:
    """Our names -> those of the table: those that were told, our own, and those that are known."""
    column_of: dict[str, str] = {}
    for told, theirs in asked.columns.items():
        if theirs not in names:
            raise ledger.error(f"no column {theirs!r} for {told}; there are: {_listed(names)}")
        ours = resource_named(told)
        column_of[ours if ours in RESOURCES else told] = theirs
    known = {name.lower(): name for name in reversed(names)}
    for ours, called in NAMES.items():
        column_of.setdefault(ours, next((known[one] for one in (ours, *called) if one in known), ""))
    for ours in OURS:
        if ours in names:
            column_of.setdefault(ours, "")
            column_of[ours] = asked.columns.get(ours, ours)
    column_of = {ours: theirs for ours, theirs in column_of.items() if theirs}
    if "submit" not in column_of:
        raise ledger.error(f"no column 'submit'; there are: {_listed(names)} (name it with submit=COLUMN)")
    if "service" not in column_of and not {"start", "end"} <= set(column_of):
        raise ledger.error(
            f"no column 'service', nor 'start' and 'end'; there are: {_listed(names)} (name it with service=COLUMN)"
        )
    if not {"need", *RESOURCES} & set(column_of):
        raise ledger.error(f"no column 'need'; there are: {_listed(names)} (name it with need=COLUMN)")
    return column_of


def must_have(needed: Iterable[str], names: Sequence[str], ledger: Ledger) -> None:
    """Refuse a file without columns that its format always has."""
    for name in needed:
        if name not in names:
            raise ledger.error(f"no column {name!r}; there are: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")


def from_names(
    table: Mapping[str, Words], column_of: Mapping[str, str], jobs: Jobs, form: str, standard: str | None = None
) -> Trace:
    """The trace of columns of which it is known what they are."""
    for ours, theirs in column_of.items():
        if ours in (*TIMES, "need", *RESOURCES):
            needed = ours not in ("start", "end") or "service" not in column_of
            plain = next((size for ending, size in SIZES.items() if theirs.lower().endswith(ending)), 1.0)
            jobs.put(ours, table[theirs], theirs, needed, plain)
    used = {column_of[ours] for ours in (*TIMES, "need") if ours in column_of}
    jobs.labels = {name: words for name, words in table.items() if name not in used}
    for ours, theirs in column_of.items():
        if ours not in (*TIMES, "need", *RESOURCES):
            if ours not in NAMES:
                jobs.labels.pop(theirs, None)
            jobs.labels[ours] = table[theirs]
    known = {name.lower(): name for name in reversed(list(table))}
    called = next((known[name] for name in IDS if name in known), None)
    jobs.ids = None if called is None else table[called]
    jobs.derive()
    return jobs.trace(form, standard=standard)


def markdown_names() -> list[str]:
    """What columns are known as, as the rows of a table."""
    rows = [
        f"| `{ours}` | {', '.join(f'`{name}`' for name in called if name != ours)} |" for ours, called in NAMES.items()
    ]
    return ["| what | is known as |", "| --- | --- |", *rows]
