"""A log in place of a model: cases of it, each run on the same resamples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from loynes.arrays import Ints
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Measures, Wanted, part_of
from loynes.estimators.resamples import (
    Quantity,
    data_interval,
    difference,
    measures,
    monte_carlo,
    over_resamples,
    wait_quantity,
)
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.kernels.events.recorded import BOUNDED, COUNT, NONE, RESPONSE, WAIT, Recorded, RecordedJobs, RecordedState
from loynes.model.nodes import MOST_NODES
from loynes.questions.answering.asked_order import numbers_of
from loynes.questions.answering.believing import believed_of, check_beliefs
from loynes.questions.answering.ending import cut_short
from loynes.questions.answering.log_cluster import Cluster, by_scarce, cluster_of, fitting, jobs_on
from loynes.questions.answering.log_nodes import count_needed, placed
from loynes.questions.answering.objectives import Objective, Target
from loynes.questions.answering.orders import Order, order_of
from loynes.questions.answering.replaying import classes_of, log_warnings
from loynes.questions.asking.resampled import OnResamples
from loynes.results.records.log_cases import LogCase, LogCases
from loynes.results.records.log_evaluation import LogEvaluation
from loynes.results.records.replay import Log
from loynes.traces.changes import Changes, changed
from loynes.traces.resampling import Days, days_of, same_days
from loynes.traces.sessions import sessions_of
from loynes.traces.trace import Trace, rows_of, work_of
from loynes.traces.units import unit_named

Cases = TypeVar("Cases", bound=LogCases)

# The log's own mean wait is remarked upon where a smaller share of resamples lies on one side of it, of enough.
REMOTE = 0.01
ENOUGH = 50
# Resamples from which on something is known, where there is no time for all.
LEAST_RESAMPLES = 2
# Metrics whose differences are shown, and their columns.
DIFFERENCES = {
    "wait.mean": WAIT,
    "wait.p95": WAIT + 4,
    "response.mean": RESPONSE,
    "no_wait": NONE,
    "bounded_slowdown": BOUNDED,
}
# How often the log itself is run where jobs are added to it, anew each time.
OWN_RUNS = 10


@dataclass(frozen=True)
class Case:
    """What a log is run on and under, and what is changed about it."""

    cluster: Cluster
    order: Order
    changes: Changes

    @property
    def units(self) -> dict[str, int]:
        """How much there is of every resource; or of "servers" alone."""
        return self.cluster.units

    @property
    def servers(self) -> int:
        """Of the first resource."""
        return self.cluster.servers

    def on(self, count: int, name: str = "") -> Case:
        """With so much of a resource, or so many nodes of an entry, by default of the first."""
        return replace(self, cluster=self.cluster.on(count, name))


@dataclass(frozen=True)
class Outcome:
    """What resamples showed of a case."""

    case: Case
    task: Recorded
    own: int  # rows that are the log itself
    state: RecordedState
    details: dict[str, Any]
    warnings: tuple[str, ...]
    wanted: Wanted

    @property
    def resamples(self) -> int:
        return self.task.rows - self.own

    def first(self, resamples: int) -> Outcome:
        """Of so many resamples only."""
        rows = self.own + resamples
        if rows >= self.task.rows:
            return self
        state = RecordedState(self.state.waits[:rows], self.state.time[:rows])
        return replace(self, task=self.task.part(np.arange(rows)), state=state)


class LogRunner:
    """Reads a question's log once, and runs cases of it."""

    def __init__(self, question: OnResamples, context: Context, on: Cluster | None = None) -> None:
        """on: resources or nodes in place of what the question says, of a log that tells of them."""
        check_beliefs(question)
        context.progress(0.0, "reading")
        self.question = question
        recorded, nodes = jobs_on(question)
        self._own = on
        if nodes is not None or question.resources:
            self._own = cluster_of(question, recorded, nodes)
        if self._own is not None and question.max_need is None:
            recorded = by_scarce(recorded, self._own.units)
        self.recorded = recorded
        self.days: Days = days_of(self.recorded.submit, self.recorded.source, question.block)
        kinds = () if self._own is None else self._own.kinds
        self.names, self._group = classes_of(self.recorded, question.classes, kinds)
        self._numbers = numbers_of(question)
        if self.days.block > self.days.length / 2:
            raise UsageError(
                f"block {self.days.block:g}: must be at most half of the {self.days.length} days of the log"
            )

    @property
    def typed(self) -> bool:
        """Whether jobs need resources, each by its name."""
        return self._own is not None

    @property
    def sizes(self) -> tuple[str, ...]:
        """What there may be more or less of: resources, servers, or nodes of an entry."""
        return ("servers",) if self._own is None else self._own.sizes

    def demand(self, log: Trace) -> Ints:
        """[job, resource], in the order of the units of cases."""
        if self._own is None:
            return log.need[:, None]
        return np.stack([log.demand[name] for name in self._own.kinds], axis=1)

    def case(self, **other: Any) -> Case:
        """The question's own case, but for what is said otherwise: servers, nodes, policy, or a change."""
        question = self.question
        cluster = self._own
        if cluster is None:
            servers = other.pop("servers", None)
            one = question if servers is None else question.model_copy(update={"servers": servers})
            cluster = cluster_of(one, self.recorded, None)
        for name in [name for name in cluster.sizes if name in other]:
            cluster = cluster.on(int(other.pop(name)), name)
        strictly = "policy" not in other  # of several policies, some have no use for a number
        policy = other.pop("policy", question.policy)
        inflation = 1.0 if question.inflation is None else question.inflation
        order = order_of(policy, self._numbers, inflation, question.overestimate, strictly=strictly)
        if strictly and question.predict is not None and not order.rule.believes_run_times:
            raise UsageError(f"predict {question.predict!r}: means nothing to policy {order.policy!r}")
        cluster.check(order)
        return Case(cluster, order, replace(question.changes, **other))

    def run(
        self, case: Case, context: Context, exceeds: tuple[float, ...] = (), percentiles: tuple[float, ...] = ()
    ) -> Outcome:
        """All resamples of a case, the log itself first; percentiles besides those of the question."""
        wanted = Wanted(exceeds, tuple(dict.fromkeys((*self.question.percentiles, *percentiles))))
        log, group = changed(self.recorded, case.changes, self.names, self._group)
        fits = fitting(log, case.cluster)
        kept, classes = fits.kept, fits.classes
        believed = believed_of(log, case.order, self.question, self.question.seed)
        session = sessions_of(log)
        jobs = RecordedJobs(
            log.submit[kept], classes.job_class, classes.demand, log.service[kept], believed.guess[kept], group[kept],
            session[kept],
        )  # fmt: skip
        beliefs = believed.beliefs
        if beliefs is not None:
            beliefs = beliefs._replace(user=beliefs.user[kept], limit=beliefs.limit[kept])
        own = 1 if case.changes.scale == 1.0 else OWN_RUNS
        numbers = np.arange(1 - own, self.question.resamples + 1)
        task = Recorded(
            self.question.seed, numbers, jobs, same_days(self.days, jobs.submit),
            np.array(list(case.units.values()), np.int64), case.order.rule, case.order.option, case.changes.scale,
            len(self.names), wanted.exceeds, tuple(map(part_of, wanted.percentiles)), classes.layout, classes.rules,
            shortest=self.question.slowdown_threshold, beliefs=beliefs,
        )  # fmt: skip
        state, done = task.new_state(), task.rows
        try:
            context.engine.run(task, state, 0, task.rows)
        except Stopped as stopped:
            done = stopped.at
            if done < own + LEAST_RESAMPLES:
                raise
        details = case.order.details | ({} if believed.words is None else {"believed": believed.words}) | fits.details
        run = replace(rows_of(log, kept), demand=fits.jobs.demand)
        left_out = {reason: count - log.skipped.get(reason, 0) for reason, count in fits.jobs.skipped.items()}
        texts = log_warnings(run, case.units, left_out, case.changes.scale)
        outcome = Outcome(case, task, own, state, details, texts, wanted).first(done - own)
        if done == task.rows:
            return outcome
        reached = f"after {outcome.resamples} of {self.question.resamples} resamples"
        return replace(outcome, warnings=(*texts, cut_short(context.deadline, reached)))

    def measured(self, outcome: Outcome) -> tuple[Measures, Measures, Measures, Measures]:
        """Of the log itself with the data's intervals, ahead, and with Monte Carlo ones; and of resamples."""
        sure, stretches = self.question.confidence, self.days.stretches
        ways = (
            data_interval(sure, stretches), data_interval(sure, stretches, ahead=True), monte_carlo(sure),
            over_resamples(sure),
        )  # fmt: skip
        given = (outcome.state, outcome.own, self.names, outcome.case.units, outcome.wanted)
        data, ahead, sampling, others = (measures(*given, way) for way in ways)
        return data, ahead, sampling, others

    def count(self, name: str) -> int:
        """How many jobs a class has in the log, with the question's changes."""
        _, group = changed(self.recorded, self.question.changes, self.names, self._group)
        return int(np.count_nonzero(group == self.names.index(name)))

    def widest(self, name: str) -> int:
        """The largest need of a class."""
        return int(self.recorded.need[self._group == self.names.index(name)].max())

    def offered(self, name: str = "") -> tuple[float, float, int]:
        """Of the question's own case: time of a resource that all jobs take (by default of the first), seconds from the
        first job to the last, and the largest need."""
        log, span = self._offered()
        need = self.demand(log)[:, self._own.kinds.index(name) if name and self._own is not None else 0]
        return self.question.scale * work_of(need, log.service), span, int(need.max())

    def _offered(self) -> tuple[Trace, float]:
        """The jobs of the question's own case, and seconds from the first to the last."""
        log, _ = changed(self.recorded, self.question.changes, self.names, self._group)
        return log, max(float(log.submit[-1] - log.submit[0]), 1.0)

    def least(self, name: str, full: float) -> tuple[int, str]:
        """The least servers, units or nodes on which all jobs can run and no more than a share is busy; and why."""
        if self._own is None or self._own.nodes is None:
            return least_units(*self.offered("" if self._own is None else name), full)
        log, span = self._offered()
        entry = self.sizes.index(name)
        most = self._own.nodes.with_count(entry, MOST_NODES)
        shapes = placed(log, most)
        fits = shapes.tasks[shapes.job_class] > 0
        demand = shapes.demand[shapes.job_class][fits]
        busy = {
            kind: self.question.scale * work_of(demand[:, k], log.service[fits]) / span
            for k, kind in enumerate(most.kinds)
        }
        needed = count_needed(shapes, most, entry)
        without = np.array([count * (n != entry) for n, count in enumerate(most.counts)]) @ most.has
        for kind, others, each in zip(most.kinds, without.tolist(), most.has[entry].tolist(), strict=True):
            missing = busy[kind] / full - others
            if missing > 0 and not each:
                raise UsageError(f"vary {name}: more {unit_named(kind)} would be busy than there are on other nodes")
            needed = max(needed, math.ceil(missing / each) if missing > 0 else 1)
        words = ", ".join(f"{units:.6g} {unit_named(kind)}" for kind, units in busy.items())
        return needed, f"for its largest jobs, and {words} busy on average"

    def probability_at_most(self, outcome: Outcome, objective: Objective, times: float = 1.0) -> float:
        """That an objective's quantity is at most its bound in the long run, given the log (or one times as long)."""

        def chance(quantity: Quantity) -> Estimate:
            return Estimate.exact(quantity.probability_at_most(objective.bound, self.days.stretches, times))

        units = outcome.case.units
        return objective.value(measures(outcome.state, outcome.own, self.names, units, outcome.wanted, chance)).estimate

    def differences(self, outcome: Outcome, first: Outcome) -> dict[str, dict[str, Estimate]]:
        """Class -> metric -> a case minus another one, resample by resample, with the data's interval."""
        both = (first, outcome)

        def minus(group: int, column: int) -> Estimate:
            before, after = (wait_quantity(one.state, one.own, group, column) for one in both)
            return difference(before, after, self.question.confidence, self.days.stretches)

        there = np.min([one.state.waits[0, :, COUNT] for one in both], axis=0) > 0
        return {
            name: {metric: minus(group, column) for metric, column in DIFFERENCES.items()}
            for group, name in enumerate([ALL_JOBS, *self.names])
            if there[group]
        }

    def quantity(self, outcome: Outcome, target: Target) -> Quantity:
        """The values of a metric in a case: in the log itself, and in resamples."""
        seen: list[Quantity] = []

        def kept(quantity: Quantity) -> Estimate:
            seen.append(quantity)
            return Estimate.exact(float(len(seen) - 1))

        units = outcome.case.units
        numbers = measures(outcome.state, outcome.own, self.names, units, outcome.wanted, kept)
        return seen[int(target.value(numbers).estimate)]

    def evaluation(self, outcome: Outcome) -> LogEvaluation:
        """The result of a case."""
        recorded, case, state = self.recorded, outcome.case, outcome.state
        data, ahead, sampling, others = self.measured(outcome)
        means = state.waits[:, 0, WAIT]
        own = means[: outcome.own].mean()
        below, above = (float(np.mean(side)) for side in (means[outcome.own :] < own, means[outcome.own :] > own))
        return LogEvaluation(
            model=log_of(recorded, case.servers),
            resources=case.units if self.typed else {},
            policy=case.order.policy,
            details=outcome.details,
            changes=case.changes.texts,
            by=self.question.classes or "need",
            overall=data.overall,
            classes=data.classes,
            system=data.system,
            ahead=ahead,
            sampling=sampling,
            others=others,
            below=below,
            resamples=outcome.resamples,
            days=self.days.length,
            block=self.days.block,
            jobs=int(state.waits[:, 0, COUNT].sum()),
            confidence=self.question.confidence,
            seed=self.question.seed,
            warnings=outcome.warnings + _remarks(below, above, outcome.resamples),
        )


def least_units(work: float, span: float, largest: int, full: float) -> tuple[int, str]:
    """So many that the largest job fits and no more than a share is busy; and why."""
    why = f"a job needs {largest}, {work / span:.6g} are busy on average"
    return max(largest, math.ceil(work / span / full), 1), why


def cases_result(
    kind: type[Cases], runner: LogRunner, cases: list[tuple[str, dict[str, Any], Case]], context: Context, **more: Any
) -> Cases:
    """Named cases on the same resamples, and their differences to the first."""
    found, late, steps = [], [], Steps(context)
    for number, (name, _, case) in enumerate(cases):
        part = steps.next(1.0, len(cases) - number - 1, f"{number + 1} of {len(cases)}: {name}")
        try:
            found.append(runner.run(case, part))
        except Stopped:
            if not number:
                raise  # all others are compared with the first
            late.append(name)
    cases = [case for case in cases if case[0] not in late]
    outcomes = on_the_same(found)
    evaluations = [runner.evaluation(outcome) for outcome in outcomes]
    rows = []
    for (name, config, _), outcome, evaluation in zip(cases, outcomes, evaluations, strict=True):
        minus = {} if outcome is outcomes[0] else runner.differences(outcome, outcomes[0])
        rows.append(LogCase(name, config, evaluation, minus))
    texts = [f"{case.name}: {text}" for case in rows for text in case.result.warnings]
    if late:
        texts.append(cut_short(context.deadline, f"before there was anything of {', '.join(late)}"))
    return kind(
        model=evaluations[0].model,
        cases=tuple(rows),
        confidence=runner.question.confidence,
        seed=runner.question.seed,
        warnings=tuple(texts),
        **more,
    )


def on_the_same(outcomes: list[Outcome]) -> list[Outcome]:
    """Those resamples that there are of every case: differences are taken resample by resample."""
    count = min(one.resamples for one in outcomes)
    return [one.first(count) for one in outcomes]


def log_of(recorded: Trace, servers: int) -> Log:
    from pathlib import Path

    return Log(Path(recorded.source).name, recorded.source, recorded.format, recorded.hash, servers)


def _remarks(below: float, above: float, resamples: int) -> tuple[str, ...]:
    """Of the shares of resamples below and above the log itself; where nobody waits they are neither."""
    if resamples < ENOUGH or max(below, above) <= 1.0 - REMOTE:
        return ()
    share = f"{100 * below:.0f}%"
    return (
        f"the mean wait of the log itself is above that of {share} of its resamples: it depends on more than stretches "
        "of days, such as on users who submit what fits, on a trend, or on bursts longer than --block",
    )
