"""A recorded workload run through the recurrence, or event by event under a policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.jobs import Seen, average_in_windows, seen_of, system_over
from loynes.estimators.measures import ALL_JOBS, Resource, Waits, Wanted
from loynes.estimators.tails import grid_to, longest_of
from loynes.kernels.cpu.replay import cheaper_as_runs
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.events.engine import run_classes, run_jobs
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.answering.log_nodes import PlacedJobs
from loynes.questions.answering.orders import Order
from loynes.results.records.replay import Log, Recorded, Replay, ReplayedClass, Series
from loynes.results.records.simulation import Pooled
from loynes.results.tails import Tails
from loynes.traces.trace import TOO_LARGE, Trace, work_of
from loynes.traces.units import unit_named

# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"
# The key of all jobs together, beside classes of any name.
ALL = None


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
    scarce = max(units, key=lambda name: work_of(jobs.demand[name], jobs.service) / units[name], default="")
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
    grouped = _Grouped(names, code)
    sums = (jobs.work, replayed.loss, float(wait.sum()), float(response.sum()))
    each = {"submit": jobs.submit, "need": jobs.need, "service": jobs.service, "wait": wait, "response": response}
    each |= {"recorded_wait": jobs.wait} | {name: jobs.demand[name] for name in units}
    system = system_over(servers, span, *sums)
    grid = grid_to(max(longest_of(wait), longest_of(jobs.wait[known := ~np.isnan(jobs.wait)])))
    seen, recorded = grouped.seen(wait, grid, wanted), grouped.seen(jobs.wait, grid, wanted)
    measured = {
        name: Waits(of_wait.spread, one.spread, Estimate.exact(of_wait.none))
        for (name, one), of_wait in zip(grouped.seen(response, (), wanted).items(), seen.values(), strict=True)
        if one is not None and of_wait is not None
    }
    needs = {name: (len(need), (int(need.min()), int(need.max()))) for name, need in grouped.parts(jobs.need)}
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
        overall=measured[ALL],
        classes={
            name: ReplayedClass(**vars(measured[name]), jobs=needs[name][0], need=needs[name][1]) for name in names
        },
        system=system,
        recorded=_recorded(int(np.count_nonzero(known)), recorded),
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
        + (() if units else order.rule.warnings(_distinct(jobs.need)[0].tolist(), servers)),
        each=each,
        pooled=pooled,
        tails=_tails(seen, grid),
        recorded_tails=_tails(recorded, grid),
    )


def _resources(jobs: Trace, units: dict[str, int], span: float, losses: dict[str, float]) -> dict[str, Resource]:
    """Time averages of every resource."""
    found = {}
    for name, count in units.items():
        busy = work_of(jobs.demand[name], jobs.service) / span
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
    run = run_replay(servers, jobs.need, jobs.service, jobs.submit)
    start = jobs.submit + run.wait
    end = start + jobs.service
    edges = np.linspace(0.0, float(end.max()), windows + 1)
    lost = run.lost_in(edges)
    busy = average_in_windows(start, end, jobs.need, edges)
    waiting = average_in_windows(jobs.submit, start, np.broadcast_to(1.0, jobs.jobs), edges)
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
    values, code = _distinct(trace.need)
    if len(values) <= MOST_NEEDS:
        return [f"need {value}" for value in values], code
    # 1, 2, 3-4, 5-8, ...: the exponent of need - 1 is exact, a logarithm need not be.
    # Of several resources a job may need none of one.
    power, place = np.unique(np.where(values > 0, np.frexp(values - 1)[1], -1), return_inverse=True)
    return [f"need {_range(int(p))}" for p in power], place[code]


def _distinct(needs: Ints) -> tuple[Ints, Ints]:
    """The different needs, ascending, and each job's place among them; counted, not sorted, where none is huge."""
    largest = int(needs.max())
    if largest > MOST_SERVERS:
        return np.unique(needs, return_inverse=True)
    there = np.bincount(needs) > 0
    values = np.flatnonzero(there)
    return values, (np.cumsum(there) - 1).astype(np.min_scalar_type(len(values)))[needs]


def _range(power: int) -> str:
    if power < 0:
        return "0"
    return str(2**power) if power < 2 else f"{2 ** (power - 1) + 1}-{2**power}"


class _Grouped:
    """Jobs by class: those of every class one after the other, in the log's order."""

    def __init__(self, names: list[str], code: Ints) -> None:
        # Sorting small numbers takes time in proportion to how many there are.
        small = code.astype(np.uint8 if len(names) <= 256 else np.int64, copy=False)
        self._names, self._order = names, np.argsort(small, kind="stable")
        self._ends = np.cumsum(np.bincount(code, minlength=len(names)))
        self._parts, self._room = np.empty(len(code)), np.empty(len(code))

    def parts(self, values: NDArray[Any]) -> Iterator[tuple[str | None, NDArray[Any]]]:
        """What there is one of for every job: of all jobs, and of each class. Good until the next are asked for."""
        yield ALL, values
        kept = self._parts.view(values.dtype)
        np.take(values, self._order, out=kept, mode="clip")
        yield from zip(self._names, np.split(kept, self._ends[:-1]), strict=True)

    def seen(self, values: Array, grid: tuple[float, ...], wanted: Wanted) -> dict[str | None, Seen | None]:
        """Measures of times by class, all jobs first; None where not one is known."""
        whole = not np.isnan(values).any()
        known = ((name, one if whole else one[~np.isnan(one)]) for name, one in self.parts(values))
        return {name: seen_of(one, grid, wanted, self._room) if len(one) else None for name, one in known}


def _tails(seen: dict[str | None, Seen | None], grid: tuple[float, ...]) -> Tails | None:
    """Shares of jobs that waited longer than x, over x; None where no wait is known."""
    return Tails.of({
        ALL_JOBS if name is ALL else name: dict(zip(grid, map(Estimate.exact, one.beyond), strict=True))
        for name, one in seen.items() if one is not None
    })  # fmt: skip


def _recorded(count: int, seen: dict[str | None, Seen | None]) -> Recorded | None:
    spreads = {name: None if one is None else one.spread for name, one in seen.items()}
    overall = spreads[ALL]
    if overall is None:
        return None
    return Recorded(count, overall, {name: one for name, one in spreads.items() if name is not None})


def log_warnings(trace: Trace, units: dict[str, int], large: int, times: float = 1.0) -> tuple[str, ...]:
    """Of jobs that were too large to be run, and of more work in the others, so many times, than servers can do."""
    texts = []
    if large:
        there = ", ".join(f"{count} {unit_named(name)}" for name, count in units.items())
        texts.append(f"{large} jobs need more than {there} and were left out, with the waits they would cause")
    for name, count in units.items():
        one = work_of(trace.demand[name], trace.service) if name in trace.demand and name != "servers" else trace.work
        work = times * one
        if work > count * trace.span > 0:
            offered = f"{work / trace.span:.6g} {unit_named(name)}"
            texts.append(f"the jobs bring work for {offered}, more than {count}: waits grow with the trace's length")
    return tuple(texts)
