"""How long do jobs wait at this rate, and what does blocking cost?"""

from __future__ import annotations

import math
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import LoynesWarning, UsageError
from loynes.inputs.philox import STREAM_PILOT
from loynes.inputs.tables import JobTable, Needs, job_table, needs_of
from loynes.kernels.backends import backend as choose
from loynes.kernels.shape import look_every
from loynes.model import Model
from loynes.model import load as read
from loynes.results import from_replicas, from_samples
from loynes.results.metrics import Measures
from loynes.results.records import Evaluation
from loynes.stationary import forward
from loynes.stationary.backward import backward_samples
from loynes.study.check import moment_warnings
from loynes.study.options import asked_rate, check_common
from loynes.study.progress import Progress, silent

METHODS = ("forward", "backward")
PILOT_SAMPLES = 64
PILOT_MARGIN = 4
FIRST_SAMPLES = 2_000
LEAST_OBSERVED = 4_096
MAX_JOBS = 4e9

NO_CERTIFICATE = {
    "forward": "forward chains start empty: what bias the burn-in leaves is downward and not bounded",
    "backward": "backward samples stop at the first M_n = M_2n: each is a lower bound of a perfect sample",
}


def evaluate(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    rate: float | None = None,
    load: float | None = None,
    method: str = "forward",
    precision: float = 0.01,
    samples: int | None = None,
    exceeds: Iterable[float] = (),
    confidence: float = 0.99,
    replicas: int = forward.REPLICAS,
    burn_in: int | None = None,
    confirmations: int = 1,
    initial_length: int | None = None,
    max_jobs: float = MAX_JOBS,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> Evaluation:
    """Waits of every class, and the state of the cluster, at one arrival rate.

    `rate` is in jobs per unit of time, `load` a fraction of the threshold; one of them, or the model's own rate.
    With `samples` so many arrivals (forward, rounded up to whole blocks of jobs) or samples (backward) are observed;
    otherwise the run goes on until the overall mean wait's half-width is below `precision` times the mean, or
    `max_jobs` jobs have been simulated. `exceeds` asks for P(wait > x) at each of its values.
    """
    began = time.perf_counter()
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
        max_jobs=max_jobs,
    )
    tails = tuple(float(x) for x in exceeds)
    if not all(0 <= x < math.inf for x in tails):
        raise UsageError("exceeds: must be finite times of at least 0")
    model = read(model)
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    run = _Run(model, asked.rate, precision, samples, tails, confidence, max_jobs, seed, backend, progress)
    if method == "forward":
        measures, count, jobs, details, more = run.forward(replicas, burn_in)
    else:
        measures, count, jobs, details, more = run.backward(confirmations, initial_length)
    warnings = (*asked.warnings, *moment_warnings(model), *more)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return Evaluation(
        model=model.with_rate(asked.rate),
        rate=asked.rate,
        threshold=asked.threshold,
        method=method,
        overall=measures.overall,
        classes=measures.classes,
        system=measures.system,
        confidence=confidence,
        replicas=count,
        jobs=jobs,
        seconds=time.perf_counter() - began,
        seed=seed,
        backend=choose(backend).NAME,
        details=details,
        why=NO_CERTIFICATE[method],
        warnings=warnings,
    )


Outcome = tuple[Measures, int, int, dict[str, Any], tuple[str, ...]]


class _Run:
    """One evaluation under way: what both methods share."""

    def __init__(
        self,
        model: Model,
        rate: float,
        precision: float,
        samples: int | None,
        exceeds: tuple[float, ...],
        confidence: float,
        max_jobs: float,
        seed: int,
        backend: str,
        progress: Progress,
    ) -> None:
        self.model, self.rate, self.precision, self.samples = model, rate, precision, samples
        self.confidence, self.max_jobs, self.seed, self.backend = confidence, max_jobs, seed, backend
        self.progress, self.exceeds = progress, exceeds
        self.table: JobTable = job_table(model, rate)
        self.needs: Needs = needs_of(model)

    def forward(self, replicas: int, burn_in: int | None) -> Outcome:
        chains = forward.Chains(
            self.table, self.needs, self.model.mean_service, seed=self.seed, replicas=replicas, backend=self.backend
        )
        if burn_in is None:
            burn_in = self._pilot()
        self.progress(0.0, f"burning in {burn_in} jobs")
        if burn_in:
            chains.skip(burn_in)
        skipped = chains.position
        stride = look_every(self.table)
        relative = np.inf
        more = -(-self.samples // replicas) * stride if self.samples else max(burn_in, LEAST_OBSERVED)
        while True:
            chains.observe(more)
            wait = from_replicas.overall_wait(chains.tally, self.needs, self.confidence)
            relative = wait.relative
            share = 1.0 if self.samples else self._share(relative)
            self.progress(share, f"mean wait {wait.estimate:.5g} ±{wait.half_width:.2g} ({relative:.2%})")
            if self.samples or relative <= self.precision or chains.jobs >= self.max_jobs:
                break
            seen = chains.position - skipped
            # Half-widths fall with the square root of the length; never more than triple on a guess.
            wanted = seen * min(4.0, 1.1 * (relative / self.precision) ** 2)
            allowed = (self.max_jobs - chains.jobs) / replicas
            more = int(max(stride, min(wanted - seen, allowed)))
        details = {"burn_in": skipped, "observed_arrivals": int(chains.tally.looks.sum()), "observed_every": stride}
        measures = from_replicas.measures(
            self.model, self.rate, self.needs, chains.tally, self.confidence, self.exceeds
        )
        return measures, replicas, chains.jobs, details, self._missed(relative, chains.jobs)

    def _pilot(self) -> int:
        """A burn-in: well above the longest past that any of a few backward samples needed to forget how it began."""
        self.progress(0.0, "pilot: how far back the past matters")
        batches = backward_samples(self.table, PILOT_SAMPLES, seed=self.seed, stream=STREAM_PILOT, backend=self.backend)
        return PILOT_MARGIN * max(int(batch.length.max()) for batch in batches)

    def backward(self, confirmations: int, initial: int | None) -> Outcome:
        seen = from_samples.Seen(self.needs)
        lengths: list[np.ndarray] = []
        doublings: list[np.ndarray] = []
        count = jobs = 0
        relative = np.inf
        more = self.samples or FIRST_SAMPLES
        while True:
            for batch in backward_samples(
                self.table,
                more,
                seed=self.seed,
                first=count,
                initial=initial,
                confirmations=confirmations,
                backend=self.backend,
            ):
                seen.add(batch.workload)
                lengths.append(batch.length)
                doublings.append(batch.doublings)
                count += len(batch.length)
                jobs += batch.jobs
                wait = seen.overall_wait(self.confidence)
                relative = wait.relative
                share = count / self.samples if self.samples else self._share(relative)
                self.progress(share, f"mean wait {wait.estimate:.5g} ±{wait.half_width:.2g} ({relative:.2%})")
            if self.samples or relative <= self.precision or jobs >= self.max_jobs:
                break
            wanted = count * min(4.0, 1.1 * (relative / self.precision) ** 2)
            allowed = (self.max_jobs - jobs) * count / jobs
            more = int(max(1, min(wanted - count, allowed)))
        length, doubled = np.concatenate(lengths), np.concatenate(doublings)
        details = {
            "samples": count,
            "confirmations": confirmations,
            "length": {"min": int(length.min()), "median": float(np.median(length)), "max": int(length.max())},
            "doublings": {str(d): int(np.count_nonzero(doubled == d)) for d in np.unique(doubled)},
        }
        measures = from_samples.measures(
            self.model, self.rate, self.table, seen, self.seed, self.confidence, self.exceeds
        )
        return measures, count, jobs, details, self._missed(relative, jobs)

    def _share(self, relative: float) -> float:
        """How much of the work is done: half-widths fall with its square root."""
        return min(0.99, (self.precision / max(relative, self.precision)) ** 2)

    def _missed(self, relative: float, jobs: int) -> tuple[str, ...]:
        if self.samples or relative <= self.precision:
            return ()
        return (
            f"stopped at {jobs:.3g} jobs with a relative half-width of {relative:.2g} of the mean wait, "
            f"above the precision {self.precision:g}; allow more with --max-jobs",
        )
