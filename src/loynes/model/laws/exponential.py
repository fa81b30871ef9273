"""Exponential services, and sums and mixtures of exponentials."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, ValidationInfo, model_validator

from loynes.arrays import Array
from loynes.model.fields import Count, Duration, Probability, check_sum_to_one, either, one_of, time_unit_of
from loynes.model.laws.law import Law, at_least_zero
from loynes.model.laws.phases import Phases
from loynes.model.laws.recipes import Recipe
from loynes.model.units import rate_in


class Exponential(Law):
    """Exponential with the given mean (or rate = 1/mean)."""

    model_config = either("mean", "rate")

    law: Literal["exponential"] = "exponential"
    mean: Duration

    @model_validator(mode="before")
    @classmethod
    def _accept_rate(cls, data: Any, info: ValidationInfo) -> Any:
        read = partial(rate_in, unit=time_unit_of(info))
        return one_of(data, "mean", "rate", lambda rate, _: 1.0 / rate, read)

    @property
    def variance(self) -> float:
        return self.mean**2

    def cdf(self, x: ArrayLike) -> Array:
        return -np.expm1(-at_least_zero(x) / self.mean)

    def above(self, x: ArrayLike) -> Array:
        return np.exp(-at_least_zero(x) / self.mean)

    def recipe(self) -> Recipe:
        return Recipe("exponential", self.mean)

    def log_quantile(self, logit: Array) -> Array:
        from scipy.special import log_expit

        return np.log(-log_expit(-logit)) + math.log(self.mean)

    def as_phases(self) -> Phases:
        return Phases(np.ones(1), np.full((1, 1), -1.0 / self.mean))


class GammaShaped(Law):
    """What erlang and gamma share: the gamma law of a shape and a mean."""

    @property
    @abstractmethod
    def _shape(self) -> float: ...

    @property
    def variance(self) -> float:
        return self.mean**2 / self._shape

    def cdf(self, x: ArrayLike) -> Array:
        from scipy.special import gammainc

        return np.asarray(gammainc(self._shape, at_least_zero(x) * (self._shape / self.mean)))

    def above(self, x: ArrayLike) -> Array:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(self._shape, at_least_zero(x) * (self._shape / self.mean)))

    def log_quantile(self, logit: Array) -> Array:
        from scipy.special import expit, gammainccinv, gammaincinv, gammaln, log_expit

        shape = self._shape
        with np.errstate(divide="ignore", over="ignore"):
            q = np.where(logit < 0, gammaincinv(shape, expit(logit)), gammainccinv(shape, expit(-logit)))
            exact = np.log(q)
        # For tiny quantiles of small shapes the inverse underflows, and P(X <= x) = x^k / Gamma(k+1) is exact.
        small = (log_expit(logit) + gammaln(shape + 1)) / shape
        return np.asarray(np.where(q > 1e-200, exact, small) + math.log(self.mean / shape))


class Erlang(GammaShaped):
    """Sum of `phases` independent exponentials, together with the given mean."""

    law: Literal["erlang"] = "erlang"
    phases: Count
    mean: Duration

    @property
    def _shape(self) -> float:
        return float(self.phases)

    def as_phases(self) -> Phases:
        n, rate = self.phases, self.phases / self.mean
        return Phases(np.eye(1, n)[0], rate * (np.eye(n, k=1) - np.eye(n)))

    @property
    def phase_count(self) -> int:
        return self.phases


class Hyperexponential(Law):
    """A mixture of exponentials: with probability p_i the mean is m_i."""

    law: Literal["hyperexponential"] = "hyperexponential"
    probabilities: tuple[Probability, ...] = Field(min_length=1)
    means: tuple[Duration, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _matched(self) -> Hyperexponential:
        if len(self.probabilities) != len(self.means):
            raise ValueError(
                f"probabilities and means must be equally many, got {len(self.probabilities)} and {len(self.means)}"
            )
        check_sum_to_one("probabilities", self.probabilities)
        return self

    @property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        return tuple((p, Exponential(mean=m)) for p, m in zip(self.probabilities, self.means, strict=True))

    @property
    def mean(self) -> float:
        return math.fsum(p * m for p, m in zip(self.probabilities, self.means, strict=True))

    @property
    def variance(self) -> float:
        return 2.0 * math.fsum(p * m * m for p, m in zip(self.probabilities, self.means, strict=True)) - self.mean**2

    def cdf(self, x: ArrayLike) -> Array:
        y = at_least_zero(x)
        return sum((-p * np.expm1(-y / m) for p, m in zip(self.probabilities, self.means, strict=True)), np.zeros(()))

    def as_phases(self) -> Phases:
        return Phases(np.array(self.probabilities), np.diag(-1.0 / np.array(self.means)))
