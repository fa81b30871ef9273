"""Field types shared by laws, arrivals and models: strict, finite, and named by what they mean."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Strict

Finite = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=1)]
# The kernels choose a class by a 32-bit word, so a rarer class would never be drawn.
Probability = Annotated[float, Strict(), Field(ge=2.0**-31, le=1, allow_inf_nan=False)]

SUM_TOLERANCE = 1e-9


class Record(BaseModel):
    """A frozen, closed record: unknown keys are refused, values cannot be changed after validation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check_sum_to_one(what: str, values: tuple[float, ...]) -> None:
    """Refuse probabilities whose sum is not 1 to within 1e-9."""
    total = sum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{what} must sum to 1, they sum to {total:.12g}")
