"""Questions that replay a log: what all of them may change about it, and servers that are lost on the way."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from loynes.questions.asking import options
from loynes.questions.asking.changed import ChangedLog
from loynes.questions.asking.options import Option, texts_of

MOST_WINDOWS = 100_000


class ReplayedLog(ChangedLog):
    """A question that is answered by running the log once a case."""

    outages: Annotated[
        tuple[str, ...],
        BeforeValidator(texts_of),
        Option(
            "Servers are lost: 'from=2d, until=3d, lost=10%, how=failed', or a file with a [[scenario]]. Repeatable.",
            "OUTAGE",
            flag="--outage",
            written="repeated",
        ),
    ] = ()
    windows: Annotated[
        int | None,
        Field(ge=1, le=MOST_WINDOWS),
        Option("Also show a series of so many windows of time.", default="24, not shown"),
    ] = None
    percentiles: options.Percentiles = ()
    seed: options.Seed = 1
