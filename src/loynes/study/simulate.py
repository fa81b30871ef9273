"""Event by event: what another policy would do, and how the cluster gets from one state to another."""

from __future__ import annotations

import math
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesWarning, UnstableError, UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import job_table
from loynes.kernels.events.engine import Events, ReplicaRecord
from loynes.model import Model
from loynes.model import load as read
from loynes.model.fields import LARGEST, SMALLEST
from loynes.results import from_events
from loynes.results.reading import read_result
from loynes.results.simulation import Simulation
from loynes.results.tidy import ALL_JOBS
from loynes.stationary.backward import backward_samples
from loynes.stationary.certificate import Certificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples
from loynes.study.options import DELTA, Asked, asked_rate, check_common
from loynes.study.orders import Order, check_order, order_of
from loynes.study.progress import Progress, silent
from loynes.study.replicas import run_replicas
from loynes.study.runfolder import answered, finish, journal_of
from loynes.study.scenario import changes_of

REPLICAS = 32
JOBS = 200_000
BURNED_IN = 0.25
# With moments to look at, replicas are what there is to average over.
REPLICAS_AT_MOMENTS = 512
# Moments, equally apart, where only a horizon is given.
MOMENTS = 10
STARTS = ("empty", "stationary")
# What a run's folder says was asked.
RECORDED = ("policy", "window", "threshold", "inflation", "rate", "load", "start", "horizon", "at", "jobs", "replicas",
            "burn_in", "confidence", "seed")  # fmt: skip

Array = NDArray[np.float64]


def simulate(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    policy: str = "fcfs",
    window: int | None = None,
    threshold: int | None = None,
    inflation: float = 1.0,
    rate: float | None = None,
    load: float | None = None,
    start: str | Path = "empty",
    horizon: float | None = None,
    at: Iterable[float] = (),
    jobs: int | None = None,
    replicas: int | None = None,
    burn_in: int | None = None,
    confidence: float = 0.99,
    seed: int = 1,
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> Simulation:
    """Waits, responses and slowdowns under a policy, and the state of the cluster on average and at the times `at`.

    Policies: fcfs, first-fit, easy and conservative (backfilling by run times that are guessed `inflation` times too
    long), most-servers-first, least-servers-first, shortest-first, smash with a `window`, quick-swap with a
    `threshold`, server-filling (preemptive). The jobs are those of the recurrence: same seed, same arrivals, needs and
    services. `load` is a fraction of the threshold of first come, first served; other policies may take more.

    Replicas start `empty`; or `stationary`, in states that are perfect samples under first come, first served, running
    jobs and the line; or with the workloads of a file that `sample` wrote, which servers are busy with while nobody is
    in line. `burn_in` jobs a replica are left out (a quarter of `jobs`, none from stationary).

    With a `horizon`, or moments `at`, every replica runs from 0 to that time, through the model's scenario if it has
    one; averages are over all jobs that arrive until then, and over that time. The rate may be an unstable one.
    """
    began = time.perf_counter()
    check_common(confidence=confidence, seed=seed, replicas=replicas, burn_in=burn_in)
    order = order_of(policy, window, threshold, inflation)
    moments, horizon = _times(horizon, at)
    model = read(model)
    warnings = check_order(model, order)
    if horizon is None and model.scenario:
        raise UsageError("the model has a scenario: say until when to follow it, --horizon T")
    if horizon is not None and (jobs is not None or burn_in is not None):
        raise UsageError("jobs and burn-in: mean nothing with a horizon: all jobs that arrive until then are observed")
    at, start = moments.tolist(), str(start)
    options = {name: value for name, value in locals().items() if name in RECORDED}
    if answered(folder, "simulate", model, options):
        known: Simulation = read_result(folder or "")
        return known
    asked = rate_of(model, order, rate, load, judged=horizon is None, seed=seed, progress=progress)
    count = replicas or (REPLICAS if horizon is None else REPLICAS_AT_MOMENTS)
    jobs = JOBS if jobs is None else jobs
    if not 1 <= jobs <= 2**40:
        raise UsageError(f"jobs {jobs}: must be at least 1")
    begun, said = _start(start, model, asked, count, seed, progress)
    if burn_in is None:
        burn_in = int(BURNED_IN * jobs) if not begun and horizon is None else 0
    plan = Events(
        job_table(model, asked.rate), order.rule, order.option, order.inflation, seed, burn_in, jobs,
        model.mean_service, horizon, moments, from_events.SOON / asked.rate, changes=changes_of(model), **begun,
    )  # fmt: skip
    progress(0.0, f"{order.label}, {count} replicas")
    with journal_of(folder, "simulate", model, options) as journal:
        found = run_replicas(plan, count, executor=executor, journal=journal, progress=progress)
    warnings += said + shortfalls(found, order)
    result = record_of(
        model, asked.rate, order, found, confidence, seed=seed, start=start, horizon=horizon, moments=moments,
        burn_in=burn_in, seconds=time.perf_counter() - began, warnings=warnings,
    )  # fmt: skip
    finish(folder, result)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return result


def record_of(
    model: Model, rate: float, order: Order, found: list[ReplicaRecord], confidence: float, *, seed: int, start: str,
    horizon: float | None, moments: Array, burn_in: int, seconds: float, warnings: tuple[str, ...],
) -> Simulation:  # fmt: skip
    """What replicas saw, as a result."""
    classes, slowdown = from_events.waits(model, found, confidence)
    if ALL_JOBS not in classes:
        raise UnstableError(f"rate {rate:g}: no job ended under {order.policy}; it seems to be unstable")
    overall = classes.pop(ALL_JOBS)
    return Simulation(
        model=model.with_rate(rate),
        rate=rate,
        policy=order.policy,
        start=start,
        overall=overall,
        classes=classes,
        slowdown=slowdown,
        system=from_events.system(model, found, confidence),
        confidence=confidence,
        replicas=len(found),
        jobs=sum(one.arrived for one in found),
        seconds=seconds,
        seed=seed,
        horizon=horizon,
        details={"burn_in": burn_in} | order.details,
        moments=from_events.moments(model, rate, moments, found, confidence),
        warnings=warnings,
    )


def _times(horizon: float | None, at: Iterable[float]) -> tuple[Array, float | None]:
    """Moments in order, and the horizon: each by default from the other."""
    found = np.array(sorted({float(x) for x in at}))
    if len(found) and not (found[0] >= 0 and np.isfinite(found[-1])):
        raise UsageError("at: must be finite times of at least 0")
    if horizon is None:
        if not len(found):
            return found, None
        if found[-1] == 0:
            raise UsageError("at 0: say a horizon, too")
        return found, float(found[-1])
    if not 0 < horizon < math.inf:
        raise UsageError(f"horizon {horizon:g}: must be a finite time above 0")
    if len(found) and found[-1] > horizon:
        raise UsageError(f"at {found[-1]:g}: is after the horizon, {horizon:g}")
    tenths: Array = np.arange(1.0, MOMENTS + 1) * (horizon / MOMENTS)
    return found if len(found) else tenths, float(horizon)


def rate_of(
    model: Model, order: Order, rate: float | None, load: float | None, *, judged: bool = True, seed: int,
    progress: Progress,
) -> Asked:  # fmt: skip
    """Other policies may take more than first come, first served; none, if the rate is judged, more than the ideal."""
    settled = model.model_copy(update={"scenario": None})
    strict = order.policy == "fcfs" and judged
    if load is not None and rate is None and not strict:
        if not 1e-9 <= load < math.inf:
            raise UsageError(f"load {load:g}: must be at least 1e-9")
        # A load of any size is a multiple of the threshold, which is asked for at a load below 1.
        found = asked_rate(settled, None, min(load, 0.9), seed=seed, backend="cpu", progress=progress)
        rate, load = load * found.threshold.estimate, None
    if strict or load is not None:
        return asked_rate(settled, rate, load, seed=seed, backend="cpu", progress=progress)
    rate = model.rate if rate is None else rate
    if rate is None:
        raise UsageError("the model has no arrivals.rate; say --rate R (jobs per unit of time) or --load X (0 to 1)")
    if not SMALLEST <= rate <= LARGEST:
        raise UsageError(f"rate {rate:g}: must be a finite number above 0")
    if judged and rate >= model.ideal:
        raise UnstableError(f"rate {rate:g} is unstable: {model.size} take less than {model.ideal:.6g} even unblocked")
    return Asked(rate, Estimate(math.nan, 0.0, model.ideal), "not asked for", ())


def _start(
    start: str, model: Model, asked: Asked, count: int, seed: int, progress: Progress
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What replicas begin with, as a plan has it, and warnings."""
    if start == "empty":
        return {}, asked.warnings
    if start != "stationary":
        return {"workload": _read_workloads(Path(start), model, count)}, asked.warnings
    if math.isnan(asked.threshold.estimate):
        settled = model.model_copy(update={"scenario": None})
        asked = asked_rate(settled, asked.rate, None, seed=seed, backend="cpu", progress=progress)
    table, said = job_table(model, asked.rate), asked.warnings
    certificate = certify(model, asked.rate, asked.threshold, seed=seed, max_jobs=4e9, watch=progress)
    if isinstance(certificate, Certificate):
        batches = perfect_samples(table, certificate, count, delta=DELTA, seed=seed)
    else:
        batches = backward_samples(table, count, seed=seed)
        why = certificate.why
        said += (f"no certificate, replicas start from backward samples, which are lower bounds: {why}",)
    return {"past": np.concatenate([batch.length for batch in batches])}, said


def _read_workloads(path: Path, model: Model, count: int) -> Array:
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
    return np.ascontiguousarray(rows[np.arange(count) % len(rows)])


def shortfalls(found: list[ReplicaRecord], order: Order) -> tuple[str, ...]:
    """What is to be said of jobs that were to be observed and did not end."""
    overrun = sum(one.overrun for one in found)
    if not overrun:
        return ()
    missing = sum(one.observed - one.observations.ended for one in found)
    return (
        f"{missing} observed jobs had not ended in {overrun} of {len(found)} replicas: under {order.policy} some jobs "
        "starve, or the rate is unstable (an empirical finding); averages leave them out and are too low",
    )
