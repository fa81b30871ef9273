"""The search of a plan: bisection for a guess, then runs with other random numbers that show the answer.

The search itself is only a guess; what is claimed in the end, that one value meets every objective and its neighbour
does not, is shown by runs with other random numbers than the search used, whose intervals hold together with the
confidence that was asked for. All values are tried with the same jobs, as far as they have them in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from loynes.errors import UnstableError, UsageError
from loynes.estimators.measures import Measures, Wanted
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.model import Model
from loynes.questions.answering.axes import Axis
from loynes.questions.answering.ending import INTERRUPT, TIME, cut_short
from loynes.questions.answering.objectives import Objective, verdict_of
from loynes.questions.answering.orders import Order
from loynes.questions.answering.thresholds import sampled_threshold
from loynes.questions.answering.under_policy import evaluated_under
from loynes.questions.asking.ask import answered
from loynes.questions.evaluate import Evaluate
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.plan import Goal, Look, Plan

if TYPE_CHECKING:
    from loynes.questions.plan import AskPlan

# Relative half-widths of the mean wait, one look after the other, until a verdict is clear; a search takes the first.
PRECISIONS = (0.1, 0.03, 0.01, 0.003)
SEARCHED_WITH = 2
# Jobs that runs of these precisions take under a policy, unless max_jobs says otherwise; fewer where lines are long.
UNDER_POLICY = (3e6, 1e7, 5e7, 1.5e8)
# Jobs that the closest look at a rate takes at most.
CLOSELY = 5e8
# Of the half-width before, what a look that is three times as close should leave at most to be worth another.
NARROWS = 0.7
# What closer looks weigh, where another follows.
FURTHER = 2.0
# Verdicts that may be asked for until two neighbours are known apart, or nothing more is tried.
MOST_CLAIMS = 12
# What a look of the search weighs, and one at a value that is claimed; and how many values are expected to be.
SEARCHING, CLAIMING, CLAIMS = 1.0, 8.0, 4


@dataclass
class Judge:
    """Says of a value whether it meets the objectives, and keeps what was tried."""

    axis: Axis
    objectives: tuple[Objective, ...]
    question: AskPlan
    context: Context
    tried: list[dict[str, Any]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def __call__(self, k: int, seed: int, doubt: float, looks: int, context: Context) -> Verdict:
        """By `looks` looks, each closer than the one before; all their intervals hold but for a probability `doubt`.

        Where there is no time for a clear verdict there is none, unless there is no time for anything more."""
        value = self.axis.value(k)
        model, rate = self.axis.at(value)
        result: Evaluation | None = None
        verdict, why, sure = 0, "", 1.0 - doubt
        steps = Steps(context)
        for look in self._looks(looks):
            sure = 1.0 - doubt / len(self.objectives) / 2.0 ** (look + 1)
            part = steps.next(1.0, 0.0 if look + 1 >= looks else FURTHER, f"{self.axis.vary} {value:g}")
            before = result
            try:
                result = self._evaluated(model, rate, look, sure, seed, value, part)
            except UnstableError as error:
                why = str(error)
                verdict = self._unstable(model, rate, sure, seed, part)
                break
            except Stopped:
                self.context.deadline.check()
                break
            verdict = verdict_of(self.objectives, result)
            if verdict or result.stopped.get("by") in (TIME, INTERRUPT):
                break
            if self.axis.resolution and before is not None and not self._narrows(before, result):
                break  # percentiles are known up to a bin, and no better by more jobs
        word = {1: "meets", -1: "fails", 0: "unclear"}[verdict]
        self.tried.append({"value": value, "verdict": word, "seed": seed})
        seen = () if result is None else tuple(one.value(result) for one in self.objectives)
        self.looks.append(Look(value, word, sure, seen, None if result is None else result.overall.wait.mean, why))
        return Verdict(verdict, result, why)

    def _looks(self, looks: int) -> Iterable[int]:
        """The looks, by their precision."""
        return range(looks)

    def _narrows(self, before: Evaluation, now: Evaluation) -> bool:
        """Whether a closer look has told more of any objective, or was as short: the one before was close enough."""
        if now.jobs < 2 * before.jobs:
            return True
        return any(one.value(now).half_width < NARROWS * one.value(before).half_width for one in self.objectives)

    def _most_jobs(self, look: int) -> float | None:
        """Of a rate, the closest look is to narrow a gap a little: minutes are not worth it."""
        most = self.question.max_jobs
        return min(most or CLOSELY, CLOSELY) if self.axis.resolution and look + 1 == len(PRECISIONS) else most

    def _unstable(self, model: Model, rate: float, sure: float, seed: int, context: Context) -> int:
        """-1 if a rate that was refused is surely too high."""
        try:
            inner = context.recorded_in(None)
            threshold = sampled_threshold(model, confidence=sure, seed=seed, context=inner).threshold
        except Stopped:
            self.context.deadline.check()
            return 0
        return -1 if threshold.high <= rate or rate >= model.ideal else 0

    def _evaluated(
        self, model: Model, rate: float, look: int, sure: float, seed: int, value: float, context: Context
    ) -> Evaluation:
        question = Evaluate.of(
            model,
            rate=rate,
            precision=PRECISIONS[look],
            confidence=sure,
            exceeds=sorted({x for one in self.objectives for x in one.exceeds}),
            percentiles=sorted({*self.question.percentiles, *(p for one in self.objectives for p in one.percentiles)}),
            max_jobs=self._most_jobs(look),
            seed=seed,
            backend=self.question.backend,
        )
        folder = self.context.folder
        place = None if folder is None else folder / "tried" / f"{value:g}-{seed}-{look}-{sure:.12g}"
        return replace(cast(Evaluation, answered(question, context.recorded_in(None), place)), tails=None)


@dataclass
class JudgeUnderPolicy(Judge):
    """The same event by event: one look, whose runs are made longer until its verdict is clear from both starts.

    A rate at which the line does not settle is taken for one that fails. Runs are recorded with the plan itself.
    """

    order: Order = field(kw_only=True)

    def _looks(self, looks: int) -> Iterable[int]:
        return range(looks - 1, looks)

    def _unstable(self, model: Model, rate: float, sure: float, seed: int, context: Context) -> int:
        return -1

    def _evaluated(
        self, model: Model, rate: float, look: int, sure: float, seed: int, value: float, context: Context
    ) -> Evaluation:
        def clear(measures: Measures) -> bool:
            return verdict_of(self.objectives, measures) != 0

        result = evaluated_under(
            model, self.order, rate=rate, precision=PRECISIONS[look], wanted=self._wanted, enough=clear,
            confidence=sure, max_jobs=self.question.max_jobs, usual_jobs=UNDER_POLICY[look], seed=seed,
            context=context,
        )  # fmt: skip
        return replace(result, tails=None)

    @property
    def _wanted(self) -> Wanted:
        exceeds = {x for one in self.objectives for x in one.exceeds}
        percentiles = {*self.question.percentiles, *(p for one in self.objectives for p in one.percentiles)}
        return Wanted(tuple(sorted(exceeds)), tuple(sorted(percentiles)))


def judge_of(
    axis: Axis, objectives: tuple[Objective, ...], question: AskPlan, order: Order | None, context: Context
) -> Judge:
    """Of a question; `order` is the policy, if it is another than first come, first served."""
    if order is None:
        return Judge(axis, objectives, question, context)
    return JudgeUnderPolicy(axis, objectives, question, context, order=order)


@dataclass(frozen=True)
class Verdict:
    clear: int  # 1: meets, -1: fails, 0: cannot be told
    result: Evaluation | None
    why: str


class Search:
    """Looks for the smallest step that meets everything, and then shows it with random numbers of its own."""

    def __init__(self, axis: Axis, judge: Judge, objectives: tuple[Objective, ...], question: AskPlan) -> None:
        self._axis, self._judge, self._objectives, self._question = axis, judge, objectives, question
        self._doubt, self._seed = 1.0 - question.confidence, question.seed
        self._steps = Steps(judge.context)
        self._guessed: dict[int, Verdict] = {}  # by the search
        # What is claimed is shown with fresh random numbers. The doubts of all claims that are tried sum to 1 -
        # confidence.
        self._known: dict[int, Verdict] = {}
        self._claims, self._closely = 0, set[int]()
        self._fresh = self._seed + 1 if self._seed < 2**64 - 1 else 0

    def plan(self) -> Plan:
        try:
            k = self._bisected()
            k, below = self._claimed(k)
        except Stopped:
            return self._as_it_stands()
        further: Evaluation | None = None
        warnings: tuple[str, ...] = ()
        if self._axis.vary != "rate" and k < self._axis.last:
            try:
                part = self._steps.next(SEARCHING, 0.0)
                further = self._judge(k + 1, self._fresh, self._doubt, 1, part).result
            except Stopped:
                warnings += (cut_short(self._judge.context.deadline, "before the value after the answer was tried"),)
        if below is None and k > 0:
            warnings += ("no smaller value could be shown to fail: the answer may not be the smallest",)
        failing = None if below is None else self._known[below]
        return self._result(k, self._known[k], below, failing, further, warnings)

    def _claimed(self, k: int) -> tuple[int, int | None]:
        """A step that is shown to meet everything, and the nearest before it that is shown not to, if any is."""
        while self._verdict(k).clear != 1:
            k += 1
            if k > self._axis.last or len(self._known) > MOST_CLAIMS:
                verdict = self._known.get(min(k, self._axis.last))
                raise UsageError(_not_met(self._axis, self._objectives, verdict))
        below = min(self._axis.near(k), k - 1)
        while k > 0 and self._verdict(below).clear == 1 and len(self._known) <= MOST_CLAIMS:
            k = below
            below = min(self._axis.near(k), k - 1)
        while below >= 0 and self._verdict(below).clear != -1 and len(self._known) <= MOST_CLAIMS:
            below -= 1
        # Where what could not be told apart is wider than the resolution, one of it is looked at more closely.
        while below < (near := self._axis.near(k)) < k and len(self._known) <= MOST_CLAIMS:
            step = k - 1 if self._verdict(k - 1).clear == 1 else near
            clear = self._verdict(step, closely=True).clear
            if not clear:
                break
            k, below = (step, below) if clear == 1 else (k, step)
        return k, below if below >= 0 and self._known[below].clear == -1 else None

    def _verdict(self, k: int, closely: bool = False) -> Verdict:
        """Of a claim. Rates are looked at to the last precision only if asked to: it takes longest, and most of those
        that it is needed for are closer to the bound than the resolution."""
        known, fully = self._known.get(k), closely or self._axis.resolution < PRECISIONS[-1]
        if known is None or (fully and not known.clear and k not in self._closely):
            self._claims += 1
            doubt = self._doubt * 6.0 / (math.pi * self._claims) ** 2
            part = self._steps.next(CLAIMING, CLAIMING * max(CLAIMS - self._claims, 1), f"showing {self._claims}")
            self._known[k] = self._judge(k, self._fresh, doubt, len(PRECISIONS) - (not fully), part)
            self._closely |= {k} if fully else set()
        return self._known[k]

    def _bisected(self) -> int:
        """A first guess: the smallest step that seems to meet everything."""
        axis = self._axis

        def met(k: int, gap: float) -> bool:
            left = max(math.ceil(math.log2(max(gap, 1.0))) - 1, 0)  # steps of the search after this one
            part = self._steps.next(SEARCHING, SEARCHING * left + CLAIMING * CLAIMS, f"search {len(self._guessed) + 1}")
            self._guessed[k] = self._judge(k, self._seed, self._doubt, SEARCHED_WITH, part)
            return self._guessed[k].clear == 1

        if axis.vary == "rate":
            low, high = -1, axis.last + 1  # from the middle: rates near the threshold take longest
        else:
            low, high, stride = -1, 0, max(1, int(axis.value(0)) // 16)
            while not met(high, 8.0 * stride):
                if high >= axis.last:
                    return high
                low, high, stride = high, min(high + stride, axis.last), 2 * stride
        while high - low > 1 and (high > axis.last or low < axis.near(high)):
            middle = (low + high) // 2
            low, high = (low, middle) if met(middle, high - low) else (middle, high)
        return min(high, axis.last)

    def _as_it_stands(self) -> Plan:
        """What is known when the work is stopped: of what was shown, else of what the search saw."""
        verdicts = self._guessed | {k: one for k, one in self._known.items() if one.clear}
        meeting = [k for k, one in verdicts.items() if one.clear == 1]
        if not meeting:
            raise Stopped  # nothing is known yet
        k = min(meeting)
        below = max((one for one, verdict in verdicts.items() if verdict.clear == -1 and one < k), default=None)
        shown = all(self._known.get(one) is verdicts[one] for one in (k, below) if one is not None)
        found = "with the values found so far" if shown else "with values of the search, not shown by a second run"
        text = cut_short(self._judge.context.deadline, f"after {len(self._judge.tried)} values, {found}")
        return self._result(k, verdicts[k], below, None if below is None else verdicts[below], None, (text,))

    def _result(
        self,
        k: int,
        meeting: Verdict,
        below: int | None,
        failing: Verdict | None,
        further: Evaluation | None,
        warnings: tuple[str, ...],
    ) -> Plan:
        axis, meets = self._axis, meeting.result
        assert meets is not None
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
            for one in self._objectives
        )
        if meets.standing == "estimate" and not meets.details["starts"]["agree"]:
            warnings = ("at the answer the two starts do not agree: the estimate may be far off", *warnings)
        if meets.standing == "lower bound":
            warnings = (f"that the answer meets its objectives rests on a lower bound of waits: {meets.why}", *warnings)
        return Plan(
            model=axis.at(axis.value(k))[0],
            vary=axis.vary,
            answer=axis.value(k),
            objectives=goals,
            meets=meets,
            fails=fails,
            next=further,
            fails_at=None if below is None else axis.value(below),
            fails_why=axis.first_why if failing is None else failing.why,
            adjacent=below is not None and below >= min(axis.near(k), k - 1),
            certified=meets.certificate is not None,
            confidence=self._question.confidence,
            seed=self._seed,
            tried=tuple(self._judge.tried),
            curve=_curve(self._judge.looks),
            resolution=axis.resolution,
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


def _not_met(axis: Axis, objectives: tuple[Objective, ...], verdict: Verdict | None) -> str:
    texts = " and ".join(one.text for one in objectives)
    if verdict is None or verdict.result is None:
        return f"{texts}: not met at {axis.limit}, nor before; allow more with --most"
    values = ", ".join(f"{one.text}: {one.value(verdict.result).estimate:.6g}" for one in objectives)
    return f"not met at {axis.limit}, nor before ({values} there); allow more with --most"
