"""How long do jobs wait at this rate, and what does blocking cost?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results.records.evaluation import Evaluation
from loynes.results.tails import Tails

if TYPE_CHECKING:
    from loynes.estimators.measures import Wanted
    from loynes.questions.answering.evaluating import Outcome
    from loynes.questions.answering.methods import Methods
    from loynes.questions.answering.objectives import Objective
    from loynes.questions.answering.orders import Order

Method = Annotated[
    Literal["sandwich", "perfect", "backward", "forward"],
    options.Option(
        "Certified: long chains from both sides, or independent samples. Lower bounds: the paper's samples, or chains "
        "from empty.",
        "sandwich|perfect|backward|forward",
    ),
]
# Method -> the options that mean something to it alone.
OF_METHOD = {
    "sandwich": ("replicas", "burn_in"),
    "perfect": ("delta",),
    "backward": ("confirmations", "initial_length"),
    "forward": ("replicas", "burn_in"),
}


class Evaluate(Question):
    """Waits of every class, and the state of the cluster, at one arrival rate.

    `rate` is in jobs per unit of time, `load` a fraction of the threshold; one of them, or the model's own rate.
    With `samples` so many arrivals (chains, rounded up to whole blocks of jobs) or samples (the rest) are observed;
    otherwise the run goes on until the overall mean wait's half-width is below `precision` times the mean (or times a
    thousandth of the mean service, if the wait is smaller than that), or `max_jobs` jobs (4e9; on a GPU 4e11; fewer
    where a job takes longer than 100 ns) have been simulated, or `time` (seconds, or "30s") is up; `stopped` says
    which, if not the precision.
    `exceeds` asks for P(wait > x) at each of its values, `percentiles` for those of waits and responses that tables
    show: [50, 90, 99.9]; `slo` whether objectives such as "p95(wait) <= 600" are met.

    Methods: `sandwich`, long chains from below and from above, and `perfect`, independent samples that are stationary
    but for a probability `delta` (1e-9), both with a certificate; where there can be none, they fall back to a lower
    bound and say so. `forward`, chains from empty, and `backward`, the paper's sub-perfect samples, are lower bounds.

    Under another `policy` than fcfs (as `simulate` takes them, with `window`, `threshold`, `option`, `inflation`)
    nothing is certified: the answer is an estimate, event by event from two starts, empty and loaded, in runs that are
    made longer until both agree (docs/policies.md). `load` may then be above 1: other policies may take more.

    Sandwich and forward: `replicas` independent chains (128, fewer where they are dear, as many as fill a GPU), each
    burned in for `burn_in` jobs (by default from a pilot). Backward: samples start `initial_length` jobs ago (long
    enough, by default, to see every class) and double until `confirmations` (1) successive workloads are equal.
    """

    command: ClassVar[str] = "evaluate"
    for_log: ClassVar[str] = "evaluate_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes evaluate five-class-exponential --load 0.75",
        "loynes evaluate mine.toml --rate 1.35 --method backward --samples 10000 --json",
        "loynes evaluate mine.toml --slo 'p95(wait) <= 600' --slo 'utilization <= 0.8'",
        "loynes evaluate five-class-exponential --load 0.9 --policy easy",
    )

    model: LoadedModel
    rate: options.Rate = None
    load: options.Load = None
    policy: options.PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    inflation: options.Inflation = 1.0
    method: Method = "sandwich"
    precision: options.Precision = 0.01
    samples: options.Samples = None
    exceeds: options.Exceeds = ()
    slo: options.Objectives = ()
    percentiles: options.Percentiles = ()
    replicas: options.Replicas = None
    burn_in: options.BurnIn = None
    confirmations: options.Confirmations = None
    initial_length: options.InitialLength = None
    delta: options.Delta = None
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: options.Confidence = 0.99
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    @model_validator(mode="after")
    def _of_method(self) -> Self:
        for name in {name for names in OF_METHOD.values() for name in names}:
            value = getattr(self, name)
            if value is not None and name not in OF_METHOD[self.method]:
                raise UsageError(f"{name.replace('_', '-')} {value}: means nothing to method {self.method!r}")
        return self

    def answer(self, context: Context) -> Evaluation:
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.asked_order import other_order
        from loynes.questions.answering.judging import asked_of, judged, with_percentiles, with_tails

        objectives = asked_of(self.slo, [c.label for c in self.model.classes], self.model.time_unit)
        more = {"exceeds": with_tails(self.exceeds, objectives)}
        more |= {"percentiles": with_percentiles(self.percentiles, objectives)}
        if (order := other_order(self)) is not None:
            return self._under(order, Wanted(more["exceeds"], more["percentiles"]), objectives, context)
        found = evaluated(self.model_copy(update=more) if objectives else self, context, brackets=True)
        result = replace(found.result, tails=Tails.of(found.outcome.measures.tails))
        if not objectives:
            return result
        lower = "" if result.certificate is not None else "waits are known from below only"
        unbounded = result.details.get("hulls", ())
        return replace(result, objectives=judged(objectives, result, lower=lower, unbounded=unbounded))

    def _under(self, order: Order, wanted: Wanted, objectives: tuple[Objective, ...], context: Context) -> Evaluation:
        """Under another policy than first come, first served."""
        from loynes.questions.answering.judging import judged
        from loynes.questions.answering.under_policy import evaluated_under, refuse_recurrence

        refuse_recurrence(
            order.policy, method=None if self.method == "sandwich" else self.method,
            backend=self.backend if self.backend.startswith("cuda") else None,
        )  # fmt: skip
        shared = ("rate", "load", "precision", "samples", "replicas", "burn_in", "confidence", "max_jobs", "seed")
        asked = {name: getattr(self, name) for name in shared}
        result = evaluated_under(self.model, order, wanted=wanted, context=context, **asked)
        unsettled = "" if result.details["starts"]["agree"] else "the two starts do not agree"
        return replace(result, objectives=judged(objectives, result, unsettled=unsettled)) if objectives else result


class Evaluated(NamedTuple):
    """An evaluation, and what it was made from."""

    result: Evaluation
    methods: Methods
    outcome: Outcome


def evaluated(question: Evaluate, context: Context, brackets: bool = False, as_seen: bool = False) -> Evaluated:
    """The answer, and what it was made from.

    `as_seen` of runs whose tallies are compared with others: these are as long as the mean wait takes without controls.

    With `brackets` a mean without a variance is bracketed by two more runs (see `answering.cutting`); the tallies are
    those of the first.
    """
    from loynes.inputs.tables import job_table
    from loynes.questions.answering.evaluating import cpu_seconds
    from loynes.questions.answering.independent_samples import DELTA
    from loynes.questions.answering.methods import Methods
    from loynes.questions.answering.thresholds import judged_rate, moment_warnings
    from loynes.stationary.cut import has_variance

    q, model = question, question.model
    judged = judged_rate(model, q.rate, q.load, seed=q.seed, context=context)
    table = job_table(model, judged.rate)
    context = context.for_work(cpu_seconds(table, judged.load, q.precision, q.samples, q.confidence), table)
    methods = Methods(q, judged, context, as_seen)
    cutting = brackets and q.method in ("sandwich", "perfect") and not has_variance(model)
    if cutting:
        from loynes.questions.answering.cutting import bracketed, plain_run

        methods = plain_run(methods)
    match q.method:
        case "sandwich":
            outcome = methods.sandwich(q.replicas, q.burn_in)
        case "perfect":
            outcome = methods.perfect(q.delta or DELTA)
        case "backward":
            outcome = methods.backward(q.confirmations or 1, q.initial_length)
        case _:
            outcome = methods.forward(q.replicas, q.burn_in)
    shortfalls = methods.shortfalls(outcome)
    if cutting and outcome.certificate is not None:
        outcome = bracketed(methods, outcome, context)
    moments = () if "cut" in outcome.details else moment_warnings(model)
    result = Evaluation(
        model=model.with_rate(judged.rate),
        rate=judged.rate,
        threshold=judged.threshold,
        method=outcome.method,
        overall=outcome.measures.overall,
        classes=outcome.measures.classes,
        system=outcome.measures.system,
        confidence=q.confidence,
        replicas=outcome.replicas,
        jobs=outcome.jobs,
        seed=q.seed,
        backend=context.engine.name,
        details={"threshold": judged.source} | outcome.details,
        certificate=outcome.certificate,
        why=outcome.why,
        stopped={"by": outcome.by, "precision": outcome.measures.overall.wait.mean.relative} if outcome.by else {},
        warnings=(*judged.warnings, *moments, *outcome.warnings, *shortfalls),
    )
    return Evaluated(result, methods, outcome)


evaluate = Ask(Evaluate, Evaluation)
