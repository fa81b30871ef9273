"""One log on clusters of several sizes, or under several policies: who gains, and who pays?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.execution.steps import Steps
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, names_of, values_of
from loynes.questions.asking.replayed import ReplayedLog
from loynes.questions.replay import WINDOWS
from loynes.results.records.replay_cases import ReplayCases

MOST_CASES = 1000


class AskReplayCases(ReplayedLog):
    """Run a recorded workload under several policies, on several numbers of servers or nodes, or all combinations.

    Every case runs the same jobs, changed or not, but for those that are larger than its cluster. The first case is
    what the others are compared with, job by job: how much less or more jobs wait, and how many of them do, by class
    and by size. All other options are those of `replay`, and go to the policies that know them.
    """

    command: ClassVar[str] = "replay-cases"
    asked_by: ClassVar[tuple[str, str] | None] = ("replay", "policies")
    several: ClassVar[tuple[str, ...]] = ("servers", "nodes")
    examples: ClassVar[tuple[str, ...]] = (
        "loynes replay log.swf.gz --policies fcfs,easy,conservative --by queue",
        "loynes replay log.swf.gz --policy easy --servers 96:128:8",
        "loynes replay jobs.sacct --nodes 12:20:4 --has cpu=64,gpu=4 --policies fcfs,easy",
    )

    policies: Annotated[
        tuple[Any, ...],
        BeforeValidator(names_of),
        PlainSerializer(lambda given: [str(one) for one in given]),
        Option("The same jobs under these policies.", "P1,P2,...", written="list"),
    ] = ()
    servers: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...] | None,
        BeforeValidator(values_of),
        Option(
            "How many servers; several: 96:128:8 or a,b,c.",
            "N|A,B|A:B:STEP",
            written="list",
            default="what the log's header says",
            unit="servers",
            must="be whole numbers of at least 1: 96:128:8 or a,b,c",
        ),
    ] = None  # type: ignore[assignment]
    nodes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...] | None,
        BeforeValidator(values_of),
        Option(
            "Instead of servers: so many nodes, each with what --has says; several: 12:20:2 or a,b,c.",
            "N|A,B|A:B:STEP",
            written="list",
            unit="nodes",
            must="be whole numbers of at least 1: 12:20:2 or a,b,c",
        ),
    ] = None  # type: ignore[assignment]

    @model_validator(mode="before")
    @classmethod
    def _one_policy(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Where neither policies nor several numbers of servers are given, the one policy is the list of them."""
        sizes = [str(data.get(name)) for name in cls.several]
        if data.get("policies") or any("," in text or ":" in text for text in sizes):
            return data
        left = {name: value for name, value in data.items() if name != "policy"}
        return left | {"policies": (data.get("policy", cls.model_fields["policy"].default),)}

    def answer(self, context: Context) -> ReplayCases:
        context.progress(0.0, "reading")
        from loynes.questions.answering.replayed_cases import cases_of

        policies = self.policies or (self.policy,)
        count = len(policies) * len(self.servers or self.nodes or (0,))
        if count > MOST_CASES:
            raise UsageError(f"{count} cases: at most {MOST_CASES}")
        return cases_of(self, policies, Steps(context), self.windows or WINDOWS)


replay_cases = Ask(AskReplayCases, ReplayCases)
