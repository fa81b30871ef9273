"""Forecasts of starts: run times are drawn, and the jobs of a snapshot start as the policy lets them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.estimators.forecasts import LEVELS, SortedStarts, seen_in_groups
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.kernels.events.forecast import Forecast, Later
from loynes.questions.answering.machines import Machines, needs_of
from loynes.questions.answering.model_laws import ModelLaws
from loynes.questions.answering.orders import Order
from loynes.questions.answering.placing import on_nodes
from loynes.results.records.eta import RunningForecast, StartForecast
from loynes.traces.run_times import History, RunTimeLaws, full_limits, learn, no_history, remaining
from loynes.traces.snapshot import Snapshot
from loynes.traces.snapshots.read import rows_in_log
from loynes.traces.trace import Trace

DAY, WEEK = 86400.0, 7
STREAM_NOT_ENDED = 34
# A time larger than this is a Unix time, no log's own.
UNIX = 1e8
# Weeks of history from which on days of the week are told apart.
LEAST_WEEKS = 3
# Moments of the outlook, and draws that its bands are made of.
EDGES = 61
BAND_DRAWS = 500
# Under policies that let later jobs pass, a start is looked for so many times as far as jobs that use their whole
# limits would take, but at least and at most so long.
FURTHER, NEAREST, FARTHEST = 2.0, DAY, 60 * DAY


@dataclass(frozen=True, eq=False)
class Draws:
    """Starts of all waiting jobs, in seconds from now, and the busy servers at moments from now on."""

    starts: NDArray[np.float32]  # [draw, job]
    by_limits: Array  # starts if every job took its whole limit
    edges: Array
    busy: Array  # [draw, edge]
    waiting: Ints  # [draw, edge], of the first few draws
    horizon: float
    stopped: bool  # before all draws were made


def check_policy(order: Order, kinds: int) -> None:
    """Refuse policies under which a job that has started may not be running, or that do not know several resources."""
    if kinds > 1 and order.rule.identical_servers_only:
        raise UsageError(f"policy {order.policy!r}: is for identical servers")
    if order.rule.keeps_place:
        raise UsageError(f"policy {order.policy!r}: stops running jobs, so that a start tells little; choose another")
    if order.rule.prepare is not None:
        raise UsageError(
            f"policy {order.policy!r}: is computed for all jobs that come, which a snapshot does not tell; choose "
            "another"
        )


def forecast(
    snapshot: Snapshot,
    laws: RunTimeLaws,
    machines: Machines,
    order: Order,
    *,
    draws: int,
    seed: int,
    later: Later | None,
    context: Context,
    pieces: int = 1,
) -> Draws:
    """The starts of a snapshot's waiting jobs under a policy, in so many draws.

    The last `pieces` jobs are one that was cut: the last of them stands for all, and starts when all have.
    """
    need = np.ascontiguousarray(snapshot.need(machines.units))
    units = np.array(list(machines.units.values()), np.int64)
    alone = classes = None
    if machines.nodes is not None:
        alone, _ = on_nodes(machines.nodes, snapshot, None)
        classes, later = on_nodes(machines.nodes, snapshot, None if order.policy == "fcfs" else later)
    one = Forecast(
        seed, np.zeros(1, np.int64), need, units, snapshot.running, full_limits(snapshot), np.zeros(1), order.rule,
        order.option, classes=alone,
    )  # fmt: skip
    limits = one.new_state()
    context.finishing().recorded_in(None).engine.run(one, limits, 0, 1)
    by_limits = limits.starts[0].astype(np.float64)
    by_limits[-pieces:] = by_limits[-pieces:].max(initial=0.0)
    farthest = float(by_limits.max(initial=0.0))
    in_turn = order.policy == "fcfs"  # whoever comes later does not matter
    horizon = np.inf if in_turn else float(np.clip(FURTHER * farthest, NEAREST, FARTHEST))
    edges = np.linspace(0.0, max(farthest, 1.0), EDGES)
    task = Forecast(
        seed, np.arange(draws), need, units, snapshot.running, laws, edges, order.rule, order.option,
        None if in_turn else later, horizon, classes=classes,
    )  # fmt: skip
    state = task.new_state()
    done, stopped = task.rows, False
    try:
        context.engine.run(task, state, 0, task.rows)
    except Stopped as ended:
        done, stopped = ended.at, True
        if not done:
            raise
    starts = state.starts[:done]
    if pieces > 1:
        starts[:, -1] = starts[:, -pieces:].max(axis=1)
    line = _line(starts[:BAND_DRAWS], edges)
    return Draws(starts, by_limits, edges, state.busy[:done], line, horizon, stopped)


def _line(starts: NDArray[np.float32], edges: Array) -> Ints:
    """How many jobs still wait at each edge, draw by draw."""
    ordered = np.sort(starts, axis=1)
    started = [np.searchsorted(row, edges.astype(np.float32), side="right") for row in ordered]
    return np.asarray(starts.shape[1] - np.array(started, np.int64).reshape(len(starts), len(edges)))


def later_of(
    trace: Trace, kinds: tuple[str, ...], until: float, second: float | None, weekday: int | None
) -> Later | None:
    """Jobs that may come later: whole days of a log before a time, in the log's seconds; None where there is no whole
    day.

    `second` is that of the day now, `weekday` the number of days since 1970; where they are not known, it is taken to
    be the beginning of any day.
    """
    shift = 0.0 if trace.origin is None else trace.origin % DAY
    clock = trace.submit + shift  # days begin at midnight, where the log tells
    count = int((min(until, trace.span) + shift) // DAY)
    begin = 1 if shift > 0 else 0  # the day that was under way when the log began is not whole
    if count - begin < 1:
        return None
    first = np.searchsorted(clock, DAY * np.arange(begin, count + 1)).astype(np.int64)
    season = WEEK if count - begin >= LEAST_WEEKS * WEEK and weekday is not None and trace.origin is not None else 1
    today = 0
    if season == WEEK and weekday is not None and trace.origin is not None:
        today = int(weekday - (int(trace.origin // DAY) + begin)) % WEEK
    requested = trace.requested
    limit = trace.service if requested is None else np.fmax(requested, trace.service)
    return Later(clock - DAY * begin, needs_of(trace, kinds), trace.service, limit, first, second or 0.0, season, today)


@dataclass(frozen=True, eq=False)
class Past:
    """A log, and until when what is in it is known, in its own seconds; no log by default."""

    trace: Trace | None = None
    until: float = math.inf


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of jobs before: laws of run times, and jobs that may come later; nothing by default.

    With a model, run times are by its laws, whatever was learnt.
    """

    learnt: History | None = None
    later: Later | None = None
    source: str = ""
    model: ModelLaws | None = None

    @classmethod
    def of(cls, trace: Trace, start: Array, until: float, kinds: tuple[str, ...], now: float) -> Known:
        """What a log tells at a time `until`, in its own seconds.

        `now` is Unix time where it is that large, else the log's seconds, or NaN where the time of day is not known.
        """
        second = weekday = None
        if math.isfinite(now):
            moment = now if now > UNIX or trace.origin is None else trace.origin + now
            second, weekday = moment % DAY, int(moment // DAY)
        return cls(learn(trace, start, until, kinds), later_of(trace, kinds, until, second, weekday), trace.source)

    def at(self, trace: Trace, kinds: tuple[str, ...], now: float) -> Known:
        """The same laws at a later time of the log, with the days there are by then."""
        moment = now if trace.origin is None else trace.origin + now
        return replace(self, later=later_of(trace, kinds, now, moment % DAY, int(moment // DAY)))

    def while_running(self, snapshot: Snapshot, laws: RunTimeLaws, seed: int) -> Known:
        """The same at a moment of the log when `snapshot` has the jobs that have not ended, whose run times nobody
        knows yet: as later arrivals they have one drawn by their laws, given what they have run."""
        if self.later is None or not snapshot.ids:
            return self
        share = np.random.default_rng([seed, STREAM_NOT_ENDED]).random(len(snapshot.ids))
        rows = rows_in_log(snapshot)
        service, limit = self.later.service.copy(), self.later.limit.copy()
        service[rows] = laws.elapsed + remaining(laws, share)
        limit[rows] = np.fmax(laws.limit, service[rows])
        return replace(self, later=self.later._replace(service=service, limit=limit))

    def laws_of(self, snapshot: Snapshot, kinds: tuple[str, ...]) -> RunTimeLaws:
        if self.model is not None:
            return self.model.laws_of(snapshot, kinds)
        return no_history(snapshot) if self.learnt is None else self.learnt.laws_of(snapshot, kinds)

    @property
    def guessed(self) -> bool:
        """Whether nothing tells how long jobs run."""
        return self.learnt is None and self.model is None

    @property
    def assumed(self) -> tuple[tuple[str, str], ...]:
        """What was assumed of jobs to find their laws: a job's id, and a word."""
        return () if self.model is None else tuple(self.model.assumed.items())

    @property
    def details(self) -> dict[str, Any]:
        """Where run times were learnt, of how many jobs, and how much weight the coarser law has at each level."""
        if self.model is not None:
            return {"model": self.model.model.label}
        if self.learnt is None:
            return {}
        weights = dict(zip(self.learnt.levels, self.learnt.weights, strict=True))
        return {"source": self.source, "jobs": self.learnt.jobs, "weights": weights}


def recorded_starts(trace: Trace) -> Array:
    """When jobs started, as the log says."""
    if np.isnan(trace.wait).all():
        raise UsageError(f"{trace.source}: has no waits recorded, so nobody knows who ran when")
    return np.asarray(trace.submit + np.where(np.isnan(trace.wait), 0.0, trace.wait))


def asked_limits(trace: Trace) -> Array:
    """What jobs had asked for, which some outlived; where nothing was said, the longest run there is."""
    requested = trace.requested
    longest = float(trace.service.max())
    return np.full(trace.jobs, longest) if requested is None else np.where(np.isnan(requested), longest, requested)


def limits_of(trace: Trace) -> Array:
    """What a replay believes that jobs take at most: what they asked for, and of those that outlived it, all."""
    return np.fmax(asked_limits(trace), trace.service)


# The quantiles of an answer, in the order of LEVELS.
QUANTILES = ("low95", "low80", "low50", "median", "high50", "high80", "high95")


class Calibration(Protocol):
    """Other quantiles, and other probabilities, than those of the draws."""

    def quantiles(self, starts: SortedStarts) -> Array: ...

    def chance(self, share: Array) -> Array: ...


def start_forecasts(
    names: Iterable[str],
    snapshot: Snapshot,
    draws: Draws,
    places: Sequence[int],
    within: tuple[float, ...],
    calibration: Calibration | None = None,
) -> tuple[StartForecast, ...]:
    """Of waiting jobs by their places in the snapshot, ascending, under these names; recalibrated where there is a
    calibration."""
    rows = np.array(places, np.int64) - snapshot.running

    def see(starts: SortedStarts) -> Array:
        found = starts.quantiles(LEVELS) if calibration is None else calibration.quantiles(starts)
        shares = [starts.within(x) for x in within]
        soon = shares if calibration is None else [calibration.chance(share) for share in shares]
        return np.column_stack([found, *soon])

    seen = seen_in_groups(draws.starts, rows, see)
    columns = {name: column.tolist() for name, column in zip(QUANTILES, seen.T, strict=False)}
    soon = {f"{x:g}": column.tolist() for x, column in zip(within, seen.T[len(QUANTILES) :], strict=True)}
    by_limits = draws.by_limits[rows].tolist()
    return tuple(
        StartForecast(
            id=name,
            place=int(rows[k]) + 1,
            need={kind: int(units[i]) for kind, units in snapshot.demand.items()},
            limit=float(snapshot.limit[i]),
            **{column: values[k] for column, values in columns.items()},
            within={x: chances[k] for x, chances in soon.items()},
            by_limits=by_limits[k],
        )
        for k, (name, i) in enumerate(zip(names, places, strict=True))
    )


def running_forecasts(snapshot: Snapshot, laws: RunTimeLaws) -> tuple[RunningForecast, ...]:
    left = np.stack([remaining(laws, share / 10) for share in range(1, 10)], axis=1)
    return tuple(
        RunningForecast(
            snapshot.ids[i], {kind: int(units[i]) for kind, units in snapshot.demand.items()},
            float(snapshot.elapsed[i]), float(snapshot.limit[i]), median=float(left[i, 4]), low80=float(left[i, 0]),
            high80=float(left[i, 8]), left=tuple(left[i].tolist()),
        )
        for i in range(snapshot.running)
    )  # fmt: skip


def bands_of(values: Any) -> tuple[tuple[float, float, float], ...]:
    found = np.quantile(values, (0.1, 0.5, 0.9), axis=0, method="inverted_cdf")
    return tuple((float(low), float(middle), float(high)) for low, middle, high in found.T)
