"""Two models on the same jobs: what changes, and by how much."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.execution.steps import Steps
from loynes.model import Model, load
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option, names_of, texts_of
from loynes.questions.asking.pooling import left_out
from loynes.questions.asking.question import LoadedModel, Question
from loynes.questions.evaluate import Evaluate, Evaluated, evaluated
from loynes.results.records.comparison import Comparison, Differences

# What two pilots and the two runs weigh.
WEIGHTS = (1.0, 1.0, 9.0, 9.0)
# A job that leaves no trace: it starts no later than any job behind it could, and is gone at once.
NOTHING = {"need": 1, "service": {"law": "deterministic", "value": 1e-12}}


class Compare(Question):
    """Two models, or several policies, on the same jobs: differences of waits and losses, with intervals.

    The second model is `other`, or the first with `change` applied (["classes.T15.service.mean=5"]), or `without` some
    classes: their jobs are not there, all others arrive as before, so the difference is what these classes cost the
    others. Both run at the same rate: `rate`, `load` of the first model's threshold, or each model's own.
    `precision` is that of the first model's mean wait; the difference is usually known far better. `names` are what to
    call the two. Both share a `time` (seconds, or "30s"), and the answer says what was reached by then.
    """

    command: ClassVar[str] = "compare"
    for_log: ClassVar[str] = "compare_log"
    positional: ClassVar[tuple[str, ...]] = ("model", "other")
    examples: ClassVar[tuple[str, ...]] = (
        "loynes compare five-class-exponential --without T15 --load 0.75",
        "loynes compare five-class-exponential --change classes.T15.service.mean=5 --load 0.75",
        "loynes compare before.toml after.toml --rate 1.3",
        "loynes compare five-class-exponential --policies fcfs,easy,first-fit --loads 0.5:1.1:0.1 -o policies.png",
    )

    model: LoadedModel
    other: Annotated[
        Model | None,
        BeforeValidator(lambda given: None if given is None else load(given)),
        PlainSerializer(lambda model: None if model is None else model.to_dict()),
        Option("The model to compare it with.", "[OTHER]"),
    ] = None
    change: Annotated[
        tuple[str, ...],
        BeforeValidator(texts_of),
        Option("Instead: the same model, changed so. Repeatable.", "PATH=VALUE", written="repeated"),
    ] = ()
    without: Annotated[
        tuple[str, ...],
        BeforeValidator(texts_of),
        Option("Instead: without this class. Repeatable.", "CLASS", written="repeated"),
    ] = ()
    rate: options.Rate = None
    load: Annotated[
        float | None,
        Field(ge=1e-9, allow_inf_nan=False),
        Option("Of both: a fraction of the first model's threshold.", must="be at least 1e-9 and below 1"),
    ] = None
    method: Annotated[
        Literal["sandwich", "forward"], Option("As for evaluate; only chains can be paired.", "sandwich|forward")
    ] = "sandwich"
    precision: Annotated[
        float, Field(gt=0, lt=1), Option("Relative half-width of the first model's mean wait to reach.")
    ] = 0.01
    samples: options.Arrivals = None
    percentiles: options.Percentiles = ()
    replicas: options.Replicas = None
    burn_in: options.BurnIn = None
    discipline: options.Discipline = None
    names: Annotated[
        tuple[str, str] | None, BeforeValidator(names_of), Option("What to call the two.", "A,B", written="list")
    ] = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: options.Confidence = 0.99
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    @property
    def by_events(self) -> bool:
        return True  # changes are of the model as it is; the two are pooled here

    def answer(self, context: Context) -> Comparison:
        from loynes.estimators.pairs import ChainTallies, Difference, difference, system_difference

        second, removed, label = self._second()
        remarks = tuple(dict.fromkeys(text for model in (self.model, second) for text in left_out(model)))
        first, second = self.model.pooled, second.pooled
        second = second if first.discipline is None else second.with_discipline(first.discipline)
        shared = [c.label for c in first.classes if c.label in {d.label for d in second.classes} - set(removed)]
        if not shared:
            raise UsageError(f"{first.label} and {label}: have no class of the same name")
        names = self.names or (first.label, label)
        one, two = self._paired(first, second, context)
        results = (one.result, two.result)
        tallies = [ChainTallies(e.result.model, e.result.rate, e.methods.needs, e.outcome.tallies) for e in (one, two)]
        at = [{c.label: i for i, c in enumerate(model.classes)} for model in (first, second)]

        def of(chosen: list[str]) -> Difference:
            positions = ([at[0][name] for name in chosen], [at[1][name] for name in chosen])
            return difference(tallies[0], tallies[1], positions, self.confidence, self.percentiles)

        there = ([*range(len(first.classes))], [i for i, c in enumerate(second.classes) if c.label not in removed])
        system = system_difference(tallies[0], tallies[1], *there, self.confidence)
        texts = [f"{name}: {text}" for name, r in zip(names, results, strict=True) for text in r.warnings]
        return Comparison(
            names=names,
            a=one.result,
            b=two.result,
            differences=Differences(of(shared), {name: of([name]) for name in shared}, system),
            confidence=self.confidence,
            seed=self.seed,
            warnings=(*remarks, *texts),
        )

    def _paired(self, first: Model, second: Model, context: Context) -> tuple[Evaluated, Evaluated]:
        """Both evaluated on the same jobs: equal burn-ins, replicas and observed arrivals."""
        shared: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("method", "precision", "percentiles", "confidence", "max_jobs", "seed", "backend")
        }

        steps = Steps(context)

        def run(model: Model, part: int, rates: dict[str, Any], size: dict[str, Any]) -> Evaluated:
            question = Evaluate.of(model, **shared, **rates, **size)
            return evaluated(
                question, steps.next(WEIGHTS[part], sum(WEIGHTS[part + 1 :]), f"{part + 1} of 4"), as_seen=True
            )

        def second_rate(one: Evaluated) -> dict[str, Any]:
            """The first model's, unless no rate was asked for and the second has one of its own."""
            own = self.rate is None and self.load is None and second.rate is not None
            return {"rate": second.rate if own else one.result.rate}

        rates = {"rate": self.rate, "load": self.load}
        burn_in, replicas = self.burn_in, self.replicas
        if burn_in is None:
            # Both burn in for as long as the slower of the two needs: they observe the same jobs, and replicas pair.
            pilot = run(first, 0, rates, {"samples": 2, "replicas": replicas})
            pilots = (pilot, run(second, 1, second_rate(pilot), {"samples": 2, "replicas": replicas}))
            burn_in = max(one.result.details["burn_in"] for one in pilots)
            replicas = min(one.result.replicas for one in pilots)
        one = run(first, 2, rates, {"samples": self.samples, "replicas": replicas, "burn_in": burn_in})
        observed = {"samples": one.result.details["observed_arrivals"], "replicas": one.result.replicas}
        return one, run(second, 3, second_rate(one), observed | {"burn_in": burn_in})

    def _second(self) -> tuple[Model, tuple[str, ...], str]:
        """The second model, the classes that are not really there, and what to call it."""
        first, other = self.model, self.other
        if (other is not None) + bool(self.change or self.without) != 1:
            raise UsageError(
                "what to compare with? Give a second model, or changes (--change PATH=VALUE, --without CLASS)"
            )
        if other is not None:
            return other, (), other.label if other.label != first.label else f"{other.label} (second)"
        there = [c.label for c in first.classes]
        for name in self.without:
            if name not in there:
                raise UsageError(f"without {name!r}: there is no such class; there are {', '.join(there)}")
        if len(set(self.without)) == len(there):
            raise UsageError("without: no class would be left")
        second = load(first, self.change)
        label = ", ".join([*self.change, *(f"without {name}" for name in self.without)])
        if not self.without:
            return second, (), label
        if second.by_resource or any(c.specific for c in second.classes):
            raise UsageError(
                "without: is there for clusters of identical servers only; compare with a second model file"
            )
        document = second.to_dict()
        for job in document["classes"]:
            if job["name"] in self.without:
                job |= NOTHING
        return load(document), self.without, label


compare = Ask(Compare, Comparison)
