"""Models of a log, from simple to rich, and the test that one of them has to pass.

A model is fitted to the first half of the log, and simulated under the log's policy at the load of the second half. Its
mean wait, 95th percentile, utilization and dispersion of daily counts must lie in the intervals that the second half
itself gives, from resamples (`estimators.resamples`). So a model is judged by jobs that it has not seen, and by no more
than what a log of that length determines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import LoynesError, TraceError
from loynes.estimate import Estimate, mean_of
from loynes.estimators.measures import ALL_JOBS
from loynes.estimators.resamples import Quantity
from loynes.execution.context import Context
from loynes.execution.deadline import Deadline
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.events.engine import Events, run_classes
from loynes.kernels.events.loop import KINDS, SPAN, Arrivals
from loynes.kernels.events.recorded import WAIT, observe
from loynes.kernels.events.replica import jobs_before
from loynes.model import Model, load
from loynes.questions.answering.fitted_classes import classes_on, cluster_table
from loynes.questions.answering.log_cluster import Cluster, fitting
from loynes.questions.answering.nodes import layout_of
from loynes.questions.answering.orders import Order, order_of
from loynes.questions.answering.resampling import LogRunner
from loynes.questions.evaluate_log import EvaluateLog
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.fitted import CheckedMetric
from loynes.traces.burstiness import burstiness
from loynes.traces.modelling import arrival_table_of, class_tables, cycle_table, more_phases, session_table
from loynes.traces.phases import phases_table
from loynes.traces.resampling import DAY, Days, choose_days, days_of, resample
from loynes.traces.sessions import sessions_of
from loynes.traces.trace import Trace, rows_of
from loynes.traces.units import unit_named

# Resamples of the second half, and replicas of a model, that a test takes.
RESAMPLES = 60
REPLICAS = 12
# Resamples that a model is fitted to again, to see how far its parameters are known.
REFITS = 8
LEAST_REFITS = 4
CONFIDENCE = 0.95
# The label under which the model's classes are kept with the log's jobs.
CLASS = "class of the model"
# A model that offers more work than this share of the servers is not run: its line would only grow.
FULL = 0.98
NAMES = ("poisson", "renewal", "batch", "mmpp", "mmpp4", "periodic", "sessions", "phases4", "phases8")
# Those in which short and long jobs of a need are classes of their own, as it depends on the time which come.
LENGTHS = 4
BY_LENGTH = ("periodic", "phases4", "phases8")


def arrivals_named(name: str, trace: Trace, group: Ints) -> dict[str, Any]:
    """The arrivals of a candidate, as a model file has them; TraceError where the log does not give them."""
    if name == "periodic":
        return cycle_table(trace, group)
    if name == "sessions":
        return session_table(trace, group, sessions_of(trace))
    if name.startswith("phases"):
        return phases_table(trace, group, int(name.removeprefix("phases")))
    if name == "mmpp4":
        return more_phases(trace, burstiness(trace))
    bursts = burstiness(trace)
    if name == "batch" and bursts.together == 0.0:
        raise TraceError(f"{trace.source}: no two of its jobs come at the same time")
    return arrival_table_of(trace, bursts, name)


@dataclass(frozen=True)
class Fitted:
    """A model of a log, and the class of each of the log's jobs."""

    model: Model
    group: Ints


@dataclass(frozen=True)
class Made:
    """How a model of a log is made: what for, of how many classes at most, and with which laws of run times."""

    cluster: Cluster
    classes: int
    law: str
    describe: dict[str, str]


def fitted_to(trace: Trace, name: str, made: Made) -> Fitted:
    """A candidate fitted to a log."""
    most, lengths = (max(1, made.classes // 2), LENGTHS) if name in BY_LENGTH else (made.classes, 1)
    if made.cluster.kinds:
        tables, group = classes_on(fitting(trace, made.cluster), most, made.law, lengths)
    else:
        tables, group = class_tables(trace, most, made.law, lengths)
    arrivals = arrivals_named(name, trace, group)
    if "mix" in arrivals:  # which says the classes' probabilities, too
        tables = [{key: value for key, value in one.items() if key != "probability"} for one in tables]
    what = {"time_unit": LOG_UNIT, "arrivals": arrivals, "classes": tables}
    return Fitted(load(made.describe | what | cluster_table(made.cluster)), group)


# The targets that are times.
UNITS = {"mean wait": "time", "p95 of waits": "time"}


@dataclass(frozen=True)
class HeldOut:
    """The second half of a log: what a model must reproduce, with the intervals that it leaves."""

    trace: Trace
    cluster: Cluster
    order: Order
    work: float  # servers that its jobs keep busy, or units of the resource that is used most
    targets: dict[str, Estimate]

    def check(self, model: Model, seed: int) -> tuple[CheckedMetric, ...]:
        """Each quantity of the second half beside that of a model, simulated as long and as fast."""
        place = scarce_place(self.trace, self.cluster)
        rate = self.work / model.works[place]
        if self.work >= FULL * model.units[place]:
            full = Estimate(np.inf, np.inf, np.inf)
            return tuple(
                CheckedMetric(name, target, full, False, UNITS.get(name, "")) for name, target in self.targets.items()
            )
        runs = [_shown(model, rate, self.order, self.trace.span, seed, k) for k in range(REPLICAS)]
        values = [
            mean_of(np.array(column), CONFIDENCE) for column in zip(*(vars(one).values() for one in runs), strict=True)
        ]
        return tuple(
            CheckedMetric(name, target, value, bool(target.low <= value.estimate <= target.high), UNITS.get(name, ""))
            for (name, target), value in zip(self.targets.items(), values, strict=True)
        )


def scarce_place(trace: Trace, cluster: Cluster) -> int:
    """Which kind jobs' needs count: of several resources the one that is used most (`by_scarce`)."""
    names = [unit_named(kind) for kind in cluster.kinds]
    return names.index(trace.unit) if names else 0


def held_out(
    trace: Trace, cluster: Cluster, order: Order, seed: int, context: Context, believed: float | None = None
) -> HeldOut:
    """The targets of a log, by its own resamples; TraceError if it is too short for any.

    believed: how many times too long the policy believes the log's run times, in place of what was requested.
    """
    if trace.jobs < 2 or not trace.span > 0:
        raise TraceError(f"{trace.source}: is too short to test a model on")
    runner = _runner(trace, cluster, order, believed, CONFIDENCE, seed, context)
    data = runner.measured(runner.run(runner.case(), context))[0]
    targets = {
        "mean wait": data.overall.wait.mean,
        "p95 of waits": data.overall.wait.p95,
        "utilization": data.system.utilization,
        "dispersion of daily counts": _dispersion(runner.days, seed),
    }
    return HeldOut(trace, cluster, order, trace.work / trace.span, targets)


def _dispersion(days: Days, seed: int) -> Estimate:
    """Of the jobs in a day, with the interval of the days themselves."""
    counts = np.diff(days.first).astype(np.float64)
    rng = np.random.default_rng([seed, 1])
    others = np.array([dispersion_of(counts[choose_days(days, rng)]) for _ in range(200)])
    value = dispersion_of(counts)
    low, high = Quantity(np.array([value]), others, value).around(CONFIDENCE, days.stretches)
    return Estimate(value, min(low, value), max(high, value))


@dataclass(frozen=True)
class Shown:
    """What one run showed, by the names of the targets."""

    mean: float
    p95: float
    utilization: float
    dispersion: float


def _shown(model: Model, rate: float, order: Order, span: float, seed: int, replica: int) -> Shown:
    """A log of a model's own jobs, run and looked at as the recorded one is."""
    jobs, times, sums = _run(model, rate, order, span, seed, replica)
    columns = observe(times, jobs.service, ())
    used = sums[0, KINDS : KINDS + 2 * len(model.units) : 2] / sums[0, SPAN] / np.array(model.units)
    busy = float(used.max())
    counts = np.bincount((jobs.arrival // DAY).astype(np.int64), minlength=int(span // DAY))[: int(span // DAY)]
    return Shown(float(columns[WAIT]), float(columns[WAIT + 4]), busy, dispersion_of(counts.astype(np.float64)))


def _run(
    model: Model, rate: float, order: Order, span: float, seed: int, replica: int
) -> tuple[Arrivals, Array, Array]:
    """A log of a model's own jobs: the jobs, their waits and responses, and sums over time."""
    table = job_table(model, rate)
    jobs = jobs_before(Events(table, seed, STREAM_STATIONARY, np.array([replica]), order.rule), replica, span)
    times, sums = run_classes(
        table.units, jobs.arrival, jobs.job_class, table.demand, jobs.service, order.inflation * jobs.service,
        order.rule, order.option, np.array([0.0, span]), layout_of(model),
    )  # fmt: skip
    return jobs, times, sums


def dispersion_of(counts: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Variance over mean."""
    return float(np.var(counts, ddof=1) / max(float(np.mean(counts)), 1e-9)) if len(counts) > 1 else 1.0


def log_policy(trace: Trace, cluster: Cluster) -> str:
    """First come, first served, or EASY: whichever replay is nearer to the waits that the log recorded."""
    known = ~np.isnan(trace.wait)
    if not known.any():
        return "fcfs"
    recorded = float(trace.wait[known].mean())
    off = {}
    for name in ("fcfs", "easy"):
        wait = waits_under(trace, cluster, order_of(name, {}))
        off[name] = abs(np.log1p(float(wait[known].mean())) - np.log1p(recorded))
    return min(off, key=lambda name: off[name])


def inflation_of(trace: Trace) -> float:
    """How many times too long run times are believed, by the requested times of the log."""
    requested = trace.requested
    if requested is None:
        return 1.0
    known = ~np.isnan(requested)
    return float(max(1.0, np.fmax(requested, trace.service)[known].sum() / trace.service[known].sum()))


def _asked(order: Order, believed: float | None) -> dict[str, Any]:
    """A policy and its numbers, as options of a question about a log."""
    number = order.option if order.rule.option else None
    return {"policy": order.rule, "option": number, "inflation": believed}


def waits_under(
    trace: Trace, cluster: Cluster, order: Order, believed: float | None = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The wait of every job of a log under a policy, which believes in the requested times where there are some."""
    guess = trace.service if trace.requested is None else np.fmax(trace.requested, trace.service)
    guess = guess if believed is None else believed * trace.service
    classes = fitting(trace, cluster).classes
    times, _ = run_classes(
        np.array(list(cluster.units.values())), trace.submit, classes.job_class, classes.demand, trace.service, guess,
        order.rule, order.option, layout=classes.layout,
    )  # fmt: skip
    return np.asarray(times[:, 0])


def replayed_waits(
    trace: Trace,
    fitted: Fitted,
    cluster: Cluster,
    order: Order,
    confidence: float,
    seed: int,
    believed: float | None = None,
) -> dict[str, Estimate]:
    """Mean waits of a log by the model's classes, with the intervals of its resamples."""
    names = [c.label for c in fitted.model.classes]
    labelled = replace(trace, labels=trace.labels | {CLASS: np.array(names)[fitted.group]})
    runner = _runner(labelled, cluster, order, believed, confidence, seed, Context(), CLASS)
    data = runner.measured(runner.run(runner.case(), Context()))[0]
    return {ALL_JOBS: data.overall.wait.mean} | {name: data.classes[name].wait.mean for name in names}


def _runner(
    trace: Trace, cluster: Cluster, order: Order, believed: float | None, confidence: float, seed: int,
    context: Context, classes: str | None = None,
) -> LogRunner:  # fmt: skip
    """Runs resamples of a log under its policy."""
    question = EvaluateLog.of(
        trace, **({} if cluster.kinds else {"servers": cluster.servers}), **_asked(order, believed),
        resamples=RESAMPLES, confidence=confidence, seed=seed, classes=classes,
    )  # fmt: skip
    return LogRunner(question, context, cluster if cluster.kinds else None)


def simulated_waits(
    trace: Trace, model: Model, order: Order, confidence: float, seed: int, place: int = 0
) -> dict[str, Estimate]:
    """Mean waits of a model at the log's own load, of the kind at that place, over as long a time."""
    rate = trace.work / trace.span / model.works[place]
    sums = np.zeros((REPLICAS, 1 + len(model.classes)))
    for replica in range(REPLICAS):
        jobs, times, _ = _run(model, rate, order, trace.span, seed, replica)
        count = np.bincount(jobs.job_class, minlength=len(model.classes))
        total = np.bincount(jobs.job_class, times[:, 0], minlength=len(model.classes))
        sums[replica] = [times[:, 0].mean(), *(total / np.maximum(count, 1))]
    values = [mean_of(column, confidence).within(0.0, np.inf) for column in sums.T]
    return dict(zip([ALL_JOBS, *(c.label for c in model.classes)], values, strict=True))


def refitted_wait(
    trace: Trace,
    name: str,
    made: Made,
    order: Order,
    modelled: Estimate,
    confidence: float,
    seed: int,
    deadline: Deadline,
) -> Estimate | None:
    """The model's mean wait, with the doubt of its parameters: the same kind of model, fitted to resamples of the log.

    Each is run at the load of its own resample, so that the doubt of the load is in it. None where there is no time for
    a few of them.
    """
    days, session = days_of(trace.submit, trace.source), sessions_of(trace)
    values = []
    for number in range(1, REFITS + 1):
        if deadline.passed:
            break
        index, when = resample(days, trace.submit, session, seed, number)
        other = replace(rows_of(trace, index), submit=when - when[0])
        try:
            model = fitted_to(other, name, made).model
        except LoynesError:  # a resample may not show what the log shows
            continue
        place = scarce_place(trace, made.cluster)
        rate = other.work / other.span / model.works[place]
        if rate * model.works[place] < FULL * model.units[place]:
            values.append(
                float(np.mean([_run(model, rate, order, other.span, seed, k)[1][:, 0].mean() for k in (0, 1)]))
            )
        else:
            values.append(np.inf)
    if len(values) < LEAST_REFITS:
        return None
    service = float(trace.service.mean())
    low, high = Quantity(np.array([modelled.estimate]), np.array(values), service).around(confidence, days.stretches)
    return Estimate(modelled.estimate, min(low, modelled.estimate), max(high, modelled.estimate))
