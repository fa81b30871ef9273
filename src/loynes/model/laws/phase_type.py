"""Laws of phase type in general: the time until a small Markov chain stops."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, Field, Strict, model_validator

from loynes.arrays import Array
from loynes.model.fields import Finite, NonNegative, Positive, at_most
from loynes.model.laws.law import Law, at_least_zero
from loynes.model.laws.phases import Phases, problem, too_far_apart

MOST_PHASES = 100


class _Phased(Law):
    """What phase_type and coxian share: the time until a small Markov chain stops."""

    @abstractmethod
    def as_phases(self) -> Phases: ...

    @property
    def mean(self) -> float:
        return self.as_phases().moments()[0]

    @property
    def variance(self) -> float:
        return self.as_phases().moments()[1]

    def cdf(self, x: ArrayLike) -> Array:
        values = at_least_zero(x)
        return self.as_phases().distribution(values.ravel())[0].reshape(values.shape)

    def above(self, x: ArrayLike) -> Array:
        values = at_least_zero(x)
        return self.as_phases().distribution(values.ravel())[1].reshape(values.shape)

    def log_quantile(self, logit: Array) -> Array:
        return self.as_phases().log_quantile(logit)


class PhaseType(_Phased):
    """The time until a Markov chain stops: probabilities to begin in each phase, and rates between phases.

    What a row of the generator lacks to 0 is the rate at which that phase ends the service.
    """

    law: Literal["phase_type"] = "phase_type"
    initial: Annotated[tuple[NonNegative, ...], at_most(MOST_PHASES)] = Field(min_length=1, max_length=MOST_PHASES)
    generator: Annotated[tuple[tuple[Finite, ...], ...], at_most(MOST_PHASES)]

    @model_validator(mode="after")
    def _sound(self) -> PhaseType:
        wrong = problem(self.initial, self.generator) or too_far_apart(self.as_phases())
        if wrong is not None:
            raise ValueError(wrong)
        return self

    def as_phases(self) -> Phases:
        return Phases(np.array(self.initial), np.array(self.generator))


class Coxian(_Phased):
    """Exponential phases one after the other; after each but the last the service goes on with a given probability."""

    model_config = ConfigDict(populate_by_name=True)

    law: Literal["coxian"] = "coxian"
    rates: Annotated[tuple[Positive, ...], at_most(MOST_PHASES)] = Field(min_length=1, max_length=MOST_PHASES)
    continues: Annotated[
        tuple[Annotated[float, Strict(), Field(ge=0, le=1)], ...], at_most(MOST_PHASES)
    ] = Field(alias="continue")  # fmt: skip

    @model_validator(mode="after")
    def _matched(self) -> Coxian:
        if len(self.continues) != len(self.rates) - 1:
            raise ValueError(
                f"continue must have one probability less than there are rates, got {len(self.continues)} and "
                f"{len(self.rates)}"
            )
        if (wrong := too_far_apart(self.as_phases())) is not None:
            raise ValueError(wrong)
        return self

    def as_phases(self) -> Phases:
        rates = np.array(self.rates)
        generator = np.diag(-rates) + np.diag(rates[:-1] * np.array(self.continues), k=1)
        return Phases(np.eye(1, len(rates))[0], generator)
