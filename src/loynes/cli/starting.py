"""`loynes init`: a model file to start from, by a few questions, from a table of a team's jobs, or with defaults."""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import typer

from loynes.errors import ModelError, UsageError
from loynes.model import load
from loynes.model.starting import (
    BUSY,
    JOBS_PER_HOUR,
    KINDS,
    SERVERS,
    JobKind,
    enough_servers,
    nodes_text,
    starting_text,
)
from loynes.readable import readable
from loynes.reading import read_text
from loynes.results.files import write_text
from loynes.traces.readers.tables import DELIMITERS, NAMES
from loynes.traces.times import duration, number

Answer = TypeVar("Answer")
UNITS = (NAMES["node"], NAMES["cpu"], NAMES["gpu"])
# Ours -> how tables call it, without a unit; the first one there counts, and our own names always do.
COLUMNS: dict[str, tuple[str, ...]] = {
    "name": ("class", "job_class", "job", "type", "kind", "label", "workload", "team", *NAMES["queue"], *NAMES["user"]),
    "need": ("needs", "servers", "size", *(word for words in UNITS for word in words)),
    "jobs": ("jobs_per", "number_of_jobs", "count", "submissions", "rate", "arrivals", "per"),
    "share": ("probability", "fraction", "percent", "percentage", "weight", "prob"),
    "mean": ("mean_duration", "mean_length", "mean_runtime", "mean_run_time", "mean_service", "average", "avg_duration",
             "average_duration", "length", "service", *NAMES["service"]),
    "cv": ("coefficient_of_variation", "c_v", "variation"),
}  # fmt: skip
# Minutes of a unit, as column names and cells end with it.
MINUTES = {
    **dict.fromkeys(("ms", "milliseconds"), 1 / 60_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1 / 60),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 1.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 60.0),
    **dict.fromkeys(("d", "day", "days"), 1440.0),
    **dict.fromkeys(("week", "weeks"), 10_080.0),
}


def begin(
    path: str,
    *,
    table: str | None,
    servers: int | None,
    jobs_per_hour: float | None,
    nodes: bool,
    ask: bool,
    force: bool,
) -> list[str]:
    """Write a model file; one that is there stays, unless it may go. Returns what was taken for granted, in words."""
    notes: list[str] = []
    target = Path(path)
    if target.suffix.lower() != ".toml":
        raise UsageError(f"{path}: a model to start from is written to a .toml file")
    if target.exists() and not force:
        raise UsageError(f"{path}: is there already; --force writes over it")
    if nodes:
        if table is not None or servers is not None:
            raise UsageError("nodes: are no servers, and no table tells of them; change the file that is written")
        text = nodes_text(path, target.stem, jobs_per_hour or JOBS_PER_HOUR)
        load(tomllib.loads(text))
        write_text(target, text)
        return notes
    kinds: Sequence[JobKind] = KINDS
    if table is not None:
        kinds, told = read_kinds(table)
        if jobs_per_hour is None and told is None:
            notes.append(f"jobs per hour: not said, {JOBS_PER_HOUR:g} are assumed")
        jobs_per_hour = jobs_per_hour or told or JOBS_PER_HOUR
        if servers is None:
            servers = enough_servers(jobs_per_hour, kinds)
            notes.append(f"servers: not said, {servers} are assumed, which are {BUSY:.0%} busy or less")
    elif ask:
        servers, jobs_per_hour, kinds = asked(servers, jobs_per_hour)
    elif servers is not None:
        kinds = [replace(kind, need=min(kind.need, servers)) for kind in KINDS]
    text = starting_text(path, target.stem, servers or SERVERS, jobs_per_hour or JOBS_PER_HOUR, kinds)
    load(tomllib.loads(text))  # says what is wrong, before anything is written
    write_text(target, text)
    return notes


def asked(servers: int | None, jobs_per_hour: float | None) -> tuple[int, float, list[JobKind]]:
    """The answers to a few questions; Enter takes what is in brackets."""
    if servers is None:
        servers = _ask("How many servers (cores, GPUs, nodes) are there?", SERVERS, _whole(1))
    if jobs_per_hour is None:
        jobs_per_hour = _ask("How many jobs come in an hour?", JOBS_PER_HOUR, _positive)
    count = _ask("How many kinds of jobs are there?", len(KINDS), _whole(1))
    kinds: list[JobKind] = []
    left = 100.0
    for place in range(count):
        usual = KINDS[place] if place < len(KINDS) else replace(KINDS[0], name=f"class-{place + 1}", share=10.0)
        share = left if place == count - 1 and left > 0 else min(usual.share, left or usual.share)
        name = _ask(f"Kind {place + 1}: what is it called?", usual.name, _another(kinds))
        need = _ask(f"{name}: how many servers does a job take at once?", min(usual.need, servers), _whole(1, servers))
        mean = _ask(f"{name}: how many minutes does a job run, on average?", usual.mean, _positive)
        share = _ask(f"{name}: what percentage of all jobs is it?", share, _positive)
        left = max(left - share, 0.0)
        kinds.append(JobKind(name, need, mean, share))
    return servers, jobs_per_hour, kinds


def _ask(question: str, usual: Answer, read: Callable[[str], Answer]) -> Answer:
    """An answer that can be read; the question comes again until there is one."""
    while True:
        shown = f"{usual:g}" if isinstance(usual, float) else str(usual)
        answer = str(typer.prompt(question, default=shown, err=True)).strip()
        try:
            return usual if answer == shown else read(answer)
        except ValueError as error:
            print(readable(f"  {answer!r}: {error}"), file=sys.stderr)


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            up_to = "" if most is None else f", at most {most}"
            raise ValueError(f"must be a whole number of at least {least}{up_to}")
        return int(text)

    return read


def _positive(text: str) -> float:
    try:
        value = number(text.rstrip("% "))
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise ValueError("must be a number above 0")
    return value


def _another(kinds: Sequence[JobKind]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not text or text in (kind.name for kind in kinds):
            raise ValueError("must be a name that no other kind has")
        return text

    return read


def read_kinds(path: str) -> tuple[list[JobKind], float | None]:
    """The kinds of jobs of a table, a row each, and how many jobs come in an hour, if it says."""
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file in UTF-8"
        raise ModelError(f"{path}: cannot be read: {why}") from None
    rows = [(place, line) for place, line in enumerate(lines, start=1) if line.strip()]
    if len(rows) < 2:
        raise ModelError(f"{path}: must have a line with the names of columns, and a line for each kind of job")
    comma = max(DELIMITERS, key=rows[0][1].count)
    head, *others = ([cell.strip() for cell in next(csv.reader([line], delimiter=comma))] for _, line in rows)
    column = find(head, path)
    kinds: list[JobKind] = []
    for (place, _), cells in zip(rows[1:], others, strict=True):
        row = _Row(path, place, head, dict(zip(head, cells, strict=False)), column)
        kinds.append(row.kind(len(kinds)))
    if "jobs" not in column:
        return kinds, None
    # Of jobs per day and so on, shares are what each brings of all; without "per" they are counts.
    minutes = _unit(column["jobs"])
    return kinds, None if minutes is None else sum(kind.share for kind in kinds) * 60.0 / minutes


def find(head: Sequence[str], path: str) -> dict[str, str]:
    """Our names -> those of the table."""
    words = {_words(name): name for name in reversed(head)}
    column: dict[str, str] = {}
    for ours, called in COLUMNS.items():
        found = next((words[word] for word in (ours, *called) if word in words), "")
        if found:
            column[ours] = found
    if "share" in column and "jobs" in column:
        del column["share"]
    several = [next(words[word] for word in called if word in words) for called in UNITS if {*called} & {*words}]
    if len(several) > 1 and column["need"] in several:
        raise ModelError(f"{path}: what is a server, of {', '.join(several)}? Call that column need")
    for ours, like in (("need", "need, nodes, cpus, gpus"), ("mean", "mean, duration (min), runtime_s")):
        if ours not in column:
            raise ModelError(f"{path}: no column {ours!r} (such as {like}); there are: {', '.join(head)}")
    if "share" not in column and "jobs" not in column:
        raise ModelError(f"{path}: no column of shares (share, jobs per day); there are: {', '.join(head)}")
    return column


def _words(name: str) -> str:
    """A column's name without its unit: `Mean duration (min)` is mean_duration, `jobs per day` jobs_per."""
    parts = re.findall(r"[a-z0-9]+", name.lower())
    while len(parts) > 1 and parts[-1] in MINUTES:
        parts.pop()
    return "_".join(parts)


def _unit(name: str) -> float | None:
    """The minutes of the unit that a column's name ends with."""
    parts = re.findall(r"[a-z0-9]+", name.lower())
    return MINUTES.get(parts[-1]) if len(parts) > 1 else None


class _Row:
    """A line of the table."""

    def __init__(
        self, path: str, place: int, head: Sequence[str], cells: Mapping[str, str], column: Mapping[str, str]
    ) -> None:
        self._where, self._cells, self._column = f"{path}: line {place}", cells, column

    def kind(self, place: int) -> JobKind:
        name = self._cells.get(self._column.get("name", ""), "") or f"class-{place + 1}"
        share = self._number("jobs" if "jobs" in self._column else "share")
        need = self._number("need")
        if need != int(need):
            raise ModelError(f"{self._where}: {self._column['need']} {need:g}: must be a whole number")
        return JobKind(name, int(need), self._minutes(), share, self._number("cv", 1.0))

    def _number(self, ours: str, usual: float | None = None) -> float:
        name = self._column.get(ours, "")
        text = self._cells.get(name, "")
        if usual is not None and not text:
            return usual
        try:
            value = number(text.rstrip("% "))
        except ValueError:
            value = float("nan")
        if not (value > 0 or (ours == "cv" and value == 0)) or value > 1e12:
            raise ModelError(f"{self._where}: {name} {text!r}: must be a number above 0")
        return value

    def _minutes(self) -> float:
        """A length: with a unit in its cell (4 min, 1:30:00) or in the column's name; else minutes."""
        name = self._column["mean"]
        text = self._cells.get(name, "")
        written = re.fullmatch(r"([0-9.eE+-]+)\s*([a-z]+)", text.lower())
        try:
            if written and written[2] in MINUTES:
                value = number(written[1]) * MINUTES[written[2]]
            elif ":" in text:
                value = duration(text) / 60.0
            else:
                value = number(text) * (_unit(name) or 1.0)
        except ValueError:
            value = 0.0
        if not 0 < value < 1e12:
            raise ModelError(f"{self._where}: {name} {text!r}: must be a time above 0, such as 4 min or 1:30:00")
        return value
