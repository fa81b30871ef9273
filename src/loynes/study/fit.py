"""Which model is behind this log, and would its waits be the log's?"""

from __future__ import annotations

import time
import warnings as python_warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesWarning, TraceError, UnstableError, UsageError
from loynes.estimate import Estimate, mean_of
from loynes.kernels.cpu.replay import run_replay
from loynes.model import load
from loynes.results.fit import FittedModel
from loynes.study.evaluate import evaluate
from loynes.study.progress import Progress, silent
from loynes.traces.burstiness import burstiness
from loynes.traces.modelling import LAWS, PROCESSES, arrival_table_of, class_tables
from loynes.traces.read import read_trace
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


def fit(
    trace: str | Path | Trace | Any,
    *,
    servers: int | None = None,
    classes: int = MOST_CLASSES,
    law: str = "empirical",
    arrivals: str = "auto",
    compare: bool = True,
    confidence: float = 0.99,
    seed: int = 1,
    progress: Progress = silent,
) -> FittedModel:
    """A model of a recorded workload (or of what `read_trace` reads).

    Needs become at most so many `classes`. Run times: `empirical`, the recorded ones; `fit`, a phase-type law of their
    mean and coefficient of variation; `exponential`; `lognormal`. Arrivals: `poisson`, `renewal` (recorded gaps,
    independent), `mmpp` (two phases), `batch` (jobs submitted at one instant, one of the others in between), `trace`
    (the recorded gaps in their order), or `auto`: batches where many gaps are 0, and the simplest of the first three
    that the gaps do not speak against. With `compare` the model is evaluated, and its waits stand beside those
    of the replayed log, whose intervals say how far a log of this length determines them.
    """
    began = time.perf_counter()
    if law not in LAWS:
        raise UsageError(f"law {law!r}: must be one of {', '.join(LAWS)}")
    if arrivals not in PROCESSES:
        raise UsageError(f"arrivals {arrivals!r}: must be one of {', '.join(PROCESSES)}")
    if not 1 <= classes <= 1000:
        raise UsageError(f"classes {classes}: must be between 1 and 1000")
    recorded = read_trace(trace)
    servers = recorded.servers if servers is None else servers
    if servers is None:
        raise UsageError(f"servers: {recorded.source} does not say how many there are; give servers")
    jobs = recorded.fitting(servers)
    if jobs.jobs and not jobs.span > 0:
        raise TraceError(
            f"{recorded.source}: all its jobs were submitted at the same time: there are no arrivals to fit"
        )
    if jobs.jobs < LEAST_JOBS:
        raise TraceError(f"{recorded.source}: {jobs.jobs} jobs are too few for a model; it takes at least {LEAST_JOBS}")
    tables, group = class_tables(jobs, classes, law)
    seen = burstiness(jobs)
    process = seen.kind if arrivals == "auto" else arrivals
    model = load(
        {
            "name": Path(jobs.source).stem.removesuffix(".swf"),
            "description": f"fitted to {jobs.jobs} jobs of {Path(jobs.source).name}; times in seconds",
            "servers": servers,
            "arrivals": arrival_table_of(jobs, seen, process),
            "classes": tables,
        }
    )
    wait = run_replay(servers, jobs.need, jobs.service, jobs.submit, np.array([0.0, np.inf])).wait
    replayed = {"all jobs": _log_mean(wait, confidence)}
    for k, c in enumerate(model.classes):
        replayed[c.label] = _log_mean(wait[group == k], confidence)
    modelled, why = None, "not asked for"
    warnings: tuple[str, ...] = ()
    if process == "mmpp" and seen.cycle:
        warnings += (CYCLE,)
    if process == "renewal" and seen.regular:
        warnings += (REGULAR,)
    if compare:
        progress(0.2, "evaluating the model")
        try:
            with python_warnings.catch_warnings():
                python_warnings.simplefilter("ignore", LoynesWarning)
                found = evaluate(
                    model, precision=PRECISION, confidence=confidence, max_jobs=MOST_JOBS, seed=seed, progress=progress
                )
            modelled = {"all jobs": found.overall.wait.mean} | {n: w.wait.mean for n, w in found.classes.items()}
            why, warnings = found.why, warnings + found.warnings
        except UnstableError as error:
            why = "unstable"
            warnings += (f"the model is unstable at the log's own rate: {error}",)
    return FittedModel(
        model=model,
        source=jobs.source,
        jobs=jobs.jobs,
        skipped=jobs.skipped,
        seen=seen,
        process=process,
        law=law,
        replayed=replayed,
        modelled=modelled,
        why=why,
        seconds=time.perf_counter() - began,
        warnings=tuple(warnings),
    )


def _log_mean(wait: NDArray[np.float64], confidence: float) -> Estimate:
    """The mean, with the interval that the means of successive stretches of the log give it."""
    mean = float(np.mean(wait))
    if len(wait) < 2 * STRETCHES:
        return Estimate(mean, 0.0, np.inf)
    means = np.array([float(np.mean(part)) for part in np.array_split(wait, STRETCHES)])
    around = mean_of(means, confidence)
    return Estimate(mean, max(0.0, mean - (around.estimate - around.low)), mean + (around.high - around.estimate))
