"""A recorded workload run through the recurrence, or event by event under a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loynes.errors import UsageError
from loynes.estimators.jobs import average_in_windows, spread_of, system_over, waits_of
from loynes.kernels.cpu.replay import cheaper_as_runs, run_replay
from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.questions.answering.orders import Order
from loynes.results.records.replay import Log, Recorded, Replay, ReplayedClass, Series
from loynes.traces.trace import TOO_LARGE, Trace

Array = NDArray[np.float64]

# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"


def replay_trace(
    jobs: Trace, servers: int, by: str | None, windows: int, order: Order, inflation: float | None
) -> Replay:
    """Exact figures of recorded jobs, all of which fit, on so many servers."""
    names, code = classes_of(jobs, by)
    if order.policy == "fcfs":
        replayed, believed = _in_turn(jobs, servers, windows), None
    else:
        guess, believed = guesses_of(jobs, order, inflation)
        replayed = _by_events(jobs, servers, windows, order, guess)
    edges, wait = replayed.edges, replayed.wait
    response, span = wait + jobs.service, float(edges[-1])
    series = (edges[:-1], edges[1:], replayed.busy, replayed.busy / servers, replayed.lost, replayed.waiting)
    members = {name: np.flatnonzero(code == i) for i, name in enumerate(names)}
    sums = (jobs.work, replayed.loss, float(wait.sum()), float(response.sum()))
    each = {"submit": jobs.submit, "need": jobs.need, "service": jobs.service, "wait": wait, "response": response}
    return Replay(
        model=Log(Path(jobs.source).name, jobs.source, jobs.format, jobs.hash, servers),
        rate=jobs.rate,
        span=span,
        by=by or "need",
        overall=waits_of(wait, jobs.service),
        classes={name: _class(wait[who], jobs.service[who], jobs.need[who]) for name, who in members.items()},
        system=system_over(servers, span, *sums),
        recorded=_recorded(jobs, members),
        series=Series(*(tuple(column.tolist()) for column in series)),
        jobs=jobs.jobs,
        records=jobs.records,
        skipped=jobs.skipped,
        repaired=jobs.repaired,
        examples=jobs.examples,
        kernel=replayed.kernel,
        policy=order.policy,
        details=order.details if believed is None else order.details | {"believed": believed},
        read_seconds=jobs.seconds,
        warnings=log_warnings(jobs, servers, jobs.skipped.get(TOO_LARGE, 0))
        + order.rule.warnings(np.unique(jobs.need).tolist(), servers),
        each=each | {"recorded_wait": jobs.wait},
    )


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


def _in_turn(jobs: Trace, servers: int, windows: int) -> Replayed:
    """First come, first served, by the recurrence."""
    run = run_replay(servers, jobs.need, jobs.service, jobs.submit, np.array([0.0, np.inf]))
    start = jobs.submit + run.wait
    end = start + jobs.service
    edges = np.linspace(0.0, float(end.max()), windows + 1)
    # The last end, and so where windows lie, is known only now; a second run is cheaper than keeping all levels.
    lost = run_replay(servers, jobs.need, jobs.service, jobs.submit, edges).lost if windows > 1 else run.lost
    busy = average_in_windows(start, end, jobs.need.astype(np.float64), edges)
    waiting = average_in_windows(jobs.submit, start, np.ones(jobs.jobs), edges)
    kernel = "run list" if cheaper_as_runs(servers, jobs.need) else "dense vector"
    return Replayed(run.wait, float(run.loss.sum()), edges, busy, lost / np.diff(edges), waiting, kernel)


def _by_events(jobs: Trace, servers: int, windows: int, order: Order, guess: Array) -> Replayed:
    """Any policy; what is lost is what idles while somebody waits."""
    task = (np.array([servers]), jobs.submit, jobs.need[:, None], jobs.service, order.rule, order.option, guess)
    times, _ = run_jobs(*task)
    edges = np.linspace(0.0, float((jobs.submit + times[:, 1]).max()), windows + 1)
    _, sums = run_jobs(*task, edges)
    mean = sums / np.diff(edges)[:, None]
    columns = (mean[:, KINDS], mean[:, KINDS + 1], mean[:, WAITING])
    return Replayed(times[:, 0], float(sums[:, KINDS + 1].sum()), edges, *columns, "events")


def guesses_of(jobs: Trace, order: Order, inflation: float | None) -> tuple[Array, str | None]:
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


def classes_of(trace: Trace, label: str | None) -> tuple[list[str], NDArray[np.int64]]:
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


def _class(wait: Array, service: Array, need: NDArray[np.int64]) -> ReplayedClass:
    waits = waits_of(wait, service)
    return ReplayedClass(**vars(waits), jobs=len(need), need=(int(need.min()), int(need.max())))


def _recorded(trace: Trace, members: dict[str, NDArray[np.int64]]) -> Recorded | None:
    known = ~np.isnan(trace.wait)
    if not known.any():
        return None
    classes = {name: trace.wait[who[known[who]]] for name, who in members.items()}
    return Recorded(
        int(np.count_nonzero(known)),
        spread_of(trace.wait[known]),
        {name: spread_of(waits) if len(waits) else None for name, waits in classes.items()},
    )


def log_warnings(trace: Trace, servers: int, large: int) -> tuple[str, ...]:
    """Of jobs that are too large to be run, and of more work than the servers can do."""
    texts = []
    if large:
        texts.append(
            f"{large} jobs need more than {servers} servers and were left out, with the waits they would cause"
        )
    if trace.work > servers * trace.span > 0:
        offered = trace.work / trace.span
        texts.append(
            f"the jobs bring work for {offered:.6g} servers, more than {servers}: waits grow with the trace's length"
        )
    return tuple(texts)
