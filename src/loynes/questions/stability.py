"""How many jobs a unit of time can the cluster take?"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.threshold import Threshold


class Stability(Question):
    """The largest arrival rate the cluster can take, with a bracket that holds it with the given confidence.

    Runs until (high - low) / estimate <= precision, or `max_jobs` jobs were piled up, or `time` (seconds, or "30s") is
    up; `stopped` says which. Methods: `bracket`, from the pile's top and bottom; `regenerative`,
    where a class needs all servers; `auto`, the better of these two; `doubling`, the paper's Algorithm 2, which stops
    when two successive estimates agree to the precision. Disciplines: `fcfs`, strictly in turn, on the servers that are
    free first; `random` (random assignment) picks them blindly; `reserving` lets jobs behind a blocked one start on
    servers that it does not take (see docs/resources.md). By default the model's own, `fcfs` unless it says otherwise.
    """

    command: ClassVar[str] = "stability"
    examples: ClassVar[tuple[str, ...]] = ("loynes stability five-class-pareto --precision 0.001",)

    model: LoadedModel
    precision: Annotated[float, Field(gt=0, lt=1), Option("Relative width of the bracket to reach.")] = 0.005
    method: Annotated[
        Literal["auto", "bracket", "regenerative", "doubling"],
        Option(
            "Bounds from the pile's ends, cycles between jobs that need all servers, or the paper's Algorithm 2.",
            "auto|bracket|regenerative|doubling",
        ),
    ] = "auto"
    discipline: options.Discipline = None
    replicas: Annotated[
        int | None, Field(ge=2, le=100_000), Option("Independent piles.", default="by the number of classes")
    ] = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: options.Confidence = 0.99
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    def answer(self, context: Context) -> Threshold:
        from loynes.questions.answering.thresholds import sampled_threshold

        return sampled_threshold(
            self.model,
            precision=self.precision,
            confidence=self.confidence,
            method=self.method,
            replicas=self.replicas,
            max_jobs=self.max_jobs,
            seed=self.seed,
            context=context,
        )


stability = Ask(Stability, Threshold)
