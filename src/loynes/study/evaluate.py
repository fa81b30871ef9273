"""How long do jobs wait at this rate, and what does blocking cost?"""

from __future__ import annotations

import math
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import LoynesWarning, UsageError
from loynes.estimate import Estimate
from loynes.inputs.philox import STREAM_PILOT
from loynes.inputs.tables import JobTable, Needs, job_table, needs_of
from loynes.kernels.backends import backend as choose
from loynes.kernels.shape import look_every
from loynes.kernels.tally import BINS
from loynes.model import Model
from loynes.model import load as read
from loynes.results import from_replicas, from_samples
from loynes.results.metrics import Measures
from loynes.results.records import Evaluation
from loynes.stationary.backward import backward_samples
from loynes.stationary.forward import REPLICAS, Chains
from loynes.study.check import moment_warnings
from loynes.study.options import MAX_JOBS, asked_rate, check_common
from loynes.study.progress import Progress, silent

METHODS = ("forward", "backward")
PILOT_SAMPLES = 64
PILOT_MARGIN = 4
FIRST_SAMPLES = 2_000
LEAST_OBSERVED = 4_096
# A mean wait below this part of the mean service is as good as none; precision is then relative to it.
NEGLIGIBLE = 1e-3
MOST_BYTES = 8 << 30

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
    replicas: int | None = None,
    burn_in: int | None = None,
    confirmations: int | None = None,
    initial_length: int | None = None,
    max_jobs: float = MAX_JOBS,
    seed: int = 1,
    backend: str = "auto",
    progress: Progress = silent,
) -> Evaluation:
    """Waits of every class, and the state of the cluster, at one arrival rate.

    `rate` is in jobs per unit of time, `load` a fraction of the threshold; one of them, or the model's own rate.
    With `samples` so many arrivals (forward, rounded up to whole blocks of jobs) or samples (backward) are observed;
    otherwise the run goes on until the overall mean wait's half-width is below `precision` times the mean (or times a
    thousandth of the mean service, if the wait is smaller than that), or `max_jobs` jobs have been simulated.
    `exceeds` asks for P(wait > x) at each of its values.

    Forward: `replicas` independent chains (32), each burned in for `burn_in` jobs (by default from a pilot). Backward:
    samples start `initial_length` jobs ago (by default long enough to see every class) and double until `confirmations`
    (1) successive workloads are equal.
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
    other = {"forward": {"confirmations": confirmations, "initial-length": initial_length},
             "backward": {"replicas": replicas, "burn-in": burn_in}}  # fmt: skip
    for name, value in other[method].items():
        if value is not None:
            raise UsageError(f"{name} {value}: means nothing to method {method!r}")
    tails = tuple(float(x) for x in exceeds)
    if not all(0 <= x < math.inf for x in tails):
        raise UsageError("exceeds: must be finite times of at least 0")
    model = read(model)
    asked = asked_rate(model, rate, load, seed=seed, backend=backend, progress=progress)
    run = _Run(model, asked.rate, precision, samples, tails, confidence, max_jobs, seed, backend, progress)
    done = (
        run.forward(replicas or REPLICAS, burn_in)
        if method == "forward"
        else run.backward(confirmations or 1, initial_length)
    )
    warnings = (*asked.warnings, *moment_warnings(model), *run.warnings(done))
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return Evaluation(
        model=model.with_rate(asked.rate),
        rate=asked.rate,
        threshold=asked.threshold,
        method=method,
        overall=done.measures.overall,
        classes=done.measures.classes,
        system=done.measures.system,
        confidence=confidence,
        replicas=done.replicas,
        jobs=done.jobs,
        seconds=time.perf_counter() - began,
        seed=seed,
        backend=choose(backend).NAME,
        details=done.details,
        why=NO_CERTIFICATE[method],
        warnings=warnings,
    )


@dataclass(frozen=True)
class _Done:
    """What a method brought home."""

    measures: Measures
    replicas: int
    jobs: int
    details: dict[str, Any]


@dataclass(frozen=True)
class _Run:
    """One evaluation under way: what both methods share."""

    model: Model
    rate: float
    precision: float
    samples: int | None
    exceeds: tuple[float, ...]
    confidence: float
    max_jobs: float
    seed: int
    backend: str
    progress: Progress

    @property
    def table(self) -> JobTable:
        return job_table(self.model, self.rate)

    @property
    def needs(self) -> Needs:
        return needs_of(self.model)

    def forward(self, replicas: int, burn_in: int | None) -> _Done:
        table, needs = self.table, self.needs
        room = replicas * (4 * BINS * len(needs.need) + 8 * table.servers)
        if room > MOST_BYTES:
            raise UsageError(
                f"replicas {replicas}: would take {room / 2**30:.0f} GiB; at most {MOST_BYTES >> 30} are used"
            )
        unit = self.model.mean_service
        chains = Chains(table, needs, unit, seed=self.seed, replicas=replicas, backend=self.backend)
        if burn_in is None:
            burn_in = self._pilot(table)
        self.progress(0.0, f"burning in {burn_in} jobs")
        if burn_in:
            chains.skip(burn_in)
        skipped, stride = chains.position, look_every(table)
        more = -(-self.samples // replicas) * stride if self.samples else max(burn_in, LEAST_OBSERVED)
        while True:
            chains.observe(more)
            wait = from_replicas.overall_wait(chains.tally, needs, self.confidence)
            self._tell(wait, 1.0)
            if self._enough(wait, chains.jobs):
                break
            seen = chains.position - skipped
            more = int(max(stride, min(seen * self._growth(wait), (self.max_jobs - chains.jobs) / replicas)))
        details = {"burn_in": skipped, "observed_arrivals": int(chains.tally.looks.sum()), "observed_every": stride}
        measures = from_replicas.measures(self.model, self.rate, needs, chains.tally, self.confidence, self.exceeds)
        return _Done(measures, replicas, chains.jobs, details)

    def _pilot(self, table: JobTable) -> int:
        """A burn-in: well above the longest past that any of a few backward samples needed to forget how it began."""
        self.progress(0.0, "pilot: how far back the past matters")
        batches = backward_samples(table, PILOT_SAMPLES, seed=self.seed, stream=STREAM_PILOT, backend=self.backend)
        return PILOT_MARGIN * max(int(batch.length.max()) for batch in batches)

    def backward(self, confirmations: int, initial: int | None) -> _Done:
        table = self.table
        seen = from_samples.Seen(self.needs)
        lengths: list[np.ndarray] = []
        doublings: list[np.ndarray] = []
        count = jobs = 0
        more = self.samples or FIRST_SAMPLES
        while True:
            for batch in backward_samples(
                table,
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
                self._tell(wait, count / self.samples if self.samples else 1.0)
            if self._enough(wait, jobs):
                break
            more = int(max(1, min(count * self._growth(wait), (self.max_jobs - jobs) * count / jobs)))
        length, doubled = np.concatenate(lengths), np.concatenate(doublings)
        details = {
            "samples": count,
            "confirmations": confirmations,
            "length": {"min": int(length.min()), "median": float(np.median(length)), "max": int(length.max())},
            "doublings": {str(d): int(np.count_nonzero(doubled == d)) for d in np.unique(doubled)},
        }
        measures = from_samples.measures(self.model, self.rate, table, seen, self.seed, self.confidence, self.exceeds)
        return _Done(measures, count, jobs, details)

    def _excess(self, wait: Estimate) -> float:
        """The half-width over the one wanted."""
        return wait.half_width / (self.precision * max(wait.estimate, NEGLIGIBLE * self.model.mean_service))

    def _enough(self, wait: Estimate, jobs: int) -> bool:
        return self.samples is not None or self._excess(wait) <= 1 or jobs >= self.max_jobs

    def _growth(self, wait: Estimate) -> float:
        """How much to add to what was seen, as a part of it: half-widths fall with its square root. At most triple."""
        return min(3.0, 1.1 * self._excess(wait) ** 2 - 1.0)

    def _tell(self, wait: Estimate, share: float) -> None:
        if not self.samples:
            share = min(0.99, max(self._excess(wait), 1.0) ** -2)
        self.progress(share, f"mean wait {wait.estimate:.5g} ±{wait.half_width:.2g} ({wait.relative:.2%})")

    def warnings(self, done: _Done) -> tuple[str, ...]:
        wait = done.measures.overall.wait.mean
        texts: tuple[str, ...] = ()
        if not self.samples and self._excess(wait) > 1:
            texts += (
                f"stopped at {done.jobs:.3g} jobs with a relative half-width of {wait.relative:.2g} of the mean wait, "
                f"above the precision {self.precision:g}; allow more with --max-jobs",
            )
        if wait.estimate == 0:
            texts += (
                "no observed arrival had to wait: waits are too rare for this run, and their mean has no interval",
            )
        return texts
