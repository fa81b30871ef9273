"""Which model is behind this log, and does it pass a test on jobs that it has not seen?"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import LoynesError, TraceError
from loynes.estimate import Estimate, mean_of
from loynes.estimators.measures import ALL_JOBS
from loynes.execution.context import Context
from loynes.execution.deadline import Deadline
from loynes.execution.steps import Steps
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.logs import LogOnCluster
from loynes.questions.asking.options import Option
from loynes.results.records.fitted import Candidate, FittedArrivals, FittedModel
from loynes.traces.burstiness import burstiness
from loynes.traces.trace import Trace

if TYPE_CHECKING:
    from loynes.questions.answering.candidates import Fitted, HeldOut, Made
    from loynes.questions.answering.log_cluster import Cluster
    from loynes.questions.answering.orders import Order

MOST_CLASSES = 12
# The policy that the log's own waits say.
AUTO = "auto"
LEAST_JOBS = 100
# The log's waits are cut into so many stretches where it is too short to be resampled.
STRETCHES = 20
SHORT = "the log is too short to test a model on: it takes four whole days in each of its halves"
LATE = "not tried: the time was up"
Process = Literal[
    "auto", "poisson", "renewal", "mmpp", "batch", "trace", "mmpp4", "periodic", "sessions", "phases4", "phases8"
]


class Fit(LogOnCluster):
    """Make a model of a recorded workload, and test it on weeks of the log that it has not seen.

    `trace` is a job log, or what `read_trace` reads. Needs become at most so many `classes`; with `resources`, or on
    `nodes` of which each `has` so much, or the `nodes_of` a model file, like jobs are put together, as tasks. Run
    times: `empirical`, the recorded ones; `fit`, a phase-type law of their mean and coefficient of variation;
    `exponential`; `lognormal`. Arrivals, from simple to rich: `poisson`; `renewal` (recorded gaps, independent);
    `batch` (jobs submitted at one instant); `mmpp` (two phases) and `mmpp4` (four, of two time scales); `periodic`
    (hours of the week, each with its mix of classes); `sessions` (runs of like jobs); `phases4` and `phases8`
    (hidden phases in which every need and length of jobs has a rate of its own); or `trace` (the recorded gaps in
    their order). `auto` takes the first that passes the test: fitted to every other week, its mean wait, 95th
    percentile, utilization and dispersion of daily counts lie in the intervals that the other weeks leave, and
    those of the whole log, too. Where none passes, `accepted` is false: take the log itself in place of a model.
    Waits, of models and of the log's replay, are those under the log's `policy`, as `simulate` takes one, with
    `window`, `threshold`, `option`, and `inflation` in place of requested times: auto is fcfs or easy, whichever
    is nearer to the waits that the log recorded. Without `compare` nothing is tested.
    """

    command: ClassVar[str] = "fit"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes fit log.swf.gz -o model.toml",
        "loynes fit log.swf.gz --policy easy -o model.toml",
        "loynes fit jobs.sacct --nodes 16 --has cpu=64,gpu=4 -o model.toml",
        "loynes fit jobs.csv --servers 64 --column need=cores --law fit --arrivals mmpp -o model.toml",
    )

    classes: Annotated[
        int,
        Field(ge=1, le=1000),
        Option("At most so many needs; neighbours are put together.", must="be between 1 and 1000"),
    ] = MOST_CLASSES
    law: Annotated[
        Literal["empirical", "fit", "exponential", "lognormal"],
        Option("For run times.", "empirical|fit|exponential|lognormal"),
    ] = "empirical"
    arrivals: Annotated[Process, Option("auto: the simplest that passes the test.", "auto|poisson|periodic|...")] = (
        "auto"
    )
    policy: Annotated[
        Any,
        PlainSerializer(str),
        Option(
            "Under which the log was run, and models are: a name (loynes policies), a file of your own (.py), or auto, "
            "fcfs or easy."
        ),
    ] = AUTO
    window: options.Window = None
    threshold: options.SwapThreshold = None
    option: options.OwnOption = None
    inflation: options.BelievedTimes = None
    compare: Annotated[bool, Option("Test models, and show the waits of the one that is taken beside the log's.")] = (
        True
    )
    time: Annotated[
        float,
        BeforeValidator(options.duration_of),
        Field(gt=0, allow_inf_nan=False),
        Option(
            "After so long no further model is tried: 30s, 5min.", "DURATION", written="duration", unit="seconds",
            must="be a time above 0, such as 30s or 5min",
        ),
    ] = 60.0  # fmt: skip
    confidence: Annotated[float, Field(gt=0, lt=1), Option("Confidence of every interval.")] = 0.95
    seed: options.Seed = 1

    def answer(self, context: Context) -> FittedModel:
        from loynes.questions.answering.candidates import Made, fitted_to, refitted_wait

        # One model at least is tried, whatever time it takes, unless somebody asks to stop.
        deadline, context = context.deadline, context.unhurried()
        context.progress(0.0, "reading")
        jobs, cluster = self._jobs()
        measured = burstiness(jobs)
        fallback = measured.kind if self.arrivals == "auto" else self.arrivals
        describe = {
            "name": Path(jobs.source).stem.removesuffix(".swf"),
            "description": f"fitted to {jobs.jobs} jobs of {Path(jobs.source).name}; times in seconds",
        }
        made = Made(cluster, self.classes, self.law, describe)
        order = self._order(jobs, cluster)
        candidates: tuple[Candidate, ...] = ()
        why, modelled, doubt = "not asked for", None, None
        if self.compare:
            candidates, why = self._tried(jobs, made, order, deadline, context)
        process = _chosen(candidates, fallback)
        fitted = fitted_to(jobs, process, made)
        if self.compare:
            modelled, unstable = self._modelled(jobs, fitted, order, made)
            why = unstable or why
            if modelled is not None and candidates:
                doubt = refitted_wait(
                    jobs, process, made, order, modelled[ALL_JOBS], self.confidence, self.seed, deadline
                )  # fmt: skip
        accepted = any(one.accepted for one in candidates) if self.compare else None
        return FittedModel(
            model=fitted.model,
            source=jobs.source,
            jobs=jobs.jobs,
            skipped=jobs.skipped,
            arrivals=FittedArrivals(**vars(measured), process=process),
            law=self.law,
            policy=order.policy,
            inflation=order.inflation,
            accepted=accepted,
            candidates=candidates,
            replayed=self._replayed(jobs, fitted, cluster, order),
            modelled=modelled,
            doubt=doubt,
            why=why,
            confidence=self.confidence,
            seed=self.seed,
        )

    def _jobs(self) -> tuple[Trace, Cluster]:
        """The jobs that fit what there is, whose needs are of what is used most; and what there is."""
        from loynes.questions.answering.log_cluster import by_scarce, cluster_of, fitting, recorded_on
        from loynes.questions.answering.log_nodes import asked_nodes

        nodes = asked_nodes(self)
        recorded = recorded_on(self, nodes)
        cluster = cluster_of(self, recorded, nodes)
        jobs = fitting(recorded, cluster).jobs
        jobs = by_scarce(jobs, cluster.units) if cluster.kinds else jobs
        if jobs.jobs and not jobs.span > 0:
            raise TraceError(
                f"{recorded.source}: all its jobs were submitted at the same time: there are no arrivals to fit"
            )
        if jobs.jobs < LEAST_JOBS:
            raise TraceError(
                f"{recorded.source}: {jobs.jobs} jobs are too few for a model; it takes at least {LEAST_JOBS}"
            )
        return jobs, cluster

    def _order(self, jobs: Trace, cluster: Cluster) -> Order:
        from loynes.questions.answering.candidates import inflation_of, log_policy
        from loynes.questions.answering.orders import order_of

        numbers = {"window": self.window, "threshold": self.threshold, "option": self.option}
        policy = log_policy(jobs, cluster) if self.policy == AUTO else self.policy
        order = order_of(policy, numbers, 1.0 if self.inflation is None else self.inflation)
        cluster.check(order)
        guessed = order.rule.believes_run_times and self.inflation is None
        return replace(order, inflation=inflation_of(jobs)) if guessed else order

    def _tried(
        self, jobs: Trace, made: Made, order: Order, deadline: Deadline, context: Context
    ) -> tuple[tuple[Candidate, ...], str]:
        """Candidates until one is accepted, and why there are none."""
        from loynes.questions.answering.candidates import NAMES, held_out
        from loynes.traces.resampling import alternate_weeks, days_of

        try:
            first, second = alternate_weeks(jobs, days_of(jobs.submit, jobs.source))
            names = NAMES if self.arrivals == "auto" else (self.arrivals,)
            steps = Steps(context)
            part, believed = steps.next(1.0, 2.0 + 2 * len(names)), self.inflation
            halves = held_out(second, made.cluster, order, self.seed, part, believed)
            whole = held_out(jobs, made.cluster, order, self.seed, steps.next(2.0, 2.0 * len(names)), believed)
        except TraceError:
            return (), SHORT
        tried: list[Candidate] = []
        for number, name in enumerate(names):
            if tried and deadline.passed:
                if deadline.asked:
                    deadline.note_cut()
                tried.append(Candidate(name, why=LATE))
                continue
            context.deadline.check()
            steps.next(1.0, len(names) - number - 1).progress(0.0, f"trying {name}")
            tried.append(self._candidate(name, first, jobs, made, halves, whole))
            if tried[-1].accepted:
                break
        return tuple(tried), ""

    def _candidate(
        self, name: str, first: Trace, jobs: Trace, made: Made, halves: HeldOut, whole: HeldOut
    ) -> Candidate:
        from loynes.questions.answering.candidates import fitted_to

        try:
            checks = halves.check(fitted_to(first, name, made).model, self.seed)
            again = whole.check(fitted_to(jobs, name, made).model, self.seed)
        except LoynesError as error:
            return Candidate(name, why=str(error).removeprefix(f"{jobs.source}: "))
        return Candidate(name, checks, again)

    def _replayed(self, jobs: Trace, fitted: Fitted, cluster: Cluster, order: Order) -> dict[str, Estimate]:
        """Mean waits of the log itself, with intervals from resamples, or from its stretches where it is short."""
        from loynes.questions.answering.candidates import replayed_waits

        names = [c.label for c in fitted.model.classes]
        try:
            if self.compare:
                return replayed_waits(jobs, fitted, cluster, order, self.confidence, self.seed, self.inflation)
        except TraceError:
            pass
        from loynes.questions.answering.candidates import waits_under

        wait = waits_under(jobs, cluster, order, self.inflation)
        classes = {name: _log_mean(wait[fitted.group == k], self.confidence) for k, name in enumerate(names)}
        return {ALL_JOBS: _log_mean(wait, self.confidence)} | classes

    def _modelled(
        self, jobs: Trace, fitted: Fitted, order: Order, made: Made
    ) -> tuple[dict[str, Estimate] | None, str]:
        """Mean waits of the model over as long a time, or why there are none."""
        from loynes.questions.answering.candidates import FULL, scarce_place, simulated_waits

        work, place = jobs.work / jobs.span, scarce_place(jobs, made.cluster)
        there = fitted.model.units[place]
        if work >= FULL * there:
            return None, f"unstable: work for {work:.6g} of {there} {jobs.unit if made.cluster.kinds else 'servers'}"
        return simulated_waits(jobs, fitted.model, order, self.confidence, self.seed, place), ""


def _chosen(candidates: tuple[Candidate, ...], fallback: str) -> str:
    """The one that is accepted, else the one that misses the fewest checks, of several the nearest to the mean wait."""
    tested = [one for one in candidates if one.checks]
    if not tested:
        return fallback
    accepted = [one for one in tested if one.accepted]
    return (accepted[0] if accepted else min(tested, key=lambda one: (one.missed, one.off))).process


def _log_mean(wait: np.ndarray[Any, np.dtype[np.float64]], confidence: float) -> Estimate:
    """The mean, with the interval that the means of successive stretches of the log give it."""
    mean = float(np.mean(wait))
    if len(wait) < 2 * STRETCHES:
        return Estimate(mean, 0.0, math.inf)
    means = np.array([float(np.mean(part)) for part in np.array_split(wait, STRETCHES)])
    around = mean_of(means, confidence)
    return Estimate(mean, max(0.0, mean - (around.estimate - around.low)), mean + (around.high - around.estimate))


fit = Ask(Fit, FittedModel)
