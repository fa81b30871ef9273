"""The smallest cluster, or the largest rate, that meets service objectives.

More servers, and lower rates, never make a job wait longer: on the same jobs the recurrence is monotone in both. So the
values that meet an objective are all beyond some point, and bisection finds it. The search itself is only a guess; what
is claimed in the end, that one value meets every objective and its neighbour does not, is shown by runs with other
random numbers than the search used, whose intervals hold together with the confidence that was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.model import Model, load
from loynes.questions.answering.objectives import Objective, objectives_of, verdict_of
from loynes.questions.answering.thresholds import sampled_threshold
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask, answered
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.questions.evaluate import Evaluate
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.plan import Goal, Look, Plan

# Relative half-widths of the mean wait, one look after the other, until a verdict is clear; a search takes the first.
PRECISIONS = (0.1, 0.03, 0.01, 0.003)
SEARCHED_WITH = 2
# Verdicts that may be asked for until two neighbours are known apart, or nothing more is tried.
MOST_CLAIMS = 12
# A rate is found to about this part of the threshold.
RATE_STEP = 0.005
# How many times the least possible number of servers is tried, unless --most says otherwise.
MOST_TIMES = 64


class AskPlan(Question):
    """The smallest cluster, or the largest rate, that meets service objectives.

    `slo`: objectives such as "p95(wait) <= 600", "mean(wait[T1]) <= 5", "P(wait > 60) <= 0.01", "no_wait >= 0.9",
    "utilization <= 0.8". `vary`: "servers", "resources.NAME" of a cluster of several resources, or "rate" (found to
    half a percent of the threshold). `most` is where a search gives up. The answer holds with the `confidence`: that it
    meets every objective, and that the next smaller value does not.
    """

    command: ClassVar[str] = "plan"
    for_log: ClassVar[str] = "plan_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes plan five-class-exponential --rate 1.5 --slo 'p95(wait) <= 20'",
        "loynes plan mine.toml --vary rate --slo 'mean(wait[T1]) <= 5' --slo 'utilization <= 0.8'",
    )

    model: LoadedModel
    slo: options.Searched = ()
    rate: options.Rate = None
    vary: Annotated[str, Option("What may change.", "servers|resources.NAME|rate")] = "servers"
    most: Annotated[float | None, Field(gt=0), Option("Where to give up.", default="64 times the least possible")] = (
        None
    )
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: Annotated[
        float, Field(gt=0, lt=1), Option("That the answer meets every objective, and its neighbour does not.")
    ] = 0.99
    max_jobs: options.MaxJobs = None
    percentiles: options.Percentiles = ()

    def answer(self, context: Context) -> Plan:
        objectives = objectives_of(self.slo, [c.label for c in self.model.classes], self.model.time_unit)
        axis = _axis(self.model, self.vary, self.rate, self.most, self.seed, context)
        for one in objectives:
            why = one.unreachable(self.model, axis.rate if axis.rate is not None else 0.0)
            if why:
                raise UsageError(why)
        judge = Judge(axis, objectives, self, context)
        return _searched(axis, judge, objectives, self.confidence, self.seed)


@dataclass(frozen=True)
class Axis:
    """What is varied: values in steps k = 0, 1, 2, ..., each at least as good for waits as the one before."""

    vary: str
    rate: float | None  # None where it is what is varied
    value: Callable[[int], float]
    at: Callable[[float], tuple[Model, float]]  # value -> model and rate
    last: int  # the last step there is
    first_why: str  # why nothing before step 0 can do
    limit: str  # what stands at the last step


def _axis(model: Model, vary: str, rate: float | None, most: float | None, seed: int, context: Context) -> Axis:
    if vary == "rate":
        if rate is not None:
            raise UsageError("the rate is what is looked for: give --rate or --vary rate, not both")
        threshold = sampled_threshold(model, seed=seed, context=context).threshold
        step = _round(RATE_STEP * threshold.estimate)
        steps = int(threshold.estimate / step)
        highest = steps if most is None else min(steps, int(most / step + 1e-9))
        if highest < 1:
            raise UsageError(f"most {most:g}: must be at least {step:g}, a two-hundredth of the threshold")
        why = f"the threshold is {threshold.estimate:.5g}" if most is None else f"most is {most:g}"
        return Axis(
            vary, None, lambda k: round((highest - k) * step, 12), lambda rate: (model, rate), highest - 1, why,
            f"rate {step:g}",
        )  # fmt: skip
    kinds = list(model.resources or ())
    possible = [f"resources.{kind}" for kind in kinds] if kinds else ["servers"]
    if vary not in possible:
        raise UsageError(f"vary {vary!r}: must be one of {', '.join([*possible, 'rate'])}")
    rate = model.rate if rate is None else rate
    if rate is None:
        raise UsageError("the model has no arrivals.rate; say --rate R (jobs per unit of time), or --vary rate")
    kind = vary.removeprefix("resources.") if kinds else "servers"
    index = list(model.kinds).index(kind)
    needed = max(model.demand(c)[index] + model.specific(c)[index] for c in model.classes)
    offered = rate * model.works[index]
    least = max(needed, math.floor(offered) + 1, 1)
    limit = int(most) if most is not None else MOST_TIMES * least
    why = f"a job needs {needed}" if least == needed else f"{offered:.6g} are busy on average"
    if limit < least:
        raise UsageError(f"most {most:g}: at least {least} are needed ({why})")
    for other, units, work in zip(model.kinds, model.units, model.works, strict=True):
        if other != kind and rate * work >= units:
            raise UnstableError(
                f"rate {rate:g} is unstable: {rate * work:.6g} of {units} {other} would be busy on average"
            )
    chosen = rate
    return Axis(
        vary, rate, lambda k: float(least + k), lambda value: (load(model, [f"{vary}={int(value)}"]), chosen),
        limit - least, why, f"{limit} {kind}",
    )  # fmt: skip


def _round(x: float) -> float:
    """1, 2 or 5 times a power of ten, at most x."""
    power = 10.0 ** math.floor(math.log10(x))
    return max(m for m in (1.0, 2.0, 5.0) if m * power <= x * (1 + 1e-12)) * power


@dataclass
class Judge:
    """Says of a value whether it meets the objectives, and keeps what was tried."""

    axis: Axis
    objectives: tuple[Objective, ...]
    question: AskPlan
    context: Context
    tried: list[dict[str, Any]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def __call__(self, k: int, seed: int, doubt: float, looks: int) -> Verdict:
        """By `looks` looks, each closer than the one before; all their intervals hold but for a probability `doubt`."""
        value = self.axis.value(k)
        model, rate = self.axis.at(value)
        result: Evaluation | None = None
        verdict, why, sure = 0, "", 1.0 - doubt
        for look in range(looks):
            sure = 1.0 - doubt / len(self.objectives) / 2.0 ** (look + 1)
            try:
                result = self._evaluated(model, rate, look, sure, seed, value)
            except UnstableError as error:
                why = str(error)
                inner = self.context.recorded_in(None)
                threshold = sampled_threshold(model, confidence=sure, seed=seed, context=inner).threshold
                verdict = -1 if threshold.high <= rate or rate >= model.ideal else 0
                break
            verdict = verdict_of(self.objectives, result)
            if verdict:
                break
        word = {1: "meets", -1: "fails", 0: "unclear"}[verdict]
        self.tried.append({"value": value, "verdict": word, "seed": seed})
        seen = () if result is None else tuple(one.value(result) for one in self.objectives)
        self.looks.append(Look(value, word, sure, seen, None if result is None else result.overall.wait.mean, why))
        return Verdict(verdict, result, why)

    def _evaluated(self, model: Model, rate: float, look: int, sure: float, seed: int, value: float) -> Evaluation:
        question = Evaluate.of(
            model,
            rate=rate,
            precision=PRECISIONS[look],
            confidence=sure,
            exceeds=sorted({x for one in self.objectives for x in one.exceeds}),
            percentiles=sorted({*self.question.percentiles, *(p for one in self.objectives for p in one.percentiles)}),
            max_jobs=self.question.max_jobs,
            seed=seed,
            backend=self.question.backend,
        )
        folder = self.context.folder
        place = None if folder is None else folder / "tried" / f"{value:g}-{seed}-{look}-{sure:.12g}"
        part = self.context.part(0.0, 0.0, f"{len(self.tried) + 1}: {self.axis.vary} {value:g}")
        return replace(cast(Evaluation, answered(question, part.recorded_in(None), place)), tails=None)


@dataclass(frozen=True)
class Verdict:
    clear: int  # 1: meets, -1: fails, 0: cannot be told
    result: Evaluation | None
    why: str


def _searched(axis: Axis, judge: Judge, objectives: tuple[Objective, ...], confidence: float, seed: int) -> Plan:
    k = _bisected(axis, judge, 1.0 - confidence, seed)
    # What is claimed is shown with fresh random numbers. The doubts of all claims that are tried sum to 1 - confidence.
    known: dict[int, Verdict] = {}
    fresh = seed + 1 if seed < 2**64 - 1 else 0

    def verdict(k: int) -> Verdict:
        if k not in known:
            doubt = (1.0 - confidence) * 6.0 / (math.pi * (len(known) + 1)) ** 2
            known[k] = judge(k, fresh, doubt, len(PRECISIONS))
        return known[k]

    while verdict(k).clear != 1:
        k += 1
        if k > axis.last or len(known) > MOST_CLAIMS:
            raise UsageError(_not_met(axis, objectives, known.get(min(k, axis.last))))
    while k > 0 and verdict(k - 1).clear == 1 and len(known) <= MOST_CLAIMS:
        k -= 1
    below = k - 1
    while below >= 0 and verdict(below).clear != -1 and len(known) <= MOST_CLAIMS:
        below -= 1
    failing = known.get(below) if below >= 0 else None
    if failing is not None and failing.clear != -1:
        failing = None
    meets = known[k].result
    assert meets is not None
    further: Evaluation | None = None
    if axis.vary != "rate" and k < axis.last:
        further = judge(k + 1, fresh, 1.0 - confidence, 1).result
    fails = None if failing is None else failing.result
    goals = tuple(
        Goal(
            one.text,
            one.bound,
            one.value(meets),
            None if fails is None else one.value(fails),
            None if further is None else one.value(further),
            one.metric.unit,
        )
        for one in objectives
    )
    warnings: tuple[str, ...] = ()
    if meets.certificate is None:
        warnings += (f"that the answer meets its objectives rests on a lower bound of waits: {meets.why}",)
    if failing is None and k > 0:
        warnings += ("no smaller value could be shown to fail: the answer may not be the smallest",)
    return Plan(
        model=axis.at(axis.value(k))[0],
        vary=axis.vary,
        answer=axis.value(k),
        objectives=goals,
        meets=meets,
        fails=fails,
        next=further,
        fails_at=None if failing is None else axis.value(below),
        fails_why=axis.first_why if failing is None else failing.why,
        adjacent=failing is not None and below == k - 1,
        certified=meets.certificate is not None,
        confidence=confidence,
        seed=seed,
        tried=tuple(judge.tried),
        curve=_curve(judge.looks),
        warnings=warnings,
    )


def _curve(looks: list[Look]) -> tuple[Look, ...]:
    """Of every value the closest look: that with the narrowest interval of the mean wait, or else the last."""
    closest: dict[float, Look] = {}
    for look in looks:
        before = closest.get(look.value)
        if before is None or before.wait is None or (look.wait and look.wait.half_width <= before.wait.half_width):
            closest[look.value] = look
    return tuple(closest[value] for value in sorted(closest))


def _bisected(axis: Axis, judge: Judge, doubt: float, seed: int) -> int:
    """A first guess: the smallest step that seems to meet everything."""

    def met(k: int) -> bool:
        return judge(k, seed, doubt, SEARCHED_WITH).clear == 1

    if axis.vary == "rate":
        low, high = -1, axis.last + 1  # from the middle: rates near the threshold take longest
    else:
        low, high, stride = -1, 0, max(1, int(axis.value(0)) // 16)
        while not met(high):
            if high >= axis.last:
                return high
            low, high, stride = high, min(high + stride, axis.last), 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return min(high, axis.last)


def _not_met(axis: Axis, objectives: tuple[Objective, ...], verdict: Verdict | None) -> str:
    texts = " and ".join(one.text for one in objectives)
    if verdict is None or verdict.result is None:
        return f"{texts}: not met at {axis.limit}, nor before; allow more with --most"
    values = ", ".join(f"{one.text}: {one.value(verdict.result).estimate:.6g}" for one in objectives)
    return f"not met at {axis.limit}, nor before ({values} there); allow more with --most"


plan = Ask(AskPlan, Plan)
