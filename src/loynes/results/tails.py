"""The distribution of waits: P(wait > x) over x, of all jobs and of every class, with pointwise intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loynes.estimate import Estimate, key_text
from loynes.results.table import Table

COLUMNS = ("class", "x", "estimate", "low", "high")


@dataclass(frozen=True)
class Chances:
    """Probabilities and the ends of their intervals, one a value of x."""

    estimate: tuple[float | None, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, values: list[Estimate]) -> Chances:
        middle = tuple(None if value.estimate != value.estimate else value.estimate for value in values)
        return cls(middle, tuple(value.low for value in values), tuple(value.high for value in values))

    @property
    def values(self) -> list[Estimate]:
        ends = zip(self.estimate, self.low, self.high, strict=True)
        return [Estimate(float("nan") if middle is None else middle, low, high) for middle, low, high in ends]


@dataclass(frozen=True)
class Tails:
    """P(wait > x) at every x, by class; each interval holds its own probability with the result's confidence."""

    x: tuple[float, ...]
    classes: dict[str, Chances]

    @classmethod
    def of(cls, tails: Mapping[str, Mapping[float, Estimate]]) -> Tails | None:
        """From estimates by class and x; None where there are none."""
        if not tails:
            return None
        grid = tuple(next(iter(tails.values())))
        return cls(grid, {name: Chances.of([chances[x] for x in grid]) for name, chances in tails.items()})

    @property
    def table(self) -> Table:
        """A row a class and x."""
        rows = [
            (name, x, *vars(value).values())
            for name, chances in self.classes.items()
            for x, value in zip(self.x, chances.values, strict=True)
        ]
        return Table("P(wait > x)", COLUMNS, tuple(rows))

    def tidy(self, known: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Rows of a tidy table, of metrics wait>x that are not there already (class -> metrics)."""
        return [
            (name, f"wait>{key_text(x)}", *ends)
            for name, x, *ends in self.table.rows
            if f"wait>{key_text(x)}" not in known.get(name, ())
        ]
