"""The answer of `sweep`: one evaluation a point, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from loynes.estimators.metrics import metric
from loynes.results.base import Nested, Result, SavedModel, how_sure
from loynes.results.records.evaluation import Evaluation
from loynes.results.table import Table
from loynes.results.tables import TIDY, asked_percentiles

# How the reason begins where a point was not evaluated at all.
NOT_RUN = "not run"


@dataclass(frozen=True)
class Point:
    """One configuration, and its evaluation; where there is none, why."""

    config: dict[str, Any]  # what is varied -> value
    result: Annotated[Evaluation | None, Nested]
    why: str = ""

    @property
    def late(self) -> bool:
        """Whether there was no time for it."""
        return self.result is None and self.why.startswith(NOT_RUN)


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(Result):
    """A model at many rates, or changed in many ways, under the same random numbers."""

    command: ClassVar[str] = "sweep"
    tidy_csv: ClassVar[bool] = True

    model: SavedModel
    vary: tuple[str, ...]
    points: tuple[Point, ...]
    confidence: float

    @property
    def policy(self) -> str:
        """Of every point."""
        return next((point.result.policy for point in self.points if point.result is not None), "fcfs")

    @property
    def title(self) -> str:
        return f"{self.model.label}: sweep"

    @property
    def headline(self) -> str:
        return f"{len(self.points)} points over {', '.join(self.vary)}"

    @property
    def _rest(self) -> tuple[str, ...]:
        """What a point's result says of its rate besides what is varied."""
        return tuple(name for name in ("rate", "load") if name not in self.vary)

    @property
    def summary(self) -> Table:
        """A row a point."""
        first = next((point.result.overall for point in self.points if point.result is not None), None)
        shown = asked_percentiles(first)
        columns = (*self.vary, *self._rest, "mean wait", *shown, "no wait", "utilization", "hol loss", "method")
        rows = []
        for point in self.points:
            config = tuple(
                self.in_rate(point.config[name]) if name == "rate" else point.config[name] for name in self.vary
            )
            result = point.result
            if result is None:
                rows.append(
                    (*config, *("" for _ in self._rest), *("-" for _ in range(4 + len(shown))), point.why.split(":")[0])
                )
                continue
            wait, system = result.overall.wait, result.system
            rest = tuple(self.in_rate(result.rate) if name == "rate" else getattr(result, name) for name in self._rest)
            percentiles = (metric(f"wait.{name}").get(result.overall) for name in shown)
            waits = (*(self.in_time(x) for x in (wait.mean, *percentiles)), result.overall.no_wait)
            method = result.method if result.certificate else f"{_by(result)}, {result.standing}"
            rows.append((*config, *rest, *waits, system.utilization.estimate, system.hol_loss, method))
        return Table(self.title, columns, tuple(rows), (shown[-1], "utilization", "method", "no wait"))

    @property
    def tidy(self) -> Table:
        """Configuration x class x metric, each with its interval; points without a result have no rows."""
        rows = []
        for number, point in enumerate(self.points):
            if point.result is None:
                continue
            config = [point.config[name] for name in self.vary] + [getattr(point.result, name) for name in self._rest]
            known = (number, *config, point.result.threshold.estimate, point.result.certificate is not None)
            rows += [(*known, *row) for row in point.result.tidy.rows]
        columns = ("point", *self.vary, *self._rest, "threshold", "certified", *TIDY)
        return Table(self.title, columns, tuple(rows))

    @property
    def footer(self) -> str:
        jobs = sum(point.result.jobs for point in self.points if point.result)
        took = f"{jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed} at every point"
        return f"{len(self.points)} points, {how_sure(self.confidence)}, {took}"


def _by(result: Evaluation) -> str:
    return result.policy if result.is_estimate else result.method
