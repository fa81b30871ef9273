"""The same question at many rates, or of a model changed in many ways."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

from pydantic import BeforeValidator, Field

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.model import Model, load
from loynes.questions.answering.ending import not_run
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask, answered
from loynes.questions.asking.options import Option, axes_of
from loynes.questions.asking.question import LoadedModel, Question
from loynes.questions.evaluate import Evaluate, Method
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.sweep import Point, Sweep

MOST_POINTS = 10_000
# To weigh points by: jobs of what is done besides observing; most that are observed; a threshold over the ideal rate.
BESIDES, MOST_JOBS, NEAR = 3e6, 4e9, 0.9
# The options that every point's own question has.
SHARED = ("policy", "window", "threshold", "age", "cycle", "option", "inflation", "method", "precision", "samples",
          "exceeds", "percentiles", "confidence", "replicas", "max_jobs", "seed", "backend")  # fmt: skip


class AskSweep(Question):
    """Waits and losses at many rates, or of a model changed in many ways, each as `evaluate` gives them.

    `loads` are fractions of each point's own threshold, `rates` jobs per unit of time; one of them, or the model's own
    rate. `vary` changes the model: {"classes.T15.service.mean": [5, 10]}. All combinations are evaluated. Values are
    lists, or texts as on the command line ("0.1:0.95:0.05", "1,2,5"). The same seed at every point means the same jobs
    as far as models have them in common, so that differences between points are smaller than their intervals say.
    A point that is unstable has no result, and says why. Points share a `time` (seconds, or "30s") by how much work
    they are, and say what they reached. In a run folder every point is a run of its own. Under another `policy` than
    fcfs every point is an estimate, as `evaluate` gives it, and a load is that of fcfs and may be above 1.
    """

    command: ClassVar[str] = "sweep"
    for_log: ClassVar[str] = "sweep_log"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes sweep five-class-exponential --loads 0.1:0.9:0.2",
        "loynes sweep five-class-exponential --policy easy --loads 0.7:1.1:0.1",
        "loynes sweep mine.toml --rates 1,1.2,1.4 --vary classes.T15.service.mean=5,10 -o sweep.csv",
    )

    model: LoadedModel
    loads: options.Loads = None
    rates: options.Rates = None
    vary: Annotated[
        dict[str, tuple[Any, ...]],
        BeforeValidator(axes_of),
        Option("Change the model: servers=16:32:4. Repeatable.", "PATH=VALUES", written="pairs"),
    ] = Field(default_factory=dict)
    policy: options.PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    inflation: options.Inflation = 1.0
    method: Method = "sandwich"
    precision: Annotated[
        float, Field(gt=0, lt=1), Option("Relative half-width of the overall mean wait to reach at every point.")
    ] = 0.02
    samples: options.Samples = None
    exceeds: options.Exceeds = ()
    percentiles: options.Percentiles = ()
    replicas: options.Replicas = None
    discipline: options.Discipline = None
    seed: options.Seed = 1
    backend: options.Backend = "auto"
    confidence: options.Confidence = 0.99
    max_jobs: options.MaxJobs = None
    time: options.TimeBudget = None

    @property
    def by_events(self) -> bool:
        return True  # what is varied is of the model as it is; every point says what it leaves out

    def answer(self, context: Context) -> Sweep:
        from loynes.questions.answering.asked_order import other_order
        from loynes.questions.answering.orders import check_order

        if self.loads is not None and self.rates is not None:
            raise UsageError("give loads or rates, not both")
        axes: dict[str, tuple[Any, ...]] = dict(self.vary)
        axes |= {name: given for name, given in (("load", self.loads), ("rate", self.rates)) if given is not None}
        if not axes:
            raise UsageError("nothing to sweep: give loads, rates or something to vary")
        if (count := math.prod(len(values) for values in axes.values())) > MOST_POINTS:
            raise UsageError(f"{count} points: at most {MOST_POINTS}")
        configs = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
        # Every model is made before anything runs: a wrong path or value is refused at once.
        models = [load(self.model, [f"{path}={config[path]}" for path in self.vary]) for config in configs]
        if (order := other_order(self)) is not None:
            for model in models:
                check_order(model, order)
        weights = [self._weight(config, model) for config, model in zip(configs, models, strict=True)]
        points, steps, then = [], Steps(context), sum(weights)
        for number, (config, model) in enumerate(zip(configs, models, strict=True)):
            then = max(then - weights[number], 0.0)
            part = steps.next(weights[number], then, _name(number, count, config))
            points.append(self._point(number, config, model, part))
        if all(point.late for point in points):
            raise Stopped  # nothing is known yet
        if all(point.result is None and not point.late for point in points):
            every = f"all {len(points)} points are unstable; the first: " if len(points) > 1 else ""
            raise UnstableError(f"{every}{points[0].why}")
        return Sweep(
            model=self.model,
            vary=tuple(axes),
            points=tuple(points),
            confidence=self.confidence,
            seed=self.seed,
            warnings=_warnings(points),
        )

    def _weight(self, config: dict[str, Any], model: Model) -> float:
        """About how many jobs a point takes: as waits near saturation need them, or as it says."""
        if self.samples is not None:
            return float(self.samples)
        rate = config.get("rate", model.rate or 0.0)
        load = float(config["load"] if "load" in config else rate / (NEAR * model.ideal))
        away = max(1.0 - load, 0.01) if self.policy == "fcfs" else 0.5
        return BESIDES + min(model.servers / (self.precision * away) ** 2, self.max_jobs or MOST_JOBS)

    def _point(self, number: int, config: dict[str, Any], model: Model, context: Context) -> Point:
        context.progress(0.0, "")
        at = {name: config[name] for name in ("load", "rate") if name in config}
        question = Evaluate.of(model, **at, **{name: getattr(self, name) for name in SHARED})
        try:
            result = answered(question, context, _place(context, "points", f"{number:05d}"))
        except UnstableError as error:
            return Point(config, None, str(error))
        except Stopped:
            return Point(config, None, not_run(context.deadline))
        # The distribution of waits is in the point's own folder: here it would be most of the document.
        return Point(config, replace(cast(Evaluation, result), tails=None))


def _place(context: Context, *names: str) -> Path | None:
    return None if context.folder is None else context.folder.joinpath(*names)


def _name(number: int, count: int, config: Mapping[str, Any]) -> str:
    where = ", ".join(f"{name.rsplit('.', 1)[-1]} {value}" for name, value in config.items())
    return f"{number + 1} of {count}: {where}"


def _warnings(points: list[Point]) -> tuple[str, ...]:
    """What points warn of, each text once, with how many say so; unstable ones first."""
    texts: dict[str, int] = {}
    for point in points:
        for text in point.result.warnings if point.result else ():
            head = text.split(" (")[0]
            texts[head] = texts.get(head, 0) + 1
    late = sum(point.late for point in points)
    unstable = sum(point.result is None for point in points) - late
    first: tuple[str, ...] = (f"{unstable} of {len(points)} points are unstable: no result there",)
    first = first if unstable else ()
    first += (f"{late} of {len(points)} points were not run, for lack of time",) if late else ()
    return first + tuple(f"{count} of {len(points)} points: {text}" for text, count in texts.items())


sweep = Ask(AskSweep, Sweep)
