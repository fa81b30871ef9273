"""The answer of `plan` for a log: which value meets objectives, and with which probability, given the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from loynes.estimate import Estimate
from loynes.results.base import Nested, Result
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.log_evaluation import LogEvaluation, digits, interval_text
from loynes.results.records.replay import Log, cluster_notes
from loynes.results.table import Table

MONTH = 365.2425 / 12.0  # days


@dataclass(frozen=True)
class LogGoal:
    """An objective, and its quantity at the answer."""

    text: str
    bound: float
    value: Estimate
    probability: float  # that it is met there
    unit: str = ""  # of the quantity: time, probability, ...


@dataclass(frozen=True)
class TriedValue:
    """A value that was tried: the probability, at least, that it meets every objective, and its mean wait."""

    value: float
    probability: float
    wait: Estimate | None = None  # None where there is more work than servers


@dataclass(frozen=True, kw_only=True, repr=False)
class LogPlan(Result):
    """The first value that meets all objectives with the probability asked for, and all that were tried."""

    command: ClassVar[str] = "plan-log"
    tidy_csv: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("statement",)

    model: Log  # at the answer
    vary: str
    answer: float
    probability: float  # asked for
    objectives: tuple[LogGoal, ...]
    meets: Annotated[LogEvaluation, Nested]
    tried: tuple[TriedValue, ...]
    more_days: float | None  # of log that would halve the probability that the answer does not meet them
    days: int
    confidence: float
    resolution: float = 0.0  # to which the answer was looked for, as a part of it; 0: to the next whole number

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def title(self) -> str:
        return f"{self.model.name}: plan"

    @property
    def headline(self) -> str:
        return self.statement

    def named(self, value: float) -> str:
        if self.vary.startswith("nodes."):
            return f"{value:g} {self.vary.removeprefix('nodes.')} nodes"
        return f"{value:g} times the jobs" if self.vary == "scale" else f"{value:g} {self.vary}"

    @property
    def at_answer(self) -> float:
        return next(one.probability for one in self.tried if one.value == self.answer)

    @property
    def statement(self) -> str:
        """The answer in a sentence."""
        these = "every objective" if len(self.objectives) > 1 else "it"
        better = [one for one in self.tried if one.probability >= 0.99 > self.at_answer]
        nearest = min(better, key=lambda one: abs(one.value - self.answer), default=None)
        verb = "meets" if self.vary == "scale" else "meet"
        text = f"{self.named(self.answer)} {verb} {these} with probability {_chance(self.at_answer)} given these "
        text += _length(self.days)
        if nearest is not None:
            text += f"; {nearest.value:g} with {_chance(nearest.probability)}"
        if self.more_days is not None:
            text += f"; {_length(self.more_days)} more of log would halve that doubt"
        return text

    @property
    def summary(self) -> Table:
        """A row a value that was tried."""
        columns = (self.vary, "meets all with probability", f"mean wait ({self.meets.unit[1]})")
        rows = tuple(
            (
                f"{one.value:g}",
                digits(one.probability),
                "-" if one.wait is None else interval_text(one.wait, self.meets.unit[0]),
            )
            for one in sorted(self.tried, key=lambda one: one.value)
        )
        return Table(self.title, columns, rows)

    def _value(self, goal: LogGoal) -> str:
        size, unit = self.meets.unit if goal.unit == "time" else (1.0, "")
        return f"{interval_text(goal.value, size)} {unit}".strip()

    @property
    def goals_summary(self) -> Table:
        rows = tuple((one.text, self._value(one), digits(one.probability)) for one in self.objectives)
        return Table(f"at {self.named(self.answer)}", ("objective", "value", "met with probability"), rows)

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.goals_summary]

    @property
    def tidy(self) -> Table:
        rows = tuple((one.text, one.bound, one.probability, *vars(one.value).values()) for one in self.objectives)
        return Table(self.title, ("objective", "bound", "probability", "estimate", "low", "high"), rows)

    @property
    def footer(self) -> str:
        found = f"; found to {100 * self.resolution:.3g}%, or a twentieth" if self.resolution else ""
        cluster = "".join(f"{note}; " for note in cluster_notes(self.meets.details))
        return (
            f"{self.statement}{found}\n{cluster}{len(self.tried)} values tried under {self.meets.policy}, each on the "
            f"same {self.meets.resamples} resamples; {self.seconds:.1f} s, seed {self.seed}"
        )


def _chance(probability: float) -> str:
    return f"{probability:.3f}" if probability < 0.9995 else "above 0.999"


def _length(days: float) -> str:
    return f"{days / MONTH:.2g} months" if days >= 1.5 * MONTH else f"{days:.0f} days"
