"""What bounds the workload from above at this rate, and how sure is it?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loynes.kernels.backends import backend as choose
from loynes.model import Model
from loynes.model import load as read
from loynes.stationary.certificate import Certificate, NoCertificate
from loynes.stationary.majorant import certify as find
from loynes.study.options import asked_rate, check_common, check_discipline
from loynes.study.progress import Progress, silent


def certify(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    rate: float | None = None,
    load: float | None = None,
    discipline: str | None = None,
    max_jobs: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> Certificate | NoCertificate:
    """The certificate that `evaluate` rests on at this rate, or why there is none (which is false in a condition).

    Printed, it says what was assumed and how sure it is. An unstable rate raises UnstableError.
    """
    check_common(seed=seed, max_jobs=max_jobs)
    max_jobs = choose(backend).most_jobs if max_jobs is None else max_jobs
    check_discipline(discipline)
    model = read(model).with_discipline(discipline)
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    return find(model, asked.rate, asked.threshold, seed=seed, max_jobs=max_jobs, backend=backend, watch=progress)
