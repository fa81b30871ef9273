"""What a table or figure of the paper becomes: data, a picture, and lines on how ours and the printed agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.execution.progress import PartProgress, Progress
from loynes.execution.workers import Pool
from loynes.results.records.sweep import Sweep
from loynes.results.table import Table, shown


@dataclass(frozen=True)
class Effort:
    """How hard to try: `quick` answers in minutes on two cores, with wider intervals."""

    quick: bool
    seed: int
    backend: str
    executor: object
    progress: Progress
    sweeps: dict[str, Sweep] = field(default_factory=dict)  # by law, for the items that share them

    @property
    def precision(self) -> float:
        """Of mean waits."""
        return 0.05 if self.quick else 0.01

    @property
    def threshold_precision(self) -> float:
        return 0.005 if self.quick else 0.001

    @property
    def max_jobs(self) -> float:
        """A point's work at most: a quarter of a minute, or minutes, on two cores."""
        return 4e8 if self.quick else 6e9

    @property
    def loads(self) -> list[float]:
        return (
            [0.1, 0.3, 0.5, 0.7, 0.8, 0.9] if self.quick else [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95]
        )

    @property
    def context(self) -> Context:
        """For what is asked without a function of its own."""
        pool = None if self.executor is None else Pool(self.executor)
        return Context(self.backend, self.progress, pool=pool)

    def ways(self, part: int = 0, parts: int = 1) -> dict[str, Any]:
        """Options of every question; this one is a part of several."""
        watch = PartProgress(self.progress, part / parts, 1 / parts)
        return {"seed": self.seed, "backend": self.backend, "executor": self.executor, "progress": watch}


@dataclass(frozen=True)
class Check:
    """Ours beside the printed (or an exact) value."""

    what: str
    ours: str
    printed: str
    agrees: bool


def within(what: str, ours: Estimate, printed: float, tolerance: float) -> Check:
    """Agreement to a relative tolerance, that of the print."""
    agrees = abs(ours.estimate - printed) <= tolerance * printed
    return Check(what, shown(ours), f"{printed:g}", agrees)


def holds(what: str, ours: Estimate, exact: float) -> Check:
    """An interval that holds an exact value."""
    return Check(what, shown(ours), f"{exact:.6g} (exact)", ours.low <= exact <= ours.high)


@dataclass(frozen=True)
class Item:
    """One item, computed."""

    name: str
    title: str
    tables: dict[str, Table]  # by a file's name
    checks: tuple[Check, ...]
    draw: Callable[[], Any]  # makes the figure
    remarks: tuple[str, ...] = field(default=())
    seconds: float = 0.0

    @property
    def agrees(self) -> bool:
        return all(check.agrees for check in self.checks)
