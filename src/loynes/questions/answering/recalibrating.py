"""Recalibration: quantiles that would have held as often as they should at earlier instants of a history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array
from loynes.errors import UsageError
from loynes.estimators.forecasts import INTERVALS, LEAST_EARLIER, LEVELS, SortedStarts, conformal_levels
from loynes.execution.context import Context
from loynes.questions.answering.backtesting import LEARNT_FIRST, chosen_instants, earlier_places
from loynes.questions.answering.forecasting import Past, asked_limits, limits_of, recorded_starts
from loynes.questions.answering.machines import Machines
from loynes.questions.answering.model_laws import ModelLaws
from loynes.questions.answering.orders import Order
from loynes.results.records.eta import Recalibration
from loynes.traces.trace import rows_of


@dataclass(frozen=True, eq=False)
class Places:
    """Where earlier truths fell among their draws, in order."""

    values: Array
    levels: Array  # asked for in place of LEVELS
    record: Recalibration

    def quantiles(self, starts: SortedStarts) -> Array:
        """[job, LEVELS], as recalibrated."""
        return starts.quantiles(self.levels.tolist())

    def chance(self, share: Array) -> Array:
        """Of a time by which such a share of draws has started: how many earlier truths were that early."""
        return np.asarray(np.searchsorted(self.values, share, side="right") / len(self.values))


def recalibrated(
    past: Past, machines: Machines, order: Order, instants: int, *, model: ModelLaws | None, draws: int, seed: int,
    context: Context,
) -> tuple[Places | None, tuple[str, ...]]:  # fmt: skip
    """From forecasts at so many instants of a history, held against its own starts; None, and why, where too few.

    Where the history has no starts of its own, against a replay under the policy. Instants are before all that
    still waited at `past.until`: how long those wait is not known, and without them the others would wait too short.
    """
    if past.trace is None:
        raise UsageError("recalibrate: needs a history (--history LOG, or --log)")
    trace = machines.fitting(past.trace)
    limit, replay = asked_limits(trace), bool(np.isnan(trace.wait).all())
    look = context.deadline.look
    start = machines.replayed(trace, order, limits_of(trace), look) if replay else recorded_starts(trace)
    waits = (trace.submit <= past.until) & (start > past.until)
    known = trace.submit < float(trace.submit[waits].min(initial=np.inf))
    if np.count_nonzero(known) < 2:
        raise UsageError(f"recalibrate: {trace.source} has no jobs that had started before")
    trace, start, limit = rows_of(trace, known), start[known], limit[known]
    moments = chosen_instants(trace, start, instants, LEARNT_FIRST, seed)
    places = machines.places(trace, order, limits_of(trace), moments, look) if replay else []
    values, used = earlier_places(
        trace, start, limit, machines, order, moments, places=places, model=model, draws=draws, seed=seed + 1,
        context=context,
    )  # fmt: skip
    levels = conformal_levels(values)
    if levels is None:
        few = f"recalibrate: {len(values)} jobs waited at {used} earlier instants of {trace.source}; {LEAST_EARLIER}"
        return None, (f"{few} are needed, so nothing was changed",)
    held = {f"{share:g}": float(np.mean(np.abs(values - 0.5) <= share / 2)) for share in INTERVALS}
    truth = f"a replay under {order.policy}" if replay else "the history's own starts"
    asked = {f"{level:g}": float(one) for level, one in zip(LEVELS, levels, strict=True)}
    return Places(np.sort(values), levels, Recalibration(trace.source, used, len(values), truth, held, asked)), ()
