"""Control variates for piles: quantities of known expectation that explain how high a pile happened to grow.

Three kinds, all chosen by what the model says of the classes and never by the data, so choosing them adds no bias:

- how many jobs of a class there were;
- how much service they asked for, beyond what their number explains;
- for a class whose jobs cannot run beside those of others (a blocker), the sum over its jobs of the longest service
  among the others since its last job: what a blocker has to wait for, were everything else to start at once.

Regressing on their deviations removes their noise; the variance falls by a factor between a few and a few thousand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, student
from loynes.kernels.tally import Blockers
from loynes.model.cluster import Model
from loynes.model.laws.law import Law

MOST_CONTROLLED = 8
MOST_BLOCKERS = 4
MOST_CLASSES = 512
REPLICAS_PER_CONTROL = 4
LEAST_REPLICAS = 32
# Nodes of the integral over the longest service, equidistant in its logarithm: so many while it grows by a factor e.
NODES_PER_E = 500


@dataclass(frozen=True)
class Mix:
    """What control variates need to know of the classes."""

    servers: int
    probability: Array
    mean: Array
    variance: Array
    need: Array
    units: Ints  # [kind]
    taken: Ints  # [class, kind]
    laws: tuple[Law, ...]
    independent: bool = True  # of one another: the class of a job says nothing of the next one's

    @classmethod
    def of(cls, model: Model) -> Mix:
        columns = [(c.probability, c.service.mean, c.service.variance, model.need(c)) for c in model.classes]
        probability, mean, variance, need = np.array(columns, dtype=np.float64).T
        taken = np.array([np.add(model.demand(c), model.specific(c)) for c in model.classes])
        laws = tuple(c.service for c in model.classes)
        return cls(
            model.servers, probability, mean, variance, need, np.array(model.units), taken, laws, model.independent
        )

    @cached_property
    def _weight(self) -> Array:
        """The second moment of a class's work, which is what its numbers put into the noise."""
        return self.probability * self.need**2 * (np.where(self._tame, self.variance, 0.0) + self.mean**2)

    @cached_property
    def _tame(self) -> NDArray[np.bool_]:
        return np.isfinite(self.variance)

    @cached_property
    def counted(self) -> Ints:
        """The classes whose numbers matter most; not all, as they sum to n."""
        order = np.argsort(-self._weight, kind="stable")
        return order[: min(MOST_CONTROLLED, len(order) - 1)]

    @cached_property
    def weighed(self) -> Ints:
        """The classes whose services matter most and have a finite variance above 0."""
        usable = self._tame & (self.variance > 0)
        spread = np.where(usable, self.probability * self.need**2 * np.where(usable, self.variance, 0.0), -1.0)
        order = np.argsort(-spread, kind="stable")[:MOST_CONTROLLED]
        return order[spread[order] > 0]

    def conflicts_of(self, job_class: int) -> NDArray[np.bool_]:
        """[other]: they do not fit on the servers together, and the other's service has a finite variance."""
        together = self.taken[job_class] + self.taken > self.units
        return np.asarray(together.any(axis=1) & self._tame & (np.arange(len(self.need)) != job_class))

    @cached_property
    def blocking(self) -> Ints:
        """The classes that matter most among those that have others to wait for, the largest need first.

        What a blocker waits for is known only where classes are independent of one another. Of very many classes each
        matters little, and the law of what it waits for is dear: there is none.
        """
        if not self.independent or len(self.need) > MOST_CLASSES:
            return np.empty(0, np.int64)
        order = np.argsort(-self._weight, kind="stable")
        have = (c for c in order if self.conflicts_of(c).any())
        chosen = np.array(list(islice(have, MOST_BLOCKERS)), np.int64)
        return chosen[np.argsort(-self.need[chosen], kind="stable")]

    @cached_property
    def blockers(self) -> Blockers:
        of_class = np.full(len(self.need), -1, np.int64)
        of_class[self.blocking] = np.arange(len(self.blocking))
        conflict = [self.conflicts_of(c) for c in self.blocking]
        return Blockers(of_class, np.array(conflict, np.float64).reshape(len(conflict), len(self.need)).T.copy())

    @cached_property
    def replicas(self) -> int:
        """Enough replicas for the regression to cost little."""
        controls = len(self.counted) + len(self.weighed) + len(self.blocking)
        return max(LEAST_REPLICAS, REPLICAS_PER_CONTROL * (1 + controls))

    @cached_property
    def regenerating(self) -> Ints:
        """The classes whose jobs need all servers: each such job leaves the pile flat."""
        return np.flatnonzero((self.need == self.servers) & self.independent)

    @property
    def regeneration(self) -> float:
        """The probability that a job needs all servers."""
        return float(self.probability[self.regenerating].sum())

    def longest_waited_for(self, length: int) -> Array:
        """E[sum over the first `length` jobs, if blockers, of the longest conflicting service since the last blocker].

        Looking back from a blocker, P(longest > x) is the chance that a conflicting job longer than x (probability r)
        turns up before another blocker (probability q), and before the first job of all.
        """
        return np.array([self._longest(place, length) for place in range(len(self.blocking))])

    def longest_in_a_cycle(self, blocker: int) -> tuple[int, float] | None:
        """A blocker's place among the blockers, and the same expectation over one whole stretch between its jobs."""
        place = np.flatnonzero(self.blocking == blocker)
        return (int(place[0]), self._longest(int(place[0]), None)) if place.size else None

    def _longest(self, place: int, length: int | None) -> float:
        x, r = self._conflicts[place]
        q = self.probability[self.blocking[place]]
        either = q + r
        if length is None:
            return float(np.trapezoid(r / either, x))
        if length == 0:
            return 0.0
        with np.errstate(divide="ignore"):
            seen = -np.expm1(length * np.log1p(-np.minimum(either, 1.0)))
        return float(np.trapezoid(q * r / either * (length - seen / either), x))

    @cached_property
    def _conflicts(self) -> list[tuple[Array, Array]]:
        """For each blocker: times x, and the probability that a job conflicts with it and is longer than x."""
        tails = []
        for blocker in self.blocking:
            others = np.flatnonzero(self.conflicts_of(blocker))
            laws = [self.laws[k] for k in others]
            low, high = 1e-9 * min(law.mean for law in laws), max(law.mean for law in laws)
            # To where nothing is left of any law, however far beyond its mean.
            while any(float(law.cdf(high)) < 1.0 - 1e-15 for law in laws) and high < 1e250:
                high *= 2.0
            grid = np.geomspace(low, high, int(NODES_PER_E * math.log(high / low)))
            edges = np.array([edge for law in laws for edge in law.edges if edge > 0])
            x = np.unique(np.concatenate([[0.0], grid, np.nextafter(edges, 0.0), edges]))
            r = sum(self.probability[k] * (1.0 - law.cdf(x)) for k, law in zip(others, laws, strict=True))
            tails.append((x, np.maximum(r, 0.0)))
        return tails


@dataclass(frozen=True)
class Regressed:
    """A mean with the controls' noise taken out."""

    estimate: Estimate
    reduction: float  # variance without controls over variance with them


def regressed_mean(values: Array, controls: Array, confidence: float) -> Regressed:
    """The intercept of a linear regression of independent values on controls of expectation 0, with its interval."""
    count = len(values)
    spreads = controls.std(axis=0)
    # What no replica has seen is the same in all of them, up to rounding.
    varied = spreads > 1e-9 * np.abs(controls).max(axis=0, initial=0.0)
    design = np.hstack([np.ones((count, 1)), controls[:, varied] / spreads[varied]])
    inverse = np.linalg.pinv(design, rcond=1e-12)
    fit = inverse @ values
    residual = values - design @ fit
    freedom = count - int(np.linalg.matrix_rank(design))
    spread = float(residual @ residual) / freedom
    kept = spread * float(inverse[0] @ inverse[0])
    half = student(confidence, freedom + 1) * math.sqrt(kept)
    centre = float(fit[0])
    raw = float(np.var(values, ddof=1)) / count
    return Regressed(Estimate(centre, centre - half, centre + half), raw / kept if kept > 0 else 1.0)
