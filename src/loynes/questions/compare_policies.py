"""Policies on the same jobs: what strict order costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, names_of
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.policies import Limit, PolicyComparison, PolicyPoint

if TYPE_CHECKING:
    from loynes.questions.answering.orders import Order

# Which part of the work is finding out what each can carry, to an order; and what the threshold takes.
OF_LIMITS, OF_THRESHOLD = 0.5, 0.02
# A line longer than this, of jobs that run besides, is not waited for.
MOST_PRESENT = 1 << 17


class ComparePolicies(Question):
    """Waits and losses under several policies at several rates, event by event on the same jobs.

    `loads` are fractions of the threshold of first come, first served, and may be above 1: other policies may take
    more. The first policy is what the others are compared with, job for job, so that differences are known better than
    the waits. `limits` adds what each policy can carry: the threshold for fcfs, and an estimate for the others.
    `window`, `threshold` and `inflation` go to the policies that know them.
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
    inflation: options.Inflation = 1.0
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
    backend: Annotated[Literal["auto", "cpu"], Option("Events are run on the CPU.", "auto|cpu")] = "auto"

    def answer(self, context: Context) -> PolicyComparison:
        from loynes.questions.answering.limits import limit_of
        from loynes.questions.answering.orders import check_order, order_of

        model = self.model
        numbers = {"window": self.window, "threshold": self.threshold}
        orders = [order_of(one, numbers, self.inflation, strictly=False) for one in self.policies]
        names = tuple(order.policy for order in orders)
        if not names or len(set(names)) < len(names):
            raise UsageError("policies: name at least one, and none twice")
        if self.loads is not None and self.rates is not None:
            raise UsageError("give loads or rates, not both")
        if not self.limits and self.loads is None and self.rates is None and model.rate is None:
            raise UsageError("nothing to compare at: give loads or rates")
        if model.scenario:
            raise UsageError("the model has a scenario, which policies are not compared on; simulate follows it")
        warnings = tuple(dict.fromkeys(text for order in orders for text in check_order(model, order)))
        fcfs = limit_of(model, order_of("fcfs", {}), seed=self.seed, context=context.part(0.0, OF_THRESHOLD))
        limits: dict[str, Limit] = {}
        first, each = OF_THRESHOLD, OF_LIMITS / len(orders)
        for number, order in enumerate(orders if self.limits else ()):
            part = context.part(first + number * each, each)
            limits[order.policy] = (
                fcfs if order.policy == "fcfs" else limit_of(model, order, seed=self.seed, context=part)
            )
        own = () if model.rate is None else (model.rate,)
        rates = [x * fcfs.rate.estimate for x in self.loads] if self.loads else self.rates or own
        first += OF_LIMITS if self.limits else 0.0
        points: list[PolicyPoint] = []
        for number, rate in enumerate(rates):
            share = (1 - first) / len(rates)
            points += self._at(rate, orders, fcfs, limits, context.part(first + number * share, share))
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

    def _at(
        self, rate: float, orders: list[Order], fcfs: Limit, limits: dict[str, Limit], context: Context
    ) -> list[PolicyPoint]:
        """All policies at one rate."""
        from loynes.estimators.events import paired_difference
        from loynes.estimators.measures import Wanted
        from loynes.kernels.events.engine import run_replicas
        from loynes.questions.answering.events import BURNED_IN, event_task, simulation_of, unended_jobs

        model, points, baseline = self.model, [], None
        load = rate / fcfs.rate.estimate
        burn_in = int(BURNED_IN * self.jobs) if self.burn_in is None else self.burn_in
        for number, order in enumerate(orders):
            part = context.part(number / len(orders), 1.0 / len(orders), f"rate {rate:.4g}")
            limit = fcfs if order.policy == "fcfs" else limits.get(order.policy)
            if rate >= model.ideal or (limit is not None and rate >= limit.rate.high):
                points.append(PolicyPoint(order.policy, rate, load, None, None, "more than it can carry"))
                continue
            events = event_task(
                model, rate, order, seed=self.seed, replicas=np.arange(self.replicas), burn_in=burn_in,
                jobs_observed=self.jobs, limit=max(MOST_PRESENT, 1 << (4 * model.servers).bit_length()),
            )  # fmt: skip
            replicas = run_replicas(events, part.engine)
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
            less = paired_difference(replicas, baseline or [], self.confidence) if apart else None
            points.append(PolicyPoint(order.policy, rate, load, result, less))
        return points


compare_policies = Ask(ComparePolicies, PolicyComparison)
