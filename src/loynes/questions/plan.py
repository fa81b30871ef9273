"""The smallest cluster, or the largest rate, that meets service objectives.

More servers, and lower rates, never make a job wait longer: on the same jobs the recurrence is monotone in both. So the
values that meet an objective are all beyond some point, and bisection finds it. The search itself is only a guess; what
is claimed in the end, that one value meets every objective and its neighbour does not, is shown by runs with other
random numbers than the search used, whose intervals hold together with the confidence that was asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.model.fields import LARGEST
from loynes.questions.answering.asked_order import order_asked
from loynes.questions.answering.axes import RESOLUTION, axis_of
from loynes.questions.answering.objectives import objectives_of
from loynes.questions.answering.orders import check_order
from loynes.questions.answering.planning import Search, judge_of
from loynes.questions.answering.under_policy import refuse_recurrence
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.plan import Plan


class AskPlan(Question):
    """The smallest cluster, or the largest rate, that meets service objectives.

    `slo`: objectives such as "p95(wait) <= 600", "mean(wait[T1]) <= 5", "P(wait > 60) <= 0.01", "no_wait >= 0.9",
    "utilization <= 0.8". `vary`: "servers", "resources.NAME" of a cluster of several resources, "nodes" or
    "nodes.NAME", how many nodes of an entry there are, event by event; or "rate", which is found to a `resolution` (1%
    of it). `most` is where a search gives up. The answer holds with the `confidence`: that it meets every objective,
    and that the next smaller value, or one within the resolution, does not. When `time` (seconds, or "30s") is up, the
    answer is the smallest value that seems to meet them, and says so.

    Under another `policy` than fcfs (as `simulate` takes them, with `window`, `threshold`, `option`, `inflation`)
    nothing is certified: the answer is an estimate, from runs event by event that begin empty and loaded
    (docs/policies.md). More servers need not be better there; what is shown is the answer and its neighbour.
    """

    command: ClassVar[str] = "plan"
    for_log: ClassVar[str] = "plan_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes plan five-class-exponential --rate 1.5 --slo 'p95(wait) <= 20'",
        "loynes plan five-class-exponential --rate 1.5 --slo 'p95(wait) <= 20' --policy easy",
        "loynes plan nodes.toml --vary nodes.gpu --policy easy --slo 'p95(wait) <= 4 h'",
        "loynes plan mine.toml --vary rate --slo 'mean(wait[T1]) <= 5' --slo 'utilization <= 0.8'",
    )

    model: LoadedModel
    slo: options.Searched = ()
    rate: options.Rate = None
    vary: Annotated[str, Option("What may change.", "servers|resources.NAME|nodes.NAME|rate")] = "servers"
    most: Annotated[
        float | None,
        Field(gt=0, le=LARGEST, allow_inf_nan=False),
        Option("Where to give up.", default="64 times the least possible", must="be a finite number above 0"),
    ] = None
    policy: options.PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    inflation: options.Inflation = 1.0
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: Annotated[
        float, Field(gt=0, lt=1), Option("That the answer meets every objective, and its neighbour does not.")
    ] = 0.99
    max_jobs: options.MaxJobs = None
    percentiles: options.Percentiles = ()
    resolution: Annotated[
        float | None,
        Field(gt=0, lt=1),
        Option("Find a rate to this part of it (--vary rate).", default=f"{RESOLUTION:g}"),
    ] = None
    time: options.TimeBudget = None

    @property
    def by_events(self) -> bool:
        there = self.model.nodes is not None and self.vary == "servers"  # refused, with what may be varied
        return super().by_events or self.vary.startswith("nodes") or there

    def answer(self, context: Context) -> Plan:
        if self.resolution is not None and self.vary != "rate":
            raise UsageError(f"resolution {self.resolution:g}: is for what is no whole number (--vary rate)")
        objectives = objectives_of(self.slo, [c.label for c in self.model.classes], self.model.time_unit)
        order = order_asked(self) if self.by_events else None
        warnings: tuple[str, ...] = ()
        if order is not None:
            warnings = check_order(self.model, order)
            refuse_recurrence(order.policy, backend=self.backend if self.backend.startswith("cuda") else None)
        axis = axis_of(self, order, context)
        for one in objectives:
            why = one.unreachable(self.model, axis.rate if axis.rate is not None else 0.0)
            if why:
                raise UsageError(why)
        found = Search(axis, judge_of(axis, objectives, self, order, context), objectives, self).plan()
        return replace(found, warnings=warnings + found.warnings) if warnings else found


plan = Ask(AskPlan, Plan)
