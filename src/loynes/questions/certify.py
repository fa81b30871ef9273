"""What bounds the workload from above at this rate, and how sure is it?"""

from __future__ import annotations

from typing import ClassVar

from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.certified import Certified


class Certify(Question):
    """What bounds the workload from above at this rate: the certificate that `evaluate` rests on, and what it assumes.

    The result is false in a condition where there is none. An unstable rate is refused. Where a formula or a small
    chain gives it, the rate at which the tails of waits decay is shown beside the certificate's theta.
    """

    command: ClassVar[str] = "certify"
    examples: ClassVar[tuple[str, ...]] = ("loynes certify one-or-all --load 0.9",)

    model: LoadedModel
    rate: options.Rate = None
    load: options.Load = None
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    def answer(self, context: Context) -> Certified:
        from loynes.execution.deadline import Stopped
        from loynes.questions.answering.chains import cheap_decay
        from loynes.questions.answering.ending import not_run
        from loynes.questions.answering.thresholds import judged_rate
        from loynes.stationary.certificate import Certificate, NoCertificate
        from loynes.stationary.majorant import certify

        judged = judged_rate(self.model, self.rate, self.load, seed=self.seed, context=context)
        given = (self.model, judged.rate, judged.threshold)
        bound: Certificate | NoCertificate
        try:
            bound = certify(*given, seed=self.seed, max_jobs=self.max_jobs, context=context)
        except Stopped:
            bound = NoCertificate(not_run(context.deadline).partition(": ")[2] + " before one was found")
        return Certified(
            model=self.model.with_rate(judged.rate),
            rate=judged.rate,
            threshold=judged.threshold,
            certificate=bound if isinstance(bound, Certificate) else None,
            why="" if isinstance(bound, Certificate) else bound.why,
            decay_rate=cheap_decay(self.model, judged.rate, judged.threshold.estimate),
            seed=self.seed,
            warnings=judged.warnings,
        )


certify = Ask(Certify, Certified)
