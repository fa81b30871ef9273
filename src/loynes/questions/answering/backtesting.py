"""Forecasts at many instants of a log, each from what was known before it, judged by what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.estimators.forecasts import (
    LEVELS,
    PIT_BINS,
    Scores,
    SortedStarts,
    Stretches,
    conformal_levels,
    scores,
    sorted_starts,
    stretches,
)
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.questions.answering.ending import cut_short
from loynes.questions.answering.forecasting import Known, forecast
from loynes.questions.answering.machines import Machines, Places
from loynes.questions.answering.model_laws import ModelLaws
from loynes.questions.answering.orders import Order
from loynes.questions.answering.placing import NoRoomError
from loynes.traces.snapshots.read import rows_in_log, snapshot_at
from loynes.traces.trace import Trace

# Waiting jobs that are judged at an instant at most, evenly over the line.
MOST_JUDGED = 10
# Times at which run times are learnt anew, evenly over the instants.
LESSONS = 24
# Starts that the recent mean wait is taken of.
RECENT = 100
# The part of the log that forecasts begin after: before it there is little to learn from.
LEARNT_FIRST = 0.3
NO_ROOM = "at {} of {} instants the log's running jobs could not all be put on these nodes"
OURS, RECALIBRATED, TO_THE_LIMIT, RECENT_MEAN = "ours", "recalibrated", "all to the limit", "recent mean wait"


@dataclass(frozen=True, eq=False)
class Judged:
    """What forecasts said of waiting jobs, and what happened to them, from each instant on."""

    instants: int
    truth: Array
    scores: tuple[Scores, ...]
    histogram: tuple[int, ...]
    stretches: Stretches
    history: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def chosen_instants(trace: Trace, start: Array, count: int, first: float, seed: int) -> Array:
    """Random times, ascending, after such a part of the log, at which somebody waits: evenly over all such time."""
    begin = float(np.quantile(trace.submit, first))
    changes = np.sort(np.concatenate([trace.submit, start]))
    edges = np.unique(changes[(changes >= begin) & (changes <= trace.span)])
    waiting = np.searchsorted(trace.submit, edges, side="right") - np.searchsorted(np.sort(start), edges, side="right")
    spans = np.where(waiting[:-1] > 0, np.diff(edges), 0.0) if len(edges) > 1 else np.empty(0)
    passed = np.cumsum(spans)
    if not len(passed) or passed[-1] <= 0:
        raise TraceError(f"{trace.source}: nobody waits in it after the first {first:.0%}; on fewer servers some would")
    places = np.sort(np.random.default_rng([seed, 77]).random(count)) * passed[-1]
    cell = np.minimum(np.searchsorted(passed, places, side="right"), len(spans) - 1)
    return np.asarray(edges[cell] + (places - (passed[cell] - spans[cell])))


@dataclass(frozen=True, eq=False)
class Moment:
    """The jobs that are judged at one instant: what was forecast of them, and when they started."""

    now: float
    rows: Ints  # of the log
    truth: Array  # starts, in seconds from the instant on
    drawn: SortedStarts
    by_limits: Array
    known: Known

    @property
    def settled(self) -> float:
        """When all that are judged had started."""
        return float(self.now + self.truth.max())


class Earlier:
    """Where truths fell among their draws at earlier instants; what is known of them at a later one."""

    def __init__(self) -> None:
        self._places: list[Array] = []
        self._settled: list[float] = []

    def add(self, places: Array, settled: float) -> None:
        """Of one instant, all of whose judged jobs had started by `settled`: before, those that start late are
        missing."""
        self._places.append(places)
        self._settled.append(settled)

    def all(self) -> Array:
        return np.concatenate(self._places)

    def levels(self, now: float) -> Array | None:
        """The levels to ask for at `now`, by the instants that had settled by then; None where these are too few."""
        known = [places for places, settled in zip(self._places, self._settled, strict=True) if settled <= now]
        return conformal_levels(np.concatenate(known)) if known else None


def moments(
    trace: Trace,
    start: Array,
    limit: Array,
    machines: Machines,
    order: Order,
    instants: Array,
    *,
    places: Sequence[dict[int, Places]] = (),
    model: ModelLaws | None = None,
    draws: int,
    seed: int,
    context: Context,
) -> Iterator[Moment]:
    """Forecasts at these instants of a log whose jobs started then, each from what was known before it.

    `limit` is what jobs asked for, `places` the nodes of running jobs at each instant, if these are known. Of jobs that
    had not ended by an instant nothing later is looked at. Instants at which running jobs cannot all be put on the
    nodes there are, as a log's own may, are left out.
    """
    known, kinds = Known(), machines.kinds
    lessons = set(np.linspace(0, len(instants) - 1, min(LESSONS, len(instants))).astype(int).tolist())
    for k, now in enumerate(instants.tolist()):
        part = context.part(k / len(instants), 1.0 / len(instants))
        part.progress(0.0, f"instant {k + 1} of {len(instants)}")
        known = Known.of(trace, start, now, kinds, now) if k in lessons else known.at(trace, kinds, now)
        snapshot = snapshot_at(trace, start, now, kinds, limit)
        if places:
            running = rows_in_log(snapshot)[: snapshot.running].tolist()
            snapshot = replace(snapshot, places=tuple(places[k].get(row, ()) for row in running))
        judged = _spread(snapshot.waiting)
        laws = known.laws_of(snapshot, kinds) if model is None else model.laws_of(snapshot, kinds)
        later = known.while_running(snapshot, laws, seed + k).later
        try:
            found = forecast(
                snapshot, laws, machines, order, draws=draws, seed=seed + k, later=later,
                context=context.watched_by(part),
            )  # fmt: skip
        except NoRoomError:
            continue
        rows = rows_in_log(snapshot)[snapshot.running :][judged]
        drawn = sorted_starts(found.starts, judged)
        yield Moment(now, rows, start[rows] - now, drawn, found.by_limits[judged], known)


def backtest(
    trace: Trace,
    start: Array,
    limit: Array,
    machines: Machines,
    order: Order,
    instants: Array,
    *,
    places: Sequence[dict[int, Places]] = (),
    model: ModelLaws | None = None,
    draws: int,
    seed: int,
    context: Context,
) -> Judged:
    """Forecasts at these instants of a log whose jobs started then; jobs are judged by their starts."""
    ways: dict[str, list[Array]] = {OURS: [], RECALIBRATED: [], TO_THE_LIMIT: [], RECENT_MEAN: []}
    truths: list[Array] = []
    earlier = Earlier()
    when: list[Array] = []
    known, warnings = Known(), tuple[str, ...]()
    by_start = np.argsort(start, kind="stable")
    forecasts = moments(
        trace, start, limit, machines, order, instants, places=places, model=model, draws=draws, seed=seed,
        context=context,
    )  # fmt: skip
    try:
        for one in forecasts:
            levels = earlier.levels(one.now)
            used = LEVELS if levels is None else levels.tolist()
            ways[OURS].append(one.drawn.quantiles(LEVELS))
            ways[RECALIBRATED].append(one.drawn.quantiles(used))
            ways[TO_THE_LIMIT].append(_same(one.by_limits))
            usual = trace.submit[one.rows] + _recent_mean(trace, start, by_start, one.now) - one.now
            ways[RECENT_MEAN].append(_same(np.maximum(usual, 0.0)))
            truths.append(one.truth)
            earlier.add(one.drawn.place(one.truth), one.settled)
            when.append(np.full(len(one.truth), one.now))
            known = one.known
    except Stopped:
        if len(truths) < 2:
            raise
        warnings = (cut_short(context.deadline, f"after {len(truths)} of {len(instants)} instants"),)
    else:
        if len(truths) < 2:
            raise UsageError(NO_ROOM.format(len(instants) - len(truths), len(instants)))
        if len(truths) < len(instants):
            warnings = (f"{NO_ROOM.format(len(instants) - len(truths), len(instants))}: left out",)
    truth = np.concatenate(truths)
    stretch, length = stretches(np.concatenate(when))
    judged_scores = tuple(scores(name, np.concatenate(values), truth, stretch) for name, values in ways.items())
    histogram = np.histogram(earlier.all(), bins=PIT_BINS, range=(0.0, 1.0))[0]
    return Judged(
        len(truths), truth, judged_scores, tuple(histogram.tolist()), Stretches(int(stretch.max()) + 1, length),
        known.details, warnings,
    )  # fmt: skip


def earlier_places(
    trace: Trace,
    start: Array,
    limit: Array,
    machines: Machines,
    order: Order,
    instants: Array,
    *,
    places: Sequence[dict[int, Places]] = (),
    model: ModelLaws | None = None,
    draws: int,
    seed: int,
    context: Context,
) -> tuple[Array, int]:
    """Where truths fell among their draws at instants of a history, for recalibration; and at how many instants.

    Where time is up, those that there are by then.
    """
    found: list[Array] = []
    try:
        for one in moments(
            trace, start, limit, machines, order, instants, places=places, model=model, draws=draws, seed=seed,
            context=context,
        ):  # fmt: skip
            found.append(one.drawn.place(one.truth))
    except Stopped:
        if not found:
            raise
    return np.concatenate([np.empty(0), *found]), len(found)


def _spread(waiting: int) -> Ints:
    """Places in a line, evenly over it."""
    return np.unique(np.linspace(0, waiting - 1, min(waiting, MOST_JUDGED)).astype(np.int64))


def _same(value: Array) -> Array:
    """A forecast that is one number, at all levels."""
    return np.repeat(value[:, None], len(LEVELS), axis=1)


def _recent_mean(trace: Trace, start: Array, by_start: Ints, now: float) -> float:
    """The mean wait of the jobs that started last."""
    last = int(np.searchsorted(start[by_start], now, side="right"))
    rows = by_start[max(0, last - RECENT) : last]
    return float((start[rows] - trace.submit[rows]).mean()) if len(rows) else 0.0
