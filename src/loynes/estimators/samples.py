"""Measures from independent samples of the stationary workload: every interval is that of independent observations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, mean_of, probability_from, proportion_of, quantile_of, variance_from
from loynes.estimators.measures import ALL_JOBS, Measures, Waits, Wanted, system_of
from loynes.estimators.tails import grid_to, longest_of
from loynes.estimators.workloads import SampledWaits
from loynes.inputs.elementary import log
from loynes.inputs.jobs import services
from loynes.inputs.philox import STREAM_RESPONSE, long_uniform, short_uniform, words
from loynes.inputs.tables import MANY_CLASSES, JobTable
from loynes.model.cluster import Model

# Waits of samples and classes that are looked at together.
AT_ONCE = 1 << 22


def measures(
    model: Model, rate: float, table: JobTable, sampled: SampledWaits, seed: int, confidence: float, wanted: Wanted
) -> Measures:
    waits, needs = sampled.waits, sampled.needs
    classes: dict[str, Waits] = {}
    seen = {}
    draw = _services(table, sampled, seed)
    own = _own_classes(table, sampled, seed)
    if len(model.classes) > MANY_CLASSES and model.independent:
        classes = _of_many(model, sampled, confidence, wanted)
    for position, job_class in enumerate(model.classes if not classes else ()):
        # Where classes depend on the arrival process, only what a class's own jobs see is what it sees.
        mine = slice(None) if model.independent else np.flatnonzero(own == position)
        wait = seen[job_class.label] = waits[mine, needs.of_class[position]]
        service = draw(position)[mine]
        moments = (job_class.service.mean, job_class.service.variance)
        together = sampled.jobs is not None
        classes[job_class.label] = _class_waits(wait, wait + service, moments, together, confidence, wanted)
    overall = _overall(model, table, sampled, own, seed, confidence, wanted)
    losses = [mean_of(lost, confidence) for lost in sampled.loss.T]
    system = system_of(model, rate, overall.wait.mean, overall.response.mean, losses)
    tails = {}
    if wanted.tails and seen:  # of very many classes nothing is kept that could be drawn
        grid = grid_to(max(map(longest_of, seen.values())))
        chances = {name: _tail(wait, grid, confidence) for name, wait in seen.items()}
        tails = {ALL_JOBS: _overall_tail(model, sampled, grid, confidence), **chances}
    return Measures(overall, classes, system, tails)


def _tail(wait: Array, exceeds: tuple[float, ...], confidence: float) -> dict[float, Estimate]:
    if len(wait) < 2:
        return dict.fromkeys(exceeds, Estimate(math.nan, 0.0, 1.0))
    return {x: proportion_of(int(np.count_nonzero(wait > x)), len(wait), confidence) for x in exceeds}


def _overall_tail(
    model: Model, sampled: SampledWaits, exceeds: tuple[float, ...], confidence: float
) -> dict[float, Estimate]:
    """Of a job of any class, averaged over the class."""
    by_class, p = sampled.waits[:, sampled.needs.of_class], _class_weights(model, sampled)
    return {x: probability_from(np.sum((by_class > x) * p, axis=1), len(by_class), confidence) for x in exceeds}


def _class_waits(
    wait: Array, response: Array, service: tuple[float, float], together: bool, confidence: float, wanted: Wanted
) -> Waits:
    """Of a class, with its service's mean and variance; `together` where services hang together with waits."""
    if len(wait) < 2:  # a class that none of the samples is of
        unknown = [Estimate(math.nan, 0.0, math.inf)] * (2 + len(wanted.quantiles))
        spread, chance = wanted.spread(unknown[0], unknown[1], unknown[2:]), Estimate(math.nan, 0.0, 1.0)
        return Waits(spread, spread, chance, _tail(wait, wanted.exceeds, confidence))
    mean = mean_of(wait, confidence).within(0.0, math.inf)
    variance = variance_from(wait, wait * wait, confidence)
    response_variance = variance.shifted(service[1])
    if together and math.isfinite(service[1]):
        response_variance = variance_from(response, response * response, confidence)
    return Waits(
        wait=wanted.spread(mean, variance, _percentiles(wait, confidence, wanted)),
        response=wanted.spread(mean.shifted(service[0]), response_variance, _percentiles(response, confidence, wanted)),
        no_wait=proportion_of(int(np.count_nonzero(wait == 0.0)), len(wait), confidence),
        exceeds=_tail(wait, wanted.exceeds, confidence),
    )


def _of_many(model: Model, sampled: SampledWaits, confidence: float, wanted: Wanted) -> dict[str, Waits]:
    """Of very many classes: waits of each need, and responses without their percentiles."""
    of_need = [_class_waits(wait, wait, (0.0, 0.0), False, confidence, wanted) for wait in sampled.waits.T]
    unknown = [Estimate(math.nan, 0.0, math.inf)] * len(wanted.quantiles)
    classes = {}
    for c, need in zip(model.classes, sampled.needs.of_class, strict=True):
        seen = of_need[need]
        mean, variance = seen.wait.mean.shifted(c.service.mean), seen.wait.variance.shifted(c.service.variance)
        classes[c.label] = replace(seen, response=wanted.spread(mean, variance, unknown))
    return classes


def _overall(
    model: Model, table: JobTable, sampled: SampledWaits, own: Ints, seed: int, confidence: float, wanted: Wanted
) -> Waits:
    """Means average over the class; percentiles are those of one job whose class is drawn."""
    waits, needs = sampled.waits, sampled.needs
    count = len(waits)
    p = _class_weights(model, sampled)
    mean_service = np.array([c.service.mean for c in model.classes])
    second_service = np.array([c.service.variance + c.service.mean**2 for c in model.classes])

    def summed(of: Callable[[Array, Array], Array]) -> Array:
        """Of every sample, the sum over classes of a function of their waits and probabilities; a few samples at a
        time, as there may be thousands of classes."""
        step = max(1, AT_ONCE // len(model.classes))
        some = [slice(first, first + step) for first in range(0, count, step)]
        parts = (of(waits[rows][:, needs.of_class], p if len(p) == 1 else p[rows]) for rows in some)
        return np.concatenate([np.sum(part, axis=1) for part in parts])

    first, second = summed(lambda w, p: w * p), summed(lambda w, p: w * w * p)
    mean = mean_of(first, confidence).within(0.0, math.inf)
    response_1 = first + p @ mean_service
    response_2 = second + summed(lambda w, p: w * p * (2.0 * mean_service)) + p @ second_service
    service = _own_services(table, sampled, own, seed)
    own_wait = waits[np.arange(count), needs.of_class[own]]
    if np.isfinite(response_2).all():
        if sampled.jobs is not None:
            response_1, response_2 = own_wait + service, (own_wait + service) ** 2
        response_variance = variance_from(response_1, response_2, confidence)
    else:
        response_variance = Estimate.exact(math.inf)
    return Waits(
        wait=wanted.spread(mean, variance_from(first, second, confidence), _percentiles(own_wait, confidence, wanted)),
        response=wanted.spread(
            mean.shifted(model.mean_service), response_variance, _percentiles(own_wait + service, confidence, wanted)
        ),
        no_wait=probability_from(summed(lambda w, p: (w == 0.0) * p), count, confidence),
        exceeds={x: probability_from(summed(partial(_beyond, x)), count, confidence) for x in wanted.exceeds},
    )


def _beyond(x: float, wait: Array, probability: Array) -> Array:
    return (wait > x) * probability


def _percentiles(values: Array, confidence: float, wanted: Wanted) -> list[Estimate]:
    ordered = np.sort(values)
    return [quantile_of(ordered, q, confidence) for q in wanted.quantiles]


def _services(table: JobTable, sampled: SampledWaits, seed: int) -> Callable[[int], Array]:
    """Services of a class, one a sample, independent of its workload; replica 0 is the overall job's.

    Where they hang together, those of the jobs that meet the samples, of whatever class: a class looks at its own only.
    """
    if sampled.jobs is not None:
        service = sampled.jobs[1]
        return lambda position: service
    count = sampled.count
    _, _, high, low = words(seed, STREAM_RESPONSE, 1, np.arange(count))
    u = long_uniform(high, low)
    if not table.simple:
        return lambda position: services(table, np.full(count, position), u)
    energy = -log(u)
    return lambda position: table.p[position] * energy


def _class_weights(model: Model, sampled: SampledWaits) -> Array:
    """The probability of each class at each sample's arrival; one row for all where they are all the same."""
    p = np.array([c.probability for c in model.classes])
    return p[None, :] if model.independent else sampled.weights[:, sampled.needs.of_class]


def _own_classes(table: JobTable, sampled: SampledWaits, seed: int) -> Ints:
    """The class of each sample's own job."""
    if sampled.jobs is not None:
        return sampled.jobs[0]
    pick = words(seed, STREAM_RESPONSE, 0, np.arange(sampled.count))[0]
    if not sampled.needs.phase_weight.size:
        return np.searchsorted(table.class_cut, pick, side="right").astype(np.int64)
    below = np.cumsum(sampled.weights[:, sampled.needs.of_class], axis=1)
    return np.asarray(np.sum(short_uniform(pick)[:, None] >= below[:, :-1], axis=1), np.int64)


def _own_services(table: JobTable, sampled: SampledWaits, own: Ints, seed: int) -> Array:
    if sampled.jobs is not None:
        return sampled.jobs[1]
    _, _, high, low = words(seed, STREAM_RESPONSE, 0, np.arange(len(own)))
    return services(table, own, long_uniform(high, low))
