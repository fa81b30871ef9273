"""The answer of `plan`: the smallest cluster, or the largest rate, that meets every objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.base import Nested, Result, SavedModel
from loynes.results.quantity import quantity
from loynes.results.records.evaluation import Evaluation
from loynes.results.table import Table


@dataclass(frozen=True)
class Goal:
    """An objective, and its quantity at the answer and next to it."""

    text: str
    bound: float
    meets: Estimate
    fails: Estimate | None = None
    next: Estimate | None = None
    unit: str = ""  # of the quantity: time, probability, ...


@dataclass(frozen=True)
class Look:
    """A value that was tried: every objective's quantity there, each in an interval of that confidence."""

    value: float
    verdict: str  # meets, fails, or unclear
    confidence: float
    objectives: tuple[Estimate, ...]  # none where there is no answer
    wait: Estimate | None = None  # the mean
    why: str = ""  # why there is no answer


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Result):
    """Which value meets all objectives, which does not, and what each of them gives."""

    command: ClassVar[str] = "plan"
    derived: ClassVar[tuple[str, ...]] = ("rate", "statement")

    model: SavedModel  # at the answer
    vary: str
    answer: float
    objectives: tuple[Goal, ...]
    meets: Annotated[Evaluation, Nested]
    fails: Annotated[Evaluation | None, Nested]
    next: Annotated[Evaluation | None, Nested]  # one step further: what one more would buy
    fails_at: float | None  # the nearest value that does not meet them
    fails_why: str  # how that is known, where there is no evaluation of it
    adjacent: bool  # whether that is the value next to the answer
    certified: bool  # whether "meets" rests on an upper bound
    confidence: float
    tried: tuple[dict[str, Any], ...] = ()  # value, verdict, seed
    curve: tuple[Look, ...] = ()  # of the values that were tried, each once, in ascending order
    resolution: float = 0.0  # to which the answer was looked for, as a part of it; 0: to the next whole number

    @property
    def rate(self) -> float:
        return self.meets.rate

    @property
    def policy(self) -> str:
        return self.meets.policy

    @property
    def title(self) -> str:
        return f"{self.model.label}: plan"

    @property
    def headline(self) -> str:
        return self.statement

    @property
    def noun(self) -> str:
        if self.vary.startswith("nodes."):
            return f"{self.vary.removeprefix('nodes.')} nodes"
        return self.vary.removeprefix("resources.")

    def named(self, value: float) -> str:
        return f"rate {self.rate_words(value)}" if self.vary == "rate" else f"{value:g} {self.noun}"

    @property
    def statement(self) -> str:
        """The answer in a sentence."""
        sure = f"{100 * self.confidence:.7g}%"
        verb = "meets" if self.vary == "rate" else "meet"
        these = "every objective" if len(self.objectives) > 1 else "the objective"
        head = f"{self.named(self.answer)} {verb} {these}"
        if not self.certified:
            estimate = f" under {self.policy} (an estimate)"
            head += estimate if self.meets.is_estimate else ", as far as a lower bound can tell"
        sign = -1.0 if self.vary == "rate" else 1.0
        if self.fails_at is None and any(sign * one["value"] < sign * self.answer for one in self.tried):
            return f"{head}; of nothing {'larger' if sign < 0 else 'smaller'} it could be told whether it does ({sure})"
        if self.fails_at is None:
            return f"{head}, and nothing smaller is possible ({self.fails_why}; {sure})"
        not_ = "does not" if self.vary == "rate" else "do not"
        gap = "" if self.adjacent else "; what lies between could not be told apart"
        why = f" ({self.fails_why})" if self.fails is None and self.fails_why else ""
        return f"{head}, {self.named(self.fails_at)} {not_}{why}{gap} ({sure})"

    @property
    def summary(self) -> Table:
        """A row a value: the one that fails, the answer, and the next."""
        columns = (self.noun, *(goal.text for goal in self.objectives), "met", "mean wait", "utilization", "hol loss")
        rows: list[tuple[Any, ...]] = []
        shown = (("fails", self.fails_at, self.fails), ("meets", self.answer, self.meets))
        further = None if self.next is None else _value(self.next.model, self.vary, self.next.rate)
        for name, value, result in (*shown, ("next", further, self.next)):
            if value is None:
                continue
            met = "no" if name == "fails" else "yes"
            if result is None:
                rows.append((self._cell(value), *("-" for _ in self.objectives), met, "-", "-", "-"))
                continue
            goals = tuple(quantity(getattr(goal, name), goal.unit, self.time_unit) for goal in self.objectives)
            system = result.system
            rows.append(
                (
                    self._cell(value),
                    *goals,
                    met,
                    self.in_time(result.overall.wait.mean),
                    system.utilization.estimate,
                    system.hol_loss,
                )
            )
        return Table(self.title, columns, tuple(rows), ("hol loss", "utilization"))

    def _cell(self, value: float) -> object:
        return self.in_rate(value) if self.vary == "rate" and self.time_unit else f"{value:g}"

    @property
    def curve_summary(self) -> Table:
        """All values that were tried, at the closest look at each."""
        units = [goal.unit for goal in self.objectives]
        rows = tuple(
            (
                self.in_rate(look.value) if self.vary == "rate" else look.value,
                *(map(self.in_unit, look.objectives, units) if look.objectives else ("-" for _ in units)),
                self.in_time(look.wait or "-"),
                look.verdict,
            )
            for look in self.curve
        )
        return Table("values tried", (self.noun, *(g.text for g in self.objectives), "mean wait", "verdict"), rows)

    @property
    def tidy(self) -> Table:
        rows = [
            (goal.text, goal.bound, name, *vars(value).values())
            for goal in self.objectives
            for name in ("fails", "meets", "next")
            if (value := getattr(goal, name)) is not None
        ]
        return Table(self.title, ("objective", "bound", "at", "estimate", "low", "high"), tuple(rows))

    @property
    def footer(self) -> str:
        lines = [self.statement]
        if self.next is not None and self.vary != "rate":
            wait = self.meets.overall.wait.mean.estimate
            saved = wait - self.next.overall.wait.mean.estimate
            lines.append(
                f"one more would take {self.time_words(saved, 3)} off the mean wait of {self.time_words(wait, 3)}"
            )
        if self.resolution and self.adjacent:
            lines.append(f"the {self.noun} is found to {100 * self.resolution:.3g}% (--resolution)")
        lines.append(f"{len(self.tried)} values tried, {self.seconds:.1f} s, seed {self.seed}")
        return "\n".join(lines)


def _value(model: Model, vary: str, rate: float) -> float:
    if vary == "rate":
        return rate
    if vary == "servers":
        return float(model.servers)
    if model.nodes is not None:
        names = [one.name for one in model.nodes]
        name = vary.removeprefix("nodes").lstrip(".")
        return float(model.nodes[names.index(name) if name in names else 0].count)
    return float((model.resources or {})[vary.removeprefix("resources.")])
