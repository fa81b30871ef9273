"""How to divide the servers among the classes, and what that does to waits."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.partition import Part, Partition


class PlanPartition(Question):
    """Divide the servers among the classes, in proportion to their work, and compare waits with those of a shared pool.

    Balanced splitting (Anselmi and Doncel 2024): every class has servers of its own, as many as a whole number of its
    jobs need, and those that are left over help all, first come, first served. The table has for every class its own
    servers, and how often all of them are busy when one of its jobs comes and nobody waits for helpers (Erlang's loss
    formula); and waits under the division and in a pool, first come, first served, on the same jobs.
    """

    command: ClassVar[str] = "partition"
    asked_by: ClassVar[tuple[str, str] | None] = ("plan", "partition")
    examples: ClassVar[tuple[str, ...]] = ("loynes plan five-class-exponential --partition --load 0.7",)

    model: LoadedModel
    partition: Annotated[bool, Option("Instead: divide the servers among the classes.")] = True
    rate: options.Rate = None
    load: options.Load = None
    jobs: Annotated[int, Field(ge=1, le=2**40), Option("Observed in each replica.", unit="jobs")] = 50_000
    replicas: Annotated[int, Field(ge=2, le=100_000), Option("Independent runs.")] = 16
    confidence: options.Confidence = 0.99
    seed: options.Seed = 1
    time: options.TimeBudget = None
    backend: Annotated[Literal["auto", "cpu"], Option("Events are run on the CPU.", "auto|cpu")] = "auto"

    def answer(self, context: Context) -> Partition:
        from loynes.estimators.events import paired_difference
        from loynes.questions.answering.advising import piles_up
        from loynes.questions.answering.ending import check_length
        from loynes.questions.answering.events import BURNED_IN, event_task, run_until, simulation_of, unended_jobs
        from loynes.questions.answering.orders import check_order, order_of
        from loynes.questions.simulate import event_rate

        model, steps = self.model, Steps(context)
        if not self.partition:
            raise UsageError("partition: plan without it asks something else")
        if model.scenario:
            raise UsageError("the model has a scenario, which is not followed here; simulate follows it")
        divided = order_of("balanced-splitting", {})
        check_order(model, divided)
        judged = event_rate(
            model, order_of("easy", {}), self.rate, self.load, judged=True, seed=self.seed, context=context
        )
        check_length(f"jobs {self.jobs:g}", 2.0 * self.jobs * self.replicas, self.replicas)
        rate, burn_in = judged.rate, int(BURNED_IN * self.jobs)
        end = (burn_in + self.jobs) / rate
        warnings, results, records = judged.warnings, [], []
        for number, order in enumerate((divided, order_of("fcfs", {}))):
            events = event_task(
                model, rate, order, seed=self.seed, replicas=np.arange(self.replicas), burn_in=burn_in,
                jobs_observed=self.jobs, at=np.array([0.5 * end, end]),
            )  # fmt: skip
            replicas, stopped = run_until(events, steps.next(1.0, 1.0 - number, order.policy).engine)
            if stopped:
                raise Stopped
            records.append(replicas)
            unended = unended_jobs(replicas, order)
            results.append(
                simulation_of(
                    model, rate, order, replicas, self.confidence, seed=self.seed, burn_in=burn_in, warnings=unended
                )
            )
            if piles_up(model, replicas, burn_in + self.jobs):
                name = "a shared pool" if number else "the division"
                warnings += (f"{name} is unstable here: work piles up, and a longer run would show longer waits",)
        less = paired_difference(records[0], records[1], self.confidence)
        parts = _parts(self.model, rate, self.seed)
        if not any(part.jobs for part in parts):
            warnings += (
                "no class has servers of its own: the servers are too few for whole jobs of each beside those that help"
                " the largest, and the division is a shared pool",
            )
        return Partition(
            model=model.with_rate(rate),
            rate=rate,
            parts=parts,
            divided=results[0],
            shared=results[1],
            difference=less,
            confidence=self.confidence,
            seed=self.seed,
            warnings=warnings,
        )


def _parts(model: LoadedModel, rate: float, seed: int) -> tuple[Part, ...]:
    """Every class's own servers, and then those that help."""
    from loynes.questions.answering.events import event_task
    from loynes.questions.answering.orders import order_of

    given = event_task(model, rate, order_of("balanced-splitting", {}), seed=seed, replicas=np.arange(1)).given(0)
    parts = []
    works = [c.probability * c.service.mean * c.need for c in model.classes]
    for c, own, work in zip(model.classes, given.own.tolist(), works, strict=True):
        offered = rate * c.probability * c.service.mean
        parts.append(Part(c.label, c.need, work / sum(works), own * c.need, own, erlang_loss(own, offered)))
    return (*parts, Part("helpers", 0, 0.0, given.helpers, 0, None))


def erlang_loss(places: int, offered: float) -> float:
    """The probability that all of so many places are taken, where who finds none goes away (Erlang's formula)."""
    busy = 1.0
    for n in range(1, places + 1):
        busy = offered * busy / (n + offered * busy)
    return busy


plan_partition = Ask(PlanPartition, Partition)
