"""What a forecast begins with: the jobs that are there, what is known of jobs before, and the cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from loynes.errors import UsageError
from loynes.model import Model, load
from loynes.questions.answering.forecasting import Known, Past, asked_limits, recorded_starts
from loynes.questions.answering.log_nodes import MEBIBYTE, LogNodes, nodes_of
from loynes.questions.answering.machines import Machines
from loynes.questions.answering.model_laws import ModelLaws
from loynes.questions.answering.placing import fitting_on
from loynes.traces.read import read_trace
from loynes.traces.snapshot import Snapshot, check_room
from loynes.traces.snapshots.read import printed_by, read_snapshot, snapshot_at
from loynes.traces.times import stamp
from loynes.traces.trace import Trace

if TYPE_CHECKING:
    from loynes.questions.eta import AskEta
    from loynes.questions.eta_backtest import AskEtaBacktest


@dataclass(frozen=True, eq=False)
class Inputs:
    """The jobs at one moment, what is known of jobs before, what there is, and the log that was learnt from."""

    snapshot: Snapshot
    known: Known
    machines: Machines
    past: Past
    warnings: tuple[str, ...] = ()


def inputs_of(asked: AskEta) -> Inputs:
    found = _listed(asked) if asked.log is None else _recorded(asked)
    warnings = () if asked.on is None else _left_out_of(load(asked.on))
    if asked.laws_of is not None:
        laws = ModelLaws(load(asked.laws_of))
        found = replace(found, known=replace(found.known, model=laws))
        warnings += laws.warnings
    if asked.log is not None and _own_history(asked):
        laws_now = found.known.laws_of(found.snapshot, found.machines.kinds)
        found = replace(found, known=found.known.while_running(found.snapshot, laws_now, asked.seed))
    return replace(found, warnings=warnings)


def _listed(asked: AskEta) -> Inputs:
    """From what a scheduler lists, and a log besides where there is one."""
    machines = machines_of(asked, None)
    now = math.nan if asked.now is None else _moment(asked.now, None)
    if math.isnan(now) and asked.run is not None:
        now = datetime.now().timestamp()
    snapshot = read_snapshot(
        asked.snapshot or asked.run or "",
        machines.most,
        format=asked.format,
        now=now,
        default_limit=asked.default_limit,
        data=None if asked.run is None else printed_by(asked.run),
    )
    if machines.nodes is not None:
        snapshot = fitting_on(machines.nodes, snapshot)
    if asked.history is None:
        return Inputs(snapshot, Known(), machines, Past())
    return Inputs(snapshot, *_history(asked, machines, snapshot.now))


def _recorded(asked: AskEta) -> Inputs:
    """From a moment of a log, and what is known of it by then, or of another log."""
    if asked.now is None:
        raise UsageError("now: say at which moment of the log, in its seconds or as a date")
    trace = read_for(asked, str(asked.log))
    machines = machines_of(asked, trace.servers)
    trace, now = machines.fitting(trace), _moment(asked.now, trace)
    start, kinds = recorded_starts(trace), machines.kinds
    snapshot = snapshot_at(trace, start, now, kinds, asked_limits(trace))
    check_room(snapshot, machines.units)
    if _own_history(asked):
        return Inputs(snapshot, Known.of(trace, start, now, kinds, now), machines, Past(trace, now))
    return Inputs(snapshot, *_history(asked, machines, snapshot.now))


def _own_history(asked: AskEta) -> bool:
    """Whether what is known is what a log tells by the moment asked about, and not all of another log."""
    return asked.history is None or Path(asked.history).resolve() == Path(str(asked.log)).resolve()


def read_for(asked: AskEta | AskEtaBacktest, path: str) -> Trace:
    nodes = _nodes(asked)
    kinds = tuple(asked.resources) if nodes is None else nodes.kinds
    return read_trace(path, unit=asked.unit, resources=kinds)


def _history(asked: AskEta, machines: Machines, now: float) -> tuple[Known, Machines, Past]:
    """What a log of its own teaches: all of it had happened."""
    past = read_for(asked, str(asked.history))
    if machines.nodes is not None:
        past = machines.fitting(past)
    start = past.submit + np.where(np.isnan(past.wait), 0.0, past.wait)
    until = float((start + past.service).max())
    return Known.of(past, start, until, machines.kinds, now), machines, Past(past, until)


def _nodes(asked: AskEta | AskEtaBacktest) -> LogNodes | None:
    """The nodes that were said, or those of the model that says what there is."""
    on = _on(asked)
    if on is not None and load(on).nodes is not None:
        return nodes_of(None, {}, on, asked.placement)
    return nodes_of(asked.nodes, asked.has, None, asked.placement)


def machines_of(asked: AskEta | AskEtaBacktest, header: int | None) -> Machines:
    """How much there is of every resource; by default what a log's header says."""
    on = _on(asked)
    if (asked.servers is not None) + bool(asked.resources) + (on is not None) + (asked.nodes is not None) > 1:
        raise UsageError("servers, resources, nodes and on: say one of them")
    nodes = _nodes(asked)
    if nodes is not None:
        if asked.unit is not None:
            raise UsageError("nodes: unit is for a cluster without them")
        return Machines(nodes.units, nodes)
    if asked.resources:
        return Machines(dict(asked.resources))
    if on is not None:
        model = load(on)
        # Listings have memory in MiB.
        units = zip(model.kinds, model.units, model.unit_sizes, strict=True)
        return Machines({kind: n if size == 1 else n * int(size) // MEBIBYTE for kind, n, size in units})
    servers = asked.servers if asked.servers is not None else header
    if servers is None:
        raise UsageError("how large is it? Give --servers N, --resources cpu=640,gpu=64, --nodes, or --on MODEL")
    return Machines({"servers": servers})


def _on(asked: AskEta | AskEtaBacktest) -> str | None:
    """The model file that says what there is; backtests know the log's own cluster."""
    return getattr(asked, "on", None)


def _left_out_of(model: Model) -> tuple[str, ...]:
    """What a forecast does not see of the model that says how large the cluster is."""
    there = {"priorities": model.has_priorities, "quotas": bool(model.quotas), "scenario": bool(model.scenario)}
    names = [name for name, has in there.items() if has]
    if not names:
        return ()
    return (f"the model's {' and '.join(names)} are left out: jobs are in the listing's order",)


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
