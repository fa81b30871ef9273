"""Service laws: what a model file may say about a service time, with its moments and distribution function.

Every law has `mean`, `variance`, `highest_moment` (the largest k with E[X^k] finite, inf if all are),
`light_tail` (E[exp(theta X)] finite for some theta > 0) and a vectorised `cdf`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, Field, field_validator, model_validator

from loynes.model.fields import (
    LARGEST,
    SMALLEST,
    Count,
    NonNegative,
    Positive,
    Probability,
    check_sum_to_one,
)
from loynes.model.law import Array, Law, at_least_zero
from loynes.model.phase_laws import Coxian, PhaseType


def _one_of(data: Any, name: str, other: str, convert: Any) -> Any:
    """Accept `other` in place of the canonical field `name`, converted; both at once are refused."""
    if isinstance(data, dict) and other in data:
        if name in data:
            raise ValueError(f"give {name} or {other}, not both")
        value = data[other]
        if isinstance(value, bool) or not isinstance(value, int | float) or not (SMALLEST <= value <= LARGEST):
            raise ValueError(f"{other} = {value!r} must be a finite number above 0")
        data = {k: v for k, v in data.items() if k != other} | {name: convert(value, data)}
    return data


def _either(name: str, other: str) -> ConfigDict:
    """The JSON Schema of a law that takes `other` in place of `name`."""

    def extend(schema: dict[str, Any]) -> None:
        schema["properties"][other] = schema["properties"][name] | {"title": other.title()}
        schema["required"] = [key for key in schema["required"] if key != name]
        schema["oneOf"] = [{"required": [name]}, {"required": [other]}]

    return ConfigDict(json_schema_extra=extend)


class Exponential(Law):
    """Exponential with the given mean (or rate = 1/mean)."""

    model_config = _either("mean", "rate")

    law: Literal["exponential"] = "exponential"
    mean: Positive

    @model_validator(mode="before")
    @classmethod
    def _accept_rate(cls, data: Any) -> Any:
        return _one_of(data, "mean", "rate", lambda rate, _: 1.0 / rate)

    @property
    def variance(self) -> float:
        return self.mean**2

    def cdf(self, x: ArrayLike) -> Array:
        return -np.expm1(-at_least_zero(x) / self.mean)


class _GammaShaped(Law):
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

    def log_quantile(self, logit: Array) -> Array:
        """log Q(u) at u = 1/(1+exp(-logit)), each tail computed from its own side."""
        from scipy.special import expit, gammainccinv, gammaincinv, gammaln, log_expit

        shape = self._shape
        with np.errstate(divide="ignore", over="ignore"):
            q = np.where(logit < 0, gammaincinv(shape, expit(logit)), gammainccinv(shape, expit(-logit)))
            exact = np.log(q)
        # For tiny quantiles of small shapes the inverse underflows, and P(X <= x) = x^k / Gamma(k+1) is exact.
        small = (log_expit(logit) + gammaln(shape + 1)) / shape
        return np.asarray(np.where(q > 1e-200, exact, small) + math.log(self.mean / shape))


class Erlang(_GammaShaped):
    """Sum of `phases` independent exponentials, together with the given mean."""

    law: Literal["erlang"] = "erlang"
    phases: Count
    mean: Positive

    @property
    def _shape(self) -> float:
        return float(self.phases)


class Gamma(_GammaShaped):
    """Gamma with the given shape and mean; variance mean^2 / shape."""

    law: Literal["gamma"] = "gamma"
    shape: Positive
    mean: Positive

    @property
    def _shape(self) -> float:
        return self.shape


class Hyperexponential(Law):
    """A mixture of exponentials: with probability p_i the mean is m_i."""

    law: Literal["hyperexponential"] = "hyperexponential"
    probabilities: tuple[Probability, ...] = Field(min_length=1)
    means: tuple[Positive, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _matched(self) -> Hyperexponential:
        if len(self.probabilities) != len(self.means):
            raise ValueError(
                f"probabilities and means must be equally many, got {len(self.probabilities)} and {len(self.means)}"
            )
        check_sum_to_one("probabilities", self.probabilities)
        return self

    @property
    def mean(self) -> float:
        return math.fsum(p * m for p, m in zip(self.probabilities, self.means, strict=True))

    @property
    def variance(self) -> float:
        return 2.0 * math.fsum(p * m * m for p, m in zip(self.probabilities, self.means, strict=True)) - self.mean**2

    def cdf(self, x: ArrayLike) -> Array:
        y = at_least_zero(x)
        return sum((-p * np.expm1(-y / m) for p, m in zip(self.probabilities, self.means, strict=True)), np.zeros(()))


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


class Pareto(Law):
    """P(X > x) = (low/x)^shape for x >= low, by its mean (or low); shape above 1 so that the mean is finite."""

    model_config = _either("mean", "low")

    law: Literal["pareto"] = "pareto"
    shape: Annotated[Positive, Field(gt=1)]
    mean: Positive

    @model_validator(mode="before")
    @classmethod
    def _accept_low(cls, data: Any) -> Any:
        def mean_of(low: float, given: dict[str, Any]) -> Any:
            shape = given.get("shape")
            return low * shape / (shape - 1) if isinstance(shape, int | float) and shape > 1 else low

        return _one_of(data, "mean", "low", mean_of)

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


class Deterministic(Law):
    """Always the same value."""

    law: Literal["deterministic"] = "deterministic"
    value: Positive

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


class Uniform(Law):
    """Uniform on [low, high]."""

    law: Literal["uniform"] = "uniform"
    low: NonNegative
    high: Positive

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

    def log_quantile(self, logit: Array) -> Array:
        """log Q(u) at u = 1/(1+exp(-logit)), each tail computed from its own side."""
        from scipy.special import log_expit, ndtri_exp

        normal = np.where(logit < 0, ndtri_exp(log_expit(logit)), -ndtri_exp(log_expit(-logit)))
        return self._centre + self._spread * normal


class Mixture(Law):
    """With probability w_i the i-th law; mixtures may hold mixtures."""

    law: Literal["mixture"] = "mixture"
    weights: tuple[Probability, ...] = Field(min_length=1)
    laws: tuple[ServiceLaw, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _matched(self) -> Mixture:
        if len(self.weights) != len(self.laws):
            raise ValueError(f"weights and laws must be equally many, got {len(self.weights)} and {len(self.laws)}")
        check_sum_to_one("weights", self.weights)
        return self

    @property
    def mean(self) -> float:
        return math.fsum(w * x.mean for w, x in zip(self.weights, self.laws, strict=True))

    @property
    def variance(self) -> float:
        mean = self.mean
        return math.fsum(w * (x.variance + (x.mean - mean) ** 2) for w, x in zip(self.weights, self.laws, strict=True))

    @property
    def highest_moment(self) -> float:
        return min(x.highest_moment for x in self.laws)

    @property
    def light_tail(self) -> bool:
        return all(x.light_tail for x in self.laws)

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple(edge for law in self.laws for edge in law.edges)

    def cdf(self, x: ArrayLike) -> Array:
        return sum((w * y.cdf(x) for w, y in zip(self.weights, self.laws, strict=True)), np.zeros(()))


ServiceLaw = Annotated[
    Exponential
    | Erlang
    | Hyperexponential
    | BoundedPareto
    | Pareto
    | Deterministic
    | Uniform
    | Gamma
    | Weibull
    | Lognormal
    | PhaseType
    | Coxian
    | Mixture,
    Field(discriminator="law"),
]
Mixture.model_rebuild()
