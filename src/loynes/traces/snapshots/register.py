"""The register of formats in which schedulers list their jobs, and how a file's format is told."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from loynes.errors import TraceError
from loynes.traces.ledger import quoted
from loynes.traces.snapshot import Note, SeenJob

PACKAGE = "loynes.traces.snapshots"
BEGINNING = 1 << 14


class Listing(NamedTuple):
    """What a scheduler lists: jobs, when (Unix time, NaN if it does not say), and lines that could not be read."""

    jobs: list[SeenJob]
    now: float
    damaged: list[Note]


@dataclass(frozen=True)
class SnapshotReader:
    """A format; `recognises` is given the first bytes of a file."""

    name: str
    read: Callable[[bytes, str], Listing]
    summary: str
    recognises: Callable[[bytes], bool]
    rank: int


_register: dict[str, SnapshotReader] = {}


def snapshot_reader(
    name: str, *, summary: str, recognises: Callable[[bytes], bool], rank: int = 5
) -> Callable[[Callable[[bytes, str], Listing]], Callable[[bytes, str], Listing]]:
    """The decorator that registers a function read(data, source); those of a lower rank are asked first."""

    def register(read: Callable[[bytes, str], Listing]) -> Callable[[bytes, str], Listing]:
        _register[name] = SnapshotReader(name, read, summary, recognises, rank)
        return read

    return register


def snapshot_readers() -> dict[str, SnapshotReader]:
    """All of them by name, in the order in which they are asked whether a file is theirs."""
    _import_all()
    return {one.name: one for one in sorted(_register.values(), key=lambda one: (one.rank, one.name))}


@functools.cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")


def recognised(data: bytes, source: str) -> SnapshotReader:
    """The reader whose format the data is in."""
    beginning = data[: 2 * BEGINNING].lstrip()[:BEGINNING]
    for one in snapshot_readers().values():
        if one.recognises(beginning):
            return one
    if beginning[:1] == b"{":
        raise TraceError(
            f"{source}: not a listing of jobs: an object in JSON, but neither what squeue --json nor what kubectl get "
            "workloads -o json prints"
        )
    known = ", ".join(snapshot_readers())
    first = quoted(beginning.split(b"\n")[0])
    raise TraceError(f"{source}: not a listing of jobs that is known (first line {first}); known are: {known}")


def markdown_table() -> list[str]:
    """All formats as the rows of a table."""
    rows = [f"| `{one.name}` | {one.summary} |" for one in snapshot_readers().values()]
    return ["| format | what is read |", "| --- | --- |", *rows]
