"""A recorded workload: when each job came, what it needed and for how long, and how long the log says it waited."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.times import LONGEST, duration

TOO_LARGE = "needs more servers than there are"
OUT_OF_ORDER = "submissions out of order: sorted"
NOT_SELECTED = "not selected"
# What NumPy's library for products of vectors takes on one thread.
LONGEST_PRODUCT = 10_000


@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs in the order of their submission, and what became of every other line of the log.

    `jobs` and the counts of `skipped` together are `records`, the number of data lines (or rows) that were read.
    """

    submit: Array  # seconds since the first submission, ascending
    need: Ints
    service: Array  # seconds, above 0
    wait: Array  # seconds, as recorded; NaN where the log has none
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)  # queue, partition, user, ...: one value a job
    # Units of every resource that the log tells of, if there are several: node, cpu, gpu, mem, ...; one number a job.
    demand: dict[str, Ints] = field(default_factory=dict)
    unit: str = "servers"  # what `need` counts: nodes, cpus, gpus, ...
    source: str = "arrays"
    format: str = "arrays"
    servers: int | None = None  # as the log's header says
    origin: float | None = None  # Unix time of the first submission, where the log tells
    records: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # reason -> lines
    repaired: dict[str, int] = field(default_factory=dict)  # what was done -> lines
    examples: tuple[str, ...] = ()  # the first damaged lines, each with what was expected
    seconds: float = 0.0  # that reading took
    ids: NDArray[Any] | None = None  # how the log calls each job, or the lines they are on
    begins: float = 0.0  # the first submission, in the log's own time

    @property
    def jobs(self) -> int:
        return len(self.submit)

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.submit[-1])

    @property
    def rate(self) -> float | None:
        """Jobs a second between the first submission and the last; none if all came at once."""
        return (self.jobs - 1) / self.span if self.span > 0 else None

    @property
    def submitted(self) -> Array:
        """When jobs were submitted: Unix time where the log tells, else the log's own."""
        return self.submit + (self.begins if self.origin is None else self.origin)

    @property
    def work(self) -> float:
        """Server-seconds of all jobs."""
        return work_of(self.need, self.service)

    @property
    def requested(self) -> Array | None:
        """Seconds that were asked for, NaN where the log has none; None if it has none at all."""
        if "requested_time" in self.labels:
            limits = self.labels["requested_time"]
        elif "timelimit" in self.labels:
            limits = self.labels["timelimit"]
        else:
            return None
        if limits.dtype.kind not in "iuf":
            words, place = np.unique(limits, return_inverse=True)
            limits = np.array([_seconds(str(word)) for word in words])[place]
        requested = np.where((limits > 0) & (limits <= LONGEST), limits, np.nan).astype(np.float64)
        return None if np.isnan(requested).all() else requested

    @property
    def hash(self) -> str:
        """A digest of the jobs, wherever they were read from."""
        return self.digest()

    def digest(self, *resources: str) -> str:
        """Of the jobs and what they need of these resources, too."""
        digest = hashlib.sha256()
        for column in (self.submit, self.need, self.service, *(self.demand[name] for name in resources)):
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()[:16]

    @property
    def figures(self) -> tuple[tuple[str, str | float], ...]:
        """Quantity and value, for tables."""
        recorded = int(np.count_nonzero(~np.isnan(self.wait)))
        rows: list[tuple[str, str | float]] = [
            ("source", self.source),
            ("format", self.format),
            ("data lines", str(self.records)),
            ("jobs", str(self.jobs)),
            ("servers in its header", "none" if self.servers is None else str(self.servers)),
            ("seconds from first to last submission", self.span),
            ("jobs a second", "none" if self.rate is None else self.rate),
            ("largest need", str(int(self.need.max())) + ("" if self.unit == "servers" else f" {self.unit}")),
            ("mean service", float(self.service.mean())),
            ("jobs with a recorded wait", str(recorded)),
        ]
        rows += [(f"largest need of {name}", str(int(units.max()))) for name, units in self.demand.items()]
        rows += [(f"skipped: {reason}", str(count)) for reason, count in self.skipped.items()]
        rows += [(f"repaired: {what}", str(count)) for what, count in self.repaired.items()]
        return tuple(rows)

    def fitting(self, servers: int) -> Trace:
        """Without the jobs that need more than so many servers; they are counted as skipped."""
        return self.select(self.need <= servers, TOO_LARGE)

    def select(self, keep: NDArray[np.bool_], reason: str = NOT_SELECTED) -> Trace:
        """These jobs alone, from the first of them on; the others are counted as skipped for that reason."""
        lost = int(np.count_nonzero(~keep))
        if lost == 0:
            return self
        submit = self.submit[keep]
        first = float(submit[0]) if len(submit) else 0.0
        return replace(
            self,
            submit=submit - first,
            need=self.need[keep],
            service=self.service[keep],
            wait=self.wait[keep],
            labels={name: values[keep] for name, values in self.labels.items()},
            demand={name: units[keep] for name, units in self.demand.items()},
            origin=None if self.origin is None else self.origin + first,
            ids=None if self.ids is None else self.ids[keep],
            begins=self.begins + first,
            skipped=self.skipped | {reason: self.skipped.get(reason, 0) + lost},
        )

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.figures)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.figures)

    def __repr__(self) -> str:
        return f"Trace({self.source!r}, {self.jobs} jobs of {self.records} lines)"


def work_of(need: Ints, service: Array) -> float:
    """Unit-seconds of jobs: their needs times their services, summed.

    In pieces, since a longer product is taken by as many threads as there are: waiting for them costs more than the
    product of a hundred thousand jobs, and the last digits would depend on how many there are.
    """
    parts = range(0, len(need), LONGEST_PRODUCT)
    return float(sum(need[at : at + LONGEST_PRODUCT] @ service[at : at + LONGEST_PRODUCT] for at in parts))


def _seconds(word: str) -> float:
    """A time that was asked for; NaN for UNLIMITED and the like."""
    try:
        return duration(word)
    except (ValueError, OverflowError):
        return math.nan


def rows_of(trace: Trace, chosen: NDArray[np.bool_] | Ints) -> Trace:
    """Some of the jobs, in the log's own time."""
    return replace(
        trace,
        submit=trace.submit[chosen],
        need=trace.need[chosen],
        service=trace.service[chosen],
        wait=trace.wait[chosen],
        labels={name: values[chosen] for name, values in trace.labels.items()},
        demand={name: values[chosen] for name, values in trace.demand.items()},
        ids=None if trace.ids is None else trace.ids[chosen],
    )
