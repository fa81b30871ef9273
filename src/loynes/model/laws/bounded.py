"""Constants, and uniform services."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import model_validator

from loynes.arrays import Array
from loynes.model.fields import Duration, DurationOrZero
from loynes.model.laws.law import Law
from loynes.model.laws.recipes import Recipe


class Deterministic(Law):
    """Always the same value."""

    law: Literal["deterministic"] = "deterministic"
    value: Duration

    @property
    def mean(self) -> float:
        return self.value

    @property
    def variance(self) -> float:
        return 0.0

    @property
    def edges(self) -> tuple[float, ...]:
        return (self.value,)

    def cdf(self, x: ArrayLike) -> Array:
        return np.asarray(np.asarray(x, dtype=np.float64) >= self.value, dtype=np.float64)

    def recipe(self) -> Recipe:
        return Recipe("deterministic", self.value)

    def within(self, low: float, high: float) -> Deterministic:
        return self


class Uniform(Law):
    """Uniform on [low, high]."""

    law: Literal["uniform"] = "uniform"
    low: DurationOrZero
    high: Duration

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if not self.low < self.high:
            raise ValueError(f"low = {self.low:g} must be below high = {self.high:g}")
        return self

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def variance(self) -> float:
        return (self.high - self.low) ** 2 / 12.0

    @property
    def edges(self) -> tuple[float, ...]:
        return (self.low, self.high)

    def cdf(self, x: ArrayLike) -> Array:
        return np.clip((np.asarray(x, dtype=np.float64) - self.low) / (self.high - self.low), 0.0, 1.0)

    def recipe(self) -> Recipe:
        return Recipe("uniform", self.low, self.high - self.low)

    def within(self, low: float, high: float) -> Uniform:
        return Uniform(low=max(low, self.low), high=min(high, self.high))
