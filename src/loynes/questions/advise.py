"""What would each policy give us here? All that apply, on the same jobs, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, names_of
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.advice import SORTED_BY, Advice, Choice, State, sorted_choices

if TYPE_CHECKING:
    from loynes.estimators.measures import Wanted
    from loynes.kernels.events.replica import ReplicaRecord
    from loynes.questions.answering.objectives import Objective, Target
    from loynes.questions.answering.orders import Order

# A line longer than this, of jobs that run besides, is not waited for.
MOST_PRESENT = 1 << 16


class Advise(Question):
    """What each policy would give you here: every policy that applies, on the same jobs, the best first.

    They are sorted by `metric`, any of all jobs or of a class: "mean(wait)", "p95(wait[T1])", "hol_loss"; with `slo`,
    objectives such as "p95(wait) <= 600", those that meet all come first. Beside each stands what speaks most against
    it: that it is unstable here, that jobs starve, that it does not keep what its authors promise for such needs, or
    else what holds everywhere, such as that it needs run times, or stops jobs. `load` is a fraction of what first come,
    first served can take. Nothing here is certified: `evaluate` and `stability` are, for first come, first served.
    """

    command: ClassVar[str] = "advise"
    for_log: ClassVar[str] = "advise_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes advise five-class-exponential --load 0.9",
        "loynes advise five-class-exponential --rate 1.4 --slo 'p95(wait) <= 5'",
        "loynes advise log.swf.gz --servers 128",
    )

    model: LoadedModel
    rate: options.Rate = None
    load: options.Load = None
    policies: Annotated[
        tuple[Any, ...],
        BeforeValidator(names_of),
        PlainSerializer(lambda given: [str(one) for one in given]),
        Option("Only these.", "P1,P2,...", written="list", default="all that apply"),
    ] = ()
    metric: Annotated[
        str, Option("What policies are sorted by: 'mean(wait)', 'p95(wait[T1])', 'hol_loss'.", "METRIC")
    ] = SORTED_BY
    slo: options.Objectives = ()
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    inflation: options.Inflation = 1.0
    jobs: Annotated[int, Field(ge=1, le=2**40), Option("Observed in each replica.", unit="jobs")] = 50_000
    replicas: Annotated[int, Field(ge=2, le=100_000), Option("Independent runs.")] = 16
    confidence: options.Confidence = 0.99
    seed: options.Seed = 1
    time: options.TimeBudget = None
    backend: Annotated[Literal["auto", "cpu"], Option("Events are run on the CPU.", "auto|cpu")] = "auto"

    @property
    def by_events(self) -> bool:
        return True

    def answer(self, context: Context) -> Advice:
        from loynes.questions.answering.advising import orders_for
        from loynes.questions.answering.asked_order import numbers_of
        from loynes.questions.answering.ending import check_length, cut_short
        from loynes.questions.answering.judging import asked_of
        from loynes.questions.answering.orders import check_order, order_of
        from loynes.questions.simulate import event_rate

        model = self.model
        if model.scenario:
            raise UsageError("the model has a scenario, which policies are not compared on; simulate follows it")
        names = [c.label for c in model.classes]
        asked, target = asked_of(self.slo, names, model.time_unit), self._target()
        orders = orders_for(
            self.policies, numbers_of(self), self.inflation, len(model.kinds), quotas=bool(model.quotas),
            restarts=model.preemption == "restart", priorities=len({c.priority for c in model.classes}) > 1,
        )  # fmt: skip
        check_length(f"jobs {self.jobs:g}", float(len(orders)) * self.jobs * self.replicas, self.replicas)
        remarks = {order.policy: check_order(model, order) for order in orders}
        judged = event_rate(
            model, order_of("easy", {}), self.rate, self.load, judged=True, seed=self.seed, context=context
        )
        steps, choices, baseline = Steps(context), list[Choice](), None
        for number, order in enumerate(orders):
            part = steps.next(1.0, len(orders) - number - 1, order.policy)
            try:
                choice, replicas = self._choice(order, judged.rate, asked, remarks[order.policy], baseline, part)
            except Stopped:
                if not choices:
                    raise
                break
            baseline = baseline or replicas
            choices.append(choice)
        warnings = judged.warnings
        if len(choices) < len(orders):
            warnings += (cut_short(context.deadline, f"after {len(choices)} of {len(orders)} policies"),)
        return Advice(
            model=model.with_rate(judged.rate),
            rate=judged.rate,
            choices=sorted_choices(choices, target.metric.grows < 0),
            metric=target.text,
            unit=target.metric.unit,
            confidence=self.confidence,
            seed=self.seed,
            warnings=warnings,
        )

    def _choice(
        self,
        order: Order,
        rate: float,
        asked: tuple[Objective, ...],
        remarks: tuple[str, ...],
        baseline: list[ReplicaRecord] | None,
        context: Context,
    ) -> tuple[Choice, list[ReplicaRecord]]:
        """A policy on the jobs of all, with what speaks against it; and its replicas."""
        from dataclasses import replace

        from loynes.estimators.events import paired_difference
        from loynes.questions.answering.advising import caveat_of, falls_behind, piles_up
        from loynes.questions.answering.events import BURNED_IN, event_task, run_until, simulation_of, unended_jobs
        from loynes.questions.answering.judging import judged

        model, burn_in = self.model, int(BURNED_IN * self.jobs)
        end = (burn_in + self.jobs) / rate
        events = event_task(
            model, rate, order, seed=self.seed, replicas=np.arange(self.replicas), burn_in=burn_in,
            jobs_observed=self.jobs, at=np.array([0.5 * end, end]),
            limit=max(MOST_PRESENT, 1 << (4 * model.servers).bit_length()),
        )  # fmt: skip
        replicas, stopped = run_until(events, context.engine)
        if stopped:
            raise Stopped
        unended = unended_jobs(replicas, order)
        unstable = "unstable here: work piles up" if piles_up(model, replicas, burn_in + self.jobs) else ""
        known = order.policy == "fcfs" and model.pooled is model  # its limit is computed
        if not unstable and not known:
            behind = falls_behind(
                model, order, rate, jobs=self.jobs, replicas=self.replicas, seed=self.seed, context=context
            )
            unstable = "unstable here: it falls behind once the line is long" if behind else ""
        try:
            result = simulation_of(
                model,
                rate,
                order,
                replicas,
                self.confidence,
                seed=self.seed,
                burn_in=burn_in,
                warnings=unended,
                wanted=self._wanted(asked),
            )
        except UnstableError as error:
            return Choice(order.label, None, None, None, "unstable", str(error)), replicas
        lower = "work piles up, or jobs had not ended" if unended or unstable else ""
        result = replace(result, objectives=judged(asked, result, lower=lower)) if asked else result
        less = None if baseline is None else paired_difference(replicas, baseline, self.confidence)
        starved = "some jobs had not ended: they starve, or the rate is too high" if unended else ""
        state: State = "unstable" if unstable else "starves" if starved else "stable"
        caveat = caveat_of(order.rule, (unstable, starved), remarks)
        return Choice(order.label, result, less, self._target().value(result), state, caveat), replicas

    def _wanted(self, asked: tuple[Objective, ...]) -> Wanted:
        """What has to be observed for objectives, and for what policies are sorted by."""
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.judging import with_percentiles, with_tails

        return Wanted(with_tails(self._target().exceeds, asked), with_percentiles((), asked))

    def _target(self) -> Target:
        """What policies are sorted by."""
        from loynes.questions.answering.objectives import target_of

        return target_of(self.metric, [c.label for c in self.model.classes], self.model.time_unit)


advise = Ask(Advise, Advice)
