"""The phase-type law of a given mean and coefficient of variation."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from loynes.model.fields import Duration, NonNegative
from loynes.model.laws.bounded import Deterministic
from loynes.model.laws.exponential import Erlang, Exponential
from loynes.model.laws.law import Composed, Law
from loynes.model.laws.phases import Phases

# Erlang laws up to these phases, and branches no rarer than a class may be.
MOST_PHASES = 1000
MOST_VARIATION = 1e4


class Fit(Composed):
    """The usual phase-type law of a mean and a coefficient of variation.

    Above 1: two exponentials with balanced means (each brings half of the mean); below 1: k - 1 or k phases of one
    rate (Tijms), where 1/sqrt(k) <= cv < 1/sqrt(k - 1); 0: a constant.
    """

    law: Literal["fit"] = "fit"
    mean: Duration
    cv: Annotated[NonNegative, Field(le=MOST_VARIATION)]

    @field_validator("cv")
    @classmethod
    def _few_phases(cls, cv: float) -> float:
        if cv > 0 and cv * cv * MOST_PHASES < 1.0 - 1e-9:
            raise ValueError(
                f"{cv:g} must be 0 or at least {1 / math.sqrt(MOST_PHASES):.4g}, which takes {MOST_PHASES} phases"
            )
        return cv

    @property
    def phases(self) -> int:
        """Phases of an Erlang law below 1: k."""
        return max(math.ceil(1.0 / self.cv**2 - 1e-9), 1)

    @property
    def fewer(self) -> float:
        """The probability of one phase less than k."""
        k, square = self.phases, self.cv**2
        return max(k * square - math.sqrt(max(k * (1.0 + square) - k * k * square, 0.0)), 0.0) / (1.0 + square)

    @cached_property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        if self.cv == 0:
            return ((1.0, Deterministic(value=self.mean)),)
        square = self.cv**2
        if self.cv >= 1:
            imbalance = math.sqrt((square - 1.0) / (square + 1.0))
            rare = 1.0 / ((square + 1.0) * (1.0 + imbalance))
            if rare == 0.5:
                return ((1.0, Exponential(mean=self.mean)),)
            often = 1.0 - rare
            means = (0.5 * self.mean / often, 0.5 * self.mean / rare)
            return (often, Exponential(mean=means[0])), (rare, Exponential(mean=means[1]))
        k, fewer = self.phases, self.fewer
        phase = self.mean / (k - fewer)
        long = Erlang(phases=k, mean=k * phase)
        return ((fewer, Erlang(phases=k - 1, mean=(k - 1) * phase)), (1.0 - fewer, long)) if fewer else ((1.0, long),)

    @property
    def variance(self) -> float:
        return (self.cv * self.mean) ** 2

    def as_phases(self) -> Phases | None:
        if not 0 < self.cv < 1:
            return super().as_phases()
        # One chain for both Erlang laws: the shorter one begins a phase later.
        k, fewer = self.phases, self.fewer
        initial = (1.0 - fewer) * np.eye(1, k)[0] + fewer * np.eye(1, k, 1)[0]
        return Phases(initial, (k - fewer) / self.mean * (np.eye(k, k=1) - np.eye(k)))

    @property
    def phase_count(self) -> int:
        return self.phases if 0 < self.cv < 1 else super().phase_count
