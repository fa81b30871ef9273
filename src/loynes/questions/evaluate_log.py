"""How long do jobs like those of this log wait, and how sure can the log make us?"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.resampled import OnResamples
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.log_evaluation import LogEvaluation


class EvaluateLog(OnResamples):
    """Waits of jobs like those of a log, on resamples of it under any policy, with the doubt that the log leaves.

    Resamples are made of stretches of the log's own days, so that cycles, sessions and mixes of jobs survive. Every
    quantity has two intervals: where it lies in the long run, given the log (data), and how well so many resamples
    determine it (Monte Carlo). What-ifs act on the jobs: `scale`, `max_need`, `without`, `run_times`, `limits`,
    `to_night`; the same resamples are used, so that differences between two such answers are those of the change.
    """

    command: ClassVar[str] = "evaluate-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("evaluate", "trace")
    examples: ClassVar[tuple[str, ...]] = (
        "loynes evaluate log.swf.gz --policy easy",
        "loynes evaluate log.swf.gz --policy easy --scale 1.2 --max-need 32",
    )

    exceeds: options.Exceeds = ()
    slo: options.Objectives = ()

    def answer(self, context: Context) -> LogEvaluation:
        from loynes.questions.answering.judging import asked_of, judged, with_tails
        from loynes.questions.answering.resampling import LogRunner

        runner = LogRunner(self, context)
        objectives = asked_of(self.slo, runner.names, LOG_UNIT, slowdowns=True)
        result = runner.evaluation(runner.run(runner.case(), context, with_tails(self.exceeds, objectives)))
        return replace(result, objectives=judged(objectives, result)) if objectives else result
