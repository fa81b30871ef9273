"""Questions that take a log in place of a model, and are answered by resamples of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from loynes.questions.asking import options
from loynes.questions.asking.changed import ChangedLog
from loynes.questions.asking.options import Option


class OnResamples(ChangedLog):
    """A question that is answered by running resamples of a log; those that are done when the time is up will do."""

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
