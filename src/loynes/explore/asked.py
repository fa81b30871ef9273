"""Which questions the page asks of a state, in which order, and what it is told of their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loynes.errors import LoynesError, ModelError
from loynes.estimate import Estimate
from loynes.explore.state import Also, State
from loynes.model import Model, load
from loynes.questions.asking.command_line import command_line
from loynes.questions.asking.question import Question
from loynes.questions.compare import Compare
from loynes.questions.evaluate import Evaluate
from loynes.questions.stability import Stability
from loynes.results.base import Result
from loynes.results.records.comparison import Comparison
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.threshold import Threshold

# The threshold is soon known to a tenth, then as well as on the command line. Waits likewise.
THRESHOLDS = (0.1, 0.005)
WAITS = (0.2, 0.05, 0.01)
# Of what is shown beside the answer.
BESIDE = 0.05
POLICIES = ("fcfs", "easy", "first-fit", "most-servers-first", "server-filling")
LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Step:
    """A question, and where its answer is shown."""

    kind: str
    name: str
    question: Question


def steps_of(state: State, also: tuple[Also, ...]) -> Iterator[Step | LoynesError]:
    """The questions of a state, what is known soonest first; an error where one cannot be asked."""
    model = state.cluster
    shared: dict[str, Any] = {"rate": state.rate, "seed": state.seed}
    for precision in THRESHOLDS:
        yield Step("threshold", "", Stability.of(model, precision=precision, seed=state.seed))
    for precision in WAITS:
        yield Step("waits", "", Evaluate.of(model, precision=precision, policy=state.policy, **shared))
    if state.pinned is not None:
        try:
            yield Step("difference", "", Compare.of(state.pinned.cluster, model, precision=BESIDE, seed=state.seed))
        except LoynesError as error:
            yield error
    if "what_if" in also:
        for name, other, rate in what_ifs(model, state.rate):
            of = shared | {"rate": rate, "precision": BESIDE}
            yield Step("what_if", name, Evaluate.of(other, policy=state.policy, **of))
    if "policies" in also:
        for policy in POLICIES:
            yield Step("policy", policy, Evaluate.of(model, policy=policy, precision=BESIDE, **shared))
    if "sweep" in also:
        for load_ in LOADS:
            of = {"load": load_, "precision": 2 * BESIDE, "seed": state.seed}
            yield Step("point", "", Evaluate.of(model, policy=state.policy, **of))


def what_ifs(model: Model, rate: float) -> Iterator[tuple[str, Model, float]]:
    """The usual changes: a name, the changed model, and the rate at which its jobs come."""
    document = model.to_dict()
    if model.one_kind is not None:
        yield "one server more", load(document | {"servers": model.one_kind + 1}), rate
    if any(c.arrivals is not None for c in model.classes):
        return
    if len(model.classes) > 1:
        heaviest = max(model.classes, key=lambda c: model.need(c))
        rest = [c for c in document["classes"] if c["name"] != heaviest.label]
        total = 1.0 - heaviest.probability
        fewer = [c | {"probability": c["probability"] / total} for c in rest]
        yield f"without {heaviest.label}", load(document | {"classes": fewer}), rate * total
        half = _half_as_long(document, heaviest.label)
        if half is not None:
            yield f"{heaviest.label} half as long", load(half), rate
        needs = sorted({c.need for c in model.classes if isinstance(c.any_units, int)})
        if model.one_kind is not None and len(needs) > 1:
            cap = needs[-2]
            cut = [c | {"need": min(c["need"], cap)} for c in document["classes"]]
            yield f"needs of at most {cap}", load(document | {"classes": cut}), rate


def _half_as_long(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The model with the services of one class halved; None where the law has no single scale."""
    classes = []
    for one in document["classes"]:
        service = dict(one["service"])
        if one["name"] == name:
            key = next((key for key in ("mean", "value") if key in service), None)
            if key is None:
                return None
            service[key] /= 2.0
        classes.append(one | {"service": service})
    return document | {"classes": classes}


def facts_of(state: State) -> dict[str, Any]:
    """What is known of a state without sampling: it is exact, and there at once."""
    model = state.cluster
    if not model.classes:
        raise ModelError("classes: there are none")
    return {
        "kind": "facts",
        "label": model.label,
        "size": model.size,
        "ideal": model.ideal,
        "busy": state.rate * model.work,
        "servers": model.units[model.bottleneck],
        "time_unit": model.time_unit,
        "classes": [
            {"name": c.label, "need": c.need_text, "probability": c.probability, "law": c.service.law,
             "mean": c.service.mean, "cv": _finite(c.service.variation)}
            for c in model.classes
        ],
    }  # fmt: skip


def told(step: Step, result: Result) -> dict[str, Any]:
    """What the page is told of an answer: numbers, the text that a table shows, and the command line for it."""
    question = step.question
    event: dict[str, Any] = {
        "kind": step.kind, "name": step.name, "warnings": list(result.warnings),
        "command": command_line(type(question), question.options()), "precision": getattr(question, "precision", None),
    }  # fmt: skip
    if isinstance(result, Threshold):
        return event | {"threshold": shown(result.threshold), "ideal": result.ideal}
    if isinstance(result, Comparison):
        return event | {
            "overall": shown(result.overall.wait["mean"]),
            "classes": {name: shown(one.wait["mean"]) for name, one in result.classes.items()},
        }
    assert isinstance(result, Evaluation)
    return event | evaluated(result)


def evaluated(result: Evaluation) -> dict[str, Any]:
    """Waits by class, the state of the cluster, and P(wait > x)."""
    system = result.system
    tails = result.tails
    return {
        "rate": result.rate,
        "load": result.load,
        "standing": result.standing,
        "jobs": result.jobs,
        "seconds": result.seconds,
        "overall": waits_of(result.overall),
        "classes": {name: waits_of(one) for name, one in result.classes.items()},
        "system": {name: shown(getattr(system, name))
                   for name in ("busy_servers", "idle_servers", "hol_loss", "jobs_waiting", "utilization")},
        "tails": None if tails is None else {
            "x": list(tails.x), "classes": {name: list(one.estimate) for name, one in tails.classes.items()}
        },
    }  # fmt: skip


def waits_of(waits: Any) -> dict[str, Any]:
    wait = waits.wait
    return {"mean": shown(wait.mean), "p50": shown(wait.p50), "p95": shown(wait.p95), "p99": shown(wait.p99),
            "no_wait": shown(waits.no_wait)}  # fmt: skip


def shown(value: Estimate) -> dict[str, Any]:
    """An estimate with the text that tables show: as many digits as its interval supports."""
    return value.to_dict() | {"text": str(value)}


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None
