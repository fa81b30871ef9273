"""Service objectives beside their values: met, not met, or not known.

An objective is met where the whole interval of its quantity is within the bound, and not met where all of it is beyond;
each of these holds with the confidence of the interval. Where the bound lies inside the interval, or the quantity is
known from one side only, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from loynes.estimate import Estimate
from loynes.results.base import Result
from loynes.results.table import Table

Met = Literal["yes", "no", "unsure"]


@dataclass(frozen=True)
class Judged:
    """An objective, its quantity, and whether it is met; `why`, where that cannot be told."""

    text: str
    quantity: str  # in words, of which class: the value of p99.9(wait) <= 60 is P(wait > 60)
    bound: float
    value: Estimate
    met: Met
    why: str = ""
    unit: str = ""  # of the quantity: time, probability, ...


class WithObjectives(Result):
    """A result that says of objectives whether they are met."""

    objectives: tuple[Judged, ...]

    @property
    def objectives_summary(self) -> Table:
        """A row an objective."""
        rows = tuple((one.text, one.quantity, self.in_unit(one.value, one.unit), one.met) for one in self.objectives)
        return Table("objectives", ("objective", "quantity", "value", "met"), rows, ("quantity",))

    @property
    def unmet(self) -> str:
        return unmet_words(self.objectives)


def unmet_words(objectives: Iterable[Judged]) -> str:
    """Which objectives are not met, and which are not shown to be, in a line; nothing where all are met."""
    some = list(objectives)
    missed = [one.text for one in some if one.met == "no"]
    unsure = [f"{one.text} ({one.why})" for one in some if one.met == "unsure"]
    parts = [f"not met: {', '.join(missed)}"] if missed else []
    parts += [f"not shown to be met: {', '.join(unsure)}"] if unsure else []
    return "; ".join(parts)
