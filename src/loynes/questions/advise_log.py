"""What would each policy give to jobs like those of a log?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.execution.context import Context
from loynes.questions.asking.options import Option, names_of
from loynes.questions.asking.resampled import OnResamples
from loynes.results.records.advice import LogAdvice


class AdviseLog(OnResamples):
    """What each policy would give to jobs like those of a log: every policy that applies, on the same resamples.

    First come, first served is what the others are compared with; the others are sorted by their mean waits. Policies
    that believe in run times believe in the requested ones, where the log has them.
    """

    command: ClassVar[str] = "advise-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("advise", "trace")
    examples: ClassVar[tuple[str, ...]] = ("loynes advise log.swf.gz --servers 128",)

    policies: Annotated[
        tuple[Any, ...],
        BeforeValidator(names_of),
        PlainSerializer(lambda given: [str(one) for one in given]),
        Option("Only these.", "P1,P2,...", written="list", default="all that apply"),
    ] = ()
    resamples: Annotated[int, Field(ge=2, le=100_000), Option("Logs that are put together anew.")] = 20

    def answer(self, context: Context) -> LogAdvice:
        from loynes.questions.answering.advising import caveat_of, orders_for
        from loynes.questions.answering.asked_order import numbers_of
        from loynes.questions.answering.resampling import LogRunner, cases_result

        runner = LogRunner(self, context)
        orders = orders_for(self.policies, numbers_of(self), 1.0, len(runner.case().units), users=bool(self.user_limit))
        cases = [(one.policy, {"policy": one.policy}, runner.case(policy=one.rule)) for one in orders]
        found = cases_result(LogAdvice, runner, cases, context, caveats={})
        first, *others = found.cases
        others.sort(key=lambda case: case.result.overall.wait.mean.estimate)
        caveats = {one.policy: caveat_of(one.rule) for one in orders}
        return replace(found, cases=(first, *others), caveats=caveats)
