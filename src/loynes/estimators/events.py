"""Measures from replicas of the event-driven simulation: averages over jobs that ended, and over time."""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.estimate import Estimate, mean_of, probability_from
from loynes.estimators.chains import grid_of, spread_of, tails_of
from loynes.estimators.measures import ALL_JOBS, NOTHING_MORE, Moment, Resource, System, Waits, Wanted, system_from
from loynes.inputs.tables import MANY_CLASSES
from loynes.kernels.events.loop import (
    BOUNDED,
    ENDED,
    KINDS,
    NONE,
    PRESENT,
    RESPONSE,
    RESPONSE_SQUARE,
    SLOWDOWN,
    SPAN,
    WAIT,
    WAIT_SQUARE,
    WAITING,
)
from loynes.kernels.events.replica import ReplicaRecord
from loynes.kernels.tally import Tally
from loynes.model.cluster import Model

# Jobs that arrive within so many mean gaps of a moment tell the wait then.
SOON = 10.0


def waits(
    model: Model, replicas: list[ReplicaRecord], confidence: float, wanted: Wanted = NOTHING_MORE
) -> tuple[dict[str, Waits], dict[str, Estimate], dict[str, dict[float, Estimate]]]:
    """Waits, slowdowns and, if wanted, tails of all jobs, and of every class with jobs in two replicas at least."""
    names = [c.label for c in model.classes]
    groups = [(ALL_JOBS, slice(0, len(names))), *((name, slice(at, at + 1)) for at, name in enumerate(names))]
    measured, slowdowns, tallies = {}, {}, {}
    for name, classes in groups:
        seen = [one for one in replicas if one.observations.sums[classes, ENDED].sum() > 0]
        if len(seen) < 2:
            continue
        observed = [one.observations for one in seen]
        sums = np.array([one.sums[classes].sum(axis=0) for one in observed])
        per_job = sums / sums[:, [ENDED]]

        unit, zero = observed[0].per_unit, np.zeros((len(observed), 1), np.int64)
        looks, none = sums[:, ENDED].astype(np.int64), sums[:, [NONE]].astype(np.int64)
        both = [
            np.array([[histograms.together(classes.start, classes.stop)] for histograms in kind])
            for kind in ([one.waits for one in seen], [one.responses for one in seen])
        ]
        squares = (sums[:, [WAIT]], sums[:, [WAIT_SQUARE]]), (sums[:, [RESPONSE]], sums[:, [RESPONSE_SQUARE]])
        rest = zero.astype(np.float64), np.zeros((len(observed), 0))
        wait = Tally(unit, looks, *squares[0], none, *rest, both[0])
        response = Tally(unit, looks, *squares[1], zero, *rest, both[1])
        measured[name] = Waits(
            wait=spread_of(wait, confidence, wanted),
            response=spread_of(response, confidence, wanted),
            no_wait=probability_from(per_job[:, NONE], len(observed), confidence),
            bounded_slowdown=mean_of(per_job[:, BOUNDED], confidence) if observed[0].shortest > 0.0 else None,
            exceeds=tails_of(wait, confidence, wanted.exceeds),
        )
        slowdowns[name], tallies[name] = mean_of(per_job[:, SLOWDOWN], confidence), wait
    if len(names) > MANY_CLASSES:
        tallies = {ALL_JOBS: tallies[ALL_JOBS]} if ALL_JOBS in tallies else {}  # of very many nothing could be drawn
    grid = grid_of(*tallies.values()) if wanted.tails else ()
    tails = {name: tails_of(tally, confidence, grid) for name, tally in tallies.items()} if wanted.tails else {}
    return measured, slowdowns, tails


def mean_wait(replicas: list[ReplicaRecord], confidence: float) -> Estimate:
    """The mean wait of all jobs: cheap, for watching a run narrow."""
    sums = np.array([one.observations.sums.sum(axis=0) for one in replicas])
    ended = sums[:, ENDED] > 0
    return mean_of(sums[ended, WAIT] / sums[ended, ENDED], confidence)


def paired_difference(
    replicas: list[ReplicaRecord], baseline: list[ReplicaRecord], confidence: float
) -> Estimate | None:
    """Of mean waits, replica by replica, each pair on the same jobs; None where some jobs did not end."""
    if any(one.overrun for one in (*replicas, *baseline)):
        return None
    sums = [np.array([one.observations.sums.sum(axis=0) for one in side]) for side in (replicas, baseline)]
    means = [side[:, WAIT] / side[:, ENDED] for side in sums]
    return mean_of(means[0] - means[1], confidence)


def system(model: Model, replicas: list[ReplicaRecord], confidence: float) -> System:
    """Averages over time, each with its interval: nothing is taken from formulas here."""
    sums = np.array([one.observations.time for one in replicas if one.observations.time[SPAN] > 0])
    if len(sums) < 2:
        raise UsageError("too few jobs to average over time: observe more")
    over = sums / sums[:, [SPAN]]
    kinds = {}
    for place, (kind, units) in enumerate(zip(model.kinds, model.units, strict=True)):
        busy = mean_of(over[:, KINDS + 2 * place], confidence)
        lost = mean_of(over[:, KINDS + 2 * place + 1], confidence).within(0.0, units)
        idle = Estimate(units - busy.estimate, units - busy.high, units - busy.low)
        kinds[kind] = Resource(busy, busy.scaled(1.0 / units), idle, lost)
    # On nodes there is one more column for every kind: what idles because no node has enough together.
    fragmented = over[:, KINDS + 2 * len(model.kinds) :]
    fragmentation = {
        kind: mean_of(fragmented[:, place], confidence).within(0.0, model.units[place])
        for place, kind in enumerate(model.kinds)
        if fragmented.shape[1]
    }
    jobs = [mean_of(over[:, column], confidence) for column in (PRESENT, WAITING)]
    return system_from(model, kinds, jobs[0], jobs[1], fragmentation)


def moments(
    model: Model, rate: float, at: Array, replicas: list[ReplicaRecord], confidence: float
) -> tuple[Moment, ...]:
    """The state at given times, over replicas, and the waits of those that arrive soon after."""
    states = np.array([one.moments for one in replicas])
    rows = []
    for place, when in enumerate(at):
        waits = [_soon(one.observations.jobs, float(when), SOON / rate) for one in replicas]
        spread = _spread(waits, confidence) if sum(map(len, waits)) else (None, None, None)
        scarce = 2 + model.bottleneck
        columns = (0, 1, scarce, scarce + len(model.kinds))
        state = (mean_of(states[:, place, k], confidence).within(0.0, np.inf) for k in columns)
        rows.append(Moment(float(when), *spread, *state))
    return tuple(rows)


def _soon(jobs: Array, when: float, span: float) -> Array:
    """Waits of the observed jobs that arrive within a span of time."""
    arrival = jobs[:, 2]
    return np.asarray(jobs[(arrival >= when) & (arrival < when + span), 0])


def _spread(waits: list[Array], confidence: float) -> tuple[Estimate, Estimate, Estimate]:
    """Mean, median and 95th percentile of waits that depend on each other within a replica."""
    counts = np.array([len(w) for w in waits])
    mean = _ratio(np.array([w.sum() for w in waits]), counts, confidence).within(0.0, np.inf)
    pooled = np.sort(np.concatenate(waits))
    quantiles = []
    for q in (0.5, 0.95):
        # Woodruff's interval (1952): the share of waits below the estimate is q give or take its own half-width.
        estimate = float(np.quantile(pooled, q))
        below = _ratio(np.array([np.count_nonzero(w <= estimate) for w in waits]), counts, confidence).half_width
        low, high = np.quantile(pooled, np.clip([q - below, q + below], 0.0, 1.0))
        quantiles.append(Estimate(estimate, float(low), float(high) if q + below < 1.0 else np.inf))
    return mean, quantiles[0], quantiles[1]


def _ratio(sums: Array, counts: Ints, confidence: float) -> Estimate:
    """Sums in all over jobs in all, linearised: not the mean of the replicas' means, in which few jobs count more."""
    ratio = sums.sum() / counts.sum()
    return mean_of(ratio + (sums - ratio * counts) / counts.mean(), confidence)
