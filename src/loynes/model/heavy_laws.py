"""Service laws whose tail is a power, or in other ways heavier than exponential."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator, model_validator

from loynes.model.fields import Positive, either, one_of
from loynes.model.law import Array, Law, at_least_zero


class BoundedPareto(Law):
    """Pareto of the given shape cut to [low, high]: P(X > x) proportional to x^-shape - high^-shape."""

    law: Literal["bounded_pareto"] = "bounded_pareto"
    low: Positive
    high: Positive
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
        return self.low**2 * max(0.0, self._moment(2) - self._moment(1) ** 2)

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


class Pareto(Law):
    """P(X > x) = (low/x)^shape for x >= low, by its mean (or low); shape above 1 so that the mean is finite."""

    model_config = either("mean", "low")

    law: Literal["pareto"] = "pareto"
    shape: Annotated[Positive, Field(gt=1)]
    mean: Positive

    @model_validator(mode="before")
    @classmethod
    def _accept_low(cls, data: Any) -> Any:
        def mean_of(low: float, given: dict[str, Any]) -> Any:
            shape = given.get("shape")
            return low * shape / (shape - 1) if isinstance(shape, int | float) and shape > 1 else low

        return one_of(data, "mean", "low", mean_of)

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


class Weibull(Law):
    """P(X > x) = exp(-(x/scale)^shape), given by shape and mean; heavier than exponential when shape < 1."""

    law: Literal["weibull"] = "weibull"
    shape: Positive
    mean: Positive

    @property
    def scale(self) -> float:
        return self.mean / math.gamma(1.0 + 1.0 / self.shape)

    @field_validator("shape")
    @classmethod
    def _moments_fit(cls, shape: float) -> float:
        if shape < 0.06:
            raise ValueError(f"{shape:g} must be at least 0.06; below, the mean comes from events rarer than 2^-53")
        return shape

    @property
    def variance(self) -> float:
        return self.mean**2 * math.expm1(math.lgamma(1 + 2 / self.shape) - 2 * math.lgamma(1 + 1 / self.shape))

    @property
    def light_tail(self) -> bool:
        return self.shape >= 1

    def cdf(self, x: ArrayLike) -> Array:
        return -np.expm1(-((at_least_zero(x) / self.scale) ** self.shape))

    def above(self, x: ArrayLike) -> Array:
        return np.exp(-((at_least_zero(x) / self.scale) ** self.shape))

    def log_quantile(self, logit: Array) -> Array:
        from scipy.special import log_expit

        return np.log(-log_expit(-logit)) / self.shape + math.log(self.scale)


class Lognormal(Law):
    """exp of a normal variable, given by the mean and the coefficient of variation of the lognormal itself."""

    law: Literal["lognormal"] = "lognormal"
    mean: Positive
    cv: Annotated[Positive, Field(le=1e6)]

    @property
    def _spread(self) -> float:
        return math.sqrt(math.log1p(self.cv**2))

    @property
    def _centre(self) -> float:
        return math.log(self.mean) - 0.5 * self._spread**2

    @property
    def variance(self) -> float:
        return (self.mean * self.cv) ** 2

    @property
    def light_tail(self) -> bool:
        return False

    def cdf(self, x: ArrayLike) -> Array:
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(at_least_zero(x)) - self._centre) / self._spread))

    def above(self, x: ArrayLike) -> Array:
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((self._centre - np.log(at_least_zero(x))) / self._spread))

    def log_quantile(self, logit: Array) -> Array:
        from scipy.special import log_expit, ndtri_exp

        normal = np.where(logit < 0, ndtri_exp(log_expit(logit)), -ndtri_exp(log_expit(-logit)))
        return self._centre + self._spread * normal
