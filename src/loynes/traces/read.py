"""One door to all formats."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import TraceError, UsageError
from loynes.traces.ledger import Ledger
from loynes.traces.readers.register import DUPLICATES, Asked, readers, recognised
from loynes.traces.readers.tables import from_columns
from loynes.traces.text import read_bytes
from loynes.traces.trace import Trace

FORMATS = tuple(readers())


def read_trace(
    source: str | Path | Trace | Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    servers: int | None = None,
    strict: bool = False,
    unit: str | None = None,
    resources: Sequence[str] = (),
    duplicates: str = DUPLICATES[0],
) -> Trace:
    """A recorded workload from a file, or from columns in memory: a dictionary of arrays, a data frame.

    `format` is one of those that docs/traces.md lists; by default the file's contents and ending tell. `columns` says
    where columns of other names are: {"submit": "arrival_time"}. With `servers`, jobs that need more are skipped.
    `unit` says what a server is where a log tells of several things: nodes, cpus, gpus, ...; with `resources`, such as
    ("cpu", "gpu"), jobs that need any of these are kept, and `demand` has how much. Of jobs that were requeued every
    run counts, unless `duplicates` is "last".
    Lines that are damaged, and jobs that never ran, are skipped and counted by reason; `strict` raises `TraceError` at
    the first damaged line instead. docs/traces.md has every rule.
    """
    began = time.perf_counter()
    if servers is not None and servers < 1:
        raise UsageError(f"servers {servers}: must be at least 1")
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r}: must be one of {', '.join(FORMATS)}")
    if duplicates not in DUPLICATES:
        raise UsageError(f"duplicates {duplicates!r}: must be one of {', '.join(DUPLICATES)}")
    if isinstance(source, Trace):
        trace = source
    else:
        asked = Asked(columns or {}, unit, tuple(resources), duplicates)
        with _no_collecting():
            trace = _read(source, format, asked, strict)
        trace = replace(trace, seconds=time.perf_counter() - began)
    if servers is None:
        return trace
    fitting = trace.fitting(servers)
    if fitting.jobs == 0:
        raise TraceError(f"{trace.source}: every one of its {trace.jobs} jobs needs more than {servers} servers")
    return fitting


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Millions of words are made, and no cycles: looking for some takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _read(source: Any, form: str | None, asked: Asked, strict: bool) -> Trace:
    if not isinstance(source, str | Path):
        return from_columns(_table(source), Ledger("arrays", strict), asked)
    path = Path(source)
    data = read_bytes(path)
    reader = recognised(path, data) if form is None else readers()[form]
    if asked.columns and not reader.columns:
        raise UsageError(f"{source}: format {reader.name} has no column names to choose from")
    return reader.read(data, Ledger(str(source), strict), asked)


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
