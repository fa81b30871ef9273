"""Listings in columns: what `squeue` prints as text, and CSV, JSON and Parquet files whose columns have known names."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from loynes.errors import TraceError, UsageError
from loynes.reading import PARQUET
from loynes.traces.ledger import quoted
from loynes.traces.snapshot import Note, SeenJob
from loynes.traces.snapshots.arrays import check_count, tasks_of
from loynes.traces.snapshots.hosts import hosts_of
from loynes.traces.snapshots.register import Listing, snapshot_reader
from loynes.traces.times import NOTHING, duration, number, stamp

# What a column is -> how listings call it, in small letters.
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "job_id", "jobid", "job", "jobarrayid"),
    "state": ("state", "st", "job_state", "statecompact", "status"),
    "need": ("need", "servers"),
    "cpu": ("cpu", "cpus", "numcpus", "min_cpus", "mincpus", "cores", "ncpus"),
    "node": ("node", "nodes", "numnodes", "nnodes"),
    "gpu": ("gpu", "gpus"),
    "elapsed": ("elapsed", "time", "timeused", "time_used", "run_time"),
    "limit": ("limit", "time_limit", "timelimit", "requested_time", "walltime"),
    "submit": ("submit", "submit_time", "submittime", "submitted"),
    "start": ("start", "start_time", "starttime"),
    "priority": ("priority", "prioritylong"),
    "hosts": ("nodelist", "nodelist(reason)", "hosts"),
    "reason": ("reason", "nodelist(reason)", "reasonlist", "state_reason"),
    "user": ("user", "username", "user_name", "userid"),
    "queue": ("queue", "partition"),
    "account": ("account",),
}
LABELS = ("user", "queue", "account")
RESOURCES = ("need", "cpu", "node", "gpu")
# Lines that say where columns are.
MOST_LOOKED_AT = 2000
_UNLIMITED = frozenset({"unlimited", "infinite", "not_set", "partition_limit"})
_ARRAY = re.compile(r"([^_]+)_\[(.*)\]")
_COMPONENT = re.compile(r"(\d+)\+(\d+)")


def listing_of(
    names: Sequence[str], rows: Iterable[tuple[str, Sequence[Any]]], source: str, expected: str = ""
) -> Listing:
    """The jobs of a table: names of columns, and rows with the places where they stand."""
    column: dict[str, int] = {}
    for at, name in enumerate(names):
        for ours in (ours for ours, aliases in NAMES.items() if name.strip().lower() in aliases):
            column.setdefault(ours, at)
    listed = ", ".join(quoted(name.strip()) for name in names[:20])
    if "id" not in column:
        raise TraceError(f"{source}: no column for the job's id (id, jobid, ...); there are: {listed}{expected}")
    if not set(RESOURCES) & set(column):
        raise TraceError(f"{source}: no column for what a job needs (need, cpus, nodes, gpus); there are: {listed}")
    jobs, damaged = list[SeenJob](), list[Note]()
    for place, row in rows:
        if len(row) != len(names):
            damaged.append(Note(place, f"has {len(row)} fields, the header {len(names)}"))
            continue
        cells = {ours: _text(row[at]) for ours, at in column.items()}
        try:
            jobs += _jobs(cells)
        except (ValueError, OverflowError) as error:
            damaged.append(Note(cells["id"] or place, str(error)))
        check_count(jobs, source)
    return Listing(jobs, math.nan, damaged)


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def _jobs(cells: Mapping[str, str]) -> list[SeenJob]:
    """The job of a row, or the tasks of its array; ValueError, in words, where a cell cannot be read."""
    name = cells["id"]
    if not name:
        raise ValueError("no id")
    array, component = _ARRAY.fullmatch(name), _COMPONENT.fullmatch(name)
    start, state = _read(cells, "start", lambda word: stamp(word)[0]), cells.get("state", "")
    elapsed = _read(cells, "elapsed", duration)
    if not state:  # a table of jobs may say it by a time of start alone
        state = "running" if not math.isnan(start) or elapsed > 0 else "waiting"
    demand = {kind: _read(cells, kind, number) for kind in RESOURCES if cells.get(kind)}
    job = SeenJob(
        id=name,
        state=state,
        demand={"servers" if kind == "need" else kind: units for kind, units in demand.items()},
        elapsed=elapsed,
        limit=_limit(cells),
        submit=_read(cells, "submit", lambda word: stamp(word)[0]),
        start=start,
        priority=_read(cells, "priority", number),
        reason=cells.get("reason", "").strip("()"),
        labels={label: cells[label] for label in LABELS if cells.get(label)},
        group=component[1] if component else "",
        hosts=() if cells.get("hosts", "").startswith("(") else hosts_of(cells.get("hosts", "")),
    )
    return tasks_of(job, array[2]) if array else [job]


def _read(cells: Mapping[str, str], name: str, reader: Any) -> float:
    word = cells.get(name, "")
    if word.lower() in NOTHING:
        return math.nan
    try:
        return float(reader(word))
    except (ValueError, OverflowError):
        raise ValueError(f"{name} {quoted(word)}: cannot be read") from None


def _limit(cells: Mapping[str, str]) -> float:
    return math.nan if cells.get("limit", "").lower() in _UNLIMITED else _read(cells, "limit", duration)


def _is_squeue(beginning: bytes) -> bool:
    words = beginning.split(b"\n")[0].replace(b"|", b" ").split()
    return bool(words) and any(word in words for word in (b"JOBID", b"JOBARRAYID", b"ARRAY_JOB_ID"))


@snapshot_reader(
    "squeue", summary="Slurm: `squeue -a -O ...` or `squeue -o ...`, with its header", recognises=_is_squeue
)
def read_squeue(data: bytes, source: str) -> Listing:
    """Columns are separated by | or stand below their names; what squeue cuts off at a column's width stays cut off."""
    lines = data.decode("utf-8", "replace").splitlines()
    head, *rest = [line for line in lines if line.strip()]
    numbered = [(f"line {place}", line) for place, line in enumerate(rest, 2)]
    if "|" in head:
        return listing_of(head.split("|"), [(place, line.split("|")) for place, line in numbered], source)
    names, cuts = head.split(), _cuts(head, rest[:MOST_LOOKED_AT])

    def cut(line: str) -> list[str]:
        places = [0, *cuts, max(len(line), cuts[-1] if cuts else 0)]
        return [line[begin:end].strip() for begin, end in itertools.pairwise(places)]

    return listing_of(names, [(place, cut(line)) for place, line in numbered], source)


def _cuts(head: str, lines: Sequence[str]) -> list[int]:
    """Where one column ends and the next begins.

    Columns stand to the left or to the right of their widths, and full ones touch each other: between two names, lines
    are cut where that divides the fewest words, and of equals next to the second name.
    """
    words = [match.span() for match in re.finditer(r"\S+", head)]
    cuts = []
    for (_, end), (begin, _) in itertools.pairwise(words):
        divided = {
            at: sum(line[at - 1 : at + 1].strip() == line[at - 1 : at + 1] != "" for line in lines if len(line) > at)
            for at in range(begin, end - 1, -1)
        }
        cuts.append(min(divided, key=lambda at: divided[at]))
    return cuts


@snapshot_reader(
    "json", summary="A list of objects with known names", recognises=lambda beginning: beginning[:1] in (b"[",), rank=8
)
def read_json(data: bytes, source: str) -> Listing:
    try:
        rows = from_json(data)
    except (ValueError, RecursionError):
        raise TraceError(f"{source}: not a whole JSON document") from None
    found = [(f"entry {place}", row) for place, row in enumerate(rows, 1)]
    objects = [(place, row) for place, row in found if isinstance(row, dict)]
    wrong = [Note(place, "is no object") for place, row in found if not isinstance(row, dict)]
    if not objects:
        return Listing([], math.nan, wrong)
    names = list(dict.fromkeys(str(name) for _, row in objects for name in row))
    listing = listing_of(names, [(place, [row.get(name) for name in names]) for place, row in objects], source)
    return listing._replace(damaged=[*wrong, *listing.damaged])


@snapshot_reader(
    "parquet",
    summary="The same columns (needs `loynes[io]`)",
    recognises=lambda beginning: beginning.startswith(PARQUET),
    rank=1,
)
def read_parquet(data: bytes, source: str) -> Listing:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet files need pyarrow: pip install 'loynes[io]' (or use a .csv)") from None
    try:
        table = pq.read_table(io.BytesIO(data)).to_pydict()
    except Exception as error:  # a damaged file makes the decoder raise almost anything
        raise TraceError(f"{source}: not a whole Parquet file: {' '.join(str(error).split())[:200]}") from None
    names = [str(name) for name in table]
    rows = zip(*table.values(), strict=True)
    return listing_of(names, [(f"row {place}", row) for place, row in enumerate(rows, 1)], source)


@snapshot_reader(
    "csv",
    summary="A header with known names, then one job a line",
    recognises=lambda beginning: (
        beginning[:1] != b"{" and any(mark in beginning.split(b"\n")[0] for mark in (b",", b"\t", b";"))
    ),
    rank=9,
)
def read_csv(data: bytes, source: str) -> Listing:
    text = data.decode("utf-8", "replace")
    head = text.lstrip().split("\n")[0]
    comma = max(",\t;", key=head.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=comma) if any(map(str.strip, row))]
    except csv.Error as error:
        raise TraceError(f"{source}: not a CSV file: {error}") from None
    if not rows:
        raise TraceError(f"{source}: not a CSV file: its fields are all empty")
    return listing_of(rows[0], [(f"row {place}", row) for place, row in enumerate(rows[1:], 1)], source)
