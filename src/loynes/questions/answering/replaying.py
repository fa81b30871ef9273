"""A recorded workload run through the recurrence, or event by event under a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.estimate import Estimate
from loynes.estimators.jobs import Seen, seen_of, system_over
from loynes.estimators.measures import ALL_JOBS, Resource, Waits, Wanted
from loynes.estimators.tails import grid_to, longest_of
from loynes.execution.context import Context
from loynes.kernels.events.recorded import slowdowns_of
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.answering.asked_order import numbers_of
from loynes.questions.answering.believing import believed_of, check_beliefs
from loynes.questions.answering.log_cluster import OVER_LIMIT, Cluster, FittingJobs, cluster_of, fitting, jobs_on
from loynes.questions.answering.long_plans import long_plans
from loynes.questions.answering.orders import Order, PolicyLike, order_of
from loynes.questions.answering.outages import lost_of, outages_of
from loynes.questions.answering.replay_runs import EventRun, Replayed, in_turn
from loynes.questions.asking.replayed import ReplayedLog
from loynes.results.records.replay import Log, Recorded, Replay, ReplayedClass, Series
from loynes.results.records.simulation import Pooled
from loynes.results.tails import Tails
from loynes.traces.changes import Changes, changed
from loynes.traces.resampling import days_of, resample
from loynes.traces.sessions import sessions_of
from loynes.traces.trace import TOO_LARGE, Trace, rows_of, work_of
from loynes.traces.units import unit_named

# Beyond so many needs, classes are powers of two; beyond so many values of a label, the rest is one class.
MOST_NEEDS = 12
MOST_LABELS = 50
REST = "(all others)"
# The label of jobs of a log that was changed: the class they had before.
CLASS = "(class)"
# The key of all jobs together, beside classes of any name.
ALL = None


class Replayer:
    """Reads the log of a question once, changes it, and runs it on clusters under policies, as often as is asked."""

    def __init__(self, question: ReplayedLog) -> None:
        check_beliefs(question)
        if question.larger != "stretch" and question.max_need is None:
            raise UsageError(f"larger {question.larger!r}: means nothing without --max-need, the most servers of a job")
        self.question = question
        recorded, self.nodes = jobs_on(question)
        self.kinds = tuple(question.resources) if self.nodes is None else self.nodes.kinds
        self.source, self.recorded_jobs = recorded.source, recorded.jobs
        self.notes: dict[str, Any] = {}
        if question.changes != Changes():
            recorded = self._changed(recorded)
        self.log = recorded
        self.outages = outages_of(question.outages, recorded)
        self._fitting: FittingJobs | None = None

    def cluster(self, servers: int | None = None) -> Cluster:
        """The question's own; or of so many servers, or nodes where there is one entry of them."""
        if servers is None:
            return cluster_of(self.question, self.log, self.nodes)
        if self.nodes is None:
            one = self.question.model_copy(update={"servers": servers})
            return cluster_of(one, self.log, None)
        return cluster_of(self.question, self.log, self.nodes).on(servers)

    def _changed(self, recorded: Trace) -> Trace:
        """The log with what the question changes about it, from its first job on; classes are those of the log."""
        question, changes = self.question, self.question.changes
        if not recorded.jobs:
            return recorded
        names, group = classes_of(recorded, question.classes, self.kinds)
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
        if strictly and question.predict is not None and not order.rule.believes_run_times:
            raise UsageError(f"predict {question.predict!r}: means nothing to policy {order.policy!r}")
        return order

    def fitting(self, cluster: Cluster) -> FittingJobs:
        """The jobs that can run on a cluster."""
        if self._fitting is None or self._fitting.cluster != cluster:
            self._fitting = fitting(self.log, cluster)
        return self._fitting

    def run(self, order: Order, cluster: Cluster, windows: int, context: Context) -> Replay:
        """Exact figures of the jobs that fit a cluster; on nodes also what they cost, beside the pooled cluster."""
        cluster.check(order)
        fits, units, kinds = self.fitting(cluster), cluster.units, cluster.kinds
        jobs = fits.jobs
        scarce = max(kinds, key=lambda name: work_of(jobs.demand[name], jobs.service) / units[name], default="")
        if scarce:
            # Tables that have room for one resource show the one that is used most.
            jobs = replace(jobs, need=jobs.demand[scarce], unit=unit_named(scarce))
        lost = lost_of(self.outages, fits)
        believed = believed_of(jobs, order, self.question, self.question.seed)
        events = EventRun(fits, order, believed, lost, self.question.seed)
        early = believed.beliefs is not None or bool((believed.guess > jobs.service).any())
        long = long_plans(order, jobs.jobs, _load(jobs, units or {"servers": cluster.servers}), early)
        for text in long:
            context.notice(text)
        if order.policy == "fcfs" and not kinds and not lost and cluster.limits is None:
            replayed = in_turn(jobs, cluster.servers, windows)
        else:
            replayed = events.run(windows, kinds.index(scarce) if scarce else 0)
        details = order.details if believed.words is None else order.details | {"believed": believed.words}
        details |= self.notes | ({"outages": [one.label for one in self.outages]} if lost else {}) | fits.details
        result = _result(self, jobs, cluster, units[scarce] if scarce else cluster.servers, order, replayed, details)
        result = replace(result, warnings=result.warnings + long)
        if cluster.nodes is None:
            return result
        span = result.span
        fragmentation = {name: Estimate.exact(one / span) for name, one in replayed.fragmented.items()}
        result = replace(result, system=replace(result.system, fragmentation=fragmentation))
        if lost:  # a pool does not say which of its units a node that goes away takes with it
            return result
        other = Estimate.exact(events.pooled_wait())
        return replace(result, pooled=Pooled(other, Estimate.exact(float(replayed.wait.mean()) - other.estimate)))


def _result(
    replayer: Replayer, jobs: Trace, cluster: Cluster, servers: int, order: Order, replayed: Replayed,
    details: dict[str, Any],
) -> Replay:  # fmt: skip
    """The result of jobs that were run."""
    question, units = replayer.question, {kind: cluster.units[kind] for kind in cluster.kinds}
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
        warnings=log_warnings(jobs, units or {"servers": servers}, jobs.skipped)
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


def log_warnings(
    trace: Trace, units: dict[str, int], skipped: Mapping[str, int], times: float = 1.0
) -> tuple[str, ...]:
    """Of jobs that could not be run, and of more work in the others, so many times, than servers can do."""
    texts = []
    if large := skipped.get(TOO_LARGE, 0):
        there = ", ".join(f"{count} {unit_named(name)}" for name, count in units.items())
        texts.append(f"{large} jobs need more than {there} and were left out, with the waits they would cause")
    if over := skipped.get(OVER_LIMIT, 0):
        texts.append(f"{over} jobs need more than a user may hold and were left out, with the waits they would cause")
    for name, count in units.items():
        work = times * _work(trace, name)
        if work > count * trace.span > 0:
            offered = f"{work / trace.span:.6g} {unit_named(name)}"
            texts.append(f"the jobs bring work for {offered}, more than {count}: waits grow with the trace's length")
    return tuple(texts)


def _work(trace: Trace, name: str) -> float:
    """What the jobs bring for one resource: units of it, times how long they are held."""
    return work_of(trace.demand[name], trace.service) if name in trace.demand and name != "servers" else trace.work


def _load(trace: Trace, units: Mapping[str, int]) -> float:
    """That work over what can be done while they come, of the resource where it is most."""
    return max(_work(trace, name) / (count * trace.span) for name, count in units.items()) if trace.span > 0 else 0.0
