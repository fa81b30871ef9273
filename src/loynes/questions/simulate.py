"""Event by event: what another policy would do, and how the cluster gets from one state to another."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field

from loynes.arrays import Array, Ints
from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.model import Model
from loynes.questions.answering.thresholds import JudgedRate, judged_rate, stated_rate, unjudged_rate
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, PolicyOption, values_of
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.simulation import Simulation

if TYPE_CHECKING:
    from loynes.estimators.measures import Wanted
    from loynes.kernels.events.replica import ReplicaRecord
    from loynes.questions.answering.orders import Order

REPLICAS = 32
JOBS = 200_000
# With moments to look at, replicas are what there is to average over.
REPLICAS_AT_MOMENTS = 512
# Moments, equally apart, where only a horizon is given.
MOMENTS = 10
# Replicas that a precision may take.
MOST_REPLICAS = 20_000
# Of the replicas of a round, how many more are expected after it where a precision is asked for.
RESERVED = 2.0
STARTS = ("empty", "stationary")


def _times(given: object) -> tuple[float, ...]:
    times = values_of(given) or ()
    if not all(isinstance(x, int | float) for x in times):
        raise ValueError(f"{given!r}: must be times, such as 10,100,1000")
    ordered = tuple(sorted({float(x) for x in times}))
    if ordered and not (ordered[0] >= 0 and math.isfinite(ordered[-1])):
        raise ValueError("must be finite times of at least 0")
    return ordered


class Simulate(Question):
    """Event by event under any policy, from any state, also over time.

    `policy` is a name (`loynes policies` lists them), a file of your own that registers one (.py), or a function
    f(floor, option). Policies that believe in run times guess them `inflation` times too long; smash takes a `window`,
    quick-swap a `threshold`, first-fit-ageing an `age`, msr a `cycle`, a policy of your own its `option`. The jobs are
    those of the recurrence: same seed, same arrivals, needs and services. `load` is a fraction of the threshold of
    first come, first served; other policies may take more.

    Replicas start `empty`; or `stationary`, in states that are perfect samples under first come, first served, running
    jobs and the line; or with the workloads of a file that `sample` wrote, which servers are busy with while nobody is
    in line. `burn_in` jobs a replica are left out (a quarter of `jobs`, none from stationary). With a `precision`,
    replicas are added until the mean wait's relative half-width is below it. When `time` (seconds, or "30s") is up, the
    replicas that are done are the answer.

    `slo` asks whether objectives such as "p95(wait) <= 600" are met.

    With a `horizon`, or moments `at`, every replica runs from 0 to that time, through the model's scenario if it has
    one; averages are over all jobs that arrive until then, and over that time. The rate may be an unstable one.
    """

    command: ClassVar[str] = "simulate"
    for_log: ClassVar[str] = "evaluate_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes simulate five-class-exponential --policy easy --load 0.75",
        "loynes simulate five-class-exponential --load 0.75 --from stationary --at 10,100,1000",
        "loynes simulate five-class-exponential --load 0.7 --from stationary --horizon 2000 "
        "--set 'scenario=[{from=200, until=400, lost=\"10%\"}]'",
        "loynes simulate five-class-exponential --policy examples/my_policy.py --load 0.75",
    )

    model: LoadedModel
    policy: PolicyOption = "fcfs"
    rate: options.Rate = None
    load: options.Load = None
    start: Annotated[
        str, BeforeValidator(str), Option("The state replicas begin in.", "empty|stationary|FILE", flag="--from")
    ] = "empty"
    horizon: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False),
        Option("From time 0 to T, through the model's scenario.", "T", unit="time", must="be a finite time above 0"),
    ] = None
    at: Annotated[
        tuple[float, ...],
        BeforeValidator(_times),
        Option("The state at these times.", "T1,T2,...", written="list", unit="time", default="tenths of T"),
    ] = ()
    window: options.Window = None
    threshold: options.SwapThreshold = None
    depth: options.Depth = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    inflation: options.Inflation = 1.0
    overestimate: options.Overestimate = 0.0
    slowdown_threshold: options.SlowdownThreshold = None
    jobs: options.EventJobs = None
    replicas: Annotated[
        int | None, Field(ge=2, le=100_000), Option("Independent runs.", default="32, with a horizon 512")
    ] = None
    burn_in: Annotated[
        int | None,
        Field(ge=0, le=2**62),
        Option("Jobs to leave out first.", default="a quarter of --jobs", unit="jobs"),
    ] = None
    precision: Annotated[
        float | None,
        Field(gt=0, lt=1),
        Option("Add replicas until the mean wait is known so well (relative half-width).", default="--replicas only"),
    ] = None
    slo: options.Objectives = ()
    percentiles: options.Percentiles = ()
    seed: options.Seed = 1
    confidence: options.Confidence = 0.99
    time: options.TimeBudget = None

    @property
    def by_events(self) -> bool:
        return True

    def answer(self, context: Context) -> Simulation:
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.judging import asked_of, judged, with_percentiles, with_tails
        from loynes.questions.answering.orders import shortest_of

        names, unit = [c.label for c in self.model.classes], self.model.time_unit
        slowdowns = shortest_of(self.slowdown_threshold, unit) is not None
        objectives = asked_of(self.slo, names, unit, slowdowns=slowdowns)
        wanted = Wanted(with_tails((), objectives), with_percentiles(self.percentiles, objectives), tails=True)
        result, unended = self._simulated(context, wanted)
        lower = "jobs that had not ended are left out" if unended else ""
        return replace(result, objectives=judged(objectives, result, lower=lower)) if objectives else result

    def _simulated(self, context: Context, wanted: Wanted) -> tuple[Simulation, bool]:
        """The result, but for its objectives, and whether some jobs had not ended."""
        from loynes.estimators.events import SOON, mean_wait
        from loynes.questions.answering.asked_order import numbers_of
        from loynes.questions.answering.ending import cut_short
        from loynes.questions.answering.events import BURNED_IN, event_task, run_until, simulation_of, unended_jobs
        from loynes.questions.answering.nodes import beside, check_start
        from loynes.questions.answering.orders import check_order, order_of, shortest_of
        from loynes.questions.answering.scenario import changes_of

        order = order_of(self.policy, numbers_of(self), self.inflation, self.overestimate)
        moments, horizon = self._moments()
        model = self.model
        warnings = check_order(model, order)
        check_start(model, self.start)
        if horizon is None and model.scenario:
            raise UsageError("the model has a scenario: say until when to follow it, --horizon T")
        if horizon is not None and (self.jobs is not None or self.burn_in is not None):
            raise UsageError(
                "jobs and burn-in: mean nothing with a horizon: all jobs that arrive until then are observed"
            )
        judged = event_rate(model, order, self.rate, self.load, judged=horizon is None, seed=self.seed, context=context)
        count = self.replicas or (REPLICAS if horizon is None else REPLICAS_AT_MOMENTS)
        jobs = JOBS if self.jobs is None else self.jobs
        burn_in = self.burn_in
        if burn_in is None:
            burn_in = int(BURNED_IN * jobs) if self.start == "empty" and horizon is None else 0
        self._check_length(judged.rate, horizon, count, jobs + burn_in)
        replicas: list[ReplicaRecord] = []
        stopped, steps = False, Steps(context)
        while count and not stopped:
            part = steps.next(count, 0.0 if self.precision is None else RESERVED * count)
            numbers = np.arange(len(replicas), len(replicas) + count)
            begun, remarks = self._start(judged, numbers, context)
            part.progress(0.0, f"{order.label}, {count} replicas")
            events = event_task(
                model, judged.rate, order, seed=self.seed, replicas=numbers, burn_in=burn_in, jobs_observed=jobs,
                horizon=horizon, at=moments, soon=SOON / judged.rate, changes=changes_of(model),
                shortest=shortest_of(self.slowdown_threshold, model.time_unit) or 0.0, **begun,
            )  # fmt: skip
            more, stopped = run_until(events, context.watched_by(part).engine)
            replicas += more
            if len(replicas) < 2:
                raise Stopped
            if stopped and not (self.precision is None or self._more(replicas)):
                stopped = False
            count = 0 if stopped else self._more(replicas)
        unended = unended_jobs(replicas, order)
        if stopped:
            relative = mean_wait(replicas, self.confidence).relative
            done = f"after {len(replicas)} replicas with a relative half-width of {relative:.2g} of the mean wait"
            remarks += (cut_short(context.deadline, done),)
        result = simulation_of(
            model, judged.rate, order, replicas, self.confidence, seed=self.seed, start=self.start, horizon=horizon,
            moments=moments, burn_in=burn_in, warnings=warnings + remarks + unended,
            wanted=wanted,
        )  # fmt: skip
        if model.nodes is not None and horizon is None and not stopped:
            pooled = beside(model, judged.rate, order, events, replicas, self.confidence, context)
            result = replace(result, pooled=pooled)
        return result, bool(unended)

    def _check_length(self, rate: float, horizon: float | None, replicas: int, jobs: int) -> None:
        """Refuse runs that nobody would live to see the end of."""
        from loynes.questions.answering.ending import check_length

        factors = [change.rate_factor for change in self.model.scenario or ()]
        total = replicas * (jobs if horizon is None else rate * max([1.0, *factors]) * horizon)
        check_length(f"jobs {jobs:g}" if horizon is None else f"horizon {horizon:g}", total, replicas)

    def _more(self, replicas: list[ReplicaRecord]) -> int:
        """How many replicas to add: none, or so many that the mean wait should be known as well as it is to be."""
        if self.precision is None:
            return 0
        from loynes.estimators.events import mean_wait

        mean = mean_wait(replicas, self.confidence)
        short = mean.relative / self.precision if mean.estimate > 0 else 0.0
        wanted = len(replicas) * min(3.0, 1.1 * short * short - 1.0) if short > 1.0 else 0.0
        return int(min(math.ceil(wanted), MOST_REPLICAS - len(replicas)))

    def _moments(self) -> tuple[Array, float | None]:
        """Moments in order, and the horizon: each by default from the other."""
        times, horizon = np.array(self.at), self.horizon
        if horizon is None:
            if not len(times):
                return times, None
            if times[-1] == 0:
                raise UsageError("at 0: say a horizon, too")
            return times, float(times[-1])
        if len(times) and times[-1] > horizon:
            raise UsageError(f"at {times[-1]:g}: is after the horizon, {horizon:g}")
        tenths: Array = np.arange(1.0, MOMENTS + 1) * (horizon / MOMENTS)
        return times if len(times) else tenths, float(horizon)

    def _start(self, judged: JudgedRate, numbers: Ints, context: Context) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The state replicas begin with, as the task has it, and warnings."""
        if self.start == "empty":
            return {}, judged.warnings
        if self.start != "stationary":
            return {"workload": _read_workloads(Path(self.start), self.model, numbers)}, judged.warnings
        from loynes.questions.answering.starts import stationary_history

        if math.isnan(judged.threshold.estimate):
            steady = self.model.model_copy(update={"scenario": None})
            judged = judged_rate(steady, judged.rate, None, seed=self.seed, context=context)
        begun = stationary_history(
            self.model, judged.rate, judged.threshold, numbers, seed=self.seed, context=context
        )  # fmt: skip
        warnings = judged.warnings
        if begun.why:
            warnings += (f"no certificate, replicas start from backward samples, which are lower bounds: {begun.why}",)
        return {"history": begun.length}, warnings


def event_rate(
    model: Model, order: Order, rate: float | None, load: float | None, *, judged: bool, seed: int, context: Context
) -> JudgedRate:
    """Other policies may take more than first come, first served; none, if the rate is judged, more than the ideal."""
    steady = model.pooled.model_copy(update={"scenario": None})
    # In order of arrival nobody starts earlier on nodes than on the pooled cluster, whose threshold is known.
    strict = order.policy == "fcfs" and judged and not model.has_rules
    if load is not None and rate is None and not strict:
        # A load of any size is a multiple of the threshold, which is asked for at a load below 1.
        threshold = judged_rate(steady, None, min(load, 0.9), seed=seed, context=context).threshold
        rate, load = load * threshold.estimate, None
    if strict or load is not None:
        return judged_rate(steady, rate, load, seed=seed, context=context)
    rate = stated_rate(model, rate)
    if judged and rate >= model.ideal:
        raise UnstableError(f"rate {rate:g} is unstable: {model.size} take less than {model.ideal:.6g} even unblocked")
    return unjudged_rate(model, rate)


def _read_workloads(path: Path, model: Model, numbers: Ints) -> Array:
    """Rows of a file of samples, over and over if there are fewer than replicas."""
    if not path.is_file():
        raise UsageError(f"start {str(path)!r}: must be {', '.join(STARTS)}, or a .parquet or .csv file of samples")
    try:
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            columns = [name for name in table.column_names if name.startswith("workload")]
            parts = [np.array(table[name].to_pylist(), np.float64) for name in columns]
            rows = np.concatenate(parts, axis=1)
        else:
            rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)[:, 3:]
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(f"{path}: is no file of samples: {error}") from None
    if rows.shape[1] != model.servers or not len(rows):
        raise UsageError(f"{path}: has workloads of {rows.shape[1]} servers, the model {model.servers}")
    return np.ascontiguousarray(rows[numbers % len(rows)])


simulate = Ask(Simulate, Simulation)
