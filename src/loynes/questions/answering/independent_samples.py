"""Independent samples: perfect, and backward, the paper's. Each way draws until it knows enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from loynes.estimate import Estimate
from loynes.estimators import samples as from_samples
from loynes.estimators.measures import Measures
from loynes.estimators.workloads import SampledWaits
from loynes.execution.deadline import Stopped
from loynes.questions.answering.ending import MAX_JOBS, ended_by
from loynes.questions.answering.evaluating import Evaluating, Outcome
from loynes.questions.answering.outlook import Outlook
from loynes.stationary.backward import Samples, backward_samples
from loynes.stationary.certificate import NoCertificate
from loynes.stationary.perfect import perfect_samples, within_reach

FIRST_SAMPLES = 2_000
# Independent samples from which on something is known, where there is no time for more.
LEAST_SAMPLES = 30

FIRST_AGREEMENT = "backward samples stop at the first M_n = M_2n: each is a lower bound of a perfect sample"
# With which probability a perfect sample may be none.
DELTA = 1e-9


class IndependentSamples(Evaluating):
    """Averages over samples."""

    def perfect(self, delta: float) -> Outcome:
        """Backward sandwich; backward samples, a lower bound, where nothing bounds from above."""
        bound = within_reach(self.model, self.table, self._certify(), delta)
        if isinstance(bound, NoCertificate):
            self.context.notice(f"no certificate, a lower bound follows: {bound.why}")
            return self._uncertified(self.backward(1, None), bound)
        certificate = replace(bound, distance=Estimate(0.0, 0.0, delta))

        def batches(first: int, count: int) -> Iterator[Samples]:
            options: dict[str, Any] = {"delta": delta, "seed": self.q.seed, "first": first, "engine": self._engine}
            return perfect_samples(self.model, self.table, certificate, count, **options)

        measures, count, jobs, details, by = self._gather("perfect", batches)
        return Outcome("perfect", measures, count, jobs, details | {"delta": delta}, certificate, by=by)

    def backward(self, confirmations: int, initial: int | None) -> Outcome:
        """The paper's Algorithm 1."""

        def batches(first: int, count: int) -> Iterator[Samples]:
            options: dict[str, Any] = {"initial": initial, "confirmations": confirmations, "engine": self._engine}
            return backward_samples(self.table, count, seed=self.q.seed, first=first, **options)

        measures, count, jobs, details, by = self._gather("backward", batches)
        details["confirmations"] = confirmations
        return Outcome("backward", measures, count, jobs, details, why=FIRST_AGREEMENT, by=by)

    def _gather(
        self, method: str, batches: Callable[[int, int], Iterator[Samples]]
    ) -> tuple[Measures, int, int, dict[str, Any], str]:
        """Samples until the overall mean wait is known well enough; measures, how many, jobs simulated, details, and
        what ended it, if not that enough is known."""
        sampled = SampledWaits(self.table, self.needs, self.q.seed)
        lengths: list[np.ndarray] = []
        doublings: list[np.ndarray] = []
        count = jobs = 0
        more = self.q.samples or max(FIRST_SAMPLES, self._engine.fitting_replicas(self.table))
        by = ""
        outlook = Outlook(method, self.context, self.q.precision if self.q.samples is None else None, self.max_jobs)
        while True:
            try:
                for batch in batches(count, more):
                    sampled.add(batch.workload)
                    lengths.append(batch.length)
                    doublings.append(batch.doublings)
                    count += len(batch.length)
                    jobs += batch.jobs
                    wait = sampled.overall_wait(self.q.confidence)
                    share = count / self.q.samples if self.q.samples else None
                    outlook.told(wait, self._excess(wait), 0, jobs, share)
            except Stopped:
                if count < LEAST_SAMPLES:
                    raise  # nothing is known yet
                by = ended_by(self.context.deadline)
            if by or self._enough(wait, jobs):
                break
            more = int(max(1, min(count * self._growth(wait), (self.max_jobs - jobs) * count / jobs)))
        length, doubled = np.concatenate(lengths), np.concatenate(doublings)
        details: dict[str, Any] = {
            "samples": count,
            "length": {"min": int(length.min()), "median": float(np.median(length)), "max": int(length.max())},
            "doublings": {str(d): int(np.count_nonzero(doubled == d)) for d in np.unique(doubled)},
        }
        measures = from_samples.measures(
            self.model, self.rate, self.table, sampled, self.q.seed, self.q.confidence, self.wanted
        )
        if not by and self.q.samples is None and self._excess(wait) > 1:
            by = MAX_JOBS
        return measures, count, jobs, details, by
