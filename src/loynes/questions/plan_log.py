"""How many servers do jobs like those of this log need, and how sure can the log make us?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.answering.ending import cut_short
from loynes.questions.asking import options
from loynes.questions.asking.changed import MOST_COPIES
from loynes.questions.asking.options import Option
from loynes.questions.asking.resampled import OnResamples
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.log_plan import LogGoal, LogPlan, TriedValue

if TYPE_CHECKING:
    from loynes.questions.answering.objectives import Objective
    from loynes.questions.answering.resampling import LogRunner, Outcome

# Where more work than this share of the servers is offered, nothing is run: the line would only grow.
FULL = 0.98
# Besides the probability asked for, the value for this one is looked for.
NEARLY_SURE = 0.99
SCALE_STEP = 0.05
RESOLUTION = 0.01
# Values that a search is expected to try.
EXPECTED = 12
MOST_TIMES = 16
MOST_TRIED = 40
# Of log, in multiples of what there is, that is thought of.
MOST_LOG = 100.0


class PlanLog(OnResamples):
    """The smallest cluster that meets service objectives for jobs like those of a log, with which probability.

    The probability is about the log: had it been recorded at another time, or longer, another size might have come
    out. It is estimated from resamples (docs/logs.md), and it is at least so high where there are several
    objectives. `vary` is "servers", one of the resources, "nodes" ("nodes.NAME" of several entries), or "scale":
    how many times the jobs the cluster can take, in twentieths, found to a `resolution` (1% of it).
    """

    command: ClassVar[str] = "plan-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("plan", "trace")
    examples: ClassVar[tuple[str, ...]] = ("loynes plan log.swf.gz --policy easy --slo 'p95(wait) <= 14400'",)

    slo: options.Searched = ()
    vary: Annotated[str, Option("What may change.", "servers|nodes|scale|RESOURCE")] = "servers"
    most: Annotated[float | None, Field(gt=0), Option("Where to give up.", default="16 times the least possible")] = (
        None
    )
    probability: Annotated[float, Field(gt=0, lt=1), Option("With which the objectives are to be met.")] = 0.95

    resolution: Annotated[
        float | None,
        Field(gt=0, lt=1),
        Option("Find a scale to this part of it (--vary scale).", default=f"{RESOLUTION:g}"),
    ] = None

    def answer(self, context: Context) -> LogPlan:
        if self.resolution is not None and self.vary != "scale":
            raise UsageError(f"resolution {self.resolution:g}: is for what is no whole number (--vary scale)")
        from loynes.questions.answering.objectives import objectives_of
        from loynes.questions.answering.resampling import LogRunner

        runner = LogRunner(self, context)
        objectives = objectives_of(self.slo, runner.names, LOG_UNIT, slowdowns=True)
        search = Search(self, runner, objectives, context)
        try:
            answer, done = search.first(self.probability), ""
        except Stopped:
            answer = search.best(self.probability)
            done = f"after {len(search.tried)} values: a smaller one may do"
        if self.probability < NEARLY_SURE:
            with suppress(Stopped):
                search.first(NEARLY_SURE, needed=False)
        outcome = search.outcomes[answer]
        evaluation = runner.evaluation(outcome)
        chances = [chance_of(one, runner, outcome) for one in objectives]
        goals = tuple(
            LogGoal(one.text, one.bound, one.value(evaluation), chance, one.metric.unit)
            for one, chance in zip(objectives, chances, strict=True)
        )
        return LogPlan(
            model=evaluation.model,
            vary=self.vary,
            answer=answer,
            probability=self.probability,
            objectives=goals,
            meets=evaluation,
            tried=tuple(search.tried[value] for value in sorted(search.tried)),
            more_days=more_log(objectives, runner, outcome),
            days=runner.days.length,
            confidence=self.confidence,
            seed=self.seed,
            resolution=search.resolution,
            warnings=(*evaluation.warnings, *((cut_short(context.deadline, done),) if done else ())),
        )


def chance_of(objective: Objective, runner: LogRunner, outcome: Outcome, times: float = 1.0) -> float:
    """The probability that an objective is met in the long run, given the log, or one so many times as long."""
    below = runner.probability_at_most(outcome, objective, times)
    return 1.0 - below if objective.at_least else below


def more_log(objectives: tuple[Objective, ...], runner: LogRunner, outcome: Outcome) -> float | None:
    """Days of log that would halve the probability that an objective is missed, if they are like those there are."""
    from scipy.optimize import brentq

    def doubt(times: float) -> float:
        return sum(1.0 - chance_of(one, runner, outcome, times) for one in objectives)

    now = doubt(1.0)
    if not 1e-6 < now < 0.5 or doubt(MOST_LOG) > 0.5 * now:
        return None
    times = float(brentq(lambda times: doubt(times) - 0.5 * now, 1.0, MOST_LOG))
    return (times - 1.0) * runner.days.length


@dataclass
class Search:
    """Looks for the first value with a probability: more servers, or fewer jobs, are taken to be better."""

    question: PlanLog
    runner: LogRunner
    objectives: tuple[Objective, ...]
    context: Context
    tried: dict[float, TriedValue] = field(default_factory=dict)
    outcomes: dict[float, Outcome] = field(default_factory=dict)
    _value: Callable[[int], float] = float

    def __post_init__(self) -> None:
        self._percentiles = tuple(sorted({p for one in self.objectives for p in one.percentiles}))
        self._steps = Steps(self.context)
        self.resolution = (self.question.resolution or RESOLUTION) if self.question.vary == "scale" else 0.0
        self._exceeds = tuple(sorted({x for one in self.objectives for x in one.exceeds}))
        question, runner = self.question, self.runner
        possible = (*runner.sizes, "scale")
        if question.vary not in possible:
            raise UsageError(f"vary {question.vary!r}: must be one of {', '.join(possible)}")
        if question.vary != "scale":
            least, why = runner.least(question.vary, FULL)
            last = int(question.most or MOST_TIMES * least)
            if last < least:
                raise UsageError(f"most {last}: at least {least} {question.vary} are needed ({why})")
            self._value, self._last = lambda k: float(least + k), last - least
            self._stride = max(1, least // 16)
        else:
            offered = [(runner.offered(name), count) for name, count in runner.case().units.items()]
            shares = [work / span / count for (work, span, _), count in offered]
            most = min(question.most or MOST_COPIES, MOST_COPIES, FULL * question.scale / max(shares))
            steps = int(most / SCALE_STEP)
            if steps < 1:
                raise UsageError(f"most {most:g}: must be at least {SCALE_STEP:g}")
            self._value, self._last = lambda k: round((steps - k) * SCALE_STEP, 10), steps - 1
            self._stride = max(1, steps // 8)

    def first(self, probability: float, needed: bool = True) -> float:
        """The first value that meets all objectives with at least this probability."""
        low, high, stride = -1, 0, self._stride
        while self._at(high).probability < probability:
            if high >= self._last or len(self.tried) >= MOST_TRIED:
                if needed:
                    raise UsageError(self._not_met(high))
                return self._value(high)
            low, high, stride = high, min(high + stride, self._last), 2 * stride
        while high - low > 1 and not self._near(low, high):
            middle = (low + high) // 2
            low, high = (low, middle) if self._at(middle).probability >= probability else (middle, high)
        return self._value(high)

    def _near(self, low: int, high: int) -> bool:
        """Whether two values are as good as one."""
        return abs(self._value(low) - self._value(high)) <= self.resolution * self._value(high)

    def best(self, probability: float) -> float:
        """Of the values tried so far, the first that meets all objectives with at least this probability."""
        known = [value for value, one in self.tried.items() if one.probability >= probability]
        if not known:
            raise Stopped  # nothing is known yet
        return max(known) if self.question.vary == "scale" else min(known)

    def _at(self, k: int) -> TriedValue:
        value = self._value(k)
        if value not in self.tried:
            number = len(self.tried) + 1
            part = self._steps.next(1.0, max(EXPECTED - number, 1), f"{number}: {self.question.vary} {value:g}")
            change: dict[str, Any] = {self.question.vary: value if self.question.vary == "scale" else int(value)}
            outcome = self.runner.run(self.runner.case(**change), part, self._exceeds, self._percentiles)
            self.outcomes[value] = outcome
            missed = sum(1.0 - chance_of(one, self.runner, outcome) for one in self.objectives)
            wait = self.runner.measured(outcome)[0].overall.wait.mean
            self.tried[value] = TriedValue(value, max(0.0, 1.0 - missed), wait)
        return self.tried[value]

    def _not_met(self, k: int) -> str:
        texts = " and ".join(one.text for one in self.objectives)
        at = self._at(k)
        return (
            f"{texts}: met with probability {at.probability:.3g} at {self.question.vary} {at.value:g}, the last that "
            "was tried; allow more with --most, or less with --probability"
        )
