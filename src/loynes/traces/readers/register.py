"""The register of readers: what each reads, how its files are told from others, and where the format is described."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loynes.errors import TraceError
from loynes.traces.ledger import Ledger, quoted
from loynes.traces.trace import Trace

PACKAGE = "loynes.traces.readers"
# So many bytes from the beginning of a file must do to recognise it.
BEGINNING = 1 << 14
DUPLICATES = ("runs", "last")


@dataclass(frozen=True)
class Asked:
    """What whoever reads a log wants of it.

    `columns` says where columns of other names are; `unit` what a server is; `resources` which resources count, where
    there is more than one; `duplicates` whether every run of a job that was requeued counts, or its last one alone.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None
    resources: tuple[str, ...] = ()
    duplicates: str = DUPLICATES[0]


@dataclass(frozen=True)
class Reader:
    """A format. `recognises` is given the first bytes of a file; `sure`: what it says counts before a file's ending."""

    name: str
    read: Callable[[bytes, Ledger, Asked], Trace]
    summary: str
    reference: str
    endings: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    sure: bool
    columns: bool  # whether columns of other names can be chosen
    units: str  # what a server may be, by default the first
    rank: int


_register: dict[str, Reader] = {}


def reader(
    name: str,
    *,
    summary: str,
    reference: str,
    units: str,
    recognises: Callable[[bytes], bool],
    endings: tuple[str, ...] = (),
    sure: bool = True,
    columns: bool = False,
    rank: int = 5,
) -> Callable[[Callable[[bytes, Ledger, Asked], Trace]], Callable[[bytes, Ledger, Asked], Trace]]:
    """The decorator that registers a function read(data, ledger, asked); readers of a lower rank are asked first."""

    def register(read: Callable[[bytes, Ledger, Asked], Trace]) -> Callable[[bytes, Ledger, Asked], Trace]:
        _register[name] = Reader(name, read, summary, reference, endings, recognises, sure, columns, units, rank)
        return read

    return register


def readers() -> dict[str, Reader]:
    """All readers by name, in the order in which they are asked whether a file is theirs."""
    _import_all()
    return {one.name: one for one in sorted(_register.values(), key=lambda one: (one.rank, one.name))}


@functools.cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")


def recognised(path: Path, data: bytes) -> Reader:
    """The reader of a file: by its contents where they are clear, else by its ending, else by what it looks like."""
    known, beginning = readers(), data[: 2 * BEGINNING].lstrip()[:BEGINNING]
    for one in known.values():
        if one.sure and one.recognises(beginning):
            return one
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    for one in known.values():
        if endings and endings[-1] in one.endings:
            return one
    for one in known.values():
        if not one.sure and one.recognises(beginning):
            return one
    first = beginning.split(b"\n")[0]
    raise TraceError(f"{path}: format not recognised (first line {quoted(first)}): say which of {', '.join(known)}")


def markdown_table() -> list[str]:
    """All readers as the rows of a table: name, what is read, servers, description."""
    rows = [f"| `{one.name}` | {one.summary} | {one.units} | {one.reference} |" for one in readers().values()]
    return ["| format | what is read | a server is | described in |", "| --- | --- | --- | --- |", *rows]
