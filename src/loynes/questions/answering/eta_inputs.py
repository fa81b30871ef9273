"""What a forecast begins with: the jobs that are there, what is known of jobs before, and the cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from loynes.errors import UsageError
from loynes.model import Model, load
from loynes.questions.answering.forecasting import Known, Past, fitting, limits_of, recorded_starts
from loynes.questions.answering.log_nodes import MEBIBYTE
from loynes.questions.answering.model_laws import ModelLaws
from loynes.traces.read import read_trace
from loynes.traces.snapshot import Snapshot, check_room
from loynes.traces.snapshots.read import printed_by, read_snapshot, snapshot_at
from loynes.traces.times import stamp
from loynes.traces.trace import Trace

if TYPE_CHECKING:
    from loynes.questions.eta import AskEta


@dataclass(frozen=True, eq=False)
class Inputs:
    """The jobs at one moment, what is known of jobs before, how much there is, and the log that was learnt from."""

    snapshot: Snapshot
    known: Known
    units: dict[str, int]
    past: Past
    warnings: tuple[str, ...] = ()


def inputs_of(asked: AskEta) -> Inputs:
    found = _listed(asked) if asked.log is None else _recorded(asked)
    warnings = () if asked.on is None else _left_out_of(load(asked.on))
    if asked.laws_of is not None:
        laws = ModelLaws(load(asked.laws_of))
        found = replace(found, known=replace(found.known, model=laws))
        warnings += laws.warnings
    return replace(found, warnings=warnings)


def _listed(asked: AskEta) -> Inputs:
    """From what a scheduler lists, and a log besides where there is one."""
    units = _units(asked, None)
    now = math.nan if asked.now is None else _moment(asked.now, None)
    if math.isnan(now) and asked.run is not None:
        now = datetime.now().timestamp()
    snapshot = read_snapshot(
        asked.snapshot or asked.run or "",
        units,
        format=asked.format,
        now=now,
        default_limit=asked.default_limit,
        data=None if asked.run is None else printed_by(asked.run),
    )
    if asked.history is None:
        return Inputs(snapshot, Known(), units, Past())
    return Inputs(snapshot, *_history(asked, units, snapshot.now))


def _recorded(asked: AskEta) -> Inputs:
    """From a moment of a log, and what is known of it by then, or of another log."""
    if asked.now is None:
        raise UsageError("now: say at which moment of the log, in its seconds or as a date")
    trace = read_trace(str(asked.log), unit=asked.unit, resources=tuple(asked.resources))
    units = _units(asked, trace.servers)
    trace, now = fitting(trace, units), _moment(asked.now, trace)
    start = recorded_starts(trace)
    snapshot = snapshot_at(trace, start, now, tuple(units), limits_of(trace))
    check_room(snapshot, units)
    if asked.history is None:
        return Inputs(snapshot, Known.of(trace, start, now, tuple(units), now), units, Past(trace, now))
    return Inputs(snapshot, *_history(asked, units, snapshot.now))


def _history(asked: AskEta, units: dict[str, int], now: float) -> tuple[Known, dict[str, int], Past]:
    """What a log of its own teaches: all of it had happened."""
    past = read_trace(str(asked.history), unit=asked.unit, resources=tuple(asked.resources))
    start = past.submit + np.where(np.isnan(past.wait), 0.0, past.wait)
    until = float((start + past.service).max())
    return Known.of(past, start, until, tuple(units), now), units, Past(past, until)


def _units(asked: AskEta, header: int | None) -> dict[str, int]:
    """How much there is of every resource; by default what a log's header says."""
    if (asked.servers is not None) + bool(asked.resources) + (asked.on is not None) > 1:
        raise UsageError("servers, resources and on: say one of them")
    if asked.resources:
        return dict(asked.resources)
    if asked.on is not None:
        model = load(asked.on)
        # Listings have memory in MiB.
        units = zip(model.kinds, model.units, model.unit_sizes, strict=True)
        return {kind: n if size == 1 else n * int(size) // MEBIBYTE for kind, n, size in units}
    servers = asked.servers if asked.servers is not None else header
    if servers is None:
        raise UsageError("how large is the cluster? Give --servers N, --resources cpu=640,gpu=64, or --on MODEL")
    return {"servers": servers}


def _left_out_of(model: Model) -> tuple[str, ...]:
    """What a forecast does not see of the model that says how large the cluster is."""
    there = {
        "nodes": model.nodes is not None,
        "priorities": model.has_priorities,
        "quotas": bool(model.quotas),
        "scenario": bool(model.scenario),
    }
    names = [name for name, has in there.items() if has]
    if not names:
        return ()
    return (f"the model's {' and '.join(names)} are left out: all {model.size} are one pool, in the listing's order",)


def _moment(text: str, trace: Trace | None) -> float:
    """A time as seconds of the log, or since 1970 where there is none."""
    try:
        value, zoned = stamp(text)
    except (ValueError, OverflowError):
        value, zoned = math.nan, None
    if not math.isfinite(value):
        raise UsageError(f"now {text!r}: must be seconds, or a date such as 2024-03-01T12:00:00")
    if zoned is None or trace is None:
        return value
    if trace.origin is None:
        raise UsageError(f"now {text!r}: {trace.source} does not say when it began; give seconds")
    return value - trace.origin
