"""The answers of `compare` and `sweep` for a log: cases of it on the same resamples, and how they differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.results.base import Nested, Result, how_sure
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.log_evaluation import LogEvaluation, digits, interval_text
from loynes.results.records.replay import Log, cluster_notes
from loynes.results.table import Table
from loynes.results.tables import TIDY
from loynes.results.times import unit_of


@dataclass(frozen=True)
class LogCase:
    """One case: what is different about it, its waits, and how much longer they are than those of the first case."""

    name: str
    config: dict[str, Any]
    result: Annotated[LogEvaluation, Nested]
    # class -> metric -> this case minus the first, on the same resamples; empty for the first.
    differences: dict[str, dict[str, Estimate]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class LogCases(Result):
    """Cases of one log, the first of which the others are compared with."""

    tidy_csv: ClassVar[bool] = True

    model: Log
    cases: tuple[LogCase, ...]
    confidence: float

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def unit(self) -> tuple[float, str]:
        """What waits are shown in: its seconds, its name."""
        return unit_of(max(case.result.overall.wait.p95.estimate for case in self.cases))

    @property
    def title(self) -> str:
        return f"{self.model.name}: {len(self.cases)} cases on the same resamples ({self.unit[1]})"

    @property
    def headline(self) -> str:
        first, *others = self.cases
        size, unit = self.unit
        texts = []
        for one in others[:3]:
            minus = one.differences[ALL_JOBS]["wait.mean"]
            texts.append(f"{one.name}: {interval_text(minus, size)} more")
        before = digits(first.result.overall.wait.mean.estimate / size)
        return f"mean wait {before} {unit} ({first.name}); {'; '.join(texts)}"

    @property
    def summary(self) -> Table:
        """A row a case: waits of all jobs, and the difference of mean waits to the first case."""
        rows, (size, _) = [], self.unit
        for case in self.cases:
            waits, system = case.result.overall, case.result.system
            minus = case.differences.get(ALL_JOBS, {}).get("wait.mean")
            rows.append((
                case.name, interval_text(waits.wait.mean, size), "-" if minus is None else interval_text(minus, size),
                interval_text(waits.wait.p95, size), interval_text(waits.no_wait), interval_text(system.utilization),
            ))  # fmt: skip
        columns = ("case", "mean wait", "minus the first", "p95", "no wait", "utilization")
        return Table(self.title, columns, tuple(rows), ("utilization", "no wait", "p95"))

    @property
    def classes_summary(self) -> Table:
        """Mean waits of every class."""
        names = list(dict.fromkeys(name for case in self.cases for name in case.result.classes))
        rows = []
        for name in names:
            waits = [case.result.classes.get(name) for case in self.cases]
            rows.append((name, *("-" if one is None else interval_text(one.wait.mean, self.unit[0]) for one in waits)))
        return Table("mean waits by class", ("class", *(case.name for case in self.cases)), tuple(rows), ())

    @property
    def tables(self) -> list[Table]:
        return [self.summary, *([self.classes_summary] if len(self.cases) <= 4 else [])]

    @property
    def tidy(self) -> Table:
        rows: list[tuple[Any, ...]] = []
        for case in self.cases:
            rows += [(case.name, *row) for row in case.result.tidy.rows]
            rows += [
                (case.name, name, f"{metric} minus the first", *vars(value).values())
                for name, values in case.differences.items()
                for metric, value in values.items()
            ]
        return Table(self.title, ("case", *TIDY), tuple(rows))

    @property
    def footer(self) -> str:
        one = self.cases[0].result
        cluster = "".join(f"{note}; " for note in cluster_notes(one.details))
        return (
            f"{cluster}{one.resamples} resamples of {one.days} days, {how_sure(self.confidence)} given the log; "
            f"{self.seconds:.1f} s, seed {self.seed}"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LogComparison(LogCases):
    """Policies, or a log with and without a change."""

    command: ClassVar[str] = "compare-log"


@dataclass(frozen=True, kw_only=True, repr=False)
class LogSweep(LogCases):
    """All combinations of what was varied."""

    command: ClassVar[str] = "sweep-log"
