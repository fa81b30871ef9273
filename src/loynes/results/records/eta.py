"""The answer of `eta`: when each waiting job will start, as a distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from loynes.results.base import Result
from loynes.results.quantity import LOG_UNIT
from loynes.results.table import Table
from loynes.results.times import typed, unit_of

# Rows of waiting jobs that a table shows; files have all of them.
SHOWN = 40
# A start that JSON has no number for lies beyond the horizon.
Start = Annotated[float, BeforeValidator(lambda value: math.inf if value is None else value)]
NOTES_SHOWN = 8
# Every so many moments of the outlook have a row.
OUTLOOK_STEP = 10


@dataclass(frozen=True)
class Cluster:
    """What the jobs run on, and where their listing was read."""

    name: str
    source: str
    format: str
    units: dict[str, int]
    nodes: dict[str, Any] = field(default_factory=dict)  # entries in words, and which node a task takes

    @property
    def servers(self) -> int:
        return next(iter(self.units.values()))


@dataclass(frozen=True)
class StartForecast:
    """When one waiting job starts, in seconds from now; an end that is not finite lies beyond the horizon."""

    id: str
    place: int  # in the line, from 1
    need: dict[str, int]
    limit: float
    median: Start
    low50: Start
    high50: Start
    low80: Start
    high80: Start
    low95: Start
    high95: Start
    within: dict[str, float] = field(default_factory=dict)  # seconds -> probability of a start by then
    by_limits: Start = math.inf  # its start if every job took its whole limit


@dataclass(frozen=True)
class RunningForecast:
    """What is left of a running job."""

    id: str
    need: dict[str, int]
    elapsed: float
    limit: float
    median: float
    low80: float
    high80: float
    # By which it has ended with probability 0.1, 0.2, ..., 0.9; nothing in results of earlier versions.
    left: tuple[float, ...] = ()

    @property
    def steps(self) -> tuple[float, ...]:
        """The same, or the median alone: by the k-th of n steps it has ended with probability k / (n + 1)."""
        return self.left or (self.median,)


@dataclass(frozen=True)
class Outlook:
    """Over time, from now on: medians, and the middle 80%, of busy servers and of jobs that still wait."""

    time: tuple[float, ...]
    busy: tuple[tuple[float, float, float], ...]  # low, median, high
    waiting: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class JobNote:
    """A job that was left out, or taken under an assumption."""

    id: str
    text: str


@dataclass(frozen=True)
class Recalibration:
    """Forecasts at earlier instants, held against what happened, and the quantiles that are asked for since."""

    source: str
    instants: int
    judged: int  # waiting jobs, at all instants
    truth: str  # what they were held against
    held: dict[str, float]  # interval -> how often it held before it was recalibrated
    levels: dict[str, float]  # level -> the level of the draws that is taken for it


@dataclass(frozen=True, kw_only=True, repr=False)
class Eta(Result):
    """Forecasts of all waiting jobs, or of those that were asked for."""

    command: ClassVar[str] = "eta"
    tidy_csv: ClassVar[bool] = True

    model: Cluster
    policy: str
    draws: int
    now: float | None  # Unix time, where it is known
    jobs: tuple[StartForecast, ...]
    running: tuple[RunningForecast, ...]
    outlook: Outlook
    what_if: tuple[StartForecast, ...] = ()
    history: dict[str, Any] = field(default_factory=dict)
    left_out: tuple[JobNote, ...] = ()
    assumed: tuple[JobNote, ...] = ()
    waiting: int = 0
    horizon: float | None = None
    recalibration: Recalibration | None = None

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def unit(self) -> tuple[float, str]:
        """What starts are shown in."""
        finite = [one.high80 for one in (*self.jobs, *self.what_if) if math.isfinite(one.high80)]
        return unit_of(max(finite, default=0.0))

    @property
    def title(self) -> str:
        return f"{self.model.name}: when waiting jobs start ({self.unit[1]} from now, {self.policy})"

    @property
    def headline(self) -> str:
        if not self.jobs:
            return "no job is waiting"
        size, unit = self.unit
        last = max(self.jobs, key=lambda one: one.median)
        text = f"{self.waiting} jobs wait; half of the draws have job {last.id} started by {_text(last.median / size)}"
        return f"{text} {unit}"

    @property
    def summary(self) -> Table:
        return self._table(self.title, self.jobs[:SHOWN])

    def _table(self, title: str, jobs: tuple[StartForecast, ...]) -> Table:
        size, _ = self.unit
        names = tuple(jobs[0].within) if jobs else ()
        rows = []
        for one in jobs:
            need = " ".join(f"{n}" if kind == "servers" else f"{kind} {n}" for kind, n in one.need.items() if n)
            rows.append((
                one.id, str(one.place), need, _text(one.median / size), _span(one.low50, one.high50, size),
                _span(one.low80, one.high80, size), _span(one.low95, one.high95, size), _text(one.by_limits / size),
                *(f"{one.within[name]:.3g}" for name in names),
            ))  # fmt: skip
        columns = ("job", "place", "need", "median", "50%", "80%", "95%", "all to the limit",
                   *(f"P(start <= {typed(float(name))})" for name in names))  # fmt: skip
        return Table(title, columns, tuple(rows), ("50%", "place", "need", "95%", "all to the limit"))

    @property
    def what_if_summary(self) -> Table:
        return self._table("what if it were submitted now", self.what_if)

    @property
    def free(self) -> tuple[tuple[float, float, float], ...]:
        """Free servers, or units of the first resource, over time: low, median, high, as in the outlook."""
        return tuple((self.model.servers - high, self.model.servers - middle, self.model.servers - low)
                     for low, middle, high in self.outlook.busy)  # fmt: skip

    @property
    def outlook_summary(self) -> Table:
        """Free servers and the line at some moments."""
        size, unit = unit_of(self.outlook.time[-1])
        kind = next(iter(self.model.units))
        rows = tuple(
            (_text(time / size), _text(free[1]), _span(free[0], free[2], 1.0), _text(line[1]),
             _span(line[0], line[2], 1.0))
            for time, free, line in zip(self.outlook.time, self.free, self.outlook.waiting, strict=True)
        )[::OUTLOOK_STEP]  # fmt: skip
        columns = (f"after ({unit})", f"free {kind}", f"free {kind} (80%)", "still waiting", "still waiting (80%)")
        return Table("the cluster from now on (medians, and the middle 80% of draws)", columns, rows)

    @property
    def notes_summary(self) -> Table:
        """Jobs that were left out, and what was assumed."""
        notes = [(note.id, "left out", note.text) for note in self.left_out[:NOTES_SHOWN]]
        notes += [(note.id, "taken", note.text) for note in self.assumed[:NOTES_SHOWN]]
        hidden = len(self.left_out) + len(self.assumed) - len(notes)
        if hidden > 0:
            notes.append(("...", "", f"{hidden} more; the JSON has all"))
        return Table("jobs that were left out, or taken under an assumption", ("job", "was", "why"), tuple(notes))

    @property
    def tables(self) -> list[Table]:
        what_if = [self.what_if_summary] if self.what_if else []
        notes = [self.notes_summary] if self.left_out or self.assumed else []
        # Of one job that was asked for it says nothing.
        outlook = [self.outlook_summary] if len(self.jobs) == self.waiting > 0 else []
        return [*([self.summary] if self.jobs else []), *what_if, *outlook, *notes]

    @property
    def tidy(self) -> Table:
        """One job a row, times in seconds from now."""
        names = tuple(self.jobs[0].within) if self.jobs else ()
        columns = ("job", "place", "need", "limit", "median", "low50", "high50", "low80", "high80", "low95", "high95",
                   "by_limits", *(f"within_{name}" for name in names))  # fmt: skip
        rows = tuple(
            (
                one.id, one.place, next(iter(one.need.values())), one.limit, one.median, one.low50, one.high50,
                one.low80, one.high80, one.low95, one.high95, one.by_limits, *(one.within[name] for name in names),
            )
            for one in self.jobs
        )  # fmt: skip
        return Table(self.title, columns, rows)

    @property
    def footer(self) -> str:
        learnt = "no history: run times uniform up to the limit"
        if "model" in self.history:
            learnt = f"run times by the laws of {self.history['model']}"
        elif self.history:
            learnt = f"run times learnt from {self.history['jobs']} jobs ({self.history['source']})"
        if self.recalibration is not None:
            learnt += f"; recalibrated on {self.recalibration.judged} starts at {self.recalibration.instants} instants"
        cut = f"the first {SHOWN} of {len(self.jobs)} jobs; files have all\n" if len(self.jobs) > SHOWN else ""
        at = "" if self.now is None else f" as of {clock(self.now)}"
        return f"{cut}{self.draws} draws{at}; {learnt}; {self.seconds:.1f} s, seed {self.seed}"


def clock(now: float) -> str:
    """A Unix time for people."""
    try:
        return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{now:g} s"


def _text(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "later" if value > 0 else "-"


def _span(low: float, high: float, size: float) -> str:
    return f"{_text(low / size)} to {_text(high / size)}"
