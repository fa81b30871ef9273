"""What jobs run on: pools of units, or nodes; and what the jobs of a log are there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.kernels.engine import Look
from loynes.kernels.events.engine import occupied, run_classes, run_jobs
from loynes.questions.answering.log_nodes import NODE, PARTITION, LogNodes, TaskClasses, task_classes
from loynes.questions.answering.orders import Order
from loynes.traces.trace import Trace, rows_of

Places = tuple[int, ...]
NOT_POOLED = "{source} does not tell of {kind}, of which nodes have some; it tells of: {told}"


@dataclass(frozen=True)
class Machines:
    """So many units of every resource; with nodes, these are all that nodes have."""

    units: dict[str, int]
    nodes: LogNodes | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is to be known of a job's need: of every resource, and how many nodes it asked for."""
        return (*self.units, NODE) if self.nodes is not None else tuple(self.units)

    @property
    def most(self) -> dict[str, int]:
        """How much a job can have of each of these."""
        return self.units if self.nodes is None else self.units | {NODE: int(self.nodes.counts.sum())}

    @property
    def details(self) -> dict[str, object]:
        """Nodes in words, where there are any."""
        return {} if self.nodes is None else self.nodes.details

    def fitting(self, trace: Trace) -> Trace:
        """The jobs that fit, in the log's own time."""
        if self.nodes is None:
            need = needs_of(trace, self.kinds)
            there = np.array(list(self.units.values()))
            return rows_of(trace, np.all(need <= there, axis=1) & np.any(need > 0, axis=1))
        for kind in self.units:
            if kind not in trace.demand:
                told = ", ".join(trace.demand) or "servers alone"
                raise UsageError(NOT_POOLED.format(source=trace.source, kind=kind, told=told))
        trace = replace(trace, demand={NODE: np.zeros(trace.jobs, np.int64)} | trace.demand)
        found = self._classes(trace)
        some = np.any(needs_of(trace, tuple(self.units)) > 0, axis=1)
        kept = rows_of(trace, found.fits[found.job_class] & some)
        if not kept.jobs:
            raise TraceError(f"{trace.source}: not one of its {trace.jobs} jobs fits these nodes")
        return kept

    def replayed(self, trace: Trace, order: Order, limit: Array, look: Look) -> Array:
        """When jobs, all of which fit, start under a policy that believes in their limits; `look` may end it."""
        units = np.array(list(self.units.values()), np.int64)
        if self.nodes is None:
            need = needs_of(trace, self.kinds)
            times, _ = run_jobs(units, trace.submit, need, trace.service, order.rule, order.option, limit, look=look)
            return np.asarray(trace.submit + times[:, 0])
        return np.asarray(trace.submit + self._on_nodes(trace, order, limit, look))

    def places(self, trace: Trace, order: Order, limit: Array, times: Array, look: Look) -> list[dict[int, Places]]:
        """At these times of the same replay, on which nodes the tasks of running jobs are; nowhere without nodes."""
        found: list[dict[int, Places]] = []
        if self.nodes is not None:
            self._on_nodes(trace, order, limit, look, edges=times, at_edge=lambda floor: found.append(occupied(floor)))
        return found

    def _on_nodes(self, trace: Trace, order: Order, limit: Array, look: Look, **more: Any) -> Array:
        found = self._classes(trace)
        times, _ = run_classes(
            np.array(list(self.units.values()), np.int64), trace.submit, found.job_class, found.demand, trace.service,
            limit, order.rule, order.option, layout=found.layout, look=look, **more,
        )  # fmt: skip
        return times[:, 0]

    def _classes(self, trace: Trace) -> TaskClasses:
        assert self.nodes is not None
        need = needs_of(trace, tuple(self.units))
        return task_classes(trace.demand[NODE], trace.labels.get(PARTITION), need, self.nodes)


def needs_of(trace: Trace, kinds: tuple[str, ...]) -> Ints:
    """[job, kind]."""
    return np.stack([trace.demand.get(kind, trace.need) for kind in kinds], axis=1)
