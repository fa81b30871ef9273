"""Measures from the tallies of independent chains.

Row r of a tally gives the averages of one replica; averages of different replicas are independent. Means have Student
intervals.

A percentile's interval comes from that of a probability. Let F be the true distribution function of the wait, F_r that
of replica r and F* their mean. At a fixed x the F_r(x) are independent with mean F(x), so F(x) lies within h of F*(x),
h the half-width of a Student interval. The q-quantile x_q has F(x_q) = q, so q - h <= F*(x_q) <= q + h but for the
interval's own error: x_q lies between the places where F* reaches q - h and q + h (the longer h on the side of the
longer tail, as for means). Two things are not known exactly and
taken on the safe side: h belongs to x_q, which is unknown, and is taken at the estimate (the larger of the values at
both ends of its bin, and no less than the same number of independent observations would leave); and a wait is known
only up to its bin, so that both ends are moved to the outer edges of their bins. This is the method of Woodruff (1952).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from loynes.arrays import Array
from loynes.estimate import Estimate, half_width, mean_of, probability_from, skewness_extension, student, variance_from
from loynes.estimators.measures import ALL_JOBS, NOTHING_MORE, Measures, Spread, Waits, Wanted, system_of
from loynes.estimators.regression import AS_THEY_ARE, Regression
from loynes.estimators.tails import RAREST, grid_to
from loynes.inputs.tables import MANY_CLASSES, Needs
from loynes.kernels.tally import Tally, bin_edges
from loynes.model.cluster import Model

# Looks by secants before a quantile is found by bisection.
MOST_SECANTS = 12


def overall_wait(tally: Tally, needs: Needs, confidence: float, regression: Regression = AS_THEY_ARE) -> Estimate:
    """The mean wait of all jobs: cheap, for watching a run narrow."""
    return mean_of(regression(mean_waits(tally, needs)), confidence)


def mean_waits(tally: Tally, needs: Needs) -> Array:
    """Of all jobs, by replica."""
    return np.asarray((tally.wait @ needs.weight) / tally.looks)


def measures(
    model: Model,
    rate: float,
    needs: Needs,
    tally: Tally,
    confidence: float,
    wanted: Wanted = NOTHING_MORE,
    responses: Tally | None = None,
    quickly: bool = False,
    regression: Regression = AS_THEY_ARE,
    grid: tuple[float, ...] | None = None,
) -> Measures:
    """Of a tally of waits, and one of responses where a job's service hangs together with its wait.

    All but the ends of what is rare is regressed on controls, if there are any.

    Quickly, or of very many classes: without the percentiles of responses, which take longest. Tails, if wanted, are
    over the grid that is given, or over one of their own.
    """
    waits = _waits_of(needs, tally, confidence, wanted, regression)
    waits.quickly = quickly or len(model.classes) > MANY_CLASSES
    if responses is not None:
        waits.responses = _waits_of(needs, responses, confidence, wanted, regression)
    shares = {c.label: {position: 1.0} for position, c in enumerate(model.classes)}
    everyone = {position: c.probability for position, c in enumerate(model.classes)}
    classes = {name: waits.of(model, share) for name, share in shares.items()}
    overall = waits.of(model, everyone)
    losses = [mean_of(regression(lost / tally.looks), confidence) for lost in tally.loss.T]
    system = system_of(model, rate, overall.wait.mean, overall.response.mean, losses)
    tails = {}
    if wanted.tails:
        at = grid_of(tally) if grid is None else grid
        shown = {ALL_JOBS: everyone} | (shares if len(shares) <= MANY_CLASSES else {})
        weights = {name: mixture_of(model, needs, share).weight for name, share in shown.items()}
        tails = {name: waits.tails(weight, at) for name, weight in weights.items()}
    return Measures(overall, classes, system, tails)


def grid_of(*tallies: Tally) -> tuple[float, ...]:
    """Where P(wait > x) is shown: up to the longest wait of any need and tally, but for one in ten thousand."""
    longest = 0.0
    for tally in tallies:
        seen = tally.bins.sum(axis=0, dtype=np.float64)
        above = seen.sum(axis=1, keepdims=True) - np.cumsum(seen, axis=1)
        last = int(np.max(np.argmax(above <= RAREST * seen.sum(axis=1, keepdims=True), axis=1)))
        longest = max(longest, float(bin_edges(1.0 / tally.per_unit)[last + 1]) if last else 0.0)
    return grid_to(longest)


def spread_of(tally: Tally, confidence: float, wanted: Wanted = NOTHING_MORE) -> Spread:
    """Mean, variance and percentiles of the one time that a tally is about."""
    return _alone(tally, confidence, wanted).spread(np.ones(1))


def tails_of(tally: Tally, confidence: float, grid: tuple[float, ...]) -> dict[float, Estimate]:
    """P(time > x) over a grid of the one time that a tally is about."""
    return _alone(tally, confidence, NOTHING_MORE).tails(np.ones(1), grid)


def _alone(tally: Tally, confidence: float, wanted: Wanted) -> _Waits:
    return _waits_of(Needs._make([np.zeros(1)] * len(Needs._fields)), tally, confidence, wanted, AS_THEY_ARE)


def _waits_of(needs: Needs, tally: Tally, confidence: float, wanted: Wanted, regression: Regression) -> _Waits:
    looks = tally.looks[:, None].astype(np.float64)
    return _Waits(needs, tally.wait / looks, tally.square / looks, _Histogram(tally), confidence, wanted, regression)


class Mixture(NamedTuple):
    """Jobs of some classes: p_k of need k, and their services."""

    weight: Array  # [need], p_k
    cross: Array  # [need], 2 p_k E[service | need k]: times E[wait], twice the mean of wait x service
    service_1: float  # E[service]
    service_2: float  # E[service^2]


def mixture_of(model: Model, needs: Needs, share: dict[int, float]) -> Mixture:
    """Of classes: position -> probability."""
    weight, cross = np.zeros(len(needs.need)), np.zeros(len(needs.need))
    service_1 = service_2 = 0.0
    for position, p in share.items():
        k, law = needs.of_class[position], model.classes[position].service
        weight[k] += p
        cross[k] += 2.0 * p * law.mean
        service_1 += p * law.mean
        service_2 += p * (law.variance + law.mean**2)
    return Mixture(weight, cross, service_1, service_2)


class _Histogram:
    """Frequencies of waits by [replica, need, bin], up to the last bin ever hit, with zero waits on their own."""

    def __init__(self, tally: Tally) -> None:
        edges = bin_edges(1.0 / tally.per_unit)
        hit = np.flatnonzero(tally.bins.any(axis=(0, 1)))
        last = int(hit[-1]) + 1 if hit.size else 1
        looks = tally.looks[:, None, None].astype(np.float64)
        self.looks = int(tally.looks.sum())
        self.low, self.high = edges[:last], edges[1 : last + 1]
        self.middle = 0.5 * (self.low + self.high)
        self.mass = tally.bins[:, :, :last] / looks
        self.zero = tally.none / tally.looks[:, None]
        self.mass[:, :, 0] -= self.zero

    @functools.cached_property
    def pooled(self) -> tuple[Array, Array]:
        """Zero waits by [need] and the others by [need, bin], over all replicas."""
        return self.zero.mean(axis=0), self.mass.mean(axis=0)

    def mixed(self, weight: Array, first: int = 0) -> Array:
        """Of a mixture of needs, by [replica, bin] from a bin on."""
        (needs,) = np.nonzero(weight)
        if len(needs) == 1:
            # A class has one need: looking at all of them would make many classes cost as much as their square.
            return np.asarray(self.mass[:, needs[0], first:] * weight[needs[0]])
        return np.asarray(np.einsum("rkb,k->rb", self.mass[:, :, first:], weight))


class _Waits:
    def __init__(
        self,
        needs: Needs,
        first: Array,
        second: Array,
        histogram: _Histogram,
        confidence: float,
        wanted: Wanted,
        regression: Regression,
    ) -> None:
        self.needs, self.first, self.second, self.wanted = needs, first, second, wanted
        self.histogram, self.confidence, self.quickly = histogram, confidence, False
        self.regression = regression
        self._known: dict[bytes, Waits] = {}
        self._known_tails: dict[tuple[bytes, tuple[float, ...]], dict[float, Estimate]] = {}
        self.responses: _Waits | None = None  # seen, where they do not follow from waits and services apart

    def spread(self, weight: Array) -> Spread:
        """Mean, variance and percentiles of a mixture of columns."""
        first, second = self.first @ weight, self.second @ weight
        mean = mean_of(self.regression(first), self.confidence).within(0.0, math.inf)
        variance = variance_from(first, second, self.confidence, self.regression)
        return self.wanted.spread(mean, variance, self._wait_percentiles(weight))

    def of(self, model: Model, share: dict[int, float]) -> Waits:
        """Waits of a mixture of classes: class position -> probability."""
        confidence = self.confidence
        weight, cross, service_1, service_2 = mixture_of(model, self.needs, share)
        first, second = self.first @ weight, self.second @ weight
        seen_waits = self._of_needs(weight)
        mean = seen_waits.wait.mean
        response_2 = second + self.first @ cross + service_2
        finite = math.isfinite(service_2)
        variance = Estimate.exact(math.inf)
        if finite:
            variance = variance_from(first + service_1, response_2, confidence, self.regression)
        if self.responses is not None:
            seen = self.responses.spread(weight)
            variance = seen.variance if finite else variance
            percentiles = [seen.p50, seen.p90, seen.p95, seen.p99, *seen.percentiles.values()]
        elif self.quickly:
            percentiles = [Estimate(math.nan, 0.0, math.inf)] * len(self.wanted.quantiles)
        else:
            percentiles = self._response_percentiles(model, share)
        return replace(seen_waits, response=self.wanted.spread(mean.shifted(service_1), variance, percentiles))

    def _of_needs(self, weight: Array) -> Waits:
        """Waits of a mixture of needs, the same for all classes of a need; the response is not known here."""
        key = weight.tobytes()
        if key not in self._known:
            first, second = self.first @ weight, self.second @ weight
            mean = mean_of(self.regression(first), self.confidence).within(0.0, math.inf)
            if mean.high == 0.0:
                mean = Estimate(0.0, 0.0, math.inf)  # nobody was seen to wait, which is no proof that nobody does
            variance = variance_from(first, second, self.confidence, self.regression)
            wait = self.wanted.spread(mean, variance, self._wait_percentiles(weight))
            self._known[key] = Waits(
                wait=wait,
                response=wait,
                no_wait=self._probability(self.histogram.zero @ weight),
                exceeds={x: self._tail(weight, x) for x in self.wanted.exceeds},
            )
        return self._known[key]

    def _probability(self, values: Array) -> Estimate:
        return probability_from(self.regression(values), len(values), self.confidence)

    def _tail(self, weight: Array, x: float) -> Estimate:
        """P(wait > x): part of x's own bin for the estimate, none of it for the low end, all of it for the high end."""
        h = self.histogram
        at = self._bin_of(x)
        mass = h.mixed(weight, at)
        return self._beyond(x, at, mass[:, 0], mass[:, 1:].sum(axis=1))

    def tails(self, weight: Array, grid: tuple[float, ...]) -> dict[float, Estimate]:
        """P(wait > x) over a grid; the same for all classes of a need."""
        key = weight.tobytes(), grid
        if key not in self._known_tails:
            mass = self.histogram.mixed(weight)
            above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1] - mass
            places = [self._bin_of(x) for x in grid]
            self._known_tails[key] = {
                x: self._beyond(x, at, mass[:, at], above[:, at]) for x, at in zip(grid, places, strict=True)
            }
        return self._known_tails[key]

    def _bin_of(self, x: float) -> int:
        high = self.histogram.high
        return min(int(np.searchsorted(high, x, side="right")), len(high) - 1)

    def _beyond(self, x: float, at: int, inside: Array, above: Array) -> Estimate:
        """P(wait > x) from the mass inside and above x's bin, by replica."""
        low, high = self.histogram.low[at], self.histogram.high[at]
        part = min(max((high - x) / (high - low), 0.0), 1.0)
        least, most = self._probability(above).low, self._probability(above + inside).high
        centre = float(np.mean(self.regression(above + part * inside)))
        return Estimate(min(max(centre, least), most), least, most)

    def _halves(self, values: Array, q: float) -> Array:
        """How far above and below its estimate a distribution function may lie near q: the replicas' half-width, longer
        on the side of a skewed sample's long tail, but no less than independent looks leave."""
        least = student(self.confidence, len(values)) * math.sqrt(q * (1.0 - q) / self.histogram.looks)
        values = self.regression(values)
        half, longer = half_width(values, self.confidence), skewness_extension(values, self.confidence)
        return np.maximum(half * (1.0 + np.maximum([longer, -longer], 0.0)), least)

    def _wait_percentiles(self, weight: Array) -> list[Estimate]:
        h = self.histogram
        zero = h.zero @ weight
        cumulative = np.cumsum(h.mixed(weight), axis=1) + zero[:, None]
        plain = cumulative.mean(axis=0)
        percentiles = []
        for q in self.wanted.quantiles:
            at = min(int(np.searchsorted(plain, q)), len(plain) - 1)
            before = cumulative[:, at - 1] if at else zero
            above, below = np.maximum(self._halves(cumulative[:, at], q), self._halves(before, q))
            pooled, none = (self.regression.mean(cumulative[:, at], rows) for rows in (cumulative, zero))
            # Where a regression leaves it not quite growing: the first place that reaches a level, and the last one.
            first = np.maximum.accumulate(pooled)
            last = np.minimum.accumulate(pooled[::-1])[::-1]
            centre = self._inverse(first, float(none), q, None)
            percentiles.append(
                Estimate(
                    centre,
                    min(centre, self._inverse(first, float(none), q - above, h.low)),
                    # Beyond what was seen nothing is known: the interval is open above.
                    max(centre, self._inverse(last, float(none), q + below, h.high)) if q + below < 1.0 else math.inf,
                )
            )
        return percentiles

    def _inverse(self, pooled: Array, zero: float, q: float, edge: Array | None) -> float:
        """Where the pooled distribution function reaches q: the given edge of that bin, or in between for None."""
        if q <= zero:
            return 0.0
        at = min(int(np.searchsorted(pooled, q - 1e-12)), len(pooled) - 1)
        if edge is not None:
            return float(edge[at])
        before = pooled[at - 1] if at else zero
        part = (q - before) / (pooled[at] - before) if pooled[at] > before else 1.0
        low, high = self.histogram.low[at], self.histogram.high[at]
        return float(low + min(max(part, 0.0), 1.0) * (high - low))

    def _response_percentiles(self, model: Model, share: dict[int, float]) -> list[Estimate]:
        """A job's service does not depend on its wait, so P(response <= x) = E[F(x - wait)] with the law's own F."""
        h = self.histogram
        # Of thousands of needs, a class has one.
        own, place = np.unique([int(self.needs.of_class[i]) for i in share], return_inverse=True)
        services = [(p, model.classes[i].service) for i, p in share.items()]
        parts = [(p, int(k), law) for k, (p, law) in zip(place.ravel(), services, strict=True)]

        def pooled(x: float, at: Array, zero: Array, mass: Array) -> float:
            return math.fsum(p * (zero[k] * law.cdf(x) + mass[k] @ law.cdf(x - at)) for p, k, law in parts)

        def replicas(x: float) -> Array:
            total = np.zeros(len(h.zero))
            for p, k, law in parts:
                total += p * (h.zero[:, own[k]] * law.cdf(x) + h.mass[:, own[k]] @ law.cdf(x - h.middle))
            return total

        plain = tuple(whole[own] for whole in h.pooled)
        percentiles = []
        for q in self.wanted.quantiles:
            seen = replicas(_solve(lambda x: pooled(x, h.middle, *plain), q))
            above, below = self._halves(seen, q)
            zero, mass = (self.regression.mean(seen, rows[:, own]) for rows in (h.zero, h.mass))
            centre = _solve(partial(pooled, at=h.middle, zero=zero, mass=mass), q)
            percentiles.append(
                Estimate(
                    centre,
                    min(centre, _solve(partial(pooled, at=h.low, zero=zero, mass=mass), q - above)),
                    max(centre, _solve(partial(pooled, at=h.high, zero=zero, mass=mass), q + below)),
                )
            )
        return percentiles


def _solve(distribution: Callable[[float], float], q: float) -> float:
    """The smallest x with distribution(x) >= q, by bisection to 1e-8 of it; infinite for q >= 1.

    A distribution function grows, so bisection need not look at places outside of an interval that is known to hold x.
    Secants find a narrow one first: a third to a half of the looks where it is smooth, and the same number in the end.
    """
    if q >= 1.0:
        return math.inf
    least = distribution(0.0)
    if q <= least:
        return 0.0
    low, high, most = 0.0, 1.0, distribution(1.0)
    while most < q:
        low, high, least, most = high, 2.0 * high, most, distribution(2.0 * high)
        if high > 1e300:
            return math.inf
    below, above = _narrowed(distribution, q, (low, least), (high, most))
    while high - low > 1e-8 * high:
        middle = 0.5 * (low + high)
        if middle <= below or (middle < above and distribution(middle) < q):
            low = middle
        else:
            high = middle
    return high


def _narrowed(
    distribution: Callable[[float], float], q: float, lower: tuple[float, float], upper: tuple[float, float]
) -> tuple[float, float]:
    """Two places, closer together, of which the distribution function is below q at the first, and not at the second.

    Secants of -log(1 - distribution), which is nearly straight where tails are nearly exponential; an end that stays
    twice is taken for half as far off (regula falsi in the form called Illinois).
    """

    def off(seen: float) -> float:
        return math.log1p(-q) - math.log1p(-seen) if seen < 1.0 else math.inf

    (below, under), (above, over) = ((x, off(seen)) for x, seen in (lower, upper))
    stayed = 0
    for _ in range(MOST_SECANTS):
        if above - below <= 4e-9 * above:
            break
        slope = under < over < math.inf  # else it is steep as a step, or both are q but for rounding
        x = above - over * (above - below) / (over - under) if slope else 0.5 * (below + above)
        x = min(max(x, below + 2e-9 * above), above - 2e-9 * above)
        seen = distribution(x)
        if seen < q:
            below, under, over, stayed = x, off(seen), 0.5 * over if stayed > 0 else over, 1
        else:
            above, over, under, stayed = x, off(seen), 0.5 * under if stayed < 0 else under, -1
    return below, above
