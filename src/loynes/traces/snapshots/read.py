"""One door to all formats of snapshots: a file, or the jobs of a log at one moment."""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.traces.snapshot import ABOUT_TO_END, Snapshot, snapshot_of
from loynes.traces.snapshots.register import recognised, snapshot_readers
from loynes.traces.text import read_bytes
from loynes.traces.trace import Trace

# Seconds that a command may take to list the jobs, and how much it may print.
PATIENCE = 60.0
MOST_PRINTED = 1 << 28


def printed_by(command: str) -> bytes:
    """What a command prints, run as it is written, without a shell."""
    if not command.strip():
        raise UsageError("run: must be a command that lists the jobs, such as 'squeue --json'")
    try:
        # Into files: a command that prints without end would fill the memory.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, stdout=out, stderr=err) as running:
                try:
                    _await(running, command, out)
                finally:
                    running.kill()
            out.seek(0)
            if running.returncode:
                said = _last_line(err)
                raise UsageError(f"run {command!r}: ended with {running.returncode}{': ' + said if said else ''}")
            return out.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"run {command!r}: cannot be run: {error}") from None


def _await(running: subprocess.Popen[bytes], command: str, out: IO[bytes]) -> None:
    """Until a command ends; one that takes or prints too much is refused."""
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(subprocess.TimeoutExpired):
            running.wait(0.05)
        if os.fstat(out.fileno()).st_size > MOST_PRINTED:
            raise UsageError(f"run {command!r}: printed more than {MOST_PRINTED >> 20} MiB, which is no list of jobs")
        if running.returncode is not None:
            return
        if time.monotonic() > until:
            raise UsageError(f"run {command!r}: cannot be run: timed out after {PATIENCE:g} seconds")


def _last_line(err: IO[bytes]) -> str:
    """The end of what a command said when it failed."""
    err.seek(-min(err.seek(0, os.SEEK_END), 4096), os.SEEK_END)
    lines = err.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


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

    `start` says when each job started, as recorded or in a replay, and `limit` what each had asked for. Waiting jobs
    are in order of submission. A job that has outlived its limit is taken to end at once, as in a listing.
    """
    last = int(np.searchsorted(trace.submit, now, side="right"))
    begun, submit = start[:last], trace.submit[:last]
    runs = np.flatnonzero((begun <= now) & (begun + trace.service[:last] > now))
    waits = np.flatnonzero(begun > now)
    rows = np.concatenate([runs, waits])
    demand = {kind: trace.demand.get(kind, trace.need)[rows] for kind in kinds}
    elapsed = np.where(np.arange(len(rows)) < len(runs), now - begun[rows], 0.0)
    asked = limit[rows]
    return Snapshot(
        ids=tuple(str(row + 1) for row in rows.tolist()),
        running=len(runs),
        demand=demand,
        elapsed=elapsed,
        limit=np.where(elapsed < asked, asked, elapsed + ABOUT_TO_END),
        submit=submit[rows],
        labels={name: np.asarray(values[rows]).astype(np.str_) for name, values in trace.labels.items()},
        now=now,
        source=trace.source,
        format=trace.format,
    )


def rows_in_log(snapshot: Snapshot) -> Ints:
    """Which jobs of its log those of a snapshot by `snapshot_at` are."""
    return np.array([int(name) - 1 for name in snapshot.ids], np.int64)
