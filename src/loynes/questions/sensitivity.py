"""What would the mean wait, or any objective, gain or lose by a little of everything?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.answering import levers
from loynes.questions.answering.ending import cut_short
from loynes.questions.answering.levers import Lever
from loynes.questions.answering.objectives import Target, target_of
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.questions.evaluate import Evaluate, evaluated
from loynes.results.records.sensitivity import Effect, Sensitivity, by_size

if TYPE_CHECKING:
    from loynes.questions.answering.paired import PairedRuns

# What derivatives and a difference weigh, in runs of the model as it is.
OF_DERIVATIVES, OF_DIFFERENCE = 3.0, 2.0


class AskSensitivity(Question):
    """What an objective gains or loses per server, and per percent of the rate and of each class's length and share.

    `objective` is any metric of all jobs or of a class: "mean(wait)", "p95(wait[T1])", "P(wait > 60)", "no_wait",
    "hol_loss". Lengths (all services of a class stretched) and the rate have derivatives along the very paths that
    were simulated, where the objective is a mean wait or response of a plain cluster. All else are differences on the
    same jobs: shares (others in proportion, at the same rate), the need of a class (one more), servers (one more, one
    fewer). Effects are those of one percent more; with `per` "unit" of one unit (of a share, a hundredth of all jobs).
    When `time` (seconds, or "30s") is up, changes that were not tried by then are left out.
    `precision` is that of the mean wait as things are. Every interval holds with the `confidence` by itself.
    """

    command: ClassVar[str] = "sensitivity"
    for_log: ClassVar[str] = "sensitivity_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes sensitivity five-class-exponential --load 0.75",
        "loynes sensitivity five-class-exponential --load 0.75 --objective 'p95(wait[T1])' -o levers.html",
    )

    model: LoadedModel
    objective: Annotated[str, Option("Of which metric: 'mean(wait)', 'p95(wait[T1])', 'P(wait > 60)'.", "METRIC")] = (
        "mean(wait)"
    )
    rate: options.Rate = None
    load: options.Load = None
    per: Annotated[
        Literal["percent", "unit"], Option("Of rate, lengths and shares: a percent of each, or a unit.", "percent|unit")
    ] = "percent"
    precision: Annotated[
        float, Field(gt=0, lt=1), Option("Relative half-width of the mean wait, as things are, to reach.")
    ] = 0.02
    samples: options.Arrivals = None
    replicas: options.Replicas = None
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: options.Confidence = 0.99
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    def answer(self, context: Context) -> Sensitivity:
        from loynes.questions.answering.paired import PairedRuns

        target = target_of(self.objective, [c.label for c in self.model.classes], self.model.time_unit)
        shared = ("rate", "load", "precision", "samples", "replicas", "confidence", "max_jobs", "seed", "backend")
        question = Evaluate.of(self.model, exceeds=target.exceeds, **{name: getattr(self, name) for name in shared})
        steps = Steps(context)
        expected = OF_DERIVATIVES + OF_DIFFERENCE * (3 * len(self.model.classes) + 2)
        runs = PairedRuns(evaluated(question, steps.next(1.0, expected, "as it is"), as_seen=True), target)
        result = runs.base.result
        base, step = levers.Variant(self.model, result.rate), levers.step_at(result.load)
        why = runs.no_derivatives()
        smooth = [levers.rate_lever(base, self.per, step), *levers.length_levers(base, self.per, step)]
        tried, remarks = _differences(base, self.per, step)
        differing = [*smooth, *tried] if why else tried
        effects = []
        if not why:
            part = steps.next(OF_DERIVATIVES, OF_DIFFERENCE * len(differing))
            try:
                effects += self._derivatives(smooth, runs, part)
            except Stopped:
                remarks.append("left out, for lack of time: derivatives")
        effects += self._differences(differing, runs, steps, remarks)
        if not effects:
            raise Stopped  # nothing is known yet
        warnings = result.warnings
        if context.deadline.cut and not result.stopped:
            warnings += (cut_short(context.deadline, f"with {len(effects)} effects"),)
        return Sensitivity(
            subject=self.model.label,
            model=self.model.with_rate(result.rate),
            rate=result.rate,
            threshold=result.threshold,
            objective=target.text,
            label=_label(target),
            unit=target.metric.unit,
            grows=target.metric.grows,
            base=target.value(result),
            effects=by_size(effects),
            per=self.per,
            confidence=self.confidence,
            replicas=result.replicas,
            jobs=runs.jobs,
            backend=result.backend,
            remarks=(*((f"differences stand for derivatives: {why}",) if why else ()), *remarks),
            details={"burn_in": runs.burn_in, "observed_arrivals": result.details["observed_arrivals"], "step": step},
            seed=self.seed,
            warnings=warnings,
        )

    def _derivatives(self, smooth: list[Lever], runs: PairedRuns, context: Context) -> list[Effect]:
        values = (runs.base.result.rate, *(c.service.mean for c in self.model.classes))
        amounts = [levers.amount(self.per, value) for value in values]
        found = runs.derivatives(amounts, self.confidence, context)
        return [_effect(one, value, "derivative") for one, value in zip(smooth, found, strict=True)]

    def _differences(self, tried: list[Lever], runs: PairedRuns, steps: Steps, remarks: list[str]) -> list[Effect]:
        effects, late = [], []
        for number, one in enumerate(tried):
            part = steps.next(1.0, len(tried) - number - 1, f"{number + 1} of {len(tried)}: {one.name}")
            try:
                value, note = runs.difference(one, self.confidence, part)
            except Stopped:
                late.append(one.name)
                continue
            effects.append(_effect(one, value, "difference", note))
        if late:
            remarks.append(f"left out, for lack of time: {', '.join(late)}")
        return effects


def _differences(base: levers.Variant, per: levers.Per, step: float) -> tuple[list[Lever], list[str]]:
    """What has no derivative along a path; and what cannot be changed, in words."""
    model, remarks = base.model, []
    shares, nearly_all = list[Lever](), list[str]()
    if not model.independent or any(c.arrivals is not None for c in model.classes):
        remarks.append("shares are left out: the arrivals say which class comes")
    elif len(model.classes) > 1:
        shares, nearly_all = levers.share_levers(base, per, step)
    needs, too_wide = levers.need_levers(base)
    servers, too_few = levers.server_levers(base)
    return [*shares, *needs, *servers], [
        *remarks,
        *(f"left out: {text}" for text in (*nearly_all, *too_wide, *too_few)),
    ]


def _effect(one: Lever, value: Estimate, method: Literal["derivative", "difference"], note: str = "") -> Effect:
    step = one.step if method == "difference" else None
    return Effect(one.name, one.kind, one.of, one.change, one.words, one.reverse, value, method, step, note)


def _label(target: Target) -> str:
    label = target.metric.label
    return f"{label} of {target.of}" if target.of else label


sensitivity = Ask(AskSensitivity, Sensitivity)
