"""The answer of `fit`: a model of a log, what was seen of its arrivals, and how its waits compare with the log's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.model.units import shown_in
from loynes.results.base import Result, SavedModel
from loynes.results.files import check_writable, write_text
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.log_evaluation import digits, interval_text
from loynes.results.table import Table
from loynes.traces.burstiness import Burstiness

# From this difference on, relative, a factor says more than percents.
FACTOR = 2.0


@dataclass(frozen=True, kw_only=True)
class FittedArrivals(Burstiness):
    """What was measured of a log's arrivals, and the process they became."""

    process: str


@dataclass(frozen=True)
class CheckedMetric:
    """A quantity of a log, with the interval that it leaves, and of a model."""

    name: str
    log: Estimate
    model: Estimate
    passed: bool  # the model's lies in the log's interval
    unit: str = ""  # time, where it is one


@dataclass(frozen=True)
class Candidate:
    """A kind of model that was tried, how it fared, and why it was not tested."""

    process: str
    checks: tuple[CheckedMetric, ...] = ()  # fitted to every other week, on the weeks between
    whole: tuple[CheckedMetric, ...] = ()  # fitted to the whole log, on the whole log
    why: str = ""

    @property
    def accepted(self) -> bool:
        return bool(self.checks) and all(check.passed for check in (*self.checks, *self.whole))

    @property
    def off(self) -> float:
        """How far the first quantity, the mean wait, is off the log's, in ratio: 0 if not at all."""
        values = (
            [max(x, 1.0) for x in (self.checks[0].model.estimate, self.checks[0].log.estimate)]
            if self.checks
            else [1.0, 1.0]
        )
        return abs(math.log(values[0] / values[1])) if math.isfinite(values[0]) else math.inf

    @property
    def missed(self) -> int:
        """How many checks it does not pass."""
        return sum(not check.passed for check in (*self.checks, *self.whole))


@dataclass(frozen=True, kw_only=True, repr=False)
class FittedModel(Result):
    """A fitted model, and waits of the log itself (replayed, with the noise of its length) beside the model's."""

    command: ClassVar[str] = "fit"
    tidy_csv: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("difference", "agrees")

    model: SavedModel
    source: str
    jobs: int
    skipped: dict[str, int]
    arrivals: FittedArrivals
    law: str
    policy: str  # under which waits are
    inflation: float = 1.0  # how many times too long that policy believes run times to be
    accepted: bool | None = None  # whether the model passed its test; None where it was not tested
    candidates: tuple[Candidate, ...] = ()  # in the order in which they were tried
    confidence: float = 0.95
    replayed: dict[str, Estimate]  # mean wait overall (ALL_JOBS) and by class
    modelled: dict[str, Estimate] | None  # None where the model was not evaluated, or is unstable
    doubt: Estimate | None = None  # the model's mean wait, with what refitting it to resamples of the log leaves open
    why: str  # why it was not, or why no model was tested

    @property
    def process(self) -> str:
        return self.arrivals.process

    @property
    def title(self) -> str:
        return f"{self.verdict}; {self.model.label}: {self.model.size}"

    @property
    def verdict(self) -> str:
        """Whether the model may be relied upon, in words."""
        if self.accepted is None:
            return "not tested"
        if self.accepted:
            return "accepted"
        return "no model was accepted: take the log itself, loynes evaluate LOG"

    @property
    def headline(self) -> str:
        off = "" if self.difference is None else f", mean wait {self.beside}"
        return f"{len(self.model.classes)} classes, {self.process} arrivals from {self.jobs} jobs{off}"

    @property
    def difference(self) -> float | None:
        """The model's mean wait over the log's, less 1."""
        if self.modelled is None or self.replayed[ALL_JOBS].estimate == 0:
            return None
        return self.modelled[ALL_JOBS].estimate / self.replayed[ALL_JOBS].estimate - 1.0

    @property
    def beside(self) -> str:
        """The model's mean wait beside the log's, in words."""
        if self.difference is None or not math.isfinite(self.difference):
            return "of another order than the log's"
        if self.difference <= FACTOR:
            return f"off the log's by {self.difference:+.1%}"
        return f"{digits(1.0 + self.difference)} times the log's"

    @property
    def agrees(self) -> bool | None:
        """Whether the model's mean wait lies in the interval of the log's."""
        if self.modelled is None:
            return None
        log, model = self.replayed[ALL_JOBS], self.modelled[ALL_JOBS]
        return bool(log.low <= model.estimate <= log.high)

    @property
    def summary(self) -> Table:
        """Classes, and their waits in the log and in the model."""
        share = {
            c.label: (c.need_text, c.probability, self.in_time(c.service.mean), c.service.variation)
            for c in self.model.classes
        }
        rows = [
            (
                name,
                *share.get(name, ("", 1.0, self.in_time(self.model.mean_service), "")),
                *map(self.in_time, (log, self._modelled(name))),
            )
            for name, log in self.replayed.items()
        ]
        columns = ("class", "need", "probability", "mean service", "cv", "mean wait, replayed", "mean wait, model")
        return Table(self.title, columns, tuple(rows), ("cv", "probability", "mean service", "need"))

    def _modelled(self, name: str) -> Any:
        return self.why if self.modelled is None else self.modelled[name]

    @property
    def arrivals_summary(self) -> Table:
        s = self.arrivals
        rows: list[tuple[str, Any]] = [
            ("jobs a second", s.rate),
            ("squared cv of gaps", s.gap_cv2),
            ("correlation of successive gaps", s.correlation),
        ]
        rows += [(f"dispersion of counts over {t:.4g} s", d) for t, d in zip(s.scale, s.dispersion, strict=True)]
        rows.append(("arrivals", self.process))
        return Table("arrivals", ("quantity", "value"), tuple(rows))

    @property
    def tables(self) -> list[Table]:
        return [*([self.candidates_summary] if self.candidates else []), self.summary, self.arrivals_summary]

    def _log(self, check: CheckedMetric) -> str:
        """The log's value with its interval."""
        factor, unit = shown_in(check.log.estimate, LOG_UNIT) if check.unit == "time" else (1.0, "")
        return f"{interval_text(check.log.scaled(factor))} {unit}".strip()

    def _short(self, check: CheckedMetric) -> str:
        """The model's value, in the unit of the log's."""
        factor, unit = shown_in(check.log.estimate, LOG_UNIT) if check.unit == "time" else (1.0, "")
        return f"{digits(check.model.estimate * factor)} {unit}".strip()

    @property
    def candidates_summary(self) -> Table:
        """A row a candidate: the quantities on the weeks that it has not seen."""
        tested = next((one.checks for one in self.candidates if one.checks), ())
        rows: list[tuple[Any, ...]] = [("the log", *(self._log(check) for check in tested), "")]
        for one in self.candidates:
            cells = [f"{self._short(check)}{'' if check.passed else ' *'}" for check in one.checks]
            result = "accepted" if one.accepted else one.why or f"{one.missed} of {len(one.checks + one.whole)} missed"
            rows.append((one.process, *(cells or ["-"] * len(tested)), result))
        columns = ("arrivals", *(check.name for check in tested), "result")
        title = f"{self.verdict}; tested under {self.policy} on weeks not seen (* outside)"
        return Table(title, columns, tuple(rows), tuple(reversed(columns[2:-1])))

    @property
    def tidy(self) -> Table:
        """Mean waits, of the log and of the model, by class."""
        sides = {"replayed": self.replayed, "model": self.modelled or {}}
        rows = tuple((name, side, *vars(value).values()) for side, of in sides.items() for name, value in of.items())
        return Table(self.title, ("class", "of", "mean wait", "low", "high"), rows)

    @property
    def footer(self) -> str:
        lines = [f"fit of {self.jobs} jobs ({sum(self.skipped.values())} lines skipped), {self.seconds:.1f} s"]
        if self.difference is not None:
            place = "inside" if self.agrees else "outside"
            lines.append(f"the model's mean wait is {self.beside}, {place} its interval")
        if self.doubt is not None:
            lines.append(
                f"refitted to resamples of the log, its mean wait lies between {self.time_words(self.doubt.low)} "
                f"and {self.time_words(self.doubt.high)} ({100 * self.confidence:g}%)"
            )
        if self.why:
            lines.append(self.why)
        return "\n".join([self.verdict, *lines])

    def save(self, path: str | Path) -> None:
        """As any result; a .toml file is the model, which every command reads (as it does the result's .json file)."""
        if Path(path).suffix.lower() == ".toml":
            check_writable(path)
            write_text(path, self.model.to_toml())
        else:
            super().save(path)
