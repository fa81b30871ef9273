"""The answer of `check`: what can be said of a model without running it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from loynes.model import JobClass, Periodic, Poisson
from loynes.model.nodes import PLACEMENT, PREEMPTION
from loynes.model.sizes import Size, plain
from loynes.results.base import Result, SavedModel
from loynes.results.table import Table
from loynes.stationary.majorant import unbounded


@dataclass(frozen=True)
class KnownThreshold:
    """An exact threshold, and where it comes from."""

    value: float
    source: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Check(Result):
    """A validated model and its exact figures."""

    command: ClassVar[str] = "check"
    also: ClassVar[dict[str, Any]] = {
        "ideal": float, "mean_service": float, "work": float, "works": dict[str, float], "rate": float | None,
        "bottleneck": str, "special_case": str | None, "arrivals": str, "offered": float | None,
        "classes": dict[str, dict[str, Any]], "methods": dict[str, str],
    }  # fmt: skip
    optional: ClassVar[tuple[str, ...]] = (*Result.optional, "works")

    model: SavedModel
    kernel: str
    threshold: KnownThreshold | None = None  # where only sampling gives it

    @property
    def title(self) -> str:
        return f"{self.model.label}: {self.model.size}"

    @property
    def headline(self) -> str:
        return f"ideal rate {self.rate_words(self.model.ideal)}, threshold {self._threshold}"

    def to_dict(self) -> dict[str, Any]:
        m = self.model
        classes = {
            c.label: {
                "need": _plain(c.any_units),
                **_rules(c),
                "probability": c.probability,
                "mean": c.service.mean,
                "variance": finite(c.service.variance),
                "highest_moment": finite(c.service.highest_moment),
                "light_tail": c.service.light_tail,
            }
            for c in m.classes
        }
        works = {"works": dict(zip(m.kinds, m.works, strict=True))} if m.by_resource else {}
        figures = {"ideal": m.ideal, "mean_service": m.mean_service, "work": m.work, "rate": m.rate}
        kind = {"bottleneck": m.kinds[m.bottleneck], "special_case": self.special_case, "arrivals": self.arrivals}
        offered = {"offered": None if m.rate is None else m.rate * m.work}
        return super().to_dict() | figures | works | kind | offered | {"classes": classes, "methods": self.methods}

    @property
    def methods(self) -> dict[str, str]:
        """Method -> yes, or why not."""
        why = unbounded(self.model)
        certified = "yes" if why is None else f"no: {why}"
        lower = "yes, a lower bound"
        return {"stability": "yes", "sandwich": certified, "perfect": certified, "backward": lower, "forward": lower}

    @property
    def summary(self) -> Table:
        rows = tuple(
            (
                c.label,
                c.need_text,
                c.probability,
                c.service.law,
                self.in_time(c.service.mean),
                c.service.variation,
                _moment(c.service.highest_moment),
                self._share(c),
            )
            for c in self.model.classes
        )
        columns = ("class", "need", "probability", "law", "mean", "cv", "moments", "work")
        return Table(self.title, columns, rows, ("moments", "cv", "law", "probability"))

    def _share(self, job_class: JobClass) -> float:
        """The part of the (bottleneck's) work that the class brings."""
        m = self.model
        taken = m.demand(job_class)[m.bottleneck] + m.specific(job_class)[m.bottleneck]
        return job_class.probability * taken * job_class.service.mean / m.work

    @property
    def special_case(self) -> str | None:
        """What the model is also known as, where it is a simpler one."""
        m = self.model
        if not m.plain:
            return None
        if m.servers == 1:
            return f"one server: Lindley's recurrence ({self._letter}/G/1)"
        if all(m.need(c) == 1 for c in m.classes):
            return f"every job needs one server: the recurrence of Kiefer and Wolfowitz ({self._letter}/G/s)"
        if all(m.need(c) == m.servers for c in m.classes):
            return f"every job needs all servers: Lindley's recurrence ({self._letter}/G/1)"
        return "one resource: the plain model" if m.by_resource else None

    @property
    def _letter(self) -> str:
        """Kendall's for the arrivals."""
        m = self.model
        return "M" if isinstance(m.arrivals, Poisson) and m.chain is None else "G"

    @property
    def arrivals(self) -> str:
        m = self.model
        if any(c.arrivals is not None for c in m.classes):
            return "a stream for every class"
        if isinstance(m.arrivals, Periodic):
            text = f"periodic, {len(m.arrivals.rates)} slots"
        elif m.chain is not None:
            text = f"{m.arrivals.process}, {len(m.chain.d0)} phases"
        else:
            return m.arrivals.process
        return text if m.independent else f"{text}, classes depend on them"

    @property
    def _threshold(self) -> str:
        if self.threshold is None:
            return "ask loynes stability"
        return f"{self.rate_words(self.threshold.value, 10)} (exact: {self.threshold.source})"

    @property
    def figures(self) -> Table:
        m = self.model
        rows: list[tuple[str, Any]] = [
            ("ideal rate (no blocking)", self.in_rate(m.ideal)),
            ("threshold" if m.nodes is None else "threshold (pooled)", self._threshold),
            ("mean service", self.in_time(m.mean_service)),
            *self._works,
            ("arrivals", self.arrivals),
            ("arrival rate in the file", "none" if m.rate is None else self.in_rate(m.rate)),
        ]
        rows += self._sharing
        if m.scenario:
            rows.append(("scenario (for simulate)", "; ".join(change.label for change in m.scenario)))
        if m.rate is not None:
            rows.append((f"offered work (busy {m.kinds[m.bottleneck]})", m.rate * m.work))
        if self.special_case is not None:
            rows.append(("special case", self.special_case))
        if m.order != "fcfs":
            rows.append(("discipline", m.order))
        rows += [(f"method {name}", answer) for name, answer in self.methods.items()]
        rows += [("kernel", self.kernel), ("content hash", m.hash)]
        return Table("figures", ("quantity", "value"), tuple(rows))

    @property
    def _works(self) -> list[tuple[str, Any]]:
        m = self.model
        if not m.by_resource:
            return [("work of a job (servers x time)", self.in_time(m.work))]
        rows: list[tuple[str, Any]] = [
            (f"work of a job ({kind} x time)", self.in_time(work)) for kind, work in zip(m.kinds, m.works, strict=True)
        ]
        return [*rows, ("bottleneck", m.kinds[m.bottleneck])]

    @property
    def _sharing(self) -> list[tuple[str, Any]]:
        """Nodes, and the rules of sharing them, which simulate sees."""
        m = self.model
        rows: list[tuple[str, Any]] = [("nodes (for simulate)", one.text) for one in m.nodes or ()]
        if m.nodes:
            rows.append(("placement", m.placement or PLACEMENT))
        for c in m.classes:
            where = [*(c.nodes or ()), *(f"partition {one}" for one in c.partition or ())]
            if where:
                rows.append((f"{c.label} runs on", ", ".join(where)))
            if c.per_node:
                rows.append((f"{c.label} on one node", f"at most {c.per_node} of its tasks"))
        if m.has_priorities:
            first = sorted(m.classes, key=lambda c: -c.priority)
            rows.append(("priorities (for simulate)", ", ".join(f"{c.label} {c.priority}" for c in first)))
            rows.append(("preemption", m.preemption or PREEMPTION))
        rows += [("quota (for simulate)", one.text) for one in m.quotas or ()]
        return rows + [
            (f"one unit of {kind}", str(Size(size)))
            for kind, size in zip(m.kinds, m.unit_sizes, strict=True)
            if size > 1
        ]

    @property
    def tables(self) -> list[Table]:
        return [self.summary, self.figures]


def _plain(need: int | dict[str, int]) -> Any:
    """As files have it: sizes as texts."""
    return {kind: plain(n) for kind, n in need.items()} if isinstance(need, dict) else plain(need)


def _rules(c: JobClass) -> dict[str, Any]:
    """What only some classes have."""
    given = {"tasks": c.pieces, "per_node": c.per_node, "nodes": c.nodes, "partition": c.partition, "priority": c.rank}
    return {key: value for key, value in given.items() if value is not None}


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _moment(highest: float) -> str:
    return "all" if math.isinf(highest) else f"up to {int(highest)}"
