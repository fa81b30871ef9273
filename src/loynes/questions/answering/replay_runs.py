"""One run of recorded jobs on a cluster: by the recurrence where that answers, else event by event."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loynes.arrays import Array
from loynes.estimators.jobs import average_in_windows
from loynes.kernels.cpu.replay import cheaper_as_runs
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.events.changes import ServerChange
from loynes.kernels.events.engine import run_classes
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.questions.answering.believing import Believed
from loynes.questions.answering.log_cluster import FittingJobs
from loynes.questions.answering.orders import Order
from loynes.traces.trace import Trace


@dataclass(frozen=True)
class Replayed:
    """The wait of every job, and averages in windows of time."""

    wait: Array
    loss: float  # server time
    edges: Array
    busy: Array  # these three are averages in a window
    lost: Array
    waiting: Array
    kernel: str
    losses: dict[str, float] = field(default_factory=dict)  # unit time, by resource
    fragmented: dict[str, float] = field(default_factory=dict)  # the part of it that is enough, but not on one node


def in_turn(jobs: Trace, servers: int, windows: int) -> Replayed:
    """First come, first served, by the recurrence."""
    run = run_replay(servers, jobs.need, jobs.service, jobs.submit)
    start = jobs.submit + run.wait
    end = start + jobs.service
    edges = np.linspace(0.0, float(end.max()), windows + 1)
    lost = run.lost_in(edges)
    busy = average_in_windows(start, end, jobs.need, edges)
    waiting = average_in_windows(jobs.submit, start, np.broadcast_to(1.0, jobs.jobs), edges)
    kernel = "run list" if cheaper_as_runs(servers, jobs.need) else "dense vector"
    return Replayed(run.wait, float(run.loss.sum()), edges, busy, lost / np.diff(edges), waiting, kernel)


@dataclass(frozen=True)
class EventRun:
    """Recorded jobs that fit, under any policy: what idles while somebody waits is lost."""

    fits: FittingJobs
    order: Order
    believed: Believed
    lost: tuple[ServerChange, ...]
    seed: int

    def pooled_wait(self) -> float:
        """The mean on the pooled cluster: the same jobs and rules, but tasks may take units of any nodes."""
        return float(self._run(None, pooled=True)[0][:, 0].mean())

    def run(self, windows: int, shown: int) -> Replayed:
        """Figures of one of the kinds, by its place; losses of all of them."""
        jobs, units = self.fits.jobs, self.fits.cluster.units
        times, _ = self._run(None)
        edges = np.linspace(0.0, float((jobs.submit + times[:, 1]).max()), windows + 1)
        _, sums = self._run(edges)
        mean = sums / np.diff(edges)[:, None]
        losses = {name: float(sums[:, KINDS + 2 * k + 1].sum()) for k, name in enumerate(units)}
        busy = KINDS + 2 * shown
        fragmented = {}
        if self.fits.classes.layout is not None:
            fragmented = {name: float(sums[:, KINDS + 2 * len(units) + k].sum()) for k, name in enumerate(units)}
        return Replayed(
            times[:, 0], list(losses.values())[shown], edges, mean[:, busy], mean[:, busy + 1], mean[:, WAITING],
            "events", losses, fragmented,
        )  # fmt: skip

    def _run(self, edges: Array | None, pooled: bool = False) -> tuple[Array, Array]:
        jobs, classes, order = self.fits.jobs, self.fits.classes, self.order
        units = np.array(list(self.fits.cluster.units.values()))
        return run_classes(
            units, jobs.submit, classes.job_class, classes.demand, jobs.service, self.believed.guess, order.rule,
            order.option, edges, None if pooled else classes.layout, classes.rules, self.believed.beliefs, self.lost,
            self.seed,
        )  # fmt: skip
