"""A recorded workload run through the recurrence, or event by event under a policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.jobs import average_in_windows, spread_of, system_over, waits_of
from loynes.estimators.measures import ALL_JOBS, Resource, Wanted
from loynes.estimators.tails import grid_to, longest_of
from loynes.kernels.cpu.replay import cheaper_as_runs, run_replay
from loynes.kernels.events.engine import run_classes, run_jobs
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.questions.answering.log_nodes import PlacedJobs
from loynes.questions.answering.orders import Order
from loynes.results.records.replay import Log, Recorded, Replay, ReplayedClass, Series
from loynes.results.records.simulation import Pooled
from loynes.results.tails import Tails
from loynes.traces.trace import TOO_LARGE, Trace
from loynes.traces.units import unit_named

# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"


def replay_trace(
    jobs: Trace,
    units: dict[str, int],
    by: str | None,
    windows: int,
    order: Order,
    inflation: float | None,
    servers: int,
    wanted: Wanted,
    on_nodes: tuple[PlacedJobs, dict[str, object]] | None = None,
) -> Replay:
    """Exact figures of recorded jobs, all of which fit, on so many servers, or so much of every resource.

    on_nodes: the same jobs as tasks that run on nodes, and these in words.
    """
    scarce = max(units, key=lambda name: float(jobs.demand[name] @ jobs.service) / units[name], default="")
    if scarce:
        # Tables that have room for one resource show the one that is used most.
        jobs, servers = replace(jobs, need=jobs.demand[scarce], unit=unit_named(scarce)), units[scarce]
    names, code = classes_of(jobs, by, tuple(units))
    if order.policy == "fcfs" and not units:
        replayed, believed = _in_turn(jobs, servers, windows), None
    else:
        guess, believed = guesses_of(jobs, order, inflation)
        placed = None if on_nodes is None else on_nodes[0]
        replayed = _by_events(jobs, units or {"": servers}, windows, order, guess, scarce, placed)
    edges, wait = replayed.edges, replayed.wait
    response, span = wait + jobs.service, float(edges[-1])
    series = (edges[:-1], edges[1:], replayed.busy, replayed.busy / servers, replayed.lost, replayed.waiting)
    members = {name: np.flatnonzero(code == i) for i, name in enumerate(names)}
    sums = (jobs.work, replayed.loss, float(wait.sum()), float(response.sum()))
    each = {"submit": jobs.submit, "need": jobs.need, "service": jobs.service, "wait": wait, "response": response}
    each |= {"recorded_wait": jobs.wait} | {name: jobs.demand[name] for name in units}
    system = system_over(servers, span, *sums)
    grid = grid_to(max(longest_of(wait), longest_of(jobs.wait[~np.isnan(jobs.wait)])))
    details = order.details if believed is None else order.details | {"believed": believed}
    if units:
        system = replace(system, resources=_resources(jobs, units, span, replayed.losses))
        details = details | {"resources": units}
    pooled = None
    if on_nodes is not None:
        details = details | on_nodes[1] | {"tasks": on_nodes[0].assumption}
        fragmentation = {name: Estimate.exact(one / span) for name, one in replayed.fragmented.items()}
        system = replace(system, fragmentation=fragmentation)
        other = Estimate.exact(float(_by_events(jobs, units, 1, order, guess, scarce).wait.mean()))
        pooled = Pooled(other, Estimate.exact(float(wait.mean()) - other.estimate))
    elif jobs.unit not in ("servers", "cpus"):
        details = details | {"unit": jobs.unit}
    return Replay(
        model=Log(Path(jobs.source).name, jobs.source, jobs.format, jobs.digest(*units), servers),
        rate=jobs.rate,
        span=span,
        by=by or "need",
        overall=waits_of(wait, jobs.service, wanted),
        classes={name: _class(wait[who], jobs.service[who], jobs.need[who], wanted) for name, who in members.items()},
        system=system,
        recorded=_recorded(jobs, members, wanted),
        series=Series(*(tuple(column.tolist()) for column in series)),
        jobs=jobs.jobs,
        records=jobs.records,
        skipped=jobs.skipped,
        repaired=jobs.repaired,
        examples=jobs.examples,
        kernel=replayed.kernel,
        policy=order.policy,
        details=details,
        read_seconds=jobs.seconds,
        warnings=log_warnings(jobs, units or {"servers": servers}, jobs.skipped.get(TOO_LARGE, 0))
        + (() if units else order.rule.warnings(np.unique(jobs.need).tolist(), servers)),
        each=each,
        pooled=pooled,
        tails=_tails(wait, members, grid),
        recorded_tails=_tails(jobs.wait, members, grid),
    )


def _resources(jobs: Trace, units: dict[str, int], span: float, losses: dict[str, float]) -> dict[str, Resource]:
    """Time averages of every resource."""
    found = {}
    for name, count in units.items():
        busy = float(jobs.demand[name] @ jobs.service) / span
        figures = (busy, busy / count, count - busy, losses[name] / span)
        found[name] = Resource(*map(Estimate.exact, figures))
    return found


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


def _by_events(
    jobs: Trace, units: dict[str, int], windows: int, order: Order, guess: Array, scarce: str,
    on: PlacedJobs | None = None,
) -> Replayed:  # fmt: skip
    """Any policy; what is lost is what idles while somebody waits. The figures are those of the scarce resource."""
    need = np.array([jobs.demand[name] for name in units]).T if scarce else jobs.need[:, None]
    count = np.array(list(units.values()))

    def run(edges: Array | None) -> tuple[Array, Array]:
        if on is None:
            return run_jobs(count, jobs.submit, need, jobs.service, order.rule, order.option, guess, edges)
        return run_classes(
            count, jobs.submit, on.job_class, on.demand, jobs.service, guess, order.rule, order.option, edges, on.layout
        )

    times, _ = run(None)
    edges = np.linspace(0.0, float((jobs.submit + times[:, 1]).max()), windows + 1)
    _, sums = run(edges)
    mean = sums / np.diff(edges)[:, None]
    lost = {name: KINDS + 2 * k + 1 for k, name in enumerate(units)}
    losses = {name: float(sums[:, column].sum()) for name, column in lost.items()}
    columns = (mean[:, lost[scarce] - 1], mean[:, lost[scarce]], mean[:, WAITING])
    more = {name: float(sums[:, KINDS + 2 * len(units) + k].sum()) for k, name in enumerate(units)} if on else {}
    return Replayed(times[:, 0], losses[scarce], edges, *columns, "events", losses, more)


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


def classes_of(trace: Trace, label: str | None, kinds: tuple[str, ...] = ()) -> tuple[list[str], Ints]:
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
    if kinds:
        demand = np.array([trace.demand[kind] for kind in kinds]).T
        vectors, code = np.unique(demand, axis=0, return_inverse=True)
        if len(vectors) <= MOST_NEEDS:
            names = [", ".join(f"{kind} {n}" for kind, n in zip(kinds, one, strict=True) if n) for one in vectors]
            return names, code.reshape(-1)
    values, code = np.unique(trace.need, return_inverse=True)
    if len(values) <= MOST_NEEDS:
        return [f"need {value}" for value in values], code
    # 1, 2, 3-4, 5-8, ...: the exponent of need - 1 is exact, a logarithm need not be.
    # Of several resources a job may need none of one.
    power, code = np.unique(np.where(trace.need > 0, np.frexp(trace.need - 1)[1], -1), return_inverse=True)
    return [f"need {_range(int(p))}" for p in power], code


def _range(power: int) -> str:
    if power < 0:
        return "0"
    return str(2**power) if power < 2 else f"{2 ** (power - 1) + 1}-{2**power}"


def _tails(wait: Array, members: dict[str, Ints], grid: tuple[float, ...]) -> Tails | None:
    """Shares of jobs that waited longer than x, over x, of all jobs and of every class; None where no wait is known."""
    known = {ALL_JOBS: wait, **{name: wait[who] for name, who in members.items()}}
    seen = {name: one[~np.isnan(one)] for name, one in known.items()}
    return Tails.of({
        name: {x: Estimate.exact(float(np.mean(one > x))) for x in grid} for name, one in seen.items() if len(one)
    })  # fmt: skip


def _class(wait: Array, service: Array, need: Ints, wanted: Wanted) -> ReplayedClass:
    waits = waits_of(wait, service, wanted)
    return ReplayedClass(**vars(waits), jobs=len(need), need=(int(need.min()), int(need.max())))


def _recorded(trace: Trace, members: dict[str, Ints], wanted: Wanted) -> Recorded | None:
    known = ~np.isnan(trace.wait)
    if not known.any():
        return None
    classes = {name: trace.wait[who[known[who]]] for name, who in members.items()}
    return Recorded(
        int(np.count_nonzero(known)),
        spread_of(trace.wait[known], wanted),
        {name: spread_of(waits, wanted) if len(waits) else None for name, waits in classes.items()},
    )


def log_warnings(trace: Trace, units: dict[str, int], large: int, times: float = 1.0) -> tuple[str, ...]:
    """Of jobs that were too large to be run, and of more work in the others, so many times, than servers can do."""
    texts = []
    if large:
        there = ", ".join(f"{count} {unit_named(name)}" for name, count in units.items())
        texts.append(f"{large} jobs need more than {there} and were left out, with the waits they would cause")
    for name, count in units.items():
        one = float(trace.demand[name] @ trace.service) if name in trace.demand and name != "servers" else trace.work
        work = times * one
        if work > count * trace.span > 0:
            offered = f"{work / trace.span:.6g} {unit_named(name)}"
            texts.append(f"the jobs bring work for {offered}, more than {count}: waits grow with the trace's length")
    return tuple(texts)
