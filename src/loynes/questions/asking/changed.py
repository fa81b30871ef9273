"""Questions about a log under a policy: what the scheduler believes, and what is changed about the jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from loynes.errors import UsageError
from loynes.questions.asking import options
from loynes.questions.asking.logs import LogOnCluster, UserBorrowOption, UserLabelOption, UserLimitOption
from loynes.questions.asking.options import Option, PolicyOption, names_of
from loynes.traces.changes import Changes

Factor = Annotated[float, Field(ge=10**-6, le=10**6, allow_inf_nan=False)]
# A log is laid on top of itself so many times at most.
MOST_COPIES = 100
Copies = Annotated[float, Field(gt=0, le=MOST_COPIES, allow_inf_nan=False)]


class ChangedLog(LogOnCluster):
    """A question about a log's jobs, as they are or changed, under a policy."""

    user_limit: UserLimitOption = Field(default_factory=dict)
    user_borrow: UserBorrowOption = Field(default_factory=dict)
    user_label: UserLabelOption = "user"
    policy: PolicyOption = "fcfs"
    inflation: options.BelievedTimes = None
    overestimate: options.Overestimate = 0.0
    predict: options.Predict = None
    correct: options.Correct = None
    window: options.Window = None
    threshold: options.SwapThreshold = None
    depth: options.Depth = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    classes: options.ByLabel = None
    scale: Annotated[Copies, Option("So many times as many jobs, of the same kinds.")] = 1.0
    max_need: Annotated[
        int | None, Field(ge=1, le=2**53), Option("No job on more than so many servers.", unit="servers")
    ] = None
    max_need_of: Annotated[
        str | None, Option("The resource that --max-need counts.", "RESOURCE", default="the only one there is")
    ] = None
    larger: Annotated[
        Literal["stretch", "split", "refuse"],
        Option(
            "Jobs larger than --max-need: run longer in proportion, in pieces beside each other, or not at all.",
            "stretch|split|refuse",
        ),
    ] = "stretch"
    without: Annotated[
        tuple[str, ...],
        BeforeValidator(names_of),
        Option("Leave out the jobs of a user, a class, or LABEL=VALUE.", "NAME", written="list"),
    ] = ()
    run_times: Annotated[Factor, Option("Every run time, times this.")] = 1.0
    limits: Annotated[Factor, Option("Every requested time, times this; longer jobs are ended.")] = 1.0
    kill_at_limit: options.KillAtLimit = False
    to_night: Annotated[
        tuple[str, ...],
        BeforeValidator(names_of),
        Option("Jobs of these classes or users are submitted from 20 to 6 o'clock only.", "NAME", written="list"),
    ] = ()
    slowdown_threshold: Annotated[
        float,
        Field(gt=0, allow_inf_nan=False),
        Option("Shorter run times count as so long in the bounded slowdown.", "T", unit="time"),
    ] = 10.0

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("policies") and data.get("policy") is not None:
            raise UsageError("give policy or policies, not both")
        return data

    @property
    def changes(self) -> Changes:
        named = [*self.resources, *self.has]
        counted = self.max_need_of or (named[0] if len(named) == 1 else None)
        return Changes(
            self.scale, self.max_need, self.without, self.run_times, self.limits, self.to_night, larger=self.larger,
            kill_at_limit=self.kill_at_limit, need_of=None if self.max_need is None else counted,
        )  # fmt: skip
