"""What can be said of a model without running it?"""

from __future__ import annotations

from typing import ClassVar

from loynes.execution.context import Context
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.check import Check, KnownThreshold

# How the workload of a kind of server may be kept, as kernels.shape numbers it.
FORMS = ("dense vector", "run list", "layered run list")


class CheckModel(Question):
    """Validate a model; ideal rate, offered work, moments, which methods apply."""

    command: ClassVar[str] = "check"
    examples: ClassVar[tuple[str, ...]] = ("loynes check mine.toml --set arrivals.rate=1.2",)

    model: LoadedModel

    @property
    def by_events(self) -> bool:
        return True  # all of the model is told of

    def answer(self, context: Context) -> Check:
        from loynes.inputs.tables import job_table
        from loynes.kernels.shape import forms_of
        from loynes.questions.answering.thresholds import cheap_threshold, moment_warnings

        model, known = self.model, cheap_threshold(self.model)
        threshold = None if known is None else KnownThreshold(*known)
        warnings = moment_warnings(model)
        if model.rate is not None and model.rate >= model.ideal:
            warnings += (f"arrivals.rate = {model.rate:g} is at or above the ideal rate {model.ideal:.6g}: unstable",)
        elif model.rate is not None and threshold is not None and model.rate >= threshold.value:
            warnings += (
                f"arrivals.rate = {model.rate:g} is at or above the threshold {threshold.value:.10g}: unstable",
            )
        # How the workload of every kind of server is kept.
        forms = [FORMS[form] for form in forms_of(job_table(model, None))]
        kernel = forms[0] if len(set(forms)) == 1 else ", ".join(forms)
        return Check(model=model, kernel=kernel, threshold=threshold, warnings=warnings)


check = Ask(CheckModel, Check)
