"""What every service law offers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loynes.model.fields import Record

Array = NDArray[np.float64]


class Law(Record):
    """A positive random variable. Subclasses carry their parameters as fields."""

    if TYPE_CHECKING:  # fields in some laws, derived in others

        @property
        def mean(self) -> float: ...

    @property
    @abstractmethod
    def variance(self) -> float: ...

    @property
    def highest_moment(self) -> float:
        return math.inf

    @property
    def light_tail(self) -> bool:
        return True

    @property
    def variation(self) -> float:
        """Coefficient of variation: standard deviation over mean."""
        return math.sqrt(self.variance) / self.mean

    @property
    def edges(self) -> tuple[float, ...]:
        """Where the distribution function jumps or bends: integrals over it are cut there."""
        return ()

    @property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        """Weights and laws this one is a mixture of; none where it is drawn in one piece."""
        return ()

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(X <= x), 0 for negative x."""

    def above(self, x: ArrayLike) -> Array:
        """P(X > x); laws with a tail keep its digits where it is small."""
        return np.asarray(1.0 - self.cdf(x))

    def log_quantile(self, logit: Array) -> Array:
        """log Q(u) at u = 1/(1+exp(-logit)), ascending logits, each tail computed from its own side.

        Only laws that are drawn from a table have one.
        """
        raise TypeError(f"{type(self).__name__} is not drawn from a table")


class Composed(Law):
    """A law that is known through its parts."""

    @property
    def variance(self) -> float:
        mean = self.mean
        return math.fsum(w * (x.variance + (x.mean - mean) ** 2) for w, x in self.parts)

    @property
    def highest_moment(self) -> float:
        return min(x.highest_moment for _, x in self.parts)

    @property
    def light_tail(self) -> bool:
        return all(x.light_tail for _, x in self.parts)

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple(edge for _, law in self.parts for edge in law.edges)

    def cdf(self, x: ArrayLike) -> Array:
        return sum((w * y.cdf(x) for w, y in self.parts), np.zeros(()))

    def above(self, x: ArrayLike) -> Array:
        return sum((w * y.above(x) for w, y in self.parts), np.zeros(()))


def leaves(law: Law, weight: float = 1.0) -> Iterator[tuple[float, Law]]:
    """A law as weighted parts that are not mixtures themselves."""
    if not law.parts:
        yield weight, law
    for part, inner in law.parts:
        yield from leaves(inner, weight * part)


def at_least_zero(x: ArrayLike) -> Array:
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)
