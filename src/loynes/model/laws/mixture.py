"""Mixtures of other laws."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from loynes.model.fields import Probability, check_sum_to_one
from loynes.model.laws.law import Composed, Law
from loynes.model.laws.service_law import ServiceLaw


class Mixture(Composed):
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
    def parts(self) -> tuple[tuple[float, Law], ...]:
        return tuple(zip(self.weights, self.laws, strict=True))

    @property
    def mean(self) -> float:
        return math.fsum(w * x.mean for w, x in self.parts)
