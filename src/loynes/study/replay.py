"""What would a recorded workload have met on this cluster, first come, first served or under another policy?"""

from __future__ import annotations

import time
import warnings as python_warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesWarning, TraceError, UsageError
from loynes.kernels.cpu.replay import cheaper_as_runs, run_replay
from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.model.cluster import MOST_SERVERS
from loynes.results.from_jobs import average_in_windows, spread_of, system_over, waits_of
from loynes.results.replay import JobGroup, Recorded, Replay, Series
from loynes.study.orders import Order, order_of
from loynes.traces.read import read_trace
from loynes.traces.trace import TOO_LARGE, Trace

Array = NDArray[np.float64]

WINDOWS = 24
MOST_WINDOWS = 100_000
# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"


def replay(
    trace: str | Path | Trace | Any,
    *,
    servers: int | None = None,
    classes: str | None = None,
    windows: int = WINDOWS,
    policy: str = "fcfs",
    window: int | None = None,
    threshold: int | None = None,
    inflation: float | None = None,
) -> Replay:
    """Run a trace (or what `read_trace` reads) through the recurrence, or event by event under a policy, from empty.

    `servers` is by default what the log's header says; jobs that need more are skipped and counted. `classes` names a
    label of the trace to group jobs by, instead of their need. `windows` is how many equal windows of time the series
    has. Time averages are over the time from the first submission to the last end. Policies are those of `simulate`;
    those that believe in run times believe in the requested ones where the log has them, and else in the true ones; or
    in `inflation` times the true ones.
    """
    if not 1 <= windows <= MOST_WINDOWS:
        raise UsageError(f"windows {windows}: must be between 1 and {MOST_WINDOWS}")
    order = order_of(policy, window, threshold, 1.0 if inflation is None else inflation)
    recorded = read_trace(trace)
    began = time.perf_counter()
    servers = recorded.servers if servers is None else servers
    if servers is None:
        raise UsageError(f"servers: {recorded.source} does not say how many there are; give servers")
    if not 1 <= servers <= MOST_SERVERS:
        raise UsageError(f"servers {servers}: must be between 1 and {MOST_SERVERS}")
    jobs = recorded.fitting(servers)
    if jobs.jobs == 0:
        raise TraceError(f"{recorded.source}: every one of its {recorded.jobs} jobs needs more than {servers} servers")
    names, code = _classes(jobs, classes)
    if order.policy == "fcfs":
        found, believed = _in_turn(jobs, servers, windows), None
    else:
        guess, believed = _guesses(jobs, order, inflation)
        found = _by_events(jobs, servers, windows, order, guess)
    edges, response = found.edges, found.wait + jobs.service
    span = float(edges[-1])
    series = (edges[:-1], edges[1:], found.busy, found.busy / servers, found.lost, found.waiting)
    members = {name: np.flatnonzero(code == i) for i, name in enumerate(names)}
    warnings = _warnings(jobs, servers)
    warnings += order.rule.warnings(np.unique(jobs.need).tolist(), servers)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return Replay(
        name=Path(jobs.source).name,
        source=jobs.source,
        format=jobs.format,
        hash=jobs.hash,
        servers=servers,
        rate=jobs.rate,
        span=span,
        by=classes or "need",
        overall=waits_of(found.wait, jobs.service),
        classes={name: waits_of(found.wait[who], jobs.service[who]) for name, who in members.items()},
        groups={name: _group(jobs.need[who]) for name, who in members.items()},
        system=system_over(servers, span, jobs.work, found.loss, float(found.wait.sum()), float(response.sum())),
        recorded=_recorded(jobs, members),
        series=Series(*(tuple(column.tolist()) for column in series)),
        jobs=jobs.jobs,
        records=jobs.records,
        skipped=jobs.skipped,
        repaired=jobs.repaired,
        examples=jobs.examples,
        kernel=found.kernel,
        policy=order.policy,
        details=order.details if believed is None else order.details | {"believed": believed},
        seconds=time.perf_counter() - began,
        read_seconds=jobs.seconds,
        warnings=warnings,
        each={
            "submit": jobs.submit,
            "need": jobs.need,
            "service": jobs.service,
            "wait": found.wait,
            "response": response,
            "recorded_wait": jobs.wait,
        },
    )


@dataclass(frozen=True)
class _Found:
    """What jobs met, and what was seen in windows of time."""

    wait: Array
    loss: float  # server time
    edges: Array
    busy: Array  # these three are averages in a window
    lost: Array
    waiting: Array
    kernel: str


def _in_turn(jobs: Trace, servers: int, windows: int) -> _Found:
    """First come, first served, by the recurrence."""
    found = run_replay(servers, jobs.need, jobs.service, jobs.submit, np.array([0.0, np.inf]))
    start = jobs.submit + found.wait
    end = start + jobs.service
    edges = np.linspace(0.0, float(end.max()), windows + 1)
    # The last end, and so where windows lie, is known only now; a second run is cheaper than keeping all levels.
    lost = run_replay(servers, jobs.need, jobs.service, jobs.submit, edges).lost if windows > 1 else found.lost
    busy = average_in_windows(start, end, jobs.need.astype(np.float64), edges)
    waiting = average_in_windows(jobs.submit, start, np.ones(jobs.jobs), edges)
    kernel = "run list" if cheaper_as_runs(servers, jobs.need) else "dense vector"
    return _Found(found.wait, float(found.loss.sum()), edges, busy, lost / np.diff(edges), waiting, kernel)


def _by_events(jobs: Trace, servers: int, windows: int, order: Order, guess: Array) -> _Found:
    """Any policy; what is lost is what idles while somebody waits."""
    asked = (np.array([servers]), jobs.submit, jobs.need[:, None], jobs.service, order.rule, order.option, guess)
    found, _ = run_jobs(*asked)
    edges = np.linspace(0.0, float((jobs.submit + found[:, 1]).max()), windows + 1)
    _, sums = run_jobs(*asked, edges)
    mean = sums / np.diff(edges)[:, None]
    columns = (mean[:, KINDS], mean[:, KINDS + 1], mean[:, WAITING])
    return _Found(found[:, 0], float(sums[:, KINDS + 1].sum()), edges, *columns, "events")


def _guesses(jobs: Trace, order: Order, inflation: float | None) -> tuple[Array, str | None]:
    """What a scheduler believes run times to be, and that in words."""
    if not order.rule.believes_run_times:
        return jobs.service, None
    requested = jobs.requested
    if inflation is None and requested is not None:
        known = ~np.isnan(requested)
        return np.where(known, requested, jobs.service), f"requested times, of {int(known.sum())} jobs"
    if order.inflation == 1.0:
        return jobs.service, "true run times"
    return order.inflation * jobs.service, f"{order.inflation:g} times the true run times"


def _classes(trace: Trace, label: str | None) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the classes, and each job's place among them."""
    if label is not None:
        if label not in trace.labels:
            known = ", ".join(trace.labels) or "none"
            raise UsageError(f"by {label!r}: {trace.source} has no such label; it has: {known}")
        values, code, count = np.unique(trace.labels[label], return_inverse=True, return_counts=True)
        names = [str(value) or "(none)" for value in values]
        if len(names) > MOST_LABELS:
            common = np.sort(np.argsort(-count, kind="stable")[: MOST_LABELS - 1])
            new = np.full(len(names), MOST_LABELS - 1)
            new[common] = np.arange(len(common))
            names, code = [*(names[i] for i in common), REST], new[code]
        return names, code
    values, code = np.unique(trace.need, return_inverse=True)
    if len(values) <= MOST_NEEDS:
        return [f"need {value}" for value in values], code
    # 1, 2, 3-4, 5-8, ...: the exponent of need - 1 is exact, a logarithm need not be.
    power, code = np.unique(np.frexp(trace.need - 1)[1], return_inverse=True)
    return [f"need {_range(int(p))}" for p in power], code


def _range(power: int) -> str:
    return str(2**power) if power < 2 else f"{2 ** (power - 1) + 1}-{2**power}"


def _group(need: NDArray[np.int64]) -> JobGroup:
    return JobGroup(len(need), int(need.min()), int(need.max()))


def _recorded(trace: Trace, members: dict[str, NDArray[np.int64]]) -> Recorded | None:
    told = ~np.isnan(trace.wait)
    if not told.any():
        return None
    classes = {name: trace.wait[who[told[who]]] for name, who in members.items()}
    return Recorded(
        int(np.count_nonzero(told)),
        spread_of(trace.wait[told]),
        {name: spread_of(waits) if len(waits) else None for name, waits in classes.items()},
    )


def _warnings(trace: Trace, servers: int) -> tuple[str, ...]:
    found = []
    large = trace.skipped.get(TOO_LARGE, 0)
    if large:
        found.append(
            f"{large} jobs need more than {servers} servers and were left out, with the waits they would cause"
        )
    if trace.work > servers * trace.span > 0:
        offered = trace.work / trace.span
        found.append(
            f"the jobs bring work for {offered:.6g} servers, more than {servers}: waits grow with the trace's length"
        )
    return tuple(found)
