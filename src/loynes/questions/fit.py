"""Which model is behind this log, and would its waits be the log's?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from loynes.errors import TraceError, UnstableError
from loynes.estimate import Estimate, mean_of
from loynes.estimators.measures import ALL_JOBS
from loynes.execution.context import Context
from loynes.model import Model, load
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask, answered
from loynes.questions.asking.logs import AboutLog
from loynes.questions.asking.options import Option
from loynes.questions.evaluate import Evaluate
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.fitted import FittedArrivals, FittedModel
from loynes.traces.burstiness import burstiness
from loynes.traces.modelling import arrival_table_of, class_tables
from loynes.traces.trace import Trace

MOST_CLASSES = 12
LEAST_JOBS = 100
# The log's waits are cut into so many stretches, whose means tell how far its length determines the mean.
STRETCHES = 20
# How well the model's waits are evaluated: well inside what a log can tell.
PRECISION = 0.02
MOST_JOBS = 3e8
REGULAR = (
    "arrivals disperse less over long times than independent gaps would make them: gaps depend on one another; "
    "--arrivals trace keeps that"
)
CYCLE = (
    "arrivals disperse less over long times than over shorter ones: a cycle, such as day and night, which two random "
    "phases overdo; --arrivals trace keeps it"
)


class Fit(AboutLog):
    """Make a model of a recorded workload, and say how well it reproduces the log's waits.

    `trace` is a job log, or what `read_trace` reads. Needs become at most so many `classes`. Run times: `empirical`,
    the recorded ones; `fit`, a phase-type law of their mean and coefficient of variation; `exponential`; `lognormal`.
    Arrivals: `poisson`, `renewal` (recorded gaps, independent), `mmpp` (two phases), `batch` (jobs submitted at one
    instant, one of the others in between), `trace` (the recorded gaps in their order), or `auto`: batches where many
    gaps are 0, and the simplest of the first three that the gaps do not speak against. With `compare` the model is
    evaluated, and its waits stand beside those of the replayed log, whose intervals say how far a log of this length
    determines them.
    """

    command: ClassVar[str] = "fit"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes fit log.swf.gz -o model.toml",
        "loynes fit jobs.csv --servers 64 --column need=cores --law fit --arrivals mmpp -o model.toml",
    )

    classes: Annotated[
        int,
        Field(ge=1, le=1000),
        Option("At most so many classes; needs are put together.", must="be between 1 and 1000"),
    ] = MOST_CLASSES
    law: Annotated[
        Literal["empirical", "fit", "exponential", "lognormal"],
        Option("For run times.", "empirical|fit|exponential|lognormal"),
    ] = "empirical"
    arrivals: Annotated[
        Literal["auto", "poisson", "renewal", "mmpp", "batch", "trace"],
        Option("auto: the simplest that will do.", "auto|poisson|renewal|mmpp|batch|trace"),
    ] = "auto"
    compare: Annotated[bool, Option("Evaluate the model, beside the log's replayed waits.")] = True
    confidence: options.Confidence = 0.99
    seed: options.Seed = 1
    backend: options.Backend = "auto"

    def answer(self, context: Context) -> FittedModel:
        context.progress(0.0, "reading")
        recorded = self.recorded()
        servers = self.servers_of(recorded)
        jobs = recorded.fitting(servers)
        if jobs.jobs and not jobs.span > 0:
            raise TraceError(
                f"{recorded.source}: all its jobs were submitted at the same time: there are no arrivals to fit"
            )
        if jobs.jobs < LEAST_JOBS:
            raise TraceError(
                f"{recorded.source}: {jobs.jobs} jobs are too few for a model; it takes at least {LEAST_JOBS}"
            )
        tables, group = class_tables(jobs, self.classes, self.law)
        measured = burstiness(jobs)
        process = measured.kind if self.arrivals == "auto" else self.arrivals
        model = load(
            {
                "name": Path(jobs.source).stem.removesuffix(".swf"),
                "description": f"fitted to {jobs.jobs} jobs of {Path(jobs.source).name}; times in seconds",
                "servers": servers,
                "arrivals": arrival_table_of(jobs, measured, process),
                "classes": tables,
            }
        )
        warnings: tuple[str, ...] = ()
        if process == "mmpp" and measured.cycle:
            warnings += (CYCLE,)
        if process == "renewal" and measured.regular:
            warnings += (REGULAR,)
        modelled, why = None, "not asked for"
        if self.compare:
            modelled, why, more = self._modelled(model, context)
            warnings += more
        return FittedModel(
            model=model,
            source=jobs.source,
            jobs=jobs.jobs,
            skipped=jobs.skipped,
            arrivals=FittedArrivals(**vars(measured), process=process),
            law=self.law,
            replayed=self._replayed(jobs, servers, model, group),
            modelled=modelled,
            why=why,
            warnings=warnings,
        )

    def _replayed(self, jobs: Trace, servers: int, model: Model, group: NDArray[np.int64]) -> dict[str, Estimate]:
        """Mean waits of the log itself, first come, first served."""
        from loynes.kernels.cpu.replay import run_replay

        wait = run_replay(servers, jobs.need, jobs.service, jobs.submit, np.array([0.0, np.inf])).wait
        classes = {c.label: _log_mean(wait[group == k], self.confidence) for k, c in enumerate(model.classes)}
        return {ALL_JOBS: _log_mean(wait, self.confidence)} | classes

    def _modelled(self, model: Model, context: Context) -> tuple[dict[str, Estimate] | None, str, tuple[str, ...]]:
        """Mean waits of the model, or why there are none; and warnings."""
        context.progress(0.2, "evaluating the model")
        question = Evaluate.of(
            model, precision=PRECISION, confidence=self.confidence, max_jobs=MOST_JOBS, seed=self.seed,
            backend=self.backend,
        )  # fmt: skip
        try:
            result = cast(Evaluation, answered(question, context))
        except UnstableError as error:
            return None, "unstable", (f"the model is unstable at the log's own rate: {error}",)
        means = {ALL_JOBS: result.overall.wait.mean} | {name: one.wait.mean for name, one in result.classes.items()}
        return means, result.why, result.warnings


def _log_mean(wait: NDArray[np.float64], confidence: float) -> Estimate:
    """The mean, with the interval that the means of successive stretches of the log give it."""
    mean = float(np.mean(wait))
    if len(wait) < 2 * STRETCHES:
        return Estimate(mean, 0.0, np.inf)
    means = np.array([float(np.mean(part)) for part in np.array_split(wait, STRETCHES)])
    around = mean_of(means, confidence)
    return Estimate(mean, max(0.0, mean - (around.estimate - around.low)), mean + (around.high - around.estimate))


fit = Ask(Fit, FittedModel)
