"""The answer of `certify`: what bounds the workload from above at a rate, or why nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loynes.estimate import Estimate
from loynes.results.base import Result, SavedModel
from loynes.results.table import Table
from loynes.results.tables import figures_of
from loynes.stationary.certificate import Certificate


@dataclass(frozen=True, kw_only=True, repr=False)
class Certified(Result):
    """False in a condition where there is no certificate; printed, it says what was assumed and how sure it is."""

    command: ClassVar[str] = "certify"
    derived: ClassVar[tuple[str, ...]] = ("load",)

    model: SavedModel
    rate: float
    threshold: Estimate
    certificate: Certificate | None
    why: str = ""
    decay_rate: float | None = None  # of P(wait > x) itself, where a small chain or a formula gives it

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate

    def __bool__(self) -> bool:
        return self.certificate is not None

    def __str__(self) -> str:
        return f"no certificate: {self.why}" if self.certificate is None else str(self.certificate)

    @property
    def title(self) -> str:
        return (
            f"{self.model.label}: certificate at rate {self.rate_words(self.rate)} ({self.load:.1%} of the threshold)"
        )

    @property
    def headline(self) -> str:
        return f"none: {self.why}" if self.certificate is None else f"theta {self.certificate.theta:.6g}"

    @property
    def summary(self) -> Table:
        rows = [("none", self.why)] if self.certificate is None else figures_of(self.certificate, self.time_unit)
        exact = (
            [] if self.decay_rate is None else [("decay rate of waits, exact", self.in_unit(self.decay_rate, "1/time"))]
        )
        return Table(self.title, ("quantity", "value"), (*rows, *exact))

    @property
    def footer(self) -> str:
        return str(self) + (f"\nTimes in these sentences are in {self.time_unit}." if self.time_unit else "")
