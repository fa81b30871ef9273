"""Servers that are lost while a log is replayed, as they are written: from=2d, until=3d, lost=10%, how=failed."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loynes.errors import UsageError
from loynes.kernels.events.changes import ServerChange
from loynes.model.fields import LARGEST
from loynes.model.scenario import Change, lost_together
from loynes.model.units import time_in
from loynes.questions.answering.log_cluster import FittingJobs
from loynes.questions.answering.log_nodes import LogNodes, all_fit
from loynes.questions.answering.scenario import node_changes, server_changes
from loynes.reading import read_text
from loynes.traces.times import stamp
from loynes.traces.trace import Trace

KEYS = ("name", "from", "until", "lost", "nodes", "how", "announced")
COUNTED = ("lost", "nodes")
# A number with more digits is none of servers.
LONGEST = 20
LIKE = "from=2d, until=3d, lost=10%, how=failed"


def outages_of(texts: Sequence[str], log: Trace) -> tuple[Change, ...]:
    """The outages of a log; times are since its first job, or stamps like 2024-03-01T12:00 where it tells the date."""
    found: list[Change] = []
    for text in texts:
        entries = _entries_of_file(Path(text)) if text.endswith(".toml") else [_pairs(text)]
        found += [_outage(text, entry, log) for entry in entries]
    return tuple(found)


def _pairs(text: str) -> dict[str, Any]:
    """Of resources, lost.gpu=4 says of which; of nodes nodes.big=2."""
    entry: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        name, _, kind = name.partition(".")
        if not equals or not value or name not in KEYS or (kind and name not in COUNTED):
            raise UsageError(f"outage {text!r}: must be written like {LIKE!r}")
        if name in entry and not (kind and isinstance(entry[name], dict) and kind not in entry[name]):
            raise UsageError(f"outage {text!r}: {name} is given twice")
        count: Any = int(value) if name in COUNTED and value.isdecimal() and len(value) < LONGEST else value
        count = value == "true" if name == "announced" and value in ("true", "false") else count
        entry[name] = entry.get(name, {}) | {kind: count} if kind else count
    return entry


def _entries_of_file(path: Path) -> list[dict[str, Any]]:
    try:
        entries = tomllib.loads(read_text(path)).get("scenario")
    except OSError as error:
        raise UsageError(f"outage {str(path)!r}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise UsageError(f"outage {str(path)!r}: is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"outage {str(path)!r}: is no TOML file: {error}") from None
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise UsageError(f"outage {str(path)!r}: has no [[scenario]]")
    return entries


def _outage(text: str, entry: dict[str, Any], log: Trace) -> Change:
    if "from" not in entry or not {"lost", "nodes"} & {*entry}:
        raise UsageError(f"outage {text!r}: must say from when, and what is lost, such as {LIKE!r}")
    for name in entry:
        if name not in KEYS:
            raise UsageError(f"outage {text!r}: {name} is for models; of a log, there are {', '.join(KEYS)}")
    entry = entry | {name: _seconds(text, entry[name], log) for name in ("from", "until") if name in entry}
    try:
        return Change.read(entry)
    except ValidationError as error:
        first = error.errors()[0]
        name = "".join(f"{part}: " for part in first["loc"][:1])
        said = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        if first["loc"][:1] == ("announced",):
            said = "must be true or false"
        if first["type"] == "string_pattern_mismatch":
            said = "must be a number of servers, or a share such as 10%"
        raise UsageError(f"outage {text!r}: {name}{said}") from None


def _seconds(text: str, given: Any, log: Trace) -> float:
    """Since the first job of the log."""
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) <= LARGEST:
        return float(given)
    if not isinstance(given, str):
        raise UsageError(f"outage {text!r}: from and until must be times, such as 2d or 7200 (seconds)")
    try:
        return time_in(given, "seconds")
    except ValueError as error:
        try:
            when, zoned = stamp(given)
        except ValueError:
            raise UsageError(f"outage {text!r}: {error}") from None
    if zoned is None or log.origin is None:
        raise UsageError(f"outage {text!r}: {log.source} does not tell the date; give times since its first job")
    if when < log.origin:
        raise UsageError(f"outage {text!r}: {given} is before the first job of the log")
    return when - log.origin


def lost_of(outages: Sequence[Change], fits: FittingJobs) -> tuple[ServerChange, ...]:
    """When servers or nodes are lost and come back; refused where more are lost than there are, or too few left."""
    if not outages:
        return ()
    if fits.cluster.nodes is not None:
        return _nodes_lost(outages, fits, fits.cluster.nodes)
    units, largest = fits.cluster.units, fits.needs.max(axis=0).tolist()
    kinds, counts = tuple(units), tuple(units.values())
    for outage in outages:
        if outage.nodes:
            raise UsageError("outage nodes: is for a cluster of nodes; here servers are lost, lost=2 or lost=10%")
        named = outage.lost if isinstance(outage.lost, dict) else {}
        for kind in named:
            if kind not in units:
                raise UsageError(f"outage lost.{kind}: no such resource; there are: {', '.join(units)}")
        if isinstance(outage.lost, int) and len(units) > 1:
            raise UsageError(f"outage lost={outage.lost}: must say of which resource: lost.{kinds[0]}={outage.lost}")
    for time, lost in lost_together(outages, [one.lost_of(kinds, counts) for one in outages]):
        for place, (kind, count) in enumerate(units.items()):
            gone = lost[place]
            if gone > count:
                raise UsageError(f"outage: at {time:g} s {gone} {kind} are lost, of {count}")
            if math.isinf(time) and count - gone < largest[place]:
                raise UsageError(f"outage: leaves {count - gone} {kind} for ever, and some jobs need {largest[place]}")
    return server_changes(outages, kinds, counts)


def _nodes_lost(outages: Sequence[Change], fits: FittingJobs, nodes: LogNodes) -> tuple[ServerChange, ...]:
    """The same of nodes, which go with all that they have."""
    names, counts = nodes.names, tuple(nodes.counts.tolist())
    for outage in outages:
        if outage.lost and not isinstance(outage.lost, str):
            raise UsageError("outage lost: nodes are lost whole: say how many, nodes=2, or lost=10% of them")
        if isinstance(outage.nodes, dict):
            for name in outage.nodes:
                if name not in names:
                    raise UsageError(f"outage nodes.{name}: no such entry of [[nodes]]; there are: {', '.join(names)}")
        elif outage.nodes and len(names) > 1:
            raise UsageError(f"outage nodes={outage.nodes}: must say of which: nodes.{names[0]}={outage.nodes}")
    for time, lost in lost_together(outages, [one.nodes_lost_of(names, counts) for one in outages]):
        left = [count - gone for count, gone in zip(counts, lost, strict=True)]
        for n, name in enumerate(names):
            if left[n] < 0:
                raise UsageError(f"outage: at {time:g} s {counts[n] - left[n]} {name} are lost, of {counts[n]}")
        if math.isinf(time) and fits.placed is not None and not all_fit(fits.placed, nodes, left):
            raise UsageError("outage: leaves too few nodes for ever for some of the jobs")
    return node_changes(outages, names, counts, len(nodes.kinds))
