"""One door to all formats."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import TraceError, UsageError
from loynes.traces.columns import from_columns, read_csv, read_parquet
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.sacct import read_sacct
from loynes.traces.swf import FIELDS, read_swf
from loynes.traces.text import PARQUET, read_bytes
from loynes.traces.trace import Trace

FORMATS = ("swf", "sacct", "csv", "parquet")
_ENDINGS = {".swf": "swf", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".sacct": "sacct"}


def read_trace(
    source: str | Path | Trace | Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    servers: int | None = None,
    strict: bool = False,
) -> Trace:
    """A recorded workload from a file, or from columns in memory: a dictionary of arrays, a data frame.

    `format` is one of swf, sacct, csv, parquet; by default the file's ending and contents tell. `columns` says where
    columns of other names are: {"submit": "arrival_time"}. With `servers`, jobs that need more are skipped.
    Lines that are damaged, and jobs that never ran, are skipped and counted by reason; `strict` raises `TraceError` at
    the first damaged line instead. docs/traces.md has every rule.
    """
    began = time.perf_counter()
    if servers is not None and servers < 1:
        raise UsageError(f"servers {servers}: must be at least 1")
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r}: must be one of {', '.join(FORMATS)}")
    if isinstance(source, Trace):
        trace = source
    else:
        trace = replace(_read(source, format, columns or {}, strict), seconds=time.perf_counter() - began)
    if servers is None:
        return trace
    fitting = trace.fitting(servers)
    if fitting.jobs == 0:
        raise TraceError(f"{trace.source}: every one of its {trace.jobs} jobs needs more than {servers} servers")
    return fitting


def _read(source: Any, form: str | None, columns: Mapping[str, str], strict: bool) -> Trace:
    if not isinstance(source, str | Path):
        return from_columns(_table(source), Ledger("arrays", strict), columns)
    path = Path(source)
    data = read_bytes(path)
    ledger = Ledger(str(source), strict)
    match form or _guess(path, data):
        case "swf":
            if columns:
                raise UsageError(f"{source}: an SWF file has no column names to choose from")
            return read_swf(data, ledger)
        case "sacct":
            return read_sacct(data, ledger, columns)
        case "parquet":
            return read_parquet(data, ledger, columns)
        case _:
            return read_csv(data, ledger, columns)


def _guess(path: Path, data: bytes) -> str:
    """By the first line, where that is clear, else by the file's ending."""
    if data.startswith(PARQUET):
        return "parquet"
    first = data.lstrip()[:4096].split(b"\n")[0]
    names = first.lower().split(b"|")
    if b"jobid" in names or (b"submit" in names and len(names) > 1):
        return "sacct"
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    by_name = _ENDINGS.get(endings[-1]) if endings else None
    if by_name is not None:
        return by_name
    if first.startswith(b";") or len(first.split()) == FIELDS:
        return "swf"
    if any(mark in first for mark in (b",", b"\t", b"|")) and b"\0" not in first:
        return "csv"
    raise TraceError(f"{path}: format not recognised (first line {quoted(first)}): say which of {', '.join(FORMATS)}")


def _table(source: Any) -> Mapping[str, Any]:
    """Columns by name, of a mapping, a structured array, a pandas or polars frame or a pyarrow table."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, np.ndarray) and source.dtype.names:
        return {name: source[name] for name in source.dtype.names}
    names = getattr(source, "column_names", None) or getattr(source, "columns", None)
    if names is not None and hasattr(source, "__getitem__"):
        return {str(name): np.asarray(source[name]) for name in names}
    raise UsageError(f"a trace is a path, a mapping of columns or a data frame, not {type(source).__name__}")
