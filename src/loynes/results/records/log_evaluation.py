"""The answer of `evaluate` for a log: waits on resamples of it, with the doubt that its length leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import Measures, System, Waits
from loynes.results.base import how_sure
from loynes.results.judged import Judged, WithObjectives
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.replay import Log, cluster_notes
from loynes.results.table import Table
from loynes.results.tables import TIDY, everyone, in_words, shown_metrics, system_table, tidy_table
from loynes.results.times import unit_of


@dataclass(frozen=True, kw_only=True, repr=False)
class LogEvaluation(WithObjectives):
    """Averages over resamples of a log. Intervals are those of the data; `sampling` has the Monte Carlo ones."""

    command: ClassVar[str] = "evaluate-log"
    tidy_csv: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("method",)

    method: ClassVar[str] = "resampled log"

    model: Log
    resources: dict[str, int] = field(default_factory=dict)  # how much there is of each, if not of servers alone
    policy: str
    details: dict[str, Any] = field(default_factory=dict)  # the policy's numbers, and what it believed
    changes: tuple[str, ...] = ()  # what was changed about the jobs, in words
    by: str  # what classes are: need, or a label of the log
    overall: Waits
    classes: dict[str, Waits]
    system: System
    ahead: Measures  # the same with intervals for the next period as long as the log
    sampling: Measures  # the same with Monte Carlo intervals: how well the runs determine it
    others: Measures  # means over resamples, with Monte Carlo intervals
    below: float  # the share of resamples whose mean wait is below that of the log itself
    resamples: int
    days: int
    block: float  # mean length of the stretches that resamples are made of, days
    jobs: int
    confidence: float
    objectives: tuple[Judged, ...] = ()  # what was asked for, and whether it is met

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def unit(self) -> tuple[float, str]:
        """What waits are shown in: its seconds, its name."""
        return unit_of(self.overall.wait.p99.estimate)

    @property
    def title(self) -> str:
        changes = f", {', '.join(self.changes)}" if self.changes else ""
        units = (
            ", ".join(self.details.get("nodes", ()))
            or ", ".join(f"{count} {name}" for name, count in self.resources.items())
            or f"{self.model.servers} servers"
        )
        where = f"on {units} under {self.policy}"
        return f"{self.model.name}: waits {where}{changes} ({self.unit[1]})"

    @property
    def headline(self) -> str:
        mean = self.overall.wait.mean
        size, name = self.unit
        low, high = (digits(x / size) for x in (mean.low, mean.high))
        return f"mean wait {digits(mean.estimate / size)} {name}; between {low} and {high} given these {self.days} days"

    @property
    def summary(self) -> Table:
        """Waits by class, with the data's intervals."""
        waits = everyone(self.overall, self.classes)
        size, _ = self.unit
        rows = tuple(
            (name, *(interval_text(m.get(one), size if m.unit == "time" else 1.0) for m in shown_metrics(one)))
            for name, one in waits.items()
        )
        columns = ("class", *(in_words(one, self.time_unit) for one in shown_metrics(self.overall)))
        return Table(self.title, columns, rows, ("p50", "p99", "mean response", "no wait"))

    @property
    def doubt_summary(self) -> Table:
        """The two intervals of the mean wait side by side."""
        values = {
            "in the long run, given this log (data)": self.overall,
            f"in the next {self.days} days, if they are like these": self.ahead.overall,
            "of the runs (Monte Carlo)": self.sampling.overall,
            "mean over resamples (Monte Carlo)": self.others.overall,
        }  # fmt: skip
        size, unit = self.unit
        rows = tuple((name, *(x / size for x in vars(one.wait.mean).values())) for name, one in values.items())
        return Table(f"how sure the mean wait is ({unit})", ("interval", "mean wait", "low", "high"), rows, ())

    def in_unit(self, value: object, unit: str) -> object:
        """With both ends, in the unit that waits are shown in."""
        return interval_text(value, self.unit[0] if unit == "time" else 1.0) if isinstance(value, Estimate) else value

    @property
    def tables(self) -> list[Table]:
        asked = [self.objectives_summary] if self.objectives else []
        return [self.summary, system_table(self.system), self.doubt_summary, *asked]

    @property
    def tidy(self) -> Table:
        data = tidy_table("", self.overall, self.classes, self.system).rows
        names = {"ahead": self.ahead, "Monte Carlo": self.sampling, "resamples": self.others}
        more = tuple(
            (f"{name} ({kind})", *rest)
            for kind, one in names.items()
            for name, *rest in tidy_table("", one.overall, one.classes, one.system).rows
        )
        return Table(self.title, TIDY, (*data, *more))

    @property
    def footer(self) -> str:
        believed = f", believing in {self.details['believed']}" if "believed" in self.details else ""
        cluster = "".join(f"{note}; " for note in cluster_notes(self.details))
        position = f"the log itself is above {100 * self.below:.0f}% of them"
        return (
            f"{self.resamples} resamples of {self.days} days in stretches of {self.block:g} on average, {position}; "
            f"{self.policy}{believed}; {cluster}{how_sure(self.confidence)}, {self.jobs:.3g} jobs, "
            f"{self.seconds:.1f} s, seed {self.seed}"
        )


def interval_text(value: Estimate, size: float = 1.0) -> str:
    """An estimate with its interval, which is too wide and lopsided for a half-width, in units of a size."""
    if math.isnan(value.estimate):
        return "-"
    middle, low, high = (digits(x / size) for x in vars(value).values())
    return f"{middle} [{low}, {high}]"


def digits(x: float) -> str:
    """Three digits, and no power of ten where a number can do without."""
    if not math.isfinite(x):
        return "-" if math.isnan(x) else "∞" if x > 0 else "-∞"
    return f"{float(f'{x:.3g}'):g}"
