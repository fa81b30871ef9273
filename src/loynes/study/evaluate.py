"""How long do jobs wait at this rate, and what does blocking cost?"""

from __future__ import annotations

import math
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from loynes.errors import LoynesWarning, UsageError
from loynes.inputs.tables import job_table
from loynes.kernels.backends import backend as choose
from loynes.kernels.backends import settle
from loynes.model import Model
from loynes.model import load as read
from loynes.results.reading import read_result
from loynes.results.records import Evaluation
from loynes.study.check import moment_warnings
from loynes.study.options import DELTA, asked_rate, check_common, check_discipline, cpu_seconds
from loynes.study.progress import Progress, heard_by, silent
from loynes.study.runfolder import answered, finish, recording
from loynes.study.runs import Done, Run
from loynes.study.spread import spread_over

# Method -> the options that mean something to it alone.
METHODS = {
    "sandwich": ("replicas", "burn-in"),
    "perfect": ("delta",),
    "backward": ("confirmations", "initial-length"),
    "forward": ("replicas", "burn-in"),
}
# What a run's folder says was asked.
RECORDED = (
    "rate", "load", "method", "precision", "samples", "exceeds", "confidence", "replicas", "burn_in", "confirmations",
    "initial_length", "delta", "max_jobs", "seed", "backend",
)  # fmt: skip


def evaluate(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    rate: float | None = None,
    load: float | None = None,
    method: str = "sandwich",
    precision: float = 0.01,
    samples: int | None = None,
    exceeds: Iterable[float] = (),
    confidence: float = 0.99,
    replicas: int | None = None,
    burn_in: int | None = None,
    confirmations: int | None = None,
    initial_length: int | None = None,
    delta: float | None = None,
    discipline: str | None = None,
    max_jobs: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> Evaluation:
    """Waits of every class, and the state of the cluster, at one arrival rate.

    `rate` is in jobs per unit of time, `load` a fraction of the threshold; one of them, or the model's own rate.
    With `samples` so many arrivals (chains, rounded up to whole blocks of jobs) or samples (the rest) are observed;
    otherwise the run goes on until the overall mean wait's half-width is below `precision` times the mean (or times a
    thousandth of the mean service, if the wait is smaller than that), or `max_jobs` jobs (4e9; on a GPU 4e11) have been
    simulated.
    `exceeds` asks for P(wait > x) at each of its values.

    Methods: `sandwich`, long chains from below and from above, and `perfect`, independent samples that are stationary
    but for a probability `delta` (1e-9), both with a certificate; where there can be none, they fall back to a lower
    bound and say so. `forward`, chains from empty, and `backward`, the paper's sub-perfect samples, are lower bounds.

    Sandwich and forward: `replicas` independent chains (128, fewer where they are dear, as many as fill a GPU), each
    burned in for `burn_in` jobs (by default from a pilot). Backward: samples start `initial_length` jobs ago (long
    enough, by default, to see every class) and double until `confirmations` (1) successive workloads are equal.

    With a `folder` the run is recorded there as it goes, and its result in the end; asked again after an interruption,
    it goes on where it was, to the same bytes. With an `executor` (a Dask client or any concurrent.futures.Executor)
    its workers simulate: also to the same bytes.
    """
    began, options = time.perf_counter(), {name: value for name, value in locals().items() if name in RECORDED}
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    check_common(
        precision=precision,
        confidence=confidence,
        seed=seed,
        replicas=replicas,
        samples=samples,
        confirmations=confirmations,
        burn_in=burn_in,
        initial_length=initial_length,
        delta=delta,
        max_jobs=max_jobs,
    )
    given = {
        "replicas": replicas,
        "burn-in": burn_in,
        "confirmations": confirmations,
        "initial-length": initial_length,
        "delta": delta,
    }
    for name, value in given.items():
        if value is not None and name not in METHODS[method]:
            raise UsageError(f"{name} {value}: means nothing to method {method!r}")
    options["exceeds"] = tuple(float(x) for x in exceeds)
    if not all(0 <= x < math.inf for x in options["exceeds"]):
        raise UsageError("exceeds: must be finite times of at least 0")
    check_discipline(discipline)
    model = read(model).with_discipline(discipline)
    if answered(folder, "evaluate", model, options):
        return cast(Evaluation, read_result(folder or ""))
    with spread_over(executor), heard_by(progress):
        choose(backend)
        with recording(folder, "evaluate", model, options):
            found, _, _ = ran(model, began=began, progress=progress, **options)
    finish(folder, found)
    for text in found.warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return found


def ran(
    model: Model,
    *,
    rate: float | None,
    load: float | None,
    method: str,
    precision: float,
    samples: int | None,
    exceeds: tuple[float, ...],
    confidence: float,
    replicas: int | None,
    burn_in: int | None,
    confirmations: int | None,
    initial_length: int | None,
    delta: float | None,
    max_jobs: float | None,
    seed: int,
    backend: str,
    began: float,
    progress: Progress,
) -> tuple[Evaluation, Run, Done]:
    """The evaluation, and what it was made from."""
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    table, found_load = job_table(model, asked.rate), asked.rate / asked.threshold.estimate
    backend = settle(backend, cpu_seconds(table, found_load, precision, samples, confidence), table)
    max_jobs = choose(backend).most_jobs if max_jobs is None else max_jobs
    run = Run(
        model, asked.rate, asked.threshold, precision, samples, exceeds, confidence, max_jobs, seed, backend, progress
    )
    match method:
        case "sandwich":
            done = run.sandwich(replicas, burn_in)
        case "perfect":
            done = run.perfect(delta or DELTA)
        case "backward":
            done = run.backward(confirmations or 1, initial_length)
        case _:
            done = run.forward(replicas, burn_in)
    warnings = (*asked.warnings, *moment_warnings(model), *done.warnings, *run.shortfalls(done))
    found = Evaluation(
        model=model.with_rate(asked.rate),
        rate=asked.rate,
        threshold=asked.threshold,
        method=done.method,
        overall=done.measures.overall,
        classes=done.measures.classes,
        system=done.measures.system,
        confidence=confidence,
        replicas=done.replicas,
        jobs=done.jobs,
        seconds=time.perf_counter() - began,
        seed=seed,
        backend=choose(backend).name,
        details={"threshold": asked.source} | done.details,
        certificate=done.certificate,
        why=done.why,
        warnings=warnings,
    )
    return found, run, done
