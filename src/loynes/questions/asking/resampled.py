"""Questions that take a log in place of a model: how it is changed, resampled and run."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from loynes.questions.asking import options
from loynes.questions.asking.logs import AboutLog, ResourcesOption
from loynes.questions.asking.options import Option, PolicyOption, names_of
from loynes.traces.changes import Changes

Factor = Annotated[float, Field(gt=0, le=10**6, allow_inf_nan=False)]
# A log is laid on top of itself so many times at most.
MOST_COPIES = 100
Copies = Annotated[float, Field(gt=0, le=MOST_COPIES, allow_inf_nan=False)]


class OnResamples(AboutLog):
    """A question that is answered by running resamples of a log; those that are done when the time is up will do."""

    resources: ResourcesOption = Field(default_factory=dict)
    policy: PolicyOption = "fcfs"
    inflation: options.BelievedTimes = None
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    classes: options.ByLabel = None
    scale: Annotated[Copies, Option("So many times as many jobs, of the same kinds.")] = 1.0
    max_need: Annotated[
        int | None, Field(ge=1), Option("Larger jobs run on so many servers, longer in proportion.", unit="servers")
    ] = None
    without: Annotated[
        tuple[str, ...],
        BeforeValidator(names_of),
        Option("Leave out the jobs of a user, a class, or LABEL=VALUE.", "NAME", written="list"),
    ] = ()
    run_times: Annotated[Factor, Option("Every run time, times this.")] = 1.0
    limits: Annotated[Factor, Option("Every requested time, times this; longer jobs are ended.")] = 1.0
    to_night: Annotated[
        tuple[str, ...],
        BeforeValidator(names_of),
        Option("Jobs of these classes or users are submitted from 20 to 6 o'clock only.", "NAME", written="list"),
    ] = ()
    resamples: Annotated[int, Field(ge=2, le=100_000), Option("Logs that are put together anew.")] = 100
    block: Annotated[
        float | None,
        Field(ge=1, allow_inf_nan=False),
        Option("Mean length of the stretches that resamples are made of.", default="7, of short logs 1", unit="days"),
    ] = None
    percentiles: options.Percentiles = ()
    seed: options.Seed = 1
    confidence: Annotated[float, Field(gt=0, lt=1), Option("Confidence of every interval.")] = 0.95
    time: options.TimeBudget = None

    @property
    def changes(self) -> Changes:
        return Changes(self.scale, self.max_need, self.without, self.run_times, self.limits, self.to_night)
