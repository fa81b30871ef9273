"""The answer of `advise`: what each policy would give, the best first, and what speaks most against it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.results.base import Nested, Result, SavedModel, how_sure
from loynes.results.quantity import UNNAMED
from loynes.results.records.log_cases import LogCases
from loynes.results.records.log_evaluation import interval_text
from loynes.results.records.simulation import Simulation
from loynes.results.table import Table
from loynes.results.tables import TIDY

State = Literal["stable", "starves", "unstable"]
# What policies are sorted by, where nothing else is said.
SORTED_BY = "mean(wait)"
STATES: tuple[State, ...] = ("stable", "starves", "unstable")


@dataclass(frozen=True)
class Choice:
    """A policy: its answer, its mean wait minus that of fcfs on the same jobs, and what speaks most against it."""

    policy: str
    result: Annotated[Simulation | None, Nested]
    difference: Estimate | None
    value: Estimate | None  # of what policies are sorted by
    state: State
    caveat: str

    @property
    def met(self) -> bool:
        """Whether all objectives are shown to be met."""
        return self.result is not None and all(one.met == "yes" for one in self.result.objectives)


def sorted_choices(choices: Iterable[Choice], falls: bool) -> tuple[Choice, ...]:
    """The best first: those that are stable, of these those that meet all objectives, of these by their values, the
    smallest first, or the largest where the metric falls as the load grows."""

    def key(one: Choice) -> tuple[int, bool, float]:
        value = math.inf if one.value is None or math.isnan(one.value.estimate) else one.value.estimate
        return STATES.index(one.state), not one.met, -value if falls and math.isfinite(value) else value

    return tuple(sorted(choices, key=key))


@dataclass(frozen=True, kw_only=True, repr=False)
class Advice(Result):
    """Policies on the same jobs at one rate, the best first."""

    command: ClassVar[str] = "advise"
    tidy_csv: ClassVar[bool] = True

    model: SavedModel
    rate: float
    choices: tuple[Choice, ...]
    metric: str  # what they are sorted by
    unit: str  # of its values
    confidence: float

    @property
    def title(self) -> str:
        return f"{self.model.label}: what each policy would give at rate {self.rate_words(self.rate)}"

    @property
    def setting(self) -> str:
        return f"times in {UNNAMED}" if self.time_unit is None else ""

    @property
    def level(self) -> tuple[str, ...]:
        """Policies that are not told apart from the first: their intervals meet."""
        first, *others = self.choices
        if first.value is None:
            return ()
        low, high = first.value.low, first.value.high
        alike = (one for one in others if (one.state, one.met) == (first.state, first.met) and one.value is not None)
        return tuple(one.policy for one in alike if one.value and one.value.low <= high and one.value.high >= low)

    @property
    def headline(self) -> str:
        best = self.choices[0]
        if best.result is None or best.state != "stable":
            return "no policy is stable here"
        return f"{best.policy}: mean wait {self.in_time(best.result.overall.wait.mean)}; but {best.caveat}"

    @property
    def summary(self) -> Table:
        """A row a policy."""
        asked = any(one.result is not None and one.result.objectives for one in self.choices)
        other = () if self.metric == SORTED_BY else (self.metric,)
        rows: list[tuple[Any, ...]] = []
        for one in self.choices:
            if one.result is None:
                rows.append((one.policy, *("-" for _ in range(5 + len(other) + asked)), one.caveat))
                continue
            wait = one.result.overall.wait
            minus = "-" if one.difference is None else one.difference
            longest = max(one.result.classes.items(), key=lambda item: item[1].wait.mean.estimate)
            mean = longest[1].wait.mean.estimate
            pays = f"{longest[0]}: {self.time_words(mean, 3)}" if math.isfinite(mean) else longest[0]
            value = (self.in_unit(one.value, self.unit),) if other else ()
            met = ("yes" if one.met else "no",) if asked else ()
            waits = (self.in_time(x) for x in (wait.mean, minus, wait.p95))
            rows.append((one.policy, *value, *met, *waits, pays, one.result.system.hol_loss, one.caveat))
        columns = ("policy", *other, *(("meets all",) if asked else ()), "mean wait", "minus fcfs", "p95",
                   "waits longest", "hol loss", "but")  # fmt: skip
        return Table(self.title, columns, tuple(rows), ("hol loss", "waits longest", "p95", "minus fcfs"))

    @property
    def tables(self) -> list[Table]:
        return [self.summary]

    @property
    def tidy(self) -> Table:
        """Policy x class x metric, each with its interval."""
        rows = []
        for one in self.choices:
            if one.result is None:
                continue
            rows += [(one.policy, *row) for row in one.result.tidy.rows]
            if one.difference is not None:
                rows.append((one.policy, ALL_JOBS, "wait.mean minus fcfs", *vars(one.difference).values()))
        return Table(self.title, ("policy", *TIDY), tuple(rows))

    @property
    def footer(self) -> str:
        jobs = sum(one.result.jobs for one in self.choices if one.result)
        sure = how_sure(self.confidence)
        return (
            f"an estimate, event by event on the same jobs from empty, nothing certified; {sure}, {jobs:.3g} jobs, "
            f"{self.seconds:.1f} s, seed {self.seed}"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LogAdvice(LogCases):
    """Policies on the same resamples of a log; fcfs, which the others are compared with, comes first, then the best."""

    command: ClassVar[str] = "advise-log"

    caveats: dict[str, str]

    @property
    def title(self) -> str:
        return f"{self.model.name}: what each policy would give ({self.unit[1]})"

    @property
    def headline(self) -> str:
        best = min(self.cases, key=lambda case: case.result.overall.wait.mean.estimate)
        size, unit = self.unit
        mean = interval_text(best.result.overall.wait.mean, size)
        return f"{best.name}: mean wait {mean} {unit}; but {self.caveats.get(best.name, '')}"

    @property
    def summary(self) -> Table:
        table = super().summary
        rows = tuple((*row, self.caveats.get(str(row[0]), "")) for row in table.rows)
        columns = ("policy", "mean wait", "minus fcfs", *table.columns[3:], "but")
        return Table(self.title, columns, rows, table.spare)
