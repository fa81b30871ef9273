"""How many jobs a unit of time can the cluster take?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.threshold import Threshold

if TYPE_CHECKING:
    from loynes.questions.answering.orders import Order


class Stability(Question):
    """The largest arrival rate the cluster can take, with a bracket that holds it with the given confidence.

    Runs until (high - low) / estimate <= precision, or `max_jobs` jobs were piled up, or `time` (seconds, or "30s") is
    up; `stopped` says which. Methods: `bracket`, from the pile's top and bottom; `regenerative`,
    where a class needs all servers; `auto`, the better of these two, or no run at all where the work of the jobs alone
    bounds the threshold closely enough (`work`); `doubling`, the paper's Algorithm 2, which stops when two successive
    estimates agree to the precision. Disciplines: `fcfs`, strictly in turn, on the servers that are
    free first; `random` (random assignment) picks them blindly; `reserving` lets jobs behind a blocked one start on
    servers that it does not take (see docs/resources.md). By default the model's own, `fcfs` unless it says otherwise.

    Under another `policy` than fcfs (as `simulate` takes them, with `window`, `threshold`, `option`, `inflation`)
    nothing bounds the limit: it is estimated from runs that are given more than can be carried (docs/policies.md).
    """

    command: ClassVar[str] = "stability"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes stability five-class-pareto --precision 0.001",
        "loynes stability five-class-exponential --policy easy",
    )

    model: LoadedModel
    precision: Annotated[float, Field(gt=0, lt=1), Option("Relative width of the bracket to reach.")] = 0.005
    method: Annotated[
        Literal["auto", "bracket", "regenerative", "doubling"],
        Option(
            "Bounds from the pile's ends, cycles between jobs that need all servers, or the paper's Algorithm 2.",
            "auto|bracket|regenerative|doubling",
        ),
    ] = "auto"
    policy: options.PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    inflation: options.Inflation = 1.0
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
        from loynes.questions.answering.asked_order import other_order
        from loynes.questions.answering.thresholds import sampled_threshold

        if (order := other_order(self)) is not None:
            return self._under(order, context)
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

    def _under(self, order: Order, context: Context) -> Threshold:
        """What another policy than first come, first served seems to carry."""
        from loynes.estimate import Estimate
        from loynes.questions.answering.ending import after, allow
        from loynes.questions.answering.limits import SOURCE, carried
        from loynes.questions.answering.orders import check_order
        from loynes.questions.answering.under_policy import refuse_recurrence

        model = self.model
        warnings = check_order(model, order)
        refuse_recurrence(
            order.policy, method=None if self.method == "auto" else self.method,
            backend=self.backend if self.backend.startswith("cuda") else None,
        )  # fmt: skip
        found = carried(
            model.model_copy(update={"scenario": None}), order, precision=self.precision, confidence=self.confidence,
            replicas=self.replicas, max_jobs=self.max_jobs, seed=self.seed, context=context,
        )  # fmt: skip
        width = 2.0 * found.rate.relative
        if found.by:
            warnings += (
                f"stopped{after(found.by, found.jobs, context.deadline)} with an interval of relative width "
                f"{width:.2g}, above the precision {self.precision:g}; {allow(found.by)}",
            )
        if model.highest_moment < 2:
            warnings += ("a service has no finite variance, so the interval's confidence cannot be trusted",)
        ends = (found.rate.estimate, found.rate.high, found.rate.low)
        idle = {
            kind: Estimate(*(units - rate * work for rate in ends)).within(0.0, units)
            for kind, units, work in zip(model.kinds, model.units, model.works, strict=True)
        }
        return Threshold(
            model=model,
            threshold=found.rate,
            ideal=model.ideal,
            hol_loss_saturated=idle[model.kinds[model.bottleneck]],
            resources=idle if model.resources else {},
            discipline=order.policy,
            method=SOURCE,
            confidence=self.confidence,
            replicas=found.replicas,
            variance_reduction=1.0,
            jobs=found.jobs,
            seed=self.seed,
            backend="cpu",
            stopped={"by": found.by, "precision": width} if found.by else {},
            warnings=warnings,
        )


stability = Ask(Stability, Threshold)
