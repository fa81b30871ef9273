"""The answer of `compare`: two evaluations on the same jobs, and their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, SYSTEM
from loynes.estimators.pairs import Difference
from loynes.model.cluster import Model
from loynes.results.base import Nested, Result, how_sure
from loynes.results.paths import change_in_words
from loynes.results.records.evaluation import Evaluation
from loynes.results.table import Table
from loynes.results.tables import shown_percentiles, tidy_rows


@dataclass(frozen=True)
class Differences:
    """Second minus first, of all jobs, of the classes that both have, and of the cluster."""

    overall: Difference
    classes: dict[str, Difference]
    system: dict[str, Estimate]


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Result):
    """Two evaluations, and their differences on the same jobs."""

    command: ClassVar[str] = "compare"
    tidy_csv: ClassVar[bool] = True

    names: tuple[str, str]
    a: Annotated[Evaluation, Nested]
    b: Annotated[Evaluation, Nested]
    differences: Differences
    confidence: float

    @property
    def model(self) -> Model:
        return self.a.model

    @property
    def called(self) -> tuple[str, str]:
        """What to call the two on pages and in pictures: a change of the model in words."""
        changes = ", ".join(change_in_words(text) for text in self.question.get("change", ()))
        own = changes and "names" not in self.question and "without" not in self.question
        return (self.names[0], changes) if own else self.names

    @property
    def overall(self) -> Difference:
        return self.differences.overall

    @property
    def classes(self) -> dict[str, Difference]:
        return self.differences.classes

    @property
    def system(self) -> dict[str, Estimate]:
        return self.differences.system

    @property
    def title(self) -> str:
        return f"{self.names[0]} and {self.names[1]}: waits, and differences on the same jobs"

    @property
    def headline(self) -> str:
        return f"mean wait {self.in_time(self.overall.wait['mean'])} longer"

    @property
    def summary(self) -> Table:
        """Mean waits, their paired difference, and those of percentiles."""
        first, second = self.names
        shown = shown_percentiles(self.a.overall)
        columns = ("class", f"mean wait, {first}", second, "difference", *shown, "no wait")
        rows = []
        for name, one in ((ALL_JOBS, self.overall), *self.classes.items()):
            waits = (*one.means, *(one.wait[stat] for stat in ("mean", *shown)))
            rows.append((name, *map(self.in_time, waits), one.no_wait))
        spare = tuple(dict.fromkeys((shown[0], shown[-1], "no wait", *shown[1:-1])))
        return Table(self.title, columns, tuple(rows), spare)

    @property
    def system_summary(self) -> Table:
        rows = tuple((name.replace("_", " "), value) for name, value in self.system.items())
        return Table("system", ("quantity", "difference"), rows)

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.system_summary]

    @property
    def tidy(self) -> Table:
        """Class x metric: the difference with its interval."""
        rows = tidy_rows(
            (name, metric, value)
            for name, one in ((ALL_JOBS, self.overall), *self.classes.items())
            for metric, value in _leaves(one)
        )
        rows += tidy_rows((SYSTEM, metric, value) for metric, value in self.system.items())
        return Table(self.title, ("class", "metric", "difference", "low", "high"), tuple(rows))

    @property
    def footer(self) -> str:
        jobs = self.a.jobs + self.b.jobs
        gain = self._gain()
        paired = f"pairing narrows the interval of the mean {gain:.2g} times, " if gain > 1.05 else ""
        sure = f"{how_sure(self.confidence)} from {self.a.replicas} pairs of replicas"
        rates = (
            f"rates {self.rate_words(self.a.rate)} and {self.rate_words(self.b.rate)}"
            if self.a.rate != self.b.rate
            else f"rate {self.rate_words(self.a.rate)}"
        )
        return f"{rates}, {sure}, {paired}{jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"

    def _gain(self) -> float:
        """Two unpaired intervals together over the paired one."""
        apart = math.hypot(*(mean.half_width for mean in self.overall.means))
        paired = self.overall.wait["mean"].half_width
        return apart / paired if paired > 0 else math.inf


def _leaves(one: Difference) -> list[tuple[str, Estimate]]:
    waits = [(f"wait.{name}", value) for name, value in one.wait.items()]
    responses = [(f"response.{name}", value) for name, value in one.response.items()]
    return [*waits, *responses, ("no_wait", one.no_wait)]
