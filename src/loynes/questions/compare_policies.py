"""Policies on the same jobs: what strict order costs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.answering.ending import check_length, cut_short, not_run
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, names_of
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.policies import NOT_RUN, Limit, PolicyComparison, PolicyPoint

if TYPE_CHECKING:
    from loynes.questions.answering.orders import Order

# What a job weighs where the limit of a policy is looked for: lines are long there; and what the threshold weighs.
NEAR_LIMIT, OF_THRESHOLD = 2.0, 1e5
# A line longer than this, of jobs that run besides, is not waited for.
MOST_PRESENT = 1 << 17


class ComparePolicies(Question):
    """Waits and losses under several policies at several rates, event by event on the same jobs.

    `loads` are fractions of the threshold of first come, first served, and may be above 1: other policies may take
    more. The first policy is what the others are compared with, job for job, so that differences are known better than
    the waits. `limits` adds what each policy can carry: the threshold for fcfs, and an estimate for the others.
    `window`, `threshold`, `age`, `cycle` and `inflation` go to the policies that know them. When `time` (seconds, or
    "30s") is up, the answer has what was run by then.
    """

    command: ClassVar[str] = "policies"
    positional: ClassVar[tuple[str, ...]] = ("model", "policies")
    asked_by: ClassVar[tuple[str, str] | None] = ("compare", "policies")

    model: LoadedModel
    policies: Annotated[
        tuple[Any, ...],
        BeforeValidator(names_of),
        PlainSerializer(lambda given: [str(one) for one in given]),
        Option("Instead: the same jobs under these policies, event by event.", "P1,P2,...", written="list"),
    ] = ("fcfs", "easy", "first-fit")
    loads: options.Loads = None
    rates: options.Rates = None
    window: options.Window = None
    threshold: options.SwapThreshold = None
    depth: options.Depth = None
    age: options.Age = None
    cycle: options.Cycle = None
    inflation: options.Inflation = 1.0
    overestimate: options.Overestimate = 0.0
    slowdown_threshold: options.SlowdownThreshold = None
    jobs: Annotated[int, Field(ge=1, le=2**40), Option("Observed in each replica.", unit="jobs")] = 100_000
    replicas: Annotated[int, Field(ge=2, le=100_000), Option("Independent runs.")] = 32
    burn_in: Annotated[
        int | None,
        Field(ge=0, le=2**62),
        Option("Jobs to leave out first.", default="a quarter of --jobs", unit="jobs"),
    ] = None
    limits: Annotated[bool, Option("Also what each can carry.")] = True
    percentiles: options.Percentiles = ()
    confidence: options.Confidence = 0.99
    seed: options.Seed = 1
    time: options.TimeBudget = None
    backend: Annotated[Literal["auto", "cpu"], Option("Events are run on the CPU.", "auto|cpu")] = "auto"

    @property
    def by_events(self) -> bool:
        return True

    def answer(self, context: Context) -> PolicyComparison:
        from loynes.questions.answering.asked_order import numbers_of
        from loynes.questions.answering.limits import jobs_of_search, limit_of
        from loynes.questions.answering.orders import check_order, order_of

        model = self.model
        believed = (self.inflation, self.overestimate)
        orders = [order_of(one, numbers_of(self), *believed, strictly=False) for one in self.policies]
        names = tuple(order.policy for order in orders)
        if len(names) < 2 or len(set(names)) < len(names):
            raise UsageError("policies: name at least two, and none twice; one alone is what simulate is for")
        if self.loads is not None and self.rates is not None:
            raise UsageError("give loads or rates, not both")
        if not self.limits and self.loads is None and self.rates is None and model.rate is None:
            raise UsageError("nothing to compare at: give loads or rates")
        if model.scenario:
            raise UsageError("the model has a scenario, which policies are not compared on; simulate follows it")
        warnings = tuple(dict.fromkeys(text for order in orders for text in check_order(model, order)))
        own = () if model.rate is None else (model.rate,)
        runs = len(orders) * len(self.loads or self.rates or own)
        check_length(f"jobs {self.jobs:g}", float(runs) * self._jobs * self.replicas, self.replicas)
        steps = Steps(context)
        # On nodes, or with rules, the threshold is no limit of first come, first served; loads are parts of it.
        shared = model.nodes is not None or model.has_rules
        searched = [order for order in orders if order.policy != "fcfs" or shared] if self.limits else []
        count, each = len(self.loads or self.rates or own), float(self._jobs * self.replicas)
        limit = NEAR_LIMIT * jobs_of_search()
        then = limit * len(searched) + each * count * len(orders)
        part = steps.next(OF_THRESHOLD, then)
        fcfs = limit_of(model.pooled, order_of("fcfs", {}), seed=self.seed, context=part)
        limits: dict[str, Limit] = {"fcfs": fcfs} if self.limits and not shared else {}
        for order in searched:
            then = max(then - limit, 0.0)
            with suppress(Stopped):
                part = steps.next(limit, then)
                limits[order.policy] = limit_of(model, order, seed=self.seed, context=part)
        limits = {name: limits[name] for name in names if name in limits}
        rates = [x * fcfs.rate.estimate for x in self.loads] if self.loads else self.rates or own
        points: list[PolicyPoint] = []
        for number, rate in enumerate(rates):
            points += self._at(rate, orders, fcfs, limits, steps, (count - number) * len(orders))
        if context.deadline.cut:
            late = sum(point.why.startswith(NOT_RUN) for point in points)
            if late == len(points) and not limits:
                raise Stopped  # nothing is known yet
            done = f"with {len(points) - late} of {len(points)} points and {len(limits)} limits"
            warnings += (cut_short(context.deadline, done),)
        return PolicyComparison(
            model=model,
            policies=names,
            points=tuple(points),
            limits=limits,
            ideal=model.ideal,
            confidence=self.confidence,
            seed=self.seed,
            warnings=warnings,
        )

    @property
    def _jobs(self) -> int:
        """Of a replica, with those that are left out first."""
        from loynes.questions.answering.events import BURNED_IN

        return self.jobs + (int(BURNED_IN * self.jobs) if self.burn_in is None else self.burn_in)

    def _at(
        self, rate: float, orders: list[Order], fcfs: Limit, limits: dict[str, Limit], steps: Steps, runs: int
    ) -> list[PolicyPoint]:
        """All policies at one rate; with them there are so many runs left."""
        from loynes.estimators.events import paired_difference
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.events import event_task, run_until, simulation_of, unended_jobs
        from loynes.questions.answering.orders import shortest_of

        model, points, baseline = self.model, [], None
        load = rate / fcfs.rate.estimate
        burn_in = self._jobs - self.jobs
        for number, order in enumerate(orders):
            part = steps.next(1.0, runs - number - 1, f"rate {rate:.4g}")
            limit = fcfs if order.policy == "fcfs" and not model.has_rules else limits.get(order.policy)
            if rate >= model.ideal or (limit is not None and rate >= limit.rate.high):
                points.append(PolicyPoint(order.policy, rate, load, None, None, "more than it can carry"))
                continue
            events = event_task(
                model, rate, order, seed=self.seed, replicas=np.arange(self.replicas), burn_in=burn_in,
                jobs_observed=self.jobs, limit=max(MOST_PRESENT, 1 << (4 * model.servers).bit_length()),
                shortest=shortest_of(self.slowdown_threshold, model.time_unit) or 0.0,
            )  # fmt: skip
            replicas, _ = run_until(events, part.engine)
            if len(replicas) < 2:
                points.append(PolicyPoint(order.policy, rate, load, None, None, not_run(part.deadline)))
                continue
            if number == 0:
                baseline = replicas
            try:
                result = simulation_of(
                    model, rate, order, replicas, self.confidence, seed=self.seed, burn_in=burn_in,
                    warnings=unended_jobs(replicas, order), wanted=Wanted((), self.percentiles),
                )  # fmt: skip
            except UnstableError as error:
                points.append(PolicyPoint(order.policy, rate, load, None, None, str(error)))
                continue
            apart = number > 0 and baseline is not None
            both = min(len(replicas), len(baseline or []))
            less = paired_difference(replicas[:both], (baseline or [])[:both], self.confidence) if apart else None
            points.append(PolicyPoint(order.policy, rate, load, result, less))
        return points


compare_policies = Ask(ComparePolicies, PolicyComparison)
