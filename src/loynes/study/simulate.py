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
from loynes.inputs.tables import job_table
from loynes.kernels.events.engine import Plan, Simulated
from loynes.kernels.events.engine import simulate as run
from loynes.kernels.events.loop import POLICIES
from loynes.model import Model
from loynes.model import load as read
from loynes.results import from_events
from loynes.results.simulation import Simulation
from loynes.results.tidy import ALL_JOBS
from loynes.stationary.backward import backward_samples
from loynes.stationary.certificate import Certificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples
from loynes.study.options import DELTA, Asked, asked_rate, check_common
from loynes.study.progress import Progress, silent

REPLICAS = 32
JOBS = 200_000
BURNED_IN = 0.25
# With moments to look at, replicas are what there is to average over.
REPLICAS_AT_MOMENTS = 512
STARTS = ("empty", "stationary")
# Policies that take a number, and what it is called.
OPTIONS = {"smash": "window", "quick-swap": "threshold"}
GUESSING = ("easy", "conservative", "shortest-first")

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
    jobs: int | None = None,
    replicas: int | None = None,
    burn_in: int | None = None,
    at: Iterable[float] = (),
    confidence: float = 0.99,
    seed: int = 1,
    progress: Progress = silent,
) -> Simulation:
    """Waits, responses and slowdowns under a policy, and the state of the cluster on average and at the times `at`.

    Policies: fcfs, first-fit, easy and conservative (backfilling by run times that are guessed `inflation` times too
    long), most-servers-first, least-servers-first, shortest-first, smash with a `window`, quick-swap with a
    `threshold`, server-filling (preemptive). The jobs are those of the recurrence: same seed, same arrivals, needs and
    services. `load` is a fraction of the threshold of first come, first served; other policies may take more.

    Replicas start `empty`, or `stationary`: with perfect samples of the workload under first come, first served (their
    servers are busy with it, and no job is in line), or with the workloads of a file that `sample` wrote. `burn_in`
    jobs a replica are left out (a quarter of `jobs`, none from stationary).
    """
    began = time.perf_counter()
    check_common(confidence=confidence, seed=seed, replicas=replicas, burn_in=burn_in)
    option = _option(policy, window, threshold, inflation)
    moments = _moments(at)
    model = read(model)
    _check(model, policy)
    asked = _rate(model, policy, rate, load, seed, progress)
    count = replicas or (REPLICAS_AT_MOMENTS if len(moments) else REPLICAS)
    if jobs is None:
        jobs = JOBS if not len(moments) else int(1.1 * asked.rate * moments[-1]) + 256
    if not 1 <= jobs <= 2**40:
        raise UsageError(f"jobs {jobs}: must be at least 1")
    table = job_table(model, asked.rate)
    workload, warnings = _start(str(start), model, asked, count, seed, progress)
    if burn_in is None:
        burn_in = int(BURNED_IN * jobs) if workload is None and not len(moments) else 0
    plan = Plan(
        table, policy, option, inflation, seed, burn_in, jobs, model.mean_service, moments, workload, bool(len(moments))
    )
    ended = [0]

    def done() -> None:
        ended[0] += 1
        progress(ended[0] / count, f"{ended[0]} of {count} replicas")

    progress(0.0, f"{policy}, {count} replicas")
    found = run(plan, count, done)
    warnings += _shortfalls(found, policy, jobs)
    classes, slowdown = from_events.waits(model, found, confidence)
    if ALL_JOBS not in classes:
        raise UnstableError(f"rate {asked.rate:g}: no job ended under {policy}; it seems to be unstable")
    overall = classes.pop(ALL_JOBS)
    result = Simulation(
        model=model.with_rate(asked.rate),
        rate=asked.rate,
        policy=policy,
        start=str(start),
        overall=overall,
        classes=classes,
        slowdown=slowdown,
        system=from_events.system(model, found, confidence),
        confidence=confidence,
        replicas=count,
        jobs=sum(one.arrived for one in found),
        seconds=time.perf_counter() - began,
        seed=seed,
        details={"burn_in": burn_in, "inflation": inflation} | ({OPTIONS[policy]: option} if policy in OPTIONS else {}),
        moments=from_events.moments(model, asked.rate, moments, found, confidence),
        warnings=warnings,
    )
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return result


def _option(policy: str, window: int | None, threshold: int | None, inflation: float) -> int:
    if policy not in POLICIES:
        raise UsageError(f"policy {policy!r}: must be one of {', '.join(POLICIES)}")
    given = {"window": window, "threshold": threshold}
    for name, value in given.items():
        if value is not None and OPTIONS.get(policy) != name:
            raise UsageError(f"{name} {value}: means nothing to policy {policy!r}")
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: must be at least 1")
    if not 1.0 <= inflation < math.inf:
        raise UsageError(f"inflation {inflation:g}: a guess is at least as long as the job, 1 or more")
    if inflation != 1.0 and policy not in GUESSING:
        raise UsageError(f"inflation {inflation:g}: means nothing to policy {policy!r}")
    chosen = given[OPTIONS[policy]] if policy in OPTIONS else None
    return {"smash": 10, "quick-swap": 1}.get(policy, 1) if chosen is None else chosen


def _moments(at: Iterable[float]) -> Array:
    found = np.array(sorted(float(x) for x in at))
    if len(found) and not (found[0] >= 0 and np.isfinite(found[-1])):
        raise UsageError("at: must be finite times of at least 0")
    return found


def _check(model: Model, policy: str) -> None:
    if any(c.specific for c in model.classes):
        raise UsageError("events: jobs that want particular servers are not simulated event by event")
    if model.order != "fcfs" and policy == "fcfs":
        raise UsageError(f"discipline {model.order!r}: is the recurrence's; here the policy says who starts")
    if policy == "server-filling":
        needs = [model.demand(c)[0] for c in model.classes]
        if model.resources or any(n & (n - 1) for n in needs) or model.servers & (model.servers - 1):
            python_warnings.warn(
                "server-filling is made for one kind of servers, whose number and all needs are powers of two: "
                "elsewhere it may leave servers idle",
                LoynesWarning,
                stacklevel=3,
            )
        if model.resources:
            raise UsageError("policy 'server-filling': is for identical servers")


def _rate(
    model: Model, policy: str, rate: float | None, load: float | None, seed: int, progress: Progress
) -> Asked:  # fmt: skip
    """Other policies may take more than first come, first served; none more than the ideal."""
    if policy == "fcfs" or load is not None:
        return asked_rate(model, rate, load, seed=seed, backend="cpu", progress=progress)
    rate = model.rate if rate is None else rate
    if rate is None or not 0 < rate < math.inf:
        raise UsageError("say --rate R (jobs per unit of time) or --load X")
    if rate >= model.ideal:
        raise UnstableError(f"rate {rate:g} is unstable: {model.size} take less than {model.ideal:.6g} even unblocked")
    from loynes.estimate import Estimate

    return Asked(rate, Estimate(math.nan, 0.0, model.ideal), "not asked for", ())


def _start(
    start: str, model: Model, asked: Asked, count: int, seed: int, progress: Progress
) -> tuple[Array | None, tuple[str, ...]]:
    if start == "empty":
        return None, asked.warnings
    if start != "stationary":
        return _read_workloads(Path(start), model, count), asked.warnings
    if math.isnan(asked.threshold.estimate):
        asked = asked_rate(model, asked.rate, None, seed=seed, backend="cpu", progress=progress)
    table = job_table(model, asked.rate)
    certificate = certify(model, asked.rate, asked.threshold, seed=seed, max_jobs=4e9, watch=progress)
    if isinstance(certificate, Certificate):
        batches = perfect_samples(table, certificate, count, delta=DELTA, seed=seed)
        return np.concatenate([batch.workload for batch in batches]), asked.warnings
    text = f"no certificate, replicas start from backward samples, which are lower bounds: {certificate.why}"
    batches = backward_samples(table, count, seed=seed)
    return np.concatenate([batch.workload for batch in batches]), (*asked.warnings, text)


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


def _shortfalls(found: list[Simulated], policy: str, jobs: int) -> tuple[str, ...]:
    overrun = sum(one.overrun for one in found)
    if not overrun:
        return ()
    missing = sum(jobs - one.seen.done for one in found)
    return (
        f"{missing} observed jobs had not ended in {overrun} of {len(found)} replicas: under {policy} some jobs "
        "starve, or the rate is unstable (an empirical finding); averages leave them out and are too low",
    )
