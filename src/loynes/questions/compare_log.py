"""Jobs like those of a log under several policies, or with and without a change, on the same resamples."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.questions.asking.options import Option, names_of
from loynes.questions.asking.resampled import OnResamples
from loynes.results.records.log_cases import LogComparison
from loynes.results.records.replay import cluster_notes
from loynes.traces.changes import Changes


class CompareLog(OnResamples):
    """Jobs like those of a log under several policies, or with and without a change: differences with intervals.

    With `policies` the first is what the others are compared with. Without, the log as it is stands beside the log
    with the changes: `scale`, `max_need`, `without`, `run_times`, `limits`, `to_night`, `user_limit`. All run on
    the same resamples, so that differences are known better than the waits themselves.
    """

    command: ClassVar[str] = "compare-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("compare", "trace")
    examples: ClassVar[tuple[str, ...]] = (
        "loynes compare log.swf.gz --policies fcfs,easy",
        "loynes compare log.swf.gz --policy easy --max-need 32",
    )

    policies: Annotated[
        tuple[Any, ...],
        BeforeValidator(names_of),
        PlainSerializer(lambda given: [str(one) for one in given]),
        Option("The same jobs under these policies.", "P1,P2,...", written="list"),
    ] = ()

    def answer(self, context: Context) -> LogComparison:
        from loynes.questions.answering.resampling import LogRunner, cases_result

        if not self.policies and self.changes == Changes() and not self.user_limit:
            raise UsageError(
                "what to compare with? Give --policies, or a change: --scale, --max-need, --without, --run-times, "
                "--limits, --to-night, --user-limit"
            )
        runner = LogRunner(self, context)
        if self.policies:
            cases = [(str(one), {"policy": str(one)}, runner.case(policy=one)) for one in self.policies]
        else:
            own = runner.case()
            changes = ", ".join([*self.changes.texts, *cluster_notes(own.cluster.limits_in_words)])
            before = replace(own, changes=Changes(), cluster=replace(own.cluster, limits=None))
            cases = [("as it is", {}, before), (changes, {"changes": changes}, own)]
        return cases_result(LogComparison, runner, cases, context)
