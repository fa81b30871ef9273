"""Differences between two models that were run on the same jobs.

Replica r of one and replica r of the other saw the same random numbers, so the difference of their averages varies far
less than either. Differences of different replicas are independent: means get Student intervals, percentiles those of a
jackknife over groups of replicas. Where chains from below and from above had not met, the difference lies between the
lowest of the one minus the highest of the other and the reverse; that of HOL losses between the bounds of `brackets`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array
from loynes.estimate import Estimate, half_width, mean_of
from loynes.estimators.brackets import loss_columns
from loynes.estimators.measures import PERCENTILES, part_of, percentile_name
from loynes.inputs.tables import Needs
from loynes.kernels.tally import Tally, bin_edges
from loynes.model.cluster import Model

GROUPS = 16


@dataclass(frozen=True)
class ChainTallies:
    """One model's chains: what they were, and what they saw from below and from above."""

    model: Model
    rate: float
    needs: Needs
    tallies: tuple[Tally, ...]


@dataclass(frozen=True)
class Difference:
    """Second minus first, of one class or all jobs."""

    means: tuple[Estimate, Estimate]  # of the wait, in the first and in the second
    wait: dict[str, Estimate]  # mean, p50, p90, p95, p99, and percentiles that were asked for
    response: dict[str, Estimate]  # mean
    no_wait: Estimate


def difference(
    a: ChainTallies,
    b: ChainTallies,
    classes: tuple[list[int], list[int]],
    confidence: float,
    percentiles: tuple[float, ...] = (),
) -> Difference:
    """Of a mixture of classes: their positions in the two models, weighted by probability; these percentiles, too."""
    first, second = (_weights(chains, chosen) for chains, chosen in zip((a, b), classes, strict=True))

    def means(tally: Tally, weight: Array) -> Array:
        return np.asarray((tally.wait @ weight) / tally.looks)

    def none(tally: Tally, weight: Array) -> Array:
        return np.asarray((tally.none @ weight) / tally.looks)

    wait = {"mean": _paired(a, b, lambda t: means(t, first), lambda t: means(t, second), confidence)}
    for p in dict.fromkeys((*PERCENTILES, *percentiles)):
        wait[percentile_name(p)] = _percentile(a, b, first, second, part_of(p), confidence)
    served = _service(b, classes[1]) - _service(a, classes[0])
    return Difference(
        means=(
            _hull([mean_of(means(tally, first), confidence) for tally in a.tallies]),
            _hull([mean_of(means(tally, second), confidence) for tally in b.tallies]),
        ),
        wait=wait,
        response={"mean": wait["mean"].shifted(served)},
        no_wait=_paired(a, b, lambda t: none(t, first), lambda t: none(t, second), confidence),
    )


def system_difference(
    a: ChainTallies, b: ChainTallies, of_a: list[int], of_b: list[int], confidence: float
) -> dict[str, Estimate]:  # fmt: skip
    """HOL loss of the bottleneck, jobs of these classes waiting and in the system, utilization."""

    def waiting(chains: ChainTallies, classes: list[int]) -> Callable[[Tally], Array]:
        weight = chains.rate * _share(chains, classes) * _weights(chains, classes)
        return lambda tally: np.asarray((tally.wait @ weight) / tally.looks)

    jobs = _paired(a, b, waiting(a, of_a), waiting(b, of_b), confidence)
    served = [
        chains.rate * _share(chains, chosen) * _service(chains, chosen) for chains, chosen in ((a, of_a), (b, of_b))
    ]
    used = [
        chains.rate * chains.model.works[k] / chains.model.units[k]
        for chains in (a, b)
        for k in [chains.model.bottleneck]
    ]
    return {
        "utilization": Estimate.exact(used[1] - used[0]),
        "hol_loss": _loss_difference(a, b, confidence),
        "jobs_in_system": jobs.shifted(served[1] - served[0]),
        "jobs_waiting": jobs,
    }


def _loss_difference(a: ChainTallies, b: ChainTallies, confidence: float) -> Estimate:
    """Of the bottleneck's HOL losses: least of the one minus most of the other, and the reverse."""
    (least_a, most_a), (least_b, most_b) = (_losses(chains) for chains in (a, b))
    if len(a.tallies) == len(b.tallies) == 1:
        return mean_of(least_b - least_a, confidence)
    return _hull([mean_of(least_b - most_a, confidence), mean_of(most_b - least_a, confidence)])


def _losses(chains: ChainTallies) -> tuple[Array, Array]:
    """What the bottleneck's HOL loss is at least and at most, by replica; where no bound is known, in either chain."""
    kind = chains.model.bottleneck
    if len(chains.tallies) == 2:
        bounds = loss_columns(chains.model, chains.needs, (chains.tallies[0], chains.tallies[1]))
        if bounds is not None:
            return chains.rate * bounds[0][:, kind], chains.rate * bounds[1][:, kind]
    seen = [np.asarray(chains.rate * tally.loss[:, kind] / tally.looks) for tally in chains.tallies]
    return seen[0], seen[-1]


def _weights(chains: ChainTallies, classes: list[int]) -> Array:
    weight = np.zeros(len(chains.needs.need))
    for position in classes:
        weight[chains.needs.of_class[position]] += chains.model.classes[position].probability
    return np.asarray(weight / weight.sum())


def _share(chains: ChainTallies, classes: list[int]) -> float:
    return sum(chains.model.classes[position].probability for position in classes)


def _service(chains: ChainTallies, classes: list[int]) -> float:
    chosen = [chains.model.classes[position] for position in classes]
    return sum(c.probability * c.service.mean for c in chosen) / sum(c.probability for c in chosen)


def _paired(
    a: ChainTallies, b: ChainTallies, of_a: Callable[[Tally], Array], of_b: Callable[[Tally], Array], confidence: float
) -> Estimate:  # fmt: skip
    """The mean of paired differences; the hull over chains from below and above where they differ."""
    ends = [
        mean_of(of_b(b.tallies[j]) - of_a(a.tallies[i]), confidence)
        for i, j in _ends(a, b)
    ]  # fmt: skip
    return _hull(ends)


def _ends(a: ChainTallies, b: ChainTallies) -> list[tuple[int, int]]:
    """Which chains to pair: all the same if they met, else the extremes of the difference."""
    if len(a.tallies) == len(b.tallies) == 1:
        return [(0, 0)]
    return [(-1, 0), (0, -1)]


def _hull(ends: list[Estimate]) -> Estimate:
    if len(ends) == 1:
        return ends[0]
    centre = float(np.mean([end.estimate for end in ends]))
    return Estimate(centre, min(end.low for end in ends), max(end.high for end in ends))


def _percentile(a: ChainTallies, b: ChainTallies, first: Array, second: Array, q: float, confidence: float) -> Estimate:
    ends = []
    for i, j in _ends(a, b):
        pools = [_pool(chains.tallies[k], weight) for chains, k, weight in ((a, i, first), (b, j, second))]
        replicas = len(pools[0].mass)
        groups = np.arange(replicas) * min(GROUPS, replicas) // replicas
        whole = pools[1].quantile(q) - pools[0].quantile(q)
        without = np.array(
            [pools[1].quantile(q, groups != g) - pools[0].quantile(q, groups != g) for g in range(groups[-1] + 1)]
        )
        count = len(without)
        pseudo = count * whole - (count - 1) * without
        half = half_width(pseudo, confidence)
        ends.append(Estimate(whole, whole - half, whole + half))
    return _hull(ends)


@dataclass(frozen=True)
class _Pool:
    """Waits of some classes by [replica, bin], zero waits apart."""

    mass: Array
    zero: Array
    looks: Array
    low: Array
    high: Array

    def quantile(self, q: float, chosen: NDArray[np.bool_] | slice = slice(None)) -> float:
        looks = self.looks[chosen].sum()
        none = self.zero[chosen].sum() / looks
        if q <= none:
            return 0.0
        cumulative = none + np.cumsum(self.mass[chosen].sum(axis=0)) / looks
        at = min(int(np.searchsorted(cumulative, q)), len(cumulative) - 1)
        before = cumulative[at - 1] if at else none
        part = (q - before) / (cumulative[at] - before) if cumulative[at] > before else 1.0
        return float(self.low[at] + min(max(part, 0.0), 1.0) * (self.high[at] - self.low[at]))


def _pool(tally: Tally, weight: Array) -> _Pool:
    edges = bin_edges(1.0 / tally.per_unit)
    mass = np.einsum("rkb,k->rb", tally.bins, weight)
    zero = tally.none @ weight
    mass[:, 0] -= zero
    return _Pool(mass, zero, tally.looks.astype(np.float64), edges[:-1], np.minimum(edges[1:], 2.0 * edges[-2]))
