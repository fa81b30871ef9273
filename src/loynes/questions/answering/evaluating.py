"""What all ways to evaluate share: the question, the certificate, when enough is known, and what falls short."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loynes.estimate import Estimate, student
from loynes.estimators.measures import Measures, Wanted
from loynes.estimators.regression import AS_THEY_ARE, Regression
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.inputs.tables import MANY_CLASSES, JobTable, Needs, job_table, needs_of, rarest
from loynes.kernels.cpu.threads import cores
from loynes.kernels.engine import Engine
from loynes.kernels.shape import step_cost, usual_jobs
from loynes.kernels.tally import Tally
from loynes.model import Model
from loynes.questions.answering.ending import after, allow
from loynes.questions.answering.thresholds import JudgedRate
from loynes.stationary.backward import initial_length
from loynes.stationary.certificate import Certificate, NoCertificate
from loynes.stationary.majorant import certify

if TYPE_CHECKING:
    from loynes.questions.evaluate import Evaluate

# How often a run should see the rarest class, or branch of a law.
OFTEN = 30
# A mean wait below this part of the mean service is as good as none; precision is then relative to it.
NEGLIGIBLE = 1e-3
# Of the time that is left: what the certificate may take.
OF_CERTIFICATE = 0.4

NO_TIME = "the time was up before one was found"


@dataclass(frozen=True)
class Outcome:
    """The measures that a method obtained, and how."""

    method: str
    measures: Measures
    replicas: int
    jobs: int
    details: dict[str, Any]
    certificate: Certificate | None = None
    why: str = ""  # why there is no certificate
    warnings: tuple[str, ...] = ()
    by: str = ""  # what ended it, if not that enough is known: max-jobs, time, interrupt
    tallies: tuple[Tally, ...] = ()  # of chains, from below and, if that is not the same, from above
    regression: Regression = AS_THEY_ARE  # on controls of these


def cpu_seconds(table: JobTable, load: float, precision: float, samples: int | None, confidence: float) -> float:
    """Roughly how long the CPU would take for waits at a load: what `auto` chooses a backend by."""
    if samples is not None:
        jobs = 8.0 * samples * initial_length(table)
    else:
        # As waits of a queue behave near saturation; the factor is that of the built-in models, to an order.
        jobs = 3.0 * table.servers * (student(confidence, 100) / precision / (1.0 - load)) ** 2
    return jobs * step_cost(table) * 1e-9 / cores()


@dataclass(frozen=True)
class Evaluating:
    """An evaluation of a model at a rate: what all methods share."""

    q: Evaluate  # the question
    judged: JudgedRate
    context: Context
    as_seen: bool = False  # enough is known when it is without controls: of runs whose tallies are for others

    @property
    def model(self) -> Model:
        return self.q.model

    @property
    def rate(self) -> float:
        return self.judged.rate

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.q.exceeds, self.q.percentiles, tails=True)

    @property
    def max_jobs(self) -> float:
        return usual_jobs(self._engine.most_jobs, self.table) if self.q.max_jobs is None else self.q.max_jobs

    @cached_property
    def table(self) -> JobTable:
        return job_table(self.model, self.rate)

    @cached_property
    def needs(self) -> Needs:
        return needs_of(self.model)

    @property
    def _engine(self) -> Engine:
        return self.context.engine

    def _certify(self) -> Certificate | NoCertificate:
        context = self.context.within(OF_CERTIFICATE)
        context.progress(0.0, "certificate: what bounds the workload from above")
        given = (self.model, self.rate, self.judged.threshold)
        try:
            return certify(*given, seed=self.q.seed, max_jobs=self.q.max_jobs, context=context)
        except Stopped:
            self.context.deadline.check()
            return NoCertificate(NO_TIME)

    def _uncertified(self, outcome: Outcome, none: NoCertificate) -> Outcome:
        text = f"no certificate, a lower bound only: {none.why}; the {outcome.method} method starts empty"
        return replace(outcome, why=none.why, warnings=(*outcome.warnings, text))

    def _excess(self, wait: Estimate) -> float:
        """The half-width over the one wanted."""
        return wait.half_width / (self.q.precision * max(wait.estimate, NEGLIGIBLE * self.model.mean_service))

    def _enough(self, wait: Estimate, jobs: int) -> bool:
        return self.q.samples is not None or self._excess(wait) <= 1 or jobs >= self.max_jobs

    def _growth(self, wait: Estimate) -> float:
        """How much to add to what was seen, as a part of it: half-widths fall with its square root. At most triple."""
        return min(3.0, 1.1 * self._excess(wait) ** 2 - 1.0)

    def shortfalls(self, outcome: Outcome) -> tuple[str, ...]:
        """What a reader of the result must be told about how far it got."""
        wait = outcome.measures.overall.wait.mean
        texts: tuple[str, ...] = ()
        expected = rarest(self.table) * outcome.jobs
        if expected < OFTEN:
            texts += (
                f"the rarest class, or branch of a law, is expected only {expected:.2g} times in {outcome.jobs:.3g} "
                "jobs: what it causes may be missing from these intervals",
            )
        if len(self.table.need) > MANY_CLASSES:
            texts += (
                f"percentiles of responses are left out: {len(self.table.need)} classes are too many to find them for "
                "each",
            )
        if outcome.by and wait.estimate > 0:
            wanted = f", above the precision {self.q.precision:g}" if not self.q.samples else ""
            texts += (
                f"stopped{after(outcome.by, outcome.jobs, self.context.deadline)} with a relative half-width of "
                f"{wait.relative:.2g} of the mean wait{wanted}; {allow(outcome.by)}",
            )
        if wait.estimate == 0:
            texts += (
                "no observed arrival had to wait: waits are too rare for this run, and their mean has no interval",
            )
        return texts
