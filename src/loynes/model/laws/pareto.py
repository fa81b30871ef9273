"""Services whose tail is a power: Pareto, and Pareto cut off at the top."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, ValidationInfo, model_validator

from loynes.arrays import Array
from loynes.model.fields import Duration, Positive, either, one_of, time_unit_of
from loynes.model.laws.law import Law
from loynes.model.laws.recipes import Recipe
from loynes.model.units import time_in

# The exponential function of more is no number.
WIDEST = 700.0


class BoundedPareto(Law):
    """Pareto of the given shape cut to [low, high]: P(X > x) proportional to x^-shape - high^-shape."""

    law: Literal["bounded_pareto"] = "bounded_pareto"
    low: Duration
    high: Duration
    shape: Positive

    @model_validator(mode="after")
    def _ordered(self) -> BoundedPareto:
        if not self.low < self.high:
            raise ValueError(f"low = {self.low:g} must be below high = {self.high:g}")
        return self

    def _moment(self, k: int) -> float:
        """E[(X/low)^k] = shape / (1 - (low/high)^shape) x integral of x^(k-1-shape) from 1 to high/low."""
        span = math.log(self.high / self.low)
        power = (k - self.shape) * span
        integral = span if power == 0 else span * math.expm1(power) / power
        return self.shape * integral / -math.expm1(-self.shape * span)

    @property
    def mean(self) -> float:
        return self.low * self._moment(1)

    @property
    def variance(self) -> float:
        span = math.log(self.high / self.low)
        power = (2 - self.shape) * span
        if power < WIDEST:
            return self.low**2 * max(0.0, self._moment(2) - self._moment(1) ** 2)
        # (high/low)^2 is no number any more: the same integral, in terms of x/high.
        tail = self.shape * span
        second = self.high**2 * tail * math.exp(-tail) / (power * -math.expm1(-tail))
        return max(0.0, second - self.mean**2)

    @property
    def edges(self) -> tuple[float, ...]:
        return (self.low, self.high)

    def cdf(self, x: ArrayLike) -> Array:
        y = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        return np.asarray(
            np.expm1(self.shape * np.log(self.low / y)) / math.expm1(self.shape * math.log(self.low / self.high))
        )

    def above(self, x: ArrayLike) -> Array:
        y = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        beyond = (self.low / y) ** self.shape * np.expm1(self.shape * np.log(y / self.high))
        return np.asarray(beyond / math.expm1(self.shape * math.log(self.low / self.high)))

    def recipe(self) -> Recipe:
        cut = -float(np.expm1(self.shape * np.log(self.low / self.high)))
        return Recipe("bounded_pareto", self.low, 1.0 / self.shape, cut)

    def within(self, low: float, high: float) -> BoundedPareto:
        return BoundedPareto(low=max(low, self.low), high=min(high, self.high), shape=self.shape)


class Pareto(Law):
    """P(X > x) = (low/x)^shape for x >= low, by its mean (or low); shape above 1 so that the mean is finite."""

    model_config = either("mean", "low")

    law: Literal["pareto"] = "pareto"
    shape: Annotated[Positive, Field(gt=1)]
    mean: Duration

    @model_validator(mode="before")
    @classmethod
    def _accept_low(cls, data: Any, info: ValidationInfo) -> Any:
        def mean_of(low: float, given: dict[str, Any]) -> Any:
            shape = given.get("shape")
            return low * shape / (shape - 1) if isinstance(shape, int | float) and shape > 1 else low

        return one_of(data, "mean", "low", mean_of, partial(time_in, unit=time_unit_of(info)))

    @property
    def low(self) -> float:
        return self.mean * (self.shape - 1) / self.shape

    @property
    def variance(self) -> float:
        if self.shape <= 2:
            return math.inf
        return self.low**2 * self.shape / ((self.shape - 1) ** 2 * (self.shape - 2))

    @property
    def highest_moment(self) -> float:
        return math.ceil(self.shape) - 1

    @property
    def light_tail(self) -> bool:
        return False

    @property
    def edges(self) -> tuple[float, ...]:
        return (self.low,)

    def cdf(self, x: ArrayLike) -> Array:
        y = np.maximum(np.asarray(x, dtype=np.float64), self.low)
        return np.asarray(-np.expm1(self.shape * np.log(self.low / y)))

    def above(self, x: ArrayLike) -> Array:
        return np.asarray((self.low / np.maximum(np.asarray(x, dtype=np.float64), self.low)) ** self.shape)

    def recipe(self) -> Recipe:
        return Recipe("pareto", self.low, 1.0 / self.shape)

    def within(self, low: float, high: float) -> Law:
        bottom = max(low, self.low)
        if math.isinf(high):
            return Pareto(shape=self.shape, mean=bottom * self.shape / (self.shape - 1.0))
        return BoundedPareto(low=bottom, high=high, shape=self.shape)
