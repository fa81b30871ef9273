"""One door to all formats of snapshots: a file, or the jobs of a log at one moment."""

from __future__ import annotations

import math
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from loynes.arrays import Array
from loynes.errors import TraceError, UsageError
from loynes.traces.snapshot import Snapshot, snapshot_of
from loynes.traces.snapshots.register import recognised, snapshot_readers
from loynes.traces.text import read_bytes
from loynes.traces.trace import Trace

# Seconds that a command may take to list the jobs.
PATIENCE = 60.0


def printed_by(command: str) -> bytes:
    """What a command prints, run as it is written, without a shell."""
    if not command.strip():
        raise UsageError("run: must be a command that lists the jobs, such as 'squeue --json'")
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"run {command!r}: cannot be run: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"run {command!r}: ended with {done.returncode}{': ' + said[-1][:200] if said else ''}")
    return done.stdout


def read_snapshot(
    source: str | Path,
    units: Mapping[str, int],
    *,
    format: str | None = None,
    now: float = math.nan,
    default_limit: float | None = None,
    data: bytes | None = None,
) -> Snapshot:
    """The jobs that a scheduler lists, on so many units of every resource; `now` where the listing does not say it.

    The listing is a file, or `data`, of which the source is the name.
    """
    if data is None:
        data = read_bytes(Path(source))
    elif not data.strip():
        raise TraceError(f"{source}: printed nothing")
    if format is not None and format not in snapshot_readers():
        raise UsageError(f"format {format!r}: must be one of {', '.join(snapshot_readers())}")
    reader = recognised(data, str(source)) if format is None else snapshot_readers()[format]
    listing = reader.read(data, str(source))
    moment = listing.now if math.isnan(now) else now
    found = snapshot_of(
        listing.jobs, units, now=moment, default_limit=default_limit, source=str(source), form=reader.name
    )
    return replace(found, left_out=(*listing.damaged, *found.left_out))


def snapshot_at(trace: Trace, start: Array, now: float, kinds: tuple[str, ...], limit: Array) -> Snapshot:
    """The jobs of a log at a time, in the log's seconds: those that had started by then and not ended, and the line.

    `start` says when each job started, as recorded or in a replay. Waiting jobs are in order of submission.
    """
    last = int(np.searchsorted(trace.submit, now, side="right"))
    begun, submit = start[:last], trace.submit[:last]
    runs = np.flatnonzero((begun <= now) & (begun + trace.service[:last] > now))
    waits = np.flatnonzero(begun > now)
    rows = np.concatenate([runs, waits])
    demand = {kind: trace.demand.get(kind, trace.need)[rows] for kind in kinds}
    elapsed = np.where(np.arange(len(rows)) < len(runs), now - begun[rows], 0.0)
    return Snapshot(
        ids=tuple(str(row + 1) for row in rows.tolist()),
        running=len(runs),
        demand=demand,
        elapsed=elapsed,
        limit=limit[rows],
        submit=submit[rows],
        labels={name: np.asarray(values[rows]).astype(np.str_) for name, values in trace.labels.items()},
        now=now,
        source=trace.source,
        format=trace.format,
    )
