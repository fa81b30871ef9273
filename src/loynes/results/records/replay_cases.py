"""The answer of `replay --policies` and of several numbers of servers: one log in several cases, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from loynes.estimators.measures import ALL_JOBS
from loynes.results.base import Nested, Result
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.replay import Log, Replay, cluster_notes
from loynes.results.table import Table
from loynes.results.tables import TIDY, tidy_table
from loynes.results.times import unit_of

# Cases that a table has room for beside each other.
MOST_BESIDE = 6


@dataclass(frozen=True)
class Gains:
    """What the jobs of a class wait less or more than in the first case, job by job."""

    jobs: int  # that are in both cases
    wait: float  # mean difference, below 0 where they gain
    less: float  # share of them that wait less
    more: float


@dataclass(frozen=True)
class ReplayCase:
    """One case: what is different about it, its figures, and who gains and pays, by class and by size."""

    name: str
    config: dict[str, Any]
    result: Annotated[Replay, Nested]
    gains: dict[str, Gains] = field(default_factory=dict)  # of all jobs and of every class; empty for the first
    by_size: dict[str, Gains] = field(default_factory=dict)  # where classes are not sizes already


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplayCases(Result):
    """Exact figures of one recorded workload in several cases."""

    command: ClassVar[str] = "replay-cases"
    tidy_csv: ClassVar[bool] = True
    optional: ClassVar[tuple[str, ...]] = (*Replay.optional, "by_size", "gains")

    model: Log
    by: str
    cases: tuple[ReplayCase, ...]

    @property
    def time_unit(self) -> str:
        return LOG_UNIT

    @property
    def unit(self) -> tuple[float, str]:
        """What waits are shown in: its seconds, its name."""
        return unit_of(max(case.result.overall.wait.mean.estimate for case in self.cases))

    @property
    def title(self) -> str:
        return f"{self.model.name}: {len(self.cases)} cases of the same jobs"

    @property
    def headline(self) -> str:
        best = min(self.cases, key=lambda case: case.result.overall.wait.mean.estimate)
        first = self.cases[0]
        means = [self.in_time(case.result.overall.wait.mean) for case in (first, best)]
        return f"mean wait {means[0]} ({first.name}); least {means[1]} ({best.name})"

    @property
    def summary(self) -> Table:
        """A row a case: figures of all jobs, and how many of them wait less and more than in the first."""
        rows = []
        for case in self.cases:
            waits, system, gain = case.result.overall, case.result.system, case.gains.get(ALL_JOBS)
            beside = ("-",) * 3 if gain is None else (self.in_time(gain.wait), percent(gain.less), percent(gain.more))
            rows.append((
                case.name, str(case.result.jobs), self.in_time(waits.wait.mean), *beside, self.in_time(waits.wait.p95),
                waits.bounded_slowdown, waits.no_wait, system.utilization, system.hol_loss,
            ))  # fmt: skip
        columns = ("case", "jobs", "mean wait", "minus the first", "wait less", "wait more", "p95", "bounded slowdown",
                   "no wait", "utilization", "hol loss")  # fmt: skip
        spare = ("hol loss", "no wait", "utilization", "jobs", "p95", "wait less", "wait more", "bounded slowdown")
        return Table(self.title, columns, tuple(rows), spare)

    @property
    def beside(self) -> tuple[ReplayCase, ...]:
        """Those that a table shows beside each other: the first, and as many as there is room for."""
        return self.cases[:MOST_BESIDE]

    @property
    def classes_summary(self) -> Table:
        """Mean waits of every class in every case."""
        names = list(dict.fromkeys(name for case in self.beside for name in case.result.classes))
        rows = []
        for name in names:
            waits = [case.result.classes.get(name) for case in self.beside]
            rows.append((name, *("-" if one is None else self.in_time(one.wait.mean) for one in waits)))
        return Table(f"mean waits by {self.by}", (self.by, *(case.name for case in self.beside)), tuple(rows))

    def gains_table(self, by_size: bool = False) -> Table:
        """Of every class, how much less or more it waits than in the first case, and which share of it."""
        others = [case for case in self.beside if case.gains]
        found = [case.by_size if by_size else case.gains for case in others]
        names = list(dict.fromkeys(name for one in found for name in one if name != ALL_JOBS))
        rows = []
        for name in names:
            cells: list[Any] = []
            for one in found:
                gain = one.get(name)
                cells.append("-" if gain is None else _gain_text(str(self.in_time(gain.wait)), gain))
            rows.append((name, *cells))
        what = "need" if by_size else self.by
        title = f"mean wait minus that under {self.cases[0].name}, by {what} (share that waits less, more)"
        return Table(title, (what, *(case.name for case in others)), tuple(rows))

    @property
    def tables(self) -> list[Table]:
        if len(self.cases) < 2:
            return [self.summary, self.classes_summary]
        sizes = [self.gains_table(by_size=True)] if self.cases[1].by_size else []
        return [self.summary, self.classes_summary, self.gains_table(), *sizes]

    @property
    def tidy(self) -> Table:
        rows: list[tuple[Any, ...]] = []
        for case in self.cases:
            one = case.result
            rows += [(case.name, *row) for row in tidy_table("", one.overall, one.classes, one.system).rows]
            for groups, kind in ((case.gains, ""), (case.by_size, "need ")):
                for name, gain in groups.items():
                    shown = name if not kind or name.startswith(kind) else f"{kind}{name}"
                    rows += [
                        (case.name, shown, f"{metric} than the first", value, value, value)
                        for metric, value in (("wait minus", gain.wait), ("share less", gain.less),
                                              ("share more", gain.more))
                    ]  # fmt: skip
        return Table(self.title, ("case", *TIDY), tuple(rows))

    @property
    def footer(self) -> str:
        first = self.cases[0].result
        notes = [*first.details.get("changes", ()), *(f"outage: {one}" for one in first.details.get("outages", ()))]
        believed = dict.fromkeys(
            case.result.details["believed"] for case in self.cases if "believed" in case.result.details
        )
        notes += [f"believing in {one}" for one in believed]
        notes += cluster_notes(first.details)
        changed = f"{'; '.join(notes)}\n" if notes else ""
        skipped = sum(first.skipped.values())
        return (
            f"{changed}replay of {first.jobs} of {first.records} lines ({skipped} skipped), case by case on the same "
            f"jobs; read in {first.read_seconds:.2f} s, replayed in {self.seconds:.2f} s"
        )


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _gain_text(wait: str, gain: Gains) -> str:
    sign = "+" if gain.wait > 0 else ""
    return f"{sign}{wait} ({percent(gain.less)}, {percent(gain.more)})"
