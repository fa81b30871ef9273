"""The answer of `evaluate`: waits, overall and per class, and the state of the cluster at one arrival rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, System, Waits
from loynes.results.base import SavedModel, how_sure
from loynes.results.judged import Judged, WithObjectives
from loynes.results.table import Table
from loynes.results.tables import everyone, figures_of, system_table, tidy_table, wait_columns, wait_spare
from loynes.results.tails import Tails
from loynes.stationary.certificate import Certificate

# The mean waits of two starts, by their names in `details`.
_STARTS = {"empty": "from empty", "loaded": "from loaded", "apart": "of the second, less the first"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(WithObjectives):
    """Waits and responses of all jobs and of every class, and the state of the cluster, at one rate."""

    command: ClassVar[str] = "evaluate"
    derived: ClassVar[tuple[str, ...]] = ("load",)

    model: SavedModel
    rate: float
    threshold: Estimate
    method: str
    overall: Waits
    classes: dict[str, Waits]
    system: System
    confidence: float
    replicas: int
    jobs: int
    backend: str
    details: dict[str, Any] = field(default_factory=dict)  # burn-in, sample lengths: what the method tells of itself
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    objectives: tuple[Judged, ...] = ()  # what was asked for, and whether it is met
    tails: Tails | None = None  # P(wait > x) over x

    @property
    def load(self) -> float:
        """The rate as a fraction of the threshold's estimate."""
        return self.rate / self.threshold.estimate

    @property
    def policy(self) -> str:
        """Under which jobs started: fcfs, or another one, event by event."""
        return str(self.details.get("policy", "fcfs"))

    @property
    def standing(self) -> str:
        """What its numbers are: certified, a lower bound, or an estimate."""
        if "policy" in self.details:
            return "estimate"
        return "lower bound" if self.certificate is None else "certified"

    @property
    def is_estimate(self) -> bool:
        """Whether nothing bounds it, on either side."""
        return self.standing == "estimate"

    @property
    def title(self) -> str:
        order = self.policy if self.is_estimate else self.model.order
        order, of = "" if order == "fcfs" else f", {order}", " of fcfs" if self.is_estimate else ""
        where = f"rate {self.rate_words(self.rate)} ({self.load:.1%} of the threshold{of})"
        return f"{self.model.label}: waits at {where}{order}"

    @property
    def headline(self) -> str:
        by = f"under {self.policy}, an estimate" if self.is_estimate else self.method
        return f"mean wait {self.in_time(self.overall.wait.mean)}, {by}"

    @property
    def summary(self) -> Table:
        """Waits per class and overall, one row each."""
        need = {ALL_JOBS: ""} | {c.label: c.need_text for c in self.model.classes}
        rows = {
            name: wait_columns(waits, self.time_unit) for name, waits in everyone(self.overall, self.classes).items()
        }
        columns = ("class", "need", *rows[ALL_JOBS])
        cells = tuple((name, need[name], *row.values()) for name, row in rows.items())
        return Table(self.title, columns, cells, wait_spare(self.overall, "need", "no wait"))

    @property
    def system_summary(self) -> Table:
        return system_table(self.system)

    @property
    def starts_summary(self) -> Table:
        """What two starts gave under a policy, and whether they agree."""
        starts = self.details["starts"]
        waits = [(f"mean wait {name}", Estimate.from_dict(starts[key])) for key, name in _STARTS.items()]
        rows = (
            ("policy", self.policy),
            *((name, self.in_time(value)) for name, value in waits),
            ("they agree", "yes" if starts["agree"] else "no"),
            ("loaded", starts["loaded_is"]),
            ("jobs of a run, left out before", f"{self.details['observed']}, {self.details['burn_in']}"),
        )
        return Table("estimate, from two starts", ("quantity", "value"), rows)

    @property
    def certificate_summary(self) -> Table:
        """What bounds the bias, or why nothing does."""
        rows: list[tuple[str, Any]] = [("method", self.method), ("confidence of intervals", self.confidence)]
        rows += [("none", self.why)] if self.certificate is None else figures_of(self.certificate, self.time_unit)
        rows += [("pairs of chains apart", self.between)] if self.between else []
        rows += [("means, without a variance", self.cut)] if self.cut else []
        return Table("certificate", ("quantity", "value"), tuple(rows))

    @property
    def between(self) -> str:
        """How many pairs of chains had not met, and which numbers lie between the two all the same; "" if all had."""
        if "apart" not in self.details:
            return ""
        hulls = ", ".join(name.replace(".", " ").replace("_", " ") for name in self.details["hulls"])
        text = f"{self.details['apart']} of {self.replicas}: all numbers are bracketed"
        return f"{text} but {hulls}" if hulls else text

    @property
    def cut(self) -> str:
        """How means without a variance are bracketed, in words; "" where they have ordinary intervals."""
        if "cut" not in self.details:
            return ""
        cut = self.details["cut"]
        text = f"bracketed by cutting services at {self.time_words(cut['at'])}: lower end from these"
        if cut["sides"] == "lower":
            return f"{text}; no upper end: {cut['why']}"
        rate, extra = self.rate / (1.0 - cut["slack"]), self.time_words(cut["extra"])
        return f"{text}, upper end from these at rate {self.rate_words(rate)} plus {extra} for what is cut off"

    @property
    def tidy(self) -> Table:
        return tidy_table(f"{self.model.label}: every metric", self.overall, self.classes, self.system, self.tails)

    @property
    def tables(self) -> list[Table]:
        asked = [self.objectives_summary] if self.objectives else []
        sure = self.starts_summary if self.is_estimate else self.certificate_summary
        return [self.summary, self.system_summary, sure, *asked]

    @property
    def footer(self) -> str:
        sure = how_sure(self.confidence, self.replicas)
        method = f"estimate, event by event under {self.policy}" if self.is_estimate else self.method
        line = f"{method}, {sure}, {self.jobs:.3g} jobs, {self.seconds:.1f} s, seed {self.seed}"
        return line + (f"\nno certificate: {self.why}" if self.why and not self.is_estimate else "")
