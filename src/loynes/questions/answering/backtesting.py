"""Forecasts at many instants of a log, each from what was known before it, judged by what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError
from loynes.estimators.forecasts import LEVELS, PIT_BINS, Scores, conformal_levels, scores
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.questions.answering.ending import cut_short
from loynes.questions.answering.forecasting import Known, forecast
from loynes.questions.answering.orders import Order
from loynes.traces.snapshots.read import snapshot_at
from loynes.traces.trace import Trace

# Waiting jobs that are judged at an instant at most, evenly over the line.
MOST_JUDGED = 10
# Times at which run times are learnt anew, evenly over the instants.
LESSONS = 24
# Starts that the recent mean wait is taken of.
RECENT = 100
OURS, RECALIBRATED, TO_THE_LIMIT, RECENT_MEAN = "ours", "recalibrated", "all to the limit", "recent mean wait"


@dataclass(frozen=True, eq=False)
class Judged:
    """What forecasts said of waiting jobs, and what happened to them, from each instant on."""

    instants: int
    truth: Array
    scores: tuple[Scores, ...]
    histogram: tuple[int, ...]
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


def backtest(
    trace: Trace,
    start: Array,
    limit: Array,
    units: dict[str, int],
    order: Order,
    instants: Array,
    *,
    draws: int,
    seed: int,
    context: Context,
) -> Judged:
    """Forecasts at these instants of a log whose jobs started then; jobs are judged by their starts."""
    quantiles: list[Array] = []
    better: list[Array] = []
    limits: list[Array] = []
    recent: list[Array] = []
    truths: list[Array] = []
    places: list[Array] = []
    known, warnings, done = Known(), tuple[str, ...](), 0
    by_start = np.argsort(start, kind="stable")
    lessons = set(np.linspace(0, len(instants) - 1, min(LESSONS, len(instants))).astype(int).tolist())
    kinds = tuple(units)
    for k, now in enumerate(instants.tolist()):
        part = context.part(k / len(instants), 1.0 / len(instants))
        part.progress(0.0, f"instant {k + 1} of {len(instants)}")
        known = Known.of(trace, start, now, kinds, now) if k in lessons else known.at(trace, kinds, now)
        snapshot = snapshot_at(trace, start, now, kinds, limit)
        judged = _spread(snapshot.waiting)
        laws = known.laws_of(snapshot, kinds)
        try:
            found = forecast(
                snapshot,
                laws,
                units,
                order,
                draws=draws,
                seed=seed + k,
                later=known.later,
                context=context.watched_by(part),
            )
        except Stopped:
            if done < 2:
                raise
            warnings = (cut_short(context.deadline, f"after {done} of {len(instants)} instants"),)
            break
        rows = np.array([int(name) - 1 for name in snapshot.ids[snapshot.running :]])[judged]
        truth = start[rows] - now
        drawn = found.starts._replace(values=found.starts.values[judged])
        earlier = np.concatenate(places) if places else np.empty(0)
        levels = conformal_levels(earlier)
        quantiles.append(np.stack([drawn.quantile(level) for level in LEVELS], axis=1))
        used = LEVELS if levels is None else levels
        better.append(np.stack([drawn.quantile(float(level)) for level in used], axis=1))
        limits.append(_same(found.by_limits[judged]))
        recent.append(_same(np.maximum(trace.submit[rows] + _recent_mean(trace, start, by_start, now) - now, 0.0)))
        truths.append(truth)
        places.append(drawn.place(truth))
        done += 1
    truth = np.concatenate(truths)
    ways = {OURS: quantiles, RECALIBRATED: better, TO_THE_LIMIT: limits, RECENT_MEAN: recent}
    judged_scores = tuple(scores(name, np.concatenate(values), truth) for name, values in ways.items())
    histogram = np.histogram(np.concatenate(places), bins=PIT_BINS, range=(0.0, 1.0))[0]
    return Judged(done, truth, judged_scores, tuple(histogram.tolist()), known.details, warnings)


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
