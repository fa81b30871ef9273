"""A recorded workload run through the recurrence, or event by event under a policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.estimate import Estimate
from loynes.estimators.jobs import Seen, average_in_windows, seen_of, system_over
from loynes.estimators.measures import ALL_JOBS, Resource, Waits, Wanted
from loynes.estimators.tails import grid_to, longest_of
from loynes.kernels.cpu.replay import cheaper_as_runs
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.events.engine import run_classes, run_jobs
from loynes.kernels.events.loop import KINDS, WAITING
from loynes.kernels.events.recorded import slowdowns_of
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.answering.believing import believed_of, check_beliefs
from loynes.questions.answering.log_nodes import LogNodes, PlacedJobs, placed
from loynes.questions.answering.orders import Order, PolicyLike, numbers_of, order_of
from loynes.questions.answering.outages import lost_of, outages_of
from loynes.questions.asking.replayed import ReplayedLog
from loynes.results.records.replay import Log, Recorded, Replay, ReplayedClass, Series
from loynes.results.records.simulation import Pooled
from loynes.results.tails import Tails
from loynes.traces.changes import Changes, changed
from loynes.traces.jobs import NEEDS_NONE
from loynes.traces.resampling import days_of, resample
from loynes.traces.sessions import sessions_of
from loynes.traces.trace import TOO_LARGE, Trace, rows_of, work_of
from loynes.traces.units import unit_named
from loynes.traces.words import Bad

# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"
# The label of jobs of a log that was changed: the class they had before.
CLASS = "(class)"
# The key of all jobs together, beside classes of any name.
ALL = None


class Replayer:
    """Reads the log of a question once, changes it, and runs it on a cluster under a policy, as often as is asked."""

    def __init__(self, question: ReplayedLog, kinds: tuple[str, ...] = ()) -> None:
        """kinds: what nodes have some of, where there are nodes."""
        check_beliefs(question)
        self.question = question
        recorded = question.recorded(kinds or tuple(question.resources))
        self.source, self.recorded_jobs = recorded.source, recorded.jobs
        if question.larger != "stretch" and question.max_need is None:
            raise UsageError(f"larger {question.larger!r}: means nothing without --max-need, the most servers of a job")
        if question.resources:
            if question.max_need is not None:
                raise UsageError("max-need: is for servers of one kind")
            question.check_resources(recorded, question.resources)
            need = np.array([recorded.demand[name] for name in question.resources])
            recorded = recorded.select(np.any(need > 0, axis=0), NEEDS_NONE)
        self.notes: dict[str, Any] = {}
        if question.changes != Changes():
            recorded = self._changed(recorded)
        self.log = recorded
        self.outages = outages_of(question.outages, recorded)

    def _changed(self, recorded: Trace) -> Trace:
        """The log with what the question changes about it, from its first job on; classes are those of the log."""
        question, changes = self.question, self.question.changes
        if not recorded.jobs:
            return recorded
        names, group = classes_of(recorded, question.classes, tuple(question.resources))
        if changes.kill_at_limit and recorded.requested is not None:
            self.notes["killed"] = int(np.count_nonzero(recorded.service > recorded.requested))
        log, group = changed(recorded, changes, names, group)
        if changes.scale != 1.0:
            days = days_of(log.submit, log.source) if changes.scale > 1.0 else None
            index, when = resample(days, log.submit, sessions_of(log), question.seed, 0, changes.scale)
            if not len(index):
                raise TraceError(f"{log.source}: no job is left at scale {changes.scale:g}")
            log, group = replace(rows_of(log, index), submit=when), group[index]
        first = float(log.submit[0])
        origin = None if log.origin is None else log.origin + first
        self.notes["changes"] = list(changes.texts)
        labels = log.labels | {CLASS: group}
        self._names = names
        return replace(log, submit=log.submit - first, origin=origin, begins=log.begins + first, labels=labels)

    def classes(self, jobs: Trace, kinds: tuple[str, ...]) -> tuple[list[str], Ints]:
        """Classes of jobs of the log: where it was changed, those that they had before."""
        if CLASS not in jobs.labels:
            return classes_of(jobs, self.question.classes, kinds)
        there, code = np.unique(jobs.labels[CLASS], return_inverse=True)
        return [self._names[i] for i in there], code

    def order(self, policy: PolicyLike, strictly: bool = True) -> Order:
        """A policy with the question's numbers; strictly, those that mean nothing to it are refused."""
        question = self.question
        inflation = 1.0 if question.inflation is None else question.inflation
        order = order_of(policy, numbers_of(question), inflation, question.overestimate, strictly=strictly)
        if len(question.resources) > 1 and order.rule.identical_servers_only:
            raise UsageError(f"policy {order.policy!r}: is for identical servers")
        if strictly and question.predict is not None and not order.rule.believes_run_times:
            raise UsageError(f"predict {question.predict!r}: means nothing to policy {order.policy!r}")
        return order

    def fitting(self, servers: int) -> tuple[Trace, Bad]:
        """The jobs that fit so many servers, or the question's resources, and which of the log they are."""
        units = self.question.resources
        if units:
            need = np.array([self.log.demand[name] for name in units])
            keep = np.all(need <= np.array(list(units.values()))[:, None], axis=0)
        else:
            keep = self.log.need <= servers
        if not keep.any():
            if units:
                raise TraceError(f"{self.source}: not one of its {self.recorded_jobs} jobs fits these resources")
            raise TraceError(
                f"{self.source}: every one of its {self.recorded_jobs} jobs needs more than {servers} servers"
            )
        return self.log.select(keep, TOO_LARGE), keep

    def run(self, order: Order, servers: int, windows: int) -> Replay:
        """Exact figures of the jobs that fit so many servers, or the question's resources."""
        return self._figures(self.fitting(servers)[0], self.question.resources, servers, order, windows)

    def run_on_nodes(self, order: Order, nodes: LogNodes, windows: int) -> Replay:
        """The same of jobs that are tasks on nodes, event by event whatever the policy; and on the pooled cluster."""
        question = self.question
        if question.changes != Changes() or question.outages or question.predict == "last-two":
            raise UsageError("nodes: changes of the log, outages and predictions are for a cluster without them")
        on = placed(self.log, nodes)
        return self._figures(on.jobs, nodes.units, 0, order, windows, (on, nodes.details))

    def _figures(
        self,
        jobs: Trace,
        units: dict[str, int],
        servers: int,
        order: Order,
        windows: int,
        on_nodes: tuple[PlacedJobs, dict[str, object]] | None = None,
    ) -> Replay:
        """Of recorded jobs, all of which fit, on so many servers, or so much of every resource.

        on_nodes: the same jobs as tasks that run on nodes, and these in words.
        """
        question = self.question
        scarce = max(units, key=lambda name: work_of(jobs.demand[name], jobs.service) / units[name], default="")
        if scarce:
            # Tables that have room for one resource show the one that is used most.
            jobs, servers = replace(jobs, need=jobs.demand[scarce], unit=unit_named(scarce)), units[scarce]
        largest = {name: int(jobs.demand[name].max()) for name in units} or {"servers": int(jobs.need.max())}
        lost = lost_of(self.outages, units or {"servers": servers}, largest)
        believed = believed_of(jobs, order, question, question.seed)
        more = {"beliefs": believed.beliefs, "lost": lost, "seed": question.seed}
        task = (order, believed.guess, scarce, more)
        if order.policy == "fcfs" and not units and not lost:
            replayed = _in_turn(jobs, servers, windows)
        else:
            on = None if on_nodes is None else on_nodes[0]
            replayed = _by_events(jobs, units or {"": servers}, windows, *task, on)
        details = order.details if believed.words is None else order.details | {"believed": believed.words}
        details |= self.notes | ({"outages": [one.label for one in self.outages]} if lost else {})
        result = _result(self, jobs, units, servers, order, replayed, details)
        if on_nodes is None:
            return result
        span = result.span
        fragmentation = {name: Estimate.exact(one / span) for name, one in replayed.fragmented.items()}
        other = Estimate.exact(float(_by_events(jobs, units, 1, *task).wait.mean()))
        return replace(
            result,
            system=replace(result.system, fragmentation=fragmentation),
            details=result.details | on_nodes[1] | {"tasks": on_nodes[0].assumption},
            pooled=Pooled(other, Estimate.exact(float(replayed.wait.mean()) - other.estimate)),
        )


def _result(
    replayer: Replayer, jobs: Trace, units: dict[str, int], servers: int, order: Order, replayed: Replayed,
    details: dict[str, Any],
) -> Replay:  # fmt: skip
    """The result of jobs that were run."""
    question = replayer.question
    wanted = Wanted((), question.percentiles, tails=True)
    names, code = replayer.classes(jobs, tuple(units))
    edges, wait = replayed.edges, replayed.wait
    response, span = wait + jobs.service, float(edges[-1])
    series = (edges[:-1], edges[1:], replayed.busy, replayed.busy / servers, replayed.lost, replayed.waiting)
    grouped = _Grouped(names, code)
    # Jobs that failed with their servers did some of their work twice.
    work = float(replayed.busy @ np.diff(edges)) if replayer.outages else jobs.work
    sums = (work, replayed.loss, float(wait.sum()), float(response.sum()))
    ids = np.arange(1, jobs.jobs + 1) if jobs.ids is None else jobs.ids
    each = {"id": ids, "submitted": jobs.submitted}
    each |= {"submit": jobs.submit, "need": jobs.need, "service": jobs.service, "wait": wait, "response": response}
    each |= {"recorded_wait": jobs.wait} | {name: jobs.demand[name] for name in units}
    system = system_over(servers, span, *sums)
    grid = grid_to(max(longest_of(wait), longest_of(jobs.wait[known := ~np.isnan(jobs.wait)])))
    seen, recorded = grouped.seen(wait, grid, wanted), grouped.seen(jobs.wait, grid, wanted)
    slowdowns = slowdowns_of(wait, jobs.service, question.slowdown_threshold)
    bounded = {name: Estimate.exact(float(part.mean())) for name, part in grouped.parts(slowdowns)}
    measured = {
        name: Waits(of_wait.spread, one.spread, Estimate.exact(of_wait.none), bounded_slowdown=bounded[name])
        for (name, one), of_wait in zip(grouped.seen(response, (), wanted).items(), seen.values(), strict=True)
        if one is not None and of_wait is not None
    }
    needs = {name: (len(need), (int(need.min()), int(need.max()))) for name, need in grouped.parts(jobs.need)}
    if units:
        system = replace(system, resources=_resources(jobs, units, span, replayed.losses))
        details = details | {"resources": units}
    elif jobs.unit not in ("servers", "cpus"):
        details = details | {"unit": jobs.unit}
    return Replay(
        model=Log(Path(jobs.source).name, jobs.source, jobs.format, jobs.digest(*units), servers),
        rate=jobs.rate,
        span=span,
        by=question.classes or "need",
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
    jobs: Trace, units: dict[str, int], windows: int, order: Order, guess: Array, scarce: str, more: dict[str, Any],
    on: PlacedJobs | None = None,
) -> Replayed:  # fmt: skip
    """Any policy; what is lost is what idles while somebody waits. The figures are those of the scarce resource."""
    need = np.array([jobs.demand[name] for name in units]).T if scarce else jobs.need[:, None]
    count = np.array(list(units.values()))

    def run(edges: Array | None) -> tuple[Array, Array]:
        if on is None:
            return run_jobs(count, jobs.submit, need, jobs.service, order.rule, order.option, guess, edges, **more)
        return run_classes(
            count, jobs.submit, on.job_class, on.demand, jobs.service, guess, order.rule, order.option, edges,
            on.layout, **more,
        )  # fmt: skip

    times, _ = run(None)
    edges = np.linspace(0.0, float((jobs.submit + times[:, 1]).max()), windows + 1)
    _, sums = run(edges)
    mean = sums / np.diff(edges)[:, None]
    lost = {name: KINDS + 2 * k + 1 for k, name in enumerate(units)}
    losses = {name: float(sums[:, column].sum()) for name, column in lost.items()}
    columns = (mean[:, lost[scarce] - 1], mean[:, lost[scarce]], mean[:, WAITING])
    more = {name: float(sums[:, KINDS + 2 * len(units) + k].sum()) for k, name in enumerate(units)} if on else {}
    return Replayed(times[:, 0], losses[scarce], edges, *columns, "events", losses, more)


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
