"""Measures from replicas of the event-driven simulation: averages over jobs that ended, and over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, mean_of, probability_from
from loynes.kernels.events.engine import Simulated
from loynes.kernels.events.loop import KINDS, PRESENT, SPAN, WAITING
from loynes.kernels.tally import Tally
from loynes.model.cluster import Model
from loynes.results.from_replicas import spread_of
from loynes.results.metrics import Resource, System, Waits
from loynes.results.simulation import Moment
from loynes.results.tidy import ALL_JOBS

Array = NDArray[np.float64]

# Jobs that arrive within so many mean gaps of a moment tell the wait then.
SOON = 10.0


def waits(model: Model, found: list[Simulated], confidence: float) -> tuple[dict[str, Waits], dict[str, Estimate]]:
    """Waits and slowdowns of all jobs, and of every class that was seen in two replicas at least."""
    names = [c.label for c in model.classes]
    groups = [(ALL_JOBS, list(range(len(names)))), *((name, [place]) for place, name in enumerate(names))]
    measured, slowdowns = {}, {}
    for name, classes in groups:
        seen = [one for one in found if one.seen.ended[classes].sum() > 0]
        if len(seen) < 2:
            continue
        count = np.array([one.seen.ended[classes].sum() for one in seen])

        def per_job(
            column: str, seen: list[Simulated] = seen, classes: list[int] = classes, count: Array = count
        ) -> Array:
            return np.array([getattr(one.seen, column)[classes].sum() for one in seen]) / count

        def tally(what: str, bins: str, seen: list[Simulated] = seen, classes: list[int] = classes) -> Tally:
            sums = [[[getattr(one.seen, column)[classes].sum()] for one in seen] for column in (what, f"{what}_square")]
            none = np.array([[one.seen.none[classes].sum() if what == "wait" else 0] for one in seen])
            spread = np.array([[getattr(one.seen, bins)[classes].sum(axis=0)] for one in seen])
            looks = np.array([one.seen.ended[classes].sum() for one in seen])
            per_unit = seen[0].seen.per_unit
            return Tally(per_unit, looks, np.array(sums[0]), np.array(sums[1]), none, np.zeros((len(seen), 1)), spread)

        measured[name] = Waits(
            wait=spread_of(tally("wait", "bins"), confidence),
            response=spread_of(tally("response", "response_bins"), confidence),
            no_wait=probability_from(per_job("none"), len(seen), confidence),
        )
        slowdowns[name] = mean_of(per_job("slowdown"), confidence)
    return measured, slowdowns


def system(model: Model, found: list[Simulated], confidence: float) -> System:
    """Averages over time, each with its interval: nothing is taken from formulas here."""
    sums = np.array([one.seen.time for one in found])
    over = sums / sums[:, [SPAN]]
    kinds = {}
    for place, (kind, units) in enumerate(zip(model.kinds, model.units, strict=True)):
        busy = mean_of(over[:, KINDS + 2 * place], confidence)
        lost = mean_of(over[:, KINDS + 2 * place + 1], confidence).within(0.0, units)
        idle = Estimate(units - busy.estimate, units - busy.high, units - busy.low)
        kinds[kind] = Resource(busy, busy.scaled(1.0 / units), idle, lost)
    scarce = kinds[model.kinds[model.bottleneck]]
    return System(
        busy_servers=scarce.busy,
        utilization=scarce.utilization,
        idle_servers=scarce.idle,
        hol_loss=scarce.hol_loss,
        jobs_in_system=mean_of(over[:, PRESENT], confidence),
        jobs_waiting=mean_of(over[:, WAITING], confidence),
        resources=kinds if model.resources else {},
    )


def moments(model: Model, rate: float, at: Array, found: list[Simulated], confidence: float) -> tuple[Moment, ...]:
    """The state at given times, over replicas, and the waits of those that arrive soon after."""
    states = np.array([one.moments for one in found])
    rows = []
    for place, when in enumerate(at):
        waits = [_soon(one.seen.jobs, float(when), SOON / rate) for one in found]
        middle, high = np.quantile(np.concatenate(waits), [0.5, 0.95])
        rows.append(
            Moment(
                float(when),
                _ratio(waits, confidence),
                float(middle),
                float(high),
                *(mean_of(states[:, place, k], confidence) for k in (0, 1, 2 + model.bottleneck)),
            )
        )
    return tuple(rows)


def _soon(jobs: Array, when: float, span: float) -> Array:
    """Waits of the observed jobs that arrive within a span of time."""
    first, last = np.searchsorted(jobs[:, 2], [when, when + span])
    return jobs[first:last, 0]


def _ratio(waits: list[Array], confidence: float) -> Estimate:
    """Waits in all over jobs in all, linearised: not the mean of the replicas' means, in which few jobs count more."""
    sums, counts = np.array([w.sum() for w in waits]), np.array([len(w) for w in waits])
    ratio = sums.sum() / counts.sum()
    return mean_of(ratio + (sums - ratio * counts) / counts.mean(), confidence).within(0.0, np.inf)
