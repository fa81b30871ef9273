"""The answer of `stability`: the largest arrival rate a cluster can take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from loynes.estimate import Estimate
from loynes.results.base import Result, SavedModel, how_sure
from loynes.results.table import Table

# The rows that are rates.
RATES = ("threshold", "ideal, without blocking", "carried, an estimate")
_LOSS = "hol_loss_saturated"
# How the method begins where nothing bounds the threshold.
ESTIMATE = "estimate"
# The method where the work of jobs says all, without a run.
BY_WORK = "work"


def _nested(losses: dict[str, Estimate]) -> dict[str, Any]:
    return {kind: {_LOSS: loss.to_dict()} for kind, loss in losses.items()}


def _flat(data: Any) -> Any:
    return {k: v[_LOSS] if isinstance(v, dict) and _LOSS in v else v for k, v in data.items()}


@dataclass(frozen=True, kw_only=True, repr=False)
class Threshold(Result):
    """Threshold with its bracket, and servers lost to head-of-line blocking in saturation."""

    command: ClassVar[str] = "stability"
    also: ClassVar[dict[str, Any]] = {"max_utilization": float}

    model: SavedModel
    threshold: Estimate
    ideal: float
    hol_loss_saturated: Estimate  # servers (of the bottleneck)
    discipline: str
    method: str
    confidence: float
    replicas: int
    variance_reduction: float  # by control variates
    jobs: int
    backend: str
    resources: Annotated[dict[str, Estimate], PlainSerializer(_nested), BeforeValidator(_flat)] = field(
        default_factory=dict
    )  # HOL loss in saturation, by resource

    @property
    def is_estimate(self) -> bool:
        """Whether it was found by watching a policy, and nothing bounds it."""
        return self.method.startswith(ESTIMATE)

    @property
    def policy(self) -> str:
        """Under which jobs start: fcfs, if not in the order of the discipline, or the policy that was watched."""
        return self.discipline if self.is_estimate else "fcfs"

    @property
    def hol_loss(self) -> Estimate:
        return self.hol_loss_saturated

    @property
    def max_utilization(self) -> Estimate:
        return self.threshold.scaled(1.0 / self.ideal)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"max_utilization": self.max_utilization.estimate}

    @property
    def title(self) -> str:
        return f"{self.model.label}: stability"

    @property
    def headline(self) -> str:
        name = f"{self.policy} seems to carry" if self.is_estimate else "threshold"
        return f"{name} {self.in_rate(self.threshold)}, {self.max_utilization.estimate:.1%} of the ideal"

    @property
    def summary(self) -> Table:
        when = "idle at that rate" if self.is_estimate else "lost when saturated"
        lost = {f"{kind} {when}": loss for kind, loss in self.resources.items()}
        rows: tuple[tuple[str, Estimate], ...] = (
            (RATES[2] if self.is_estimate else RATES[0], self.threshold),
            ("largest utilization", self.max_utilization),
            *(lost or {f"servers {when}": self.hol_loss_saturated}).items(),
            (RATES[1], Estimate.exact(self.ideal)),
        )
        cells = tuple(
            (name, *(self.in_rate(x) if name in RATES else x for x in (value, value.low, value.high)))
            for name, value in rows
        )
        return Table(self.title, ("quantity", "estimate", "low", "high"), cells)

    @property
    def tidy(self) -> Table:
        rows = tuple((row[0], *row[1:4]) for row in self.summary.numbers.rows)
        return Table(self.title, ("quantity", "estimate", "low", "high"), rows)

    @property
    def footer(self) -> str:
        if self.method == BY_WORK:
            return "between bounds that hold for any services of these means: nothing was sampled"
        sure = how_sure(self.confidence, self.replicas)
        return f"{self.method}, {sure}, {self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
