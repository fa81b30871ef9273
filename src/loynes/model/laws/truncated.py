"""Services made of one other law: on the condition that it lies in an interval, or plus a constant."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import model_validator

from loynes.arrays import Array
from loynes.model.fields import Duration, DurationOrZero
from loynes.model.laws.law import Law, leaves
from loynes.model.laws.quantile_moments import moments
from loynes.model.laws.recipes import Recipe
from loynes.model.laws.service_law import ServiceLaw

# A cut that keeps less would be known to too few digits.
LEAST_KEPT = 1e-12


class Truncated(Law):
    """Another law on the condition that its value lies in [low, high]; either end may be left out."""

    law: Literal["truncated"] = "truncated"
    of: ServiceLaw
    low: DurationOrZero | None = None
    high: Duration | None = None

    @model_validator(mode="after")
    def _keeps_something(self) -> Truncated:
        if self.low is None and self.high is None:
            raise ValueError("low or high: one of them must be given")
        low, high = self._ends
        if not low < high:
            raise ValueError(f"low = {low:g} must be below high = {high:g}")
        kept = kept_of(self.of, low, high)
        if not kept >= LEAST_KEPT:
            raise ValueError(f"between low and high lies {kept:.3g} of the law, must be at least {LEAST_KEPT:g}")
        if not self.mean > 0:
            raise ValueError("what is left of the law is always 0: the mean must be above 0")
        return self

    @property
    def _ends(self) -> tuple[float, float]:
        return self.low or 0.0, math.inf if self.high is None else self.high

    @cached_property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        low, high = self._ends
        if not self.of.parts:
            simpler = self.of.within(low, high)
            return () if simpler is None else ((1.0, simpler),)
        pieces = [(leaf, weight * kept_of(leaf, low, high)) for weight, leaf in leaves(self.of)]
        total = math.fsum(kept for _, kept in pieces)
        return tuple((kept / total, between(leaf, low, high)) for leaf, kept in pieces if kept > 0)

    @cached_property
    def _cut(self) -> tuple[float, float, float]:
        """P(X < low), P(X > high) and P(low <= X <= high) of a law without parts."""
        low, high = self._ends
        beyond = 0.0 if math.isinf(high) else float(self.of.above(high))
        return float(self.of.cdf(low)), beyond, kept_of(self.of, low, high)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.parts:
            mean = math.fsum(w * x.mean for w, x in self.parts)
            return mean, math.fsum(w * (x.variance + (x.mean - mean) ** 2) for w, x in self.parts)
        mean, variance = moments(self.log_quantile, far=not self.of.light_tail)
        return mean, variance if self.highest_moment >= 2 else math.inf

    @property
    def mean(self) -> float:
        return self._moments[0]

    @property
    def variance(self) -> float:
        return self._moments[1]

    @property
    def highest_moment(self) -> float:
        return self.of.highest_moment if self.high is None else math.inf

    @property
    def light_tail(self) -> bool:
        return self.high is not None or self.of.light_tail

    @property
    def edges(self) -> tuple[float, ...]:
        low, high = self._ends
        inner = tuple(edge for edge in self.of.edges if low < edge < high)
        return (low, *inner) if math.isinf(high) else (low, *inner, high)

    def cdf(self, x: ArrayLike) -> Array:
        if self.parts:
            return sum((w * y.cdf(x) for w, y in self.parts), np.zeros(()))
        low, high = self._ends
        x = np.clip(np.asarray(x, dtype=np.float64), low, high)
        before, beyond, kept = self._cut
        # From the side on which fewer digits cancel.
        inside = (self.of.cdf(x) - before) / kept if before < 0.5 else 1.0 - (self.of.above(x) - beyond) / kept
        return np.clip(np.where(x >= high, 1.0, inside), 0.0, 1.0)

    def above(self, x: ArrayLike) -> Array:
        if self.parts:
            return sum((w * y.above(x) for w, y in self.parts), np.zeros(()))
        low, high = self._ends
        x = np.clip(np.asarray(x, dtype=np.float64), low, high)
        return np.clip((self.of.above(x) - self._cut[1]) / self._cut[2], 0.0, 1.0)

    def log_quantile(self, logit: Array) -> Array:
        """The inner law's, at v = P(X < low) + u P(low <= X <= high); v and 1 - v as sums of positive terms."""
        from scipy.special import log_expit

        with np.errstate(divide="ignore"):
            before, beyond, kept = np.log(self._cut)
            low, high = np.log(self._ends)
        below = np.logaddexp(before, log_expit(logit) + kept)
        above = np.logaddexp(beyond, log_expit(-logit) + kept)
        return np.clip(self.of.log_quantile(below - above), low, high)

    def within(self, low: float, high: float) -> Law:
        bottom, top = self._ends
        return between(self.of, max(low, bottom), min(high, top))


class Shifted(Law):
    """Another law's variable plus a constant."""

    law: Literal["shifted"] = "shifted"
    of: ServiceLaw
    by: Duration

    @cached_property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        return tuple((weight, Shifted(of=part, by=self.by)) for weight, part in self.of.parts)

    @property
    def mean(self) -> float:
        return self.of.mean + self.by

    @property
    def variance(self) -> float:
        return self.of.variance

    @property
    def highest_moment(self) -> float:
        return self.of.highest_moment

    @property
    def light_tail(self) -> bool:
        return self.of.light_tail

    @property
    def edges(self) -> tuple[float, ...]:
        return (self.by, *(edge + self.by for edge in self.of.edges))

    def cdf(self, x: ArrayLike) -> Array:
        over = np.asarray(x, dtype=np.float64) - self.by
        return np.where(over >= 0, self.of.cdf(over), 0.0)

    def above(self, x: ArrayLike) -> Array:
        over = np.asarray(x, dtype=np.float64) - self.by
        return np.where(over >= 0, self.of.above(over), 1.0)

    def recipe(self) -> Recipe:
        shift, inner = self.by, self.of
        while isinstance(inner, Shifted):
            shift, inner = shift + inner.by, inner.of
        return inner.recipe()._replace(add=shift)

    def within(self, low: float, high: float) -> Shifted:
        return Shifted(of=between(self.of, max(low - self.by, 0.0), high - self.by), by=self.by)


def kept_of(law: Law, low: float, high: float) -> float:
    """P(low <= X <= high)."""
    if law.parts:
        return math.fsum(weight * kept_of(part, low, high) for weight, part in law.parts)
    lower = math.nextafter(low, -math.inf)
    before = float(law.cdf(lower)) if low > 0 else 0.0
    if before < 0.5:
        return max((1.0 if math.isinf(high) else float(law.cdf(high))) - before, 0.0)
    return max(float(law.above(lower)) - (0.0 if math.isinf(high) else float(law.above(high))), 0.0)


def between(law: Law, low: float, high: float) -> Law:
    """A law in one piece on the condition that it lies in [low, high], simplified where that is a law of a name."""
    simpler = law.within(low, high)
    if simpler is not None:
        return simpler
    if low == 0.0 and math.isinf(high):
        return law
    return Truncated(of=law, low=low or None, high=None if math.isinf(high) else high)
