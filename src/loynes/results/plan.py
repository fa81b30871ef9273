"""The answer of `plan`: the smallest cluster, or the largest rate, that meets every objective."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.records import Evaluation
from loynes.results.saving import dump, save
from loynes.results.table import Table


@dataclass(frozen=True)
class Goal:
    """An objective, and its quantity at the answer and next to it."""

    text: str
    bound: float
    meets: Estimate
    fails: Estimate | None = None
    next: Estimate | None = None

    def to_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("meets", "fails", "next")}
        told = {name: None if value is None else value.to_dict() for name, value in values.items()}
        return {"text": self.text, "bound": self.bound} | told

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Goal:
        values = {name: Estimate.from_dict(data[name]) for name in ("meets", "fails", "next") if data[name] is not None}
        return cls(data["text"], data["bound"], **values)


@dataclass(frozen=True)
class Plan:
    """Which value meets all objectives, which does not, and what each of them gives."""

    model: Model  # at the answer
    vary: str
    answer: float
    objectives: tuple[Goal, ...]
    meets: Evaluation
    fails: Evaluation | None
    next: Evaluation | None  # one step further: what one more would buy
    fails_at: float | None  # the nearest value that does not meet them
    fails_why: str  # how that is known, where there is no evaluation of it
    adjacent: bool  # whether that is the value next to the answer
    certified: bool  # whether "meets" rests on an upper bound
    confidence: float
    seed: int
    seconds: float
    tried: tuple[dict[str, Any], ...] = field(default=())  # value, verdict
    version: str = __version__
    warnings: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        return self.meets.rate

    @property
    def noun(self) -> str:
        return {"rate": "rate", "servers": "servers"}.get(self.vary, self.vary.removeprefix("resources."))

    def said(self, value: float) -> str:
        return f"rate {value:g}" if self.vary == "rate" else f"{value:g} {self.noun}"

    @property
    def statement(self) -> str:
        """The answer in a sentence."""
        sure = f"{100 * self.confidence:.7g}%"
        verb = "meets" if self.vary == "rate" else "meet"
        these = "every objective" if len(self.objectives) > 1 else "the objective"
        head = f"{self.said(self.answer)} {verb} {these}"
        if not self.certified:
            head += ", as far as a lower bound can tell"
        if self.fails_at is None:
            return f"{head}, and nothing smaller is possible ({self.fails_why}; {sure})"
        not_ = "does not" if self.vary == "rate" else "do not"
        gap = "" if self.adjacent else "; what lies between could not be told apart"
        why = f" ({self.fails_why})" if self.fails is None and self.fails_why else ""
        return f"{head}, {self.said(self.fails_at)} {not_}{why}{gap} ({sure})"

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
                rows.append((f"{value:g}", *("-" for _ in self.objectives), met, "-", "-", "-"))
                continue
            goals = tuple(getattr(goal, name) for goal in self.objectives)
            system = result.system
            rows.append(
                (f"{value:g}", *goals, met, result.overall.wait.mean, system.utilization.estimate, system.hol_loss)
            )
        return Table(f"{self.model.label}: plan", columns, tuple(rows), ("hol loss", "utilization"))

    @property
    def flat(self) -> Table:
        return self.summary

    @property
    def tidy(self) -> Table:
        rows = [
            (goal.text, goal.bound, name, *vars(value).values())
            for goal in self.objectives
            for name in ("fails", "meets", "next")
            if (value := getattr(goal, name)) is not None
        ]
        return Table(self.summary.title, ("objective", "bound", "at", "estimate", "low", "high"), tuple(rows))

    @property
    def tables(self) -> list[Table]:
        return [self.summary]

    @property
    def footer(self) -> str:
        lines = [self.statement]
        if self.next is not None and self.vary != "rate":
            saved = self.meets.overall.wait.mean.estimate - self.next.overall.wait.mean.estimate
            lines.append(
                f"one more would take {saved:.3g} off the mean wait of {self.meets.overall.wait.mean.estimate:.3g}"
            )
        lines.append(f"{len(self.tried)} values tried, {self.seconds:.1f} s, seed {self.seed}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        results = {name: getattr(self, name) for name in ("meets", "fails", "next")}
        return {
            "command": "plan",
            "model": self.model.identity(),
            "rate": self.rate,
            "vary": self.vary,
            "answer": self.answer,
            "statement": self.statement,
            "fails_at": self.fails_at,
            "fails_why": self.fails_why,
            "adjacent": self.adjacent,
            "certified": self.certified,
            "confidence": self.confidence,
            "objectives": [goal.to_dict() for goal in self.objectives],
            "tried": list(self.tried),
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
            "warnings": list(self.warnings),
            **{name: None if result is None else result.to_dict() for name, result in results.items()},
        }

    def to_json(self) -> str:
        return dump(self.to_dict())

    def save(self, path: str | Path) -> None:
        save(self, path)

    def plot(self, ax: Any = None) -> Any:
        from loynes.results.plots import plot_plan

        return plot_plan(self, ax)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        def result(name: str) -> Evaluation | None:
            return None if data[name] is None else Evaluation.from_dict(data[name])

        names = ("vary", "answer", "fails_at", "fails_why", "adjacent", "certified", "confidence", "seed", "version")
        return cls(
            model=Model.model_validate(data["model"]["definition"]),
            objectives=tuple(Goal.from_dict(goal) for goal in data["objectives"]),
            seconds=data.get("seconds", math.nan),
            tried=tuple(data["tried"]),
            warnings=tuple(data["warnings"]),
            meets=Evaluation.from_dict(data["meets"]),
            fails=result("fails"),
            next=result("next"),
            **{name: data[name] for name in names},
        )


def _value(model: Model, vary: str, rate: float) -> float:
    if vary == "rate":
        return rate
    if vary == "servers":
        return float(model.servers)
    return float((model.resources or {})[vary.removeprefix("resources.")])
