"""Arrival processes. The threshold does not depend on them; waits do."""

from __future__ import annotations

from typing import Literal

from loynes.model.fields import Positive, Record


class Poisson(Record):
    """Independent exponential gaps; `rate` may be left out of the file and given with the question."""

    process: Literal["poisson"] = "poisson"
    rate: Positive | None = None
