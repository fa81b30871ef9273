"""Laws of a mean and a shape, from nearly constant to heavier than exponential: gamma, Weibull, lognormal."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator

from loynes.arrays import Array
from loynes.model.fields import Duration, Positive
from loynes.model.laws.exponential import GammaShaped
from loynes.model.laws.law import Law, at_least_zero
from loynes.model.laws.recipes import Recipe


class Gamma(GammaShaped):
    """Gamma with the given shape and mean; variance mean^2 / shape."""

    law: Literal["gamma"] = "gamma"
    shape: Positive
    mean: Duration

    @property
    def _shape(self) -> float:
        return self.shape


class Weibull(Law):
    """P(X > x) = exp(-(x/scale)^shape), given by shape and mean; heavier than exponential when shape < 1."""

    law: Literal["weibull"] = "weibull"
    shape: Positive
    mean: Duration

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

    def recipe(self) -> Recipe:
        return Recipe("weibull", self.scale, 1.0 / self.shape)

    def log_quantile(self, logit: Array) -> Array:
        from scipy.special import log_expit

        return np.log(-log_expit(-logit)) / self.shape + math.log(self.scale)


class Lognormal(Law):
    """exp of a normal variable, given by the mean and the coefficient of variation of the lognormal itself."""

    law: Literal["lognormal"] = "lognormal"
    mean: Duration
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
