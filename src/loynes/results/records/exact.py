"""The answer of `exact`: numbers without intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import PlainSerializer

from loynes.estimate import key_text
from loynes.estimators.measures import ALL_JOBS
from loynes.results.base import Result, SavedModel
from loynes.results.quantity import scale_of
from loynes.results.table import Table
from loynes.results.tails import Tails

# P(wait > x) by x.
ExactTails = Annotated[dict[float, float], PlainSerializer(lambda tails: {key_text(x): p for x, p in tails.items()})]

# Numbers end a little below, where they have fewer digits.
SMALLEST = 1e-300


@dataclass(frozen=True)
class ClassWait:
    """A class's wait: mean, P(no wait), and what else was asked for and could be had (None otherwise)."""

    mean: float
    no_wait: float
    variance: float | None = None
    exceeds: ExactTails = field(default_factory=dict)
    constant: float | None = None  # C of P(wait > x) ~ C exp(-decay_rate x), for large x
    percentiles: dict[str, float] = field(default_factory=dict)  # p50, ..., p99.9999


@dataclass(frozen=True, kw_only=True, repr=False)
class Exact(Result):
    """Threshold and saturation always; the rest if a rate was given and the chain is small enough."""

    command: ClassVar[str] = "exact"
    tidy_csv: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("load", "mean_wait", "no_wait")
    optional: ClassVar[tuple[str, ...]] = ("resources", "tails")

    model: SavedModel
    threshold: float
    utilization: float  # largest
    hol_loss_saturated: float  # servers, of the bottleneck
    throughput: dict[str, float]  # per class, in saturation
    states: int  # of the saturated chain; 0 where a formula did
    method: str
    resources: dict[str, dict[str, float]] = field(default_factory=dict)  # HOL losses (and use) of every resource
    rate: float | None = None
    overall: ClassWait | None = None
    classes: dict[str, ClassWait] = field(default_factory=dict)
    mean_jobs: float | None = None
    hol_loss: float | None = None
    jobs_in_system: tuple[float, ...] = ()  # P(n jobs in the system), n = 0, 1, ...
    decay_rate: float | None = None  # of P(wait > x), for large x, the same for all classes
    digits: int | None = None  # of waits that are right, at most 15: other digits are cut off
    tails: Tails | None = None  # P(wait > x) over x
    error: float | None = None  # busy servers against what they must be, relatively

    @property
    def title(self) -> str:
        return f"{self.model.label}: exact"

    @property
    def headline(self) -> str:
        wait = (
            ""
            if self.mean_wait is None
            else f", mean wait {self._time(self.mean_wait)} at rate {self.rate_words(self.rate or 0.0)}"
        )
        return f"threshold {self._rate(self.threshold)}{wait}"

    @property
    def mean_wait(self) -> float | None:
        return None if self.overall is None else self.overall.mean

    @property
    def no_wait(self) -> float | None:
        return None if self.overall is None else self.overall.no_wait

    @property
    def load(self) -> float | None:
        return None if self.rate is None else self.rate / self.threshold

    def _time(self, value: float | None, kind: str = "time") -> str:
        """A time to all its digits, with its unit where there is one."""
        if value is None or self.time_unit is None or not math.isfinite(value):
            return digits(value)
        factor, name = scale_of(value, kind, self.time_unit)
        return f"{digits(value * factor)} {name}"

    def _rate(self, value: float) -> str:
        return self._time(value, "jobs/time")

    def _per_time(self, value: float) -> str:
        return digits(value) if self.time_unit is None else f"{digits(value)} per {self.time_unit.removesuffix('s')}"

    @property
    def summary(self) -> Table:
        rows: list[tuple[str, Any]] = [
            ("threshold", self._rate(self.threshold)),
            ("ideal, without blocking", self._rate(self.model.ideal)),
            ("largest utilization", digits(self.utilization)),
        ]
        lost = {f"{kind} lost when saturated": values["hol_loss_saturated"] for kind, values in self.resources.items()}
        lost = lost or {"servers lost when saturated": self.hol_loss_saturated}
        rows += [(name, digits(value)) for name, value in lost.items()]
        if self.rate is not None:
            rows += [("rate", self._rate(self.rate)), ("load", digits(self.rate / self.threshold))]
        for name, value in (
            ("mean wait", self.mean_wait),
            ("no wait", self.no_wait),
            ("decay rate of waits", self.decay_rate),
            ("mean jobs in system", self.mean_jobs),
            *([] if self.resources else [("hol loss (servers)", self.hol_loss)]),
            *((f"hol loss ({kind})", values.get("hol_loss")) for kind, values in self.resources.items()),
        ):
            if value is not None:
                how = self._time if name == "mean wait" else self._per_time if name.startswith("decay") else digits
                rows.append((name, how(value)))
        return Table(self.title, ("quantity", "value"), tuple(rows))

    @property
    def class_summary(self) -> Table:
        tails = tuple(self.overall.exceeds) if self.overall is not None else ()
        rows = []
        for c in self.model.classes:
            wait = self.classes.get(c.label)
            row = [c.label, c.need_text, self._rate(self.throughput[c.label])]
            if wait is not None:
                row += [self._time(wait.mean), self._time(wait.variance, "time²"), digits(wait.no_wait)]
                row += [chance(wait.exceeds.get(x)) for x in tails]
            rows.append(tuple(row))
        columns = ["class", "need", "saturated rate"]
        if self.classes:
            columns += [
                "mean wait",
                "variance",
                "no wait",
                *(f"wait > {key_text(x) if self.time_unit is None else self.time_words(x)}" for x in tails),
            ]
        return Table("classes", tuple(columns), tuple(rows), ("variance", "saturated rate", "need"))

    @property
    def tail_summary(self) -> Table:
        """Percentiles, and the constant C before exp(-decay rate x)."""
        everyone = {} if self.overall is None else {ALL_JOBS: self.overall, **self.classes}
        known = {name: wait for name, wait in everyone.items() if wait.constant is not None}
        names = tuple(next(iter(known.values())).percentiles) if known else ()
        rows = tuple(
            (name, *(self._time(wait.percentiles[one]) for one in names), digits(wait.constant))
            for name, wait in known.items()
        )
        return Table("tails of waits", ("class", *names, "constant"), rows, spare=("p99.999", "p99.9", "p50"))

    @property
    def tables(self) -> list[Table]:
        tails = [self.tail_summary] if self.decay_rate is not None else []
        return [self.summary, self.class_summary, *tails]

    @property
    def tidy(self) -> Table:
        """Every number, of the cluster and of each class."""
        numbers = {name: getattr(self, name) for name in ("threshold", "utilization", "hol_loss_saturated", "rate",
                   "mean_wait", "no_wait", "decay_rate", "mean_jobs", "hol_loss")}  # fmt: skip
        rows: list[tuple[Any, ...]] = [("system", name, value) for name, value in numbers.items() if value is not None]
        for name, rate in self.throughput.items():
            rows.append((name, "saturated rate", rate))
            if (wait := self.classes.get(name)) is not None:
                rows += [(name, what, getattr(wait, what)) for what in ("mean", "variance", "no_wait")]
                rows += [(name, f"wait>{key_text(x)}", p) for x, p in wait.exceeds.items()]
                rows += [(name, one, x) for one, x in wait.percentiles.items()]
                rows += [(name, "constant", wait.constant)] if wait.constant is not None else []
        if self.tails is not None:
            asked = {name: {f"wait>{key_text(x)}" for x in wait.exceeds} for name, wait in self.classes.items()}
            rows += [row[:3] for row in self.tails.tidy(asked)]
        return Table(self.title, ("class", "metric", "value"), tuple(rows))

    @property
    def footer(self) -> str:
        size = f", {self.states} states" if self.states else ""
        return f"{self.method}{size}, {self.seconds:.1f} s"


def chance(value: float | None) -> str:
    """A probability above 0, which may be too small for a number."""
    return f"< {SMALLEST:g}" if value is not None and value < SMALLEST else digits(value)


def digits(value: float | None) -> str:
    """Ten digits, or a dash where there is no number."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.10g}" if math.isfinite(value) else "inf"
