"""The same questions answered to ten digits, where Markov chains or formulas can."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.model import Poisson
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.exact import Exact

MAX_STATES = 500_000


class AskExact(Question):
    """The exact threshold, and with a rate the exact waits, where chains or formulas give them.

    Needs services of phase type (exponential, erlang, hyperexponential, phase_type, coxian, mixtures of them) and a
    chain of at most `max_states` states, or one of the closed forms. The model's own rate is used if it has one.
    `load` is a fraction of the threshold, `exceeds` asks for P(wait > x), `percentiles` for those to show.
    """

    command: ClassVar[str] = "exact"
    examples: ClassVar[tuple[str, ...]] = ("loynes exact five-class-exponential", "loynes exact one-or-all --load 0.9")

    model: LoadedModel
    rate: options.Rate = None
    load: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False),
        Option("Arrival rate as a fraction of the threshold, 0 to 1.", must="be above 0 and below 1"),
    ] = None
    exceeds: options.Exceeds = ()
    percentiles: Annotated[options.Percentiles, Option(
        "Percentiles of waits to show.", "50,90,99.9", written="list", default="50, 95, 99, 99.9, ..., 99.9999"
    )] = ()  # fmt: skip
    max_states: Annotated[int, Field(ge=1), Option("The largest chain to build.")] = MAX_STATES

    def answer(self, context: Context) -> Exact:
        from loynes.questions.answering.chains import exact_queue, exact_threshold, saturated_states

        model, rate = self.model, self.rate
        if rate is not None and self.load is not None:
            raise UsageError("give a rate or a load, not both")
        poisson = isinstance(model.arrivals, Poisson) and model.chain is None
        if rate is None and self.load is None and poisson:
            rate = model.rate
        context.progress(0.0, "states of the saturated chain")
        states = saturated_states(model, self.max_states)
        context.progress(0.02, "threshold" if isinstance(states, str) else f"threshold, from {len(states)} states")
        saturation = exact_threshold(model, states)
        if self.load is not None:
            rate = self.load * saturation.threshold
        if rate is None:
            return saturation
        if not poisson:
            raise UsageError(f"{model.label}: no exact waits: they are for Poisson arrivals; use `loynes evaluate`")
        if rate >= saturation.threshold:
            raise UnstableError(f"rate {rate:g} is unstable: the threshold is {saturation.threshold:.10g}")
        context.progress(0.1, "queue")
        return exact_queue(saturation, model, rate, states, self.exceeds, self.percentiles, context.progress)


exact = Ask(AskExact, Exact)
