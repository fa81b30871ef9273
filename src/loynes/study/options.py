"""Checks of the options that questions share, and the arrival rate they are asked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loynes.errors import UnstableError, UsageError
from loynes.estimate import Estimate, student
from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.threads import cores
from loynes.kernels.shape import step_cost
from loynes.model import Model
from loynes.model.fields import LARGEST, SMALLEST
from loynes.stationary.backward import initial_length
from loynes.study.progress import Progress, silent

DISCIPLINES = ("fcfs", "reserving", "random")
# With which probability a perfect sample may be none.
DELTA = 1e-9

# How well the threshold is known before a rate is judged by it, and how well where the rate comes near.
JUDGED_WITHIN = 0.01
JUDGED_NEARLY_WITHIN = 0.001
# Jobs to spend on that at most; what is left uncertain shows in the threshold's bracket.
JUDGED_BY_JOBS = 3e8
JUDGED_NEARLY_BY_JOBS = 3e9


def check_common(
    *,
    precision: float | None = None,
    confidence: float | None = None,
    seed: int | None = None,
    replicas: int | None = None,
    samples: int | None = None,
    confirmations: int | None = None,
    burn_in: int | None = None,
    initial_length: int | None = None,
    delta: float | None = None,
    max_jobs: float | None = None,
) -> None:
    """Refuse values outside their range, by name."""
    _between("precision", precision, 0.0, 1.0)
    _between("confidence", confidence, 0.0, 1.0)
    _between("delta", delta, 0.0, 0.1)
    _at_least("seed", seed, 0, 2**64 - 1)
    _at_least("replicas", replicas, 2, 100_000)
    _at_least("samples", samples, 2, 2**32 - 1)
    _at_least("confirmations", confirmations, 1, 8)
    _at_least("burn-in", burn_in, 0, 2**62)
    _at_least("initial-length", initial_length, 1, 2**29)
    _at_least("max-jobs", max_jobs, 1, math.inf)


def check_discipline(discipline: str | None) -> None:
    if discipline is not None and discipline not in DISCIPLINES:
        raise UsageError(f"discipline {discipline!r}: must be one of {', '.join(DISCIPLINES)}")


def _between(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low < value < high:
        raise UsageError(f"{name} {value:g}: must be above {low:g} and below {high:g}")


def _at_least(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        limit = f"at most {high}" if value > high else f"at least {low}"
        raise UsageError(f"{name} {value}: must be {limit}")


def cpu_seconds(table: JobTable, load: float, precision: float, samples: int | None, confidence: float) -> float:
    """Roughly how long the CPU would take for waits at a load: what `auto` chooses a backend by."""
    if samples is not None:
        jobs = 8.0 * samples * initial_length(table)
    else:
        # As waits of a queue behave near saturation; the factor is that of the built-in models, to an order.
        jobs = 3.0 * table.servers * (student(confidence, 100) / precision / (1.0 - load)) ** 2
    return jobs * step_cost(table) * 1e-9 / cores()


@dataclass(frozen=True)
class Asked:
    """The rate a question is asked at, and the threshold that it was found to be below."""

    rate: float
    threshold: Estimate
    source: str  # where the threshold comes from
    warnings: tuple[str, ...]


def asked_rate(
    model: Model,
    rate: float | None,
    load: float | None,
    *,
    seed: int,
    backend: str,
    progress: Progress = silent,
) -> Asked:
    """The rate from --rate, --load or the file, judged by the threshold; an unstable one is refused.

    The exact threshold is taken where a formula or a small Markov chain gives it, and else the sampled one.
    """
    from loynes.study.exact import cheap_threshold
    from loynes.study.stability import stability

    if rate is not None and load is not None:
        raise UsageError("give a rate or a load, not both")
    if load is None:
        rate = model.rate if rate is None else rate
        if rate is None:
            raise UsageError(
                "the model has no arrivals.rate; say --rate R (jobs per unit of time) or --load X (0 to 1)"
            )
        if not SMALLEST <= rate <= LARGEST:
            raise UsageError(f"rate {rate:g}: must be a finite number above 0")
        if rate >= model.ideal:
            raise UnstableError(
                f"rate {rate:g} is unstable: {model.size} take less than {model.ideal:.6g} even unblocked"
            )
    elif not 1e-9 <= load < math.inf:
        raise UsageError(f"load {load:g}: must be at least 1e-9 and below 1")
    elif load >= 1:
        raise UnstableError(f"load {load:g} is unstable: it must be below 1, a fraction of the threshold")

    warnings: tuple[str, ...] = ()
    if model.scenario:
        warnings = ("the model's scenario is left out: this answer is for a rate and servers that never change",)
    known = cheap_threshold(model)
    if known is not None:
        value, source = known
        rate = load * value if load is not None else rate
        assert rate is not None
        if rate >= value:
            raise UnstableError(f"rate {rate:g} is unstable: the threshold is {value:.10g} (exact: {source})")
        return Asked(rate, Estimate.exact(value), f"exact: {source}", warnings)

    def threshold(precision: float, max_jobs: float) -> Estimate:
        return stability(
            model, precision=precision, max_jobs=max_jobs, seed=seed, backend=backend, progress=progress
        ).threshold

    if rate is None:
        assert load is not None
        # Waits grow like 1 / (1 - load): what is left to the threshold must be known, not only the threshold.
        found = threshold(max(JUDGED_WITHIN * (1 - load), 1e-4), JUDGED_BY_JOBS)
        rate = load * found.estimate
    else:
        found = threshold(JUDGED_WITHIN, JUDGED_BY_JOBS)
        if found.low <= rate < found.high:
            found = threshold(JUDGED_NEARLY_WITHIN, JUDGED_NEARLY_BY_JOBS)
    bracket = f"{found.estimate:.5g}, in [{found.low:.5g}, {found.high:.5g}]"
    if rate >= found.estimate:
        said = "is unstable" if rate >= found.high else "may be unstable"
        raise UnstableError(f"rate {rate:g} {said}: the threshold is {bracket}")
    if rate >= found.low:
        warnings += (f"rate {rate:g} lies inside the threshold's own uncertainty ({bracket}): it may be unstable",)
    return Asked(rate, found, "sampled", warnings)
