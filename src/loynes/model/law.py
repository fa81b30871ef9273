"""What every service law offers."""

from __future__ import annotations

import math
from abc import abstractmethod
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

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(X <= x), 0 for negative x."""


def at_least_zero(x: ArrayLike) -> Array:
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)
