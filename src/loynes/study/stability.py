"""How many jobs a unit of time can the cluster take?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.backends import backend as choose
from loynes.kernels.reference import whole_blocks
from loynes.model import Model, load
from loynes.results.reading import read_result
from loynes.results.records import Threshold
from loynes.stationary.backward import initial_length
from loynes.study.options import check_common, check_discipline
from loynes.study.progress import Progress, heard_by, silent
from loynes.study.runfolder import answered, finish, recording
from loynes.study.spread import spread_over
from loynes.threshold.bracket import bracket
from loynes.threshold.controls import Mix
from loynes.threshold.doubling import doubling
from loynes.threshold.piles import Piles

METHODS = ("auto", "bracket", "regenerative", "doubling")
# Cycles a replica should see, on average, for the regenerative formula to be worth its last, unfinished one.
CYCLES = 8
# What a run's folder says was asked.
RECORDED = ("precision", "confidence", "method", "replicas", "max_jobs", "seed", "backend")


def stability(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    precision: float = 0.005,
    confidence: float = 0.99,
    method: str = "auto",
    discipline: str | None = None,
    replicas: int | None = None,
    max_jobs: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> Threshold:
    """The stability threshold, with a bracket that holds it with the given confidence.

    Runs until (high - low) / estimate <= precision. Methods: `bracket`, from the pile's top and bottom; `regenerative`,
    where a class needs all servers; `auto`, the better of these two; `doubling`, the paper's Algorithm 2, which stops
    when two successive estimates agree to the precision. Disciplines: `fcfs`, strictly in turn, on the servers that are
    free first; `random` (random assignment) picks them blindly; `reserving` lets jobs behind a blocked one start on
    servers that it does not take (see docs/resources.md). By default the model's own, `fcfs` unless it says otherwise.
    With a `folder` the run is recorded there as it goes; asked again after an interruption, it goes on where it was.
    With an `executor` (a Dask client or any concurrent.futures.Executor) its workers simulate, to the same result.
    """
    began, options = time.perf_counter(), {name: value for name, value in locals().items() if name in RECORDED}
    check_common(precision=precision, confidence=confidence, seed=seed, replicas=replicas, max_jobs=max_jobs)
    check_discipline(discipline)
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    model = load(model).with_discipline(discipline)
    if answered(folder, "stability", model, options):
        return cast(Threshold, read_result(folder or ""))
    with spread_over(executor), heard_by(progress):
        choose(backend)
        with recording(folder, "stability", model, options):
            found = _stability(model, began=began, progress=progress, **options)
    finish(folder, found)
    return found


def _stability(
    model: Model,
    *,
    precision: float,
    confidence: float,
    method: str,
    replicas: int | None,
    max_jobs: float | None,
    seed: int,
    backend: str,
    began: float,
    progress: Progress,
) -> Threshold:
    limit = choose(backend).most_jobs
    max_jobs = limit if max_jobs is None else max_jobs
    table, mix = job_table(model, None), Mix.of(model)
    piles = Piles(
        table,
        needs_of(model),
        mix,
        seed=seed,
        replicas=replicas or mix.replicas,
        backend=backend,
    )
    most = whole_blocks(int(min(max_jobs, limit) / (2 * piles.replicas)))
    initial, method = _plan(model, mix, method, initial_length(table), most)
    limits: dict[str, Any] = {"precision": precision, "confidence": confidence, "max_jobs": max_jobs}
    if method == "doubling":
        found = doubling(piles, initial, **limits, watch=progress)
    else:
        found = bracket(piles, initial, regenerative=method == "regenerative", **limits, watch=progress)
    warnings: tuple[str, ...] = ()
    if not found.settled:
        width = 2.0 * found.threshold.relative
        reached = f"a bracket of relative width {width:.2g}, above the precision {precision:g}"
        if method == "doubling":
            reached = f"two successive estimates that do not yet agree to {precision:g}"
        warnings += (f"stopped at {piles.jobs:.3g} jobs with {reached}; allow more with --max-jobs",)
    if model.highest_moment < 2:
        warnings += ("a service has no finite variance, so the bracket's confidence cannot be trusted",)
    if found.threshold.low > model.ideal * (1.0 + 1e-9):
        warnings += ("the sampled bracket lies above the ideal rate: its confidence cannot be trusted",)
    losses = {
        kind: loss.within(0.0, units)
        for kind, units, loss in zip(model.kinds, model.units, found.hol_loss, strict=True)
    }
    # No discipline serves more work than there are servers.
    bounded = Estimate(*(min(x, model.ideal) for x in vars(found.threshold).values()))
    return Threshold(
        model=model,
        threshold=bounded,
        ideal=model.ideal,
        hol_loss=losses[model.kinds[model.bottleneck]],
        resources=losses if model.resources else {},
        discipline=model.order,
        method=method,
        confidence=confidence,
        replicas=piles.replicas,
        variance_reduction=found.reduction,
        jobs=piles.jobs,
        seconds=time.perf_counter() - began,
        seed=seed,
        backend=choose(backend).name,
        warnings=warnings,
    )


def _plan(model: Model, mix: Mix, method: str, initial: int, most: int) -> tuple[int, str]:
    """The first length, and the method that `auto` stands for."""
    p = mix.regeneration
    if method == "regenerative" and (p == 0 or model.order != "fcfs"):
        need = "independent jobs, a class of which needs all servers," if p == 0 else "discipline 'fcfs'"
        raise UsageError(f"method 'regenerative': needs {need}")
    cycles = whole_blocks(int(CYCLES / p)) if p > 0 else 0
    if method == "auto":
        method = "regenerative" if p > 0 and model.order == "fcfs" and cycles <= most else "bracket"
    if method == "regenerative":
        initial = max(initial, cycles)
    return min(initial, most), method
