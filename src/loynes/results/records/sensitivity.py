"""The answer of `sensitivity`: what each change of a little does to an objective."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, PlainSerializer

from loynes.estimate import Estimate
from loynes.model.cluster import Model
from loynes.results.base import Result, how_sure
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.replay import Log
from loynes.results.table import Table

Kind = Literal["rate", "length", "share", "need", "servers"]
# What is asked may be about a model, or about something that has none.
AnyModel = Annotated[
    Model | None,
    PlainSerializer(lambda model: None if model is None else model.identity()),
    BeforeValidator(lambda data: Model.model_validate(data["definition"]) if isinstance(data, dict) else data),
]


@dataclass(frozen=True)
class Effect:
    """What changes, by how much, and what the objective gains (or loses) by it."""

    lever: str
    kind: Kind
    of: str  # the class, or the resource
    change: str  # +1%, +1, -1
    words: str  # the change in words
    reverse: str  # its reverse, in words; empty where the effect of that is another
    effect: Estimate  # of the objective; infinite where the change makes the cluster unstable
    method: Literal["derivative", "difference"]
    step: float | None = None  # of a difference, in proportion, to both sides
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.lever} {self.change.replace('-', '−')}"

    @property
    def clear(self) -> bool:
        """Whether there surely is an effect, and a finite one."""
        return math.isfinite(self.effect.estimate) and (self.effect.low > 0 or self.effect.high < 0)

    @property
    def reversed(self) -> Effect:
        """The same to the other side."""
        effect = Estimate(-self.effect.estimate, -self.effect.high, -self.effect.low)
        return replace(self, effect=effect, words=self.reverse, reverse=self.words)


class HasEffects(Result):
    """What sensitivities of a model and of a log say alike; the largest effect first."""

    subject: str  # what it is about
    label: str  # mean wait of T1
    grows: int  # 1: smaller is better, -1: larger is, 0: neither
    base: Estimate  # the objective as things are
    effects: tuple[Effect, ...]

    unit: str  # of the objective: time, probability, ...

    def in_its_unit(self, value: Estimate) -> object:
        """The objective, or a change of it, as a cell of a table."""
        return self.in_unit(value, self.unit)

    @property
    def title(self) -> str:
        return f"{self.subject}: what moves {self.noun}"

    @property
    def headline(self) -> str:
        return self.statement

    @property
    def noun(self) -> str:
        """The objective in a sentence."""
        return self.label if self.label.startswith("P(") else f"the {self.label}"

    @property
    def statement(self) -> str:
        """The most effective change in a sentence."""
        best = most_effective(self.effects, self.grows)
        if best is None:
            return f"no change that was tried has an effect on {self.noun} that can be told from none"
        return self.told(best)

    def told(self, best: Effect) -> str:
        """A change and its effect in a sentence."""
        size = best if best.effect.estimate > 0 else best.reversed
        verb = "raise" if best.effect.estimate > 0 else "lower"
        share = f" ({self.share(size):.3g}%)" if self.base.estimate > 0 else ""
        return f"{best.words} would {verb} {self.noun} most: by {self.in_its_unit(size.effect)}{share}"

    def share(self, one: Effect) -> float:
        """An effect in percent of the objective as things are."""
        base = self.base.estimate
        return 100.0 * one.effect.estimate / base if base > 0 else math.nan

    @property
    def summary(self) -> Table:
        columns = ("what changes", "by", f"change of {self.noun}", "in percent", "method")
        rows = []
        for one in self.effects:
            finite = math.isfinite(one.effect.estimate)
            how = one.method if one.step is None else f"{one.method} (±{100 * one.step:.2g}%)"
            told = (
                (self.in_its_unit(one.effect), f"{self.share(one):+.3g}") if finite else (one.note or "unstable", "-")
            )
            rows.append((one.lever, one.change, *told, how))
        return Table(self.statement[0].upper() + self.statement[1:], columns, tuple(rows), ("method",))

    @property
    def tidy(self) -> Table:
        columns = ("lever", "kind", "of", "change", "effect", "low", "high", "method", "step", "note")
        rows = [
            (e.lever, e.kind, e.of, e.change, *vars(e.effect).values(), e.method, e.step, e.note) for e in self.effects
        ]
        return Table(self.title, columns, tuple(rows))


@dataclass(frozen=True, kw_only=True, repr=False)
class Sensitivity(HasEffects):
    """What an objective gains or loses by every change, the largest effect first."""

    command: ClassVar[str] = "sensitivity"
    derived: ClassVar[tuple[str, ...]] = ("statement",)
    tidy_csv: ClassVar[bool] = True

    subject: str  # what it is about
    model: AnyModel
    rate: float
    threshold: Estimate
    objective: str  # mean(wait[T1])
    label: str  # mean wait of T1
    grows: int  # 1: smaller is better, -1: larger is, 0: neither
    base: Estimate  # the objective as things are
    effects: tuple[Effect, ...]
    per: str
    confidence: float
    replicas: int
    jobs: int
    backend: str
    remarks: tuple[str, ...] = ()  # what was left out, and why differences stand where derivatives could
    details: dict[str, Any] = field(default_factory=dict)
    unit: str = ""

    @property
    def footer(self) -> str:
        what = f"{self.objective} is {self.in_its_unit(self.base)} at rate {self.rate_words(self.rate)}"
        load = self.rate / self.threshold.estimate
        took = f"{self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        lines = [
            f"{self.subject}: {what} ({load:.1%} of the threshold), {how_sure(self.confidence, self.replicas)}, {took}"
        ]
        return "\n".join([*lines, *self.remarks])


@dataclass(frozen=True, kw_only=True, repr=False)
class LogSensitivity(HasEffects):
    """The same of jobs like those of a log: differences of replays, with the intervals that the log leaves."""

    command: ClassVar[str] = "sensitivity-log"
    derived: ClassVar[tuple[str, ...]] = ("statement",)
    tidy_csv: ClassVar[bool] = True

    subject: str
    model: Log
    objective: str
    label: str
    grows: int
    base: Estimate
    effects: tuple[Effect, ...]
    policy: str
    confidence: float
    resamples: int
    days: int
    jobs: int
    unit: str = ""

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def footer(self) -> str:
        took = f"{self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        where = f"{self.model.servers} servers under {self.policy}"
        return (
            f"{self.objective} is {self.in_its_unit(self.base)} on {where}; {self.resamples} resamples of {self.days} "
            f"days, {how_sure(self.confidence)} given the log; {took}"
        )


def most_effective(effects: tuple[Effect, ...], grows: int) -> Effect | None:
    """Of what surely has an effect, the largest to the better; where neither side is better, the largest."""
    found = [one for one in effects if one.clear]
    sides = found + [one.reversed for one in found if one.reverse]
    better = [one for one in sides if one.effect.estimate * grows < 0] if grows else found
    return max(better, key=lambda one: abs(one.effect.estimate), default=None)


def by_size(effects: list[Effect]) -> tuple[Effect, ...]:
    """The largest first."""
    return tuple(sorted(effects, key=lambda one: -abs(one.effect.estimate)))
