"""Run times by a model's laws, for the jobs of a snapshot: in place of a history."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loynes.arrays import Array
from loynes.errors import UsageError
from loynes.model import Model
from loynes.model.classes import JobClass
from loynes.model.laws.law import Law
from loynes.model.units import SECONDS
from loynes.questions.answering.log_nodes import MEBIBYTE
from loynes.traces.run_times import RunTimeLaws
from loynes.traces.snapshot import Snapshot
from loynes.traces.units import resource_named

# Points of a law's quantile function.
POINTS = 1024
# Quantiles that conditional laws are read from: their logits, evenly spaced between these.
FARTHEST, TABLED = 27.0, 4096  # the largest has 2e-12 beyond it
# Times are looked for within so many factors of e of the mean.
WIDEST, HALVINGS = 100.0, 60
# Labels of a job that may name its class.
NAMING = ("class", "queue", "account", "user")
NO_UNIT = "the model of laws-of does not say its time_unit: its times are taken to be seconds"


@dataclass(frozen=True)
class ModelLaws:
    """Which class of a model each job is of, and how long it runs.

    A job is of the class that its queue, account or user names; else of the classes that need what it needs, by their
    probabilities; else of any class. It runs as long as the class's law says, and at most its limit.
    """

    model: Model
    assumed: dict[str, str] = field(default_factory=dict, compare=False)  # job -> what was assumed of it
    _tables: dict[tuple[JobClass, ...], _Table] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def seconds(self) -> float:
        """In a unit of the model's time."""
        return float(SECONDS[self.model.time_unit or "seconds"])

    @property
    def warnings(self) -> tuple[str, ...]:
        return () if self.model.time_unit else (NO_UNIT,)

    def laws_of(self, snapshot: Snapshot, kinds: tuple[str, ...]) -> RunTimeLaws:
        """The laws of a snapshot's jobs; those of running jobs are given that they exceed what they have run."""
        groups = [self._classes(snapshot, kinds, i) for i in range(len(snapshot.ids))]
        tables = {group: self._table(group) for group in dict.fromkeys(groups)}
        rows: list[Array] = []
        place: dict[tuple[JobClass, ...], int] = {}
        law = np.zeros(len(groups), np.int64)
        passed = np.zeros(len(groups))
        for i, group in enumerate(groups):
            elapsed = snapshot.elapsed[i] / self.seconds
            if elapsed <= 0 and group in place:
                law[i] = place[group]
                continue
            left = float(tables[group].above(elapsed)) if elapsed > 0 else 1.0
            if left <= 0.0:  # longer than its law allows: any time up to its limit
                passed[i] = 1.0
                continue
            law[i] = len(rows)
            rows.append(self.seconds * tables[group].quantiles(left))
            if elapsed <= 0:
                place[group] = len(rows) - 1
        quantiles = np.array(rows) if rows else np.zeros((1, POINTS + 1))
        return RunTimeLaws(quantiles, law, np.ones(len(groups)), snapshot.elapsed, passed, snapshot.limit)

    def _table(self, group: tuple[JobClass, ...]) -> _Table:
        if group not in self._tables:
            self._tables[group] = _Table([(c.probability, c.service) for c in group])
        return self._tables[group]

    def _classes(self, snapshot: Snapshot, kinds: tuple[str, ...], i: int) -> tuple[JobClass, ...]:
        named = {str(snapshot.labels[name][i]) for name in NAMING if name in snapshot.labels}
        by_name = tuple(c for c in self.model.classes if c.label in named)
        if by_name:
            return by_name
        need = tuple(int(snapshot.demand[kind][i]) for kind in kinds)
        alike = tuple(c for c in self.model.classes if self._needs(c, kinds) == need)
        if not alike:
            self.assumed[snapshot.ids[i]] = "no class of the model needs as much: its run time is that of any class"
        return alike or tuple(self.model.classes)

    def _needs(self, job_class: JobClass, kinds: tuple[str, ...]) -> tuple[int, ...]:
        """In the units of listings: memory in MiB."""
        model = self.model
        units = zip(model.kinds, model.demand(job_class), model.unit_sizes, strict=True)
        there = {resource_named(kind): n if size == 1 else n * int(size) // MEBIBYTE for kind, n, size in units}
        return (
            tuple(there.get(kind, 0) for kind in kinds)
            if len(kinds) > 1 or kinds[0] in there
            else (model.need(job_class),)
        )


class _Table:
    """A mixture of laws: what it leaves above a time, and quantiles given that it exceeds that time."""

    def __init__(self, parts: list[tuple[float, Law]]) -> None:
        total = sum(weight for weight, _ in parts)
        if not total > 0:
            raise UsageError("laws-of: classes that no job is of; give them probabilities")
        self._parts = [(weight / total, law) for weight, law in parts]
        logit = np.linspace(-FARTHEST, FARTHEST, TABLED + 1)
        self._decay = np.logaddexp(0.0, logit)  # -log P(X > x), ascending
        self._time = self._solved(np.exp(-self._decay))

    def above(self, time: float | Array) -> Array:
        """P(X > time)."""
        return np.asarray(sum(weight * law.above(time) for weight, law in self._parts))

    def _solved(self, left: Array) -> Array:
        """The times above which so much is left, by halving intervals of their logarithms."""
        middle = math.log(sum(weight * law.mean for weight, law in self._parts))
        low, high = np.full(len(left), middle - WIDEST), np.full(len(left), middle + WIDEST)
        for _ in range(HALVINGS):
            half = 0.5 * (low + high)
            longer = self.above(np.exp(half)) > left
            low, high = np.where(longer, half, low), np.where(longer, high, half)
        return np.asarray(np.exp(high))

    def quantiles(self, left: float) -> Array:
        """At the probabilities 0, 1 / POINTS, ..., 1 of a time given that it exceeds one above which so much is left.

        The last one is such that the mean of the last part, straight between its ends, is right.
        """
        share = np.arange(POINTS) / POINTS
        found = self._at(left * (1.0 - share))
        beyond = left / POINTS * (np.arange(512) + 0.5) / 512
        last = 2.0 * float(self._at(beyond).mean()) - found[-1]
        return np.append(found, max(last, found[-1]))

    def _at(self, left: Array) -> Array:
        return np.asarray(np.interp(-np.log(left), self._decay, self._time))
