"""How many jobs a unit of time can the cluster take?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.backends import backend as choose
from loynes.kernels.reference import whole_blocks
from loynes.model import Model, load
from loynes.results.records import Threshold
from loynes.stationary.backward import initial_length
from loynes.study.options import MAX_JOBS, check_common
from loynes.study.progress import Progress, silent
from loynes.threshold.doubling import doubling
from loynes.threshold.piles import Mix, Piles

DISCIPLINES = ("fcfs",)


def stability(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    precision: float = 0.005,
    confidence: float = 0.99,
    discipline: str = "fcfs",
    replicas: int | None = None,
    max_jobs: float = MAX_JOBS,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> Threshold:
    """The stability threshold, with a bracket that holds it with the given confidence.

    Runs until (high - low) / estimate <= precision and two successive estimates agree to it (the paper's Algorithm 2).
    """
    began = time.perf_counter()
    check_common(precision=precision, confidence=confidence, seed=seed, replicas=replicas, max_jobs=max_jobs)
    if discipline not in DISCIPLINES:
        raise UsageError(f"discipline {discipline!r}: must be one of {', '.join(DISCIPLINES)}")
    model = load(model)
    table = job_table(model, None)
    mix = _mix(model)
    piles = Piles(table, needs_of(model), mix, seed=seed, replicas=replicas or mix.replicas, backend=backend)
    doubled = doubling(
        piles,
        min(initial_length(table), whole_blocks(int(min(max_jobs, MAX_JOBS) / (2 * piles.replicas)))),
        precision=precision,
        confidence=confidence,
        max_jobs=max_jobs,
        progress=progress,
    )
    warnings: tuple[str, ...] = ()
    if not doubled.settled:
        width = 2.0 * doubled.threshold.relative
        reached = f"a bracket of relative width {width:.2g}, above the precision {precision:g}"
        if width <= precision:
            reached = f"two successive estimates that do not yet agree to {precision:g}"
        warnings += (f"stopped at {piles.jobs:.3g} jobs with {reached}; allow more with --max-jobs",)
    if model.highest_moment < 2:
        warnings += ("a service has no finite variance, so the bracket's confidence cannot be trusted",)
    found = doubled.threshold
    # No discipline serves more work than there are servers.
    bounded = Estimate(min(found.estimate, model.ideal), min(found.low, model.ideal), min(found.high, model.ideal))
    return Threshold(
        model=model,
        threshold=bounded,
        ideal=model.ideal,
        hol_loss=doubled.hol_loss.within(0.0, model.servers),
        discipline=discipline,
        method="doubling",
        confidence=confidence,
        replicas=piles.replicas,
        variance_reduction=doubled.reduction,
        jobs=piles.jobs,
        seconds=time.perf_counter() - began,
        seed=seed,
        backend=choose(backend).NAME,
        warnings=warnings,
    )


def _mix(model: Model) -> Mix:
    columns = ((c.probability, c.service.mean, c.service.variance, c.need) for c in model.classes)
    return Mix(*np.array(list(columns), dtype=np.float64).T)
