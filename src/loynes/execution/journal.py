"""A journal of what engines did, so that a run that was stopped goes on where it was.

A run that begins again asks for the same tasks in the same order; of each, the last record counts. A record is a file
of arrays (NumPy's .npz, nothing in it is ever executed) whose name holds the SHA-256 of its contents. It is written
whole, then renamed: what is torn or altered does not fit its name and is dropped with all records after it. So a
damaged journal costs time, never a wrong answer.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesError
from loynes.execution.chunks import Delegating, stretches
from loynes.execution.deadline import Stopped
from loynes.kernels.engine import AnyState, Engine, Task

# Seconds between records of a long run, and what is not worth a record.
EVERY = 30.0
CHEAP = 0.1


@dataclass(frozen=True)
class Record:
    """How far a run got, and the arrays it left."""

    key: str
    at: int
    arrays: dict[str, NDArray[Any]]


class Journal:
    """Records of one question's runs, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0  # begun so far in this process
        self._paths: dict[int, Path] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Of two records of a run, where the older was not removed in time, the newer counts.
            for path in sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns):
                number = path.name.partition("-")[0]
                if number.isdecimal():
                    self._paths[int(number)] = path
        except OSError as error:
            raise LoynesError(f"{folder}: cannot be written: {error.strerror}") from None

    @property
    def known(self) -> int:
        """How many runs have a record."""
        return len(self._paths)

    def begin(self, key: str) -> tuple[int, Record | None]:
        """The next run's number, and its record; None if it has none, or was another run then."""
        run = self.runs
        self.runs += 1
        record = _read(self._paths[run]) if run in self._paths else None
        if record is not None and record.key == key:
            return run, record
        if run in self._paths:
            # From here on this is not what was recorded.
            for number in [number for number in self._paths if number >= run]:
                self._paths.pop(number).unlink(missing_ok=True)
        return run, None

    def write(self, run: int, record: Record) -> None:
        """Write a record, wait until it is on disk, and let go of the one before it."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {"_key": np.array(record.key), "_at": np.array(record.at)} | record.arrays
        np.savez(buffer, **arrays)
        contents = buffer.getvalue()
        path = self.folder / f"{run:06d}-{_digest(contents)}.npz"
        draft = path.with_suffix(".part")
        try:
            with draft.open("wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            raise LoynesError(
                f"{self.folder}: cannot be written: {error.strerror}; what was recorded before is kept"
            ) from None
        finally:
            draft.unlink(missing_ok=True)
        before = self._paths.get(run)
        self._paths[run] = path
        if before is not None and before != path:
            before.unlink(missing_ok=True)


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def _read(path: Path) -> Record | None:
    """A record; None if it is not what its name says."""
    try:
        contents = path.read_bytes()
        if path.stem.partition("-")[2] != _digest(contents):
            return None
        with np.load(io.BytesIO(contents), allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        return Record(str(arrays.pop("_key")), int(arrays.pop("_at")), arrays)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


class Journalled(Delegating):
    """An engine that writes down what it has done, and does not do it again."""

    def __init__(self, engine: Engine, journal: Journal) -> None:
        super().__init__(engine)
        self._journal = journal

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        key = f"{task.key(self.name)} {start} {stop}"
        run, record = self._journal.begin(key)
        if record is not None:
            task.restore(state, record.arrays)
            start = record.at
        began = written = time.monotonic()
        try:
            for at in stretches(self._engine, task, state, start, stop):
                now = time.monotonic()
                if (at >= stop and now - began > CHEAP) or now - written > EVERY:
                    self._journal.write(run, Record(key, at, task.saved(state)))
                    written = time.monotonic()
        except Stopped as stopped:
            if stopped.at > start and time.monotonic() - began > CHEAP:
                self._journal.write(run, Record(key, stopped.at, task.saved(state)))
            raise
