"""A law whose every value is stretched by a factor: how sensitivities ask what longer services do.

It has no name in model files, where the law itself would be written with other numbers.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import SkipValidation

from loynes.arrays import Array
from loynes.model.fields import Positive
from loynes.model.laws.law import Law
from loynes.model.laws.recipes import Recipe


class Stretched(Law):
    """Another law's variable times a constant."""

    of: Annotated[Law, SkipValidation]
    factor: Positive

    @cached_property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        return tuple((weight, Stretched(of=part, factor=self.factor)) for weight, part in self.of.parts)

    @property
    def mean(self) -> float:
        return self.factor * self.of.mean

    @property
    def variance(self) -> float:
        return self.factor * self.factor * self.of.variance

    @property
    def highest_moment(self) -> float:
        return self.of.highest_moment

    @property
    def light_tail(self) -> bool:
        return self.of.light_tail

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple(self.factor * edge for edge in self.of.edges)

    def cdf(self, x: ArrayLike) -> Array:
        return self.of.cdf(np.asarray(x, dtype=np.float64) / self.factor)

    def above(self, x: ArrayLike) -> Array:
        return self.of.above(np.asarray(x, dtype=np.float64) / self.factor)

    def log_quantile(self, logit: Array) -> Array:
        return np.asarray(self.of.log_quantile(logit) + math.log(self.factor))

    def recipe(self) -> Recipe:
        """The law's own formula: every one of them is linear in what stands before it."""
        given = self.of.recipe()
        longer = given._replace(add=self.factor * given.add)
        if given.tabulated is not None:
            return longer._replace(tabulated=Stretched(of=given.tabulated, factor=self.factor))
        if given.nodes is not None:
            return longer._replace(nodes=given.nodes * np.array([1.0, self.factor, self.factor]))
        if given.formula == "uniform":
            return longer._replace(p=self.factor * given.p, q=self.factor * given.q)
        return longer._replace(p=self.factor * given.p)
