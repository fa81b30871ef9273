"""Effects of small changes against differences of exact answers.

Derivatives are held against central differences of exact mean waits with a step so small (1e-4) that it has no say;
differences against exact differences of the same step. Each must lie in an interval of confidence 1 - 1e-6, five or
six standard errors to both sides, so a correct program fails one of these checks with probability 1e-6; there are
about 60. Coverage over 200 seeds is binomial and may be refused with the same probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import loynes
from loynes.estimate import Estimate, student
from loynes.execution.context import Context
from loynes.model import Model, load
from loynes.questions.answering import levers
from loynes.questions.answering.levers import Lever, Variant
from loynes.questions.answering.objectives import target_of
from loynes.questions.answering.paired import PairedRuns
from loynes.questions.evaluate import Evaluate, evaluated
from loynes.results.records.exact import Exact
from support import SURE, assert_holds

TINY = 1e-4


def model(servers: int, *classes: tuple[str, int, float, dict[str, Any]]) -> Model:
    names = ("name", "need", "probability", "service")
    return load({"servers": servers, "classes": [dict(zip(names, one, strict=True)) for one in classes]})


def exponential(mean: float) -> dict[str, Any]:
    return {"law": "exponential", "mean": mean}


VARIED = {"law": "hyperexponential", "probabilities": [0.3, 0.7], "means": [2.0, 0.6]}
# Model, rate, objective.
CASES: dict[str, tuple[Model, float, str]] = {
    "M/M/3": (model(3, ("only", 1, 1.0, exponential(1.0))), 2.2, "mean(wait)"),
    "three widths": (
        model(
            4, ("one", 1, 0.6, exponential(1.0)), ("two", 2, 0.3, exponential(0.8)), ("all", 4, 0.1, exponential(0.5))
        ),
        1.7, "mean(wait)",
    ),
    "one or all": (model(6, ("one", 1, 0.95, exponential(1.0)), ("all", 6, 0.05, exponential(2.0))), 2.2,
                   "mean(wait[one])"),
    "phases": (
        model(5, ("steady", 2, 0.5, {"law": "erlang", "phases": 2, "mean": 1.0}), ("varied", 3, 0.5, VARIED)), 0.9,
        "mean(response)",
    ),
}  # fmt: skip


def wait_of(result: Exact, variant: Variant, objective: str) -> float:
    """A mean wait, or response, of an exact answer."""
    of = objective.partition("[")[2].partition("]")[0]
    one = result.classes[of] if of else result.overall
    assert one is not None
    if objective.startswith("P("):
        return one.exceeds[float(objective.partition(">")[2].rstrip(")"))]
    return one.mean + (variant.model.mean_service if "response" in objective else 0.0)


def exact_of(variant: Variant, objective: str) -> float:
    """Stretched laws are written out: chains know laws by their names."""
    document = variant.model.model_copy(update={"classes": ()}).to_dict()
    document["classes"] = [
        {"name": c.label, "need": c.any_units, "probability": c.probability, "service": plain(c.service)}
        for c in variant.model.classes
    ]
    exceeds = [float(objective.partition(">")[2].rstrip(")"))] if objective.startswith("P(") else []
    return wait_of(loynes.exact(load(document), rate=variant.rate, exceeds=exceeds), variant, objective)


def plain(law: Any) -> dict[str, Any]:
    factor = getattr(law, "factor", 1.0)
    written = dict((law.of if factor != 1.0 else law).model_dump())
    for key in ("mean", "means"):
        if key in written:
            value = written[key]
            written[key] = [factor * x for x in value] if isinstance(value, list | tuple) else factor * value
    return {key: list(value) if isinstance(value, tuple) else value for key, value in written.items()}


def truth(lever: Lever, objective: str) -> float:
    return lever.factor * (exact_of(lever.high, objective) - exact_of(lever.low, objective))


def by_name(found: list[Lever]) -> dict[tuple[str, str], Lever]:
    return {(one.name, one.change): one for one in found}


@pytest.mark.parametrize("name", CASES)
def test_effects_are_those_of_exact_answers(name: str) -> None:
    given, rate, objective = CASES[name]
    result = loynes.sensitivity(given, rate=rate, objective=objective, samples=400_000, confidence=SURE, seed=12)
    base, step = Variant(given, rate), result.details["step"]
    smooth = by_name([levers.rate_lever(base, "percent", TINY), *levers.length_levers(base, "percent", TINY)])
    shares = [] if len(given.classes) == 1 else levers.share_levers(base, "percent", step)[0]
    rest = by_name([*shares, *levers.need_levers(base)[0], *levers.server_levers(base)[0]])
    assert {(one.lever, one.change) for one in result.effects} == {*smooth, *rest}
    assert_holds(exact_of(base, objective), result.base, 0.1)
    for one in result.effects:
        derivative = (one.lever, one.change) in smooth
        assert one.method == ("derivative" if derivative else "difference")
        lever = (smooth if derivative else rest)[one.lever, one.change]
        if math.isinf(one.effect.estimate):
            with pytest.raises(loynes.UnstableError):
                loynes.exact(lever.high.model, rate=rate)
            continue
        exact = truth(lever, objective)
        assert one.effect.low <= exact <= one.effect.high, (one, exact)
        # Narrow enough to mean something: shares, whose effects partly cancel, beside the effect of the rate.
        rates = next(e for e in result.effects if e.kind == "rate").effect.estimate
        assert one.effect.half_width <= 0.2 * max(abs(exact), 0.4 * rates), (one, exact)


def test_steps_are_small_enough() -> None:
    """What a step to both sides leaves of the bias is a small part of the effect, at a low load and near the limit."""
    given = CASES["three widths"][0]
    for load_factor in (0.3, 0.9):
        threshold = loynes.exact(given).threshold
        base, step = Variant(given, load_factor * threshold), levers.step_at(load_factor)
        wide = [levers.rate_lever(base, "percent", step), *levers.length_levers(base, "percent", step)]
        fine = [levers.rate_lever(base, "percent", TINY), *levers.length_levers(base, "percent", TINY)]
        for one, other in zip(wide, fine, strict=True):
            assert truth(one, "mean(wait)") == pytest.approx(truth(other, "mean(wait)"), rel=0.02)


def test_a_probability_has_differences() -> None:
    given, rate, _ = CASES["three widths"]
    objective = "P(wait[two] > 1)"
    result = loynes.sensitivity(given, rate=rate, objective=objective, samples=400_000, confidence=SURE, seed=5)
    step = result.details["step"]
    base = Variant(given, rate)
    tried = by_name([levers.rate_lever(base, "percent", step), *levers.length_levers(base, "percent", step)])
    for one in result.effects:
        assert one.method == "difference"
        if (one.lever, one.change) in tried:
            assert one.step == step
            assert_holds(truth(tried[one.lever, one.change], objective), one.effect, 0.2)
    assert any("differences stand for derivatives" in text for text in result.remarks)


@pytest.mark.usefixtures("means_only")
def test_coverage() -> None:
    """How often intervals hold the truth, how wide they are for how far estimates scatter, where their mean lies."""
    repetitions, confidence, replicas, false_alarm = 200, 0.9, 32, 1e-6
    given = model(4, ("small", 1, 0.7, exponential(1.0)), ("wide", 3, 0.3, exponential(1.5)))
    rate, objective = 0.9, "mean(wait)"
    base, target = Variant(given, rate), target_of(objective, [c.label for c in given.classes])
    smooth = [levers.rate_lever(base, "percent", TINY), *levers.length_levers(base, "percent", TINY)]
    (share, _), (server, *_) = levers.share_levers(base, "percent", 0.04)[0], levers.server_levers(base)[0]
    truths = [truth(one, objective) for one in (*smooth, share, server)]
    seen: list[list[Estimate]] = []
    for seed in range(repetitions):
        question = Evaluate.of(
            given, rate=rate, method="forward", samples=4000, replicas=replicas, burn_in=400, confidence=confidence,
            seed=seed, backend="cpu",
        )  # fmt: skip
        runs = PairedRuns(evaluated(question, Context("cpu")), target)
        found = runs.derivatives([levers.PERCENT] * 3, confidence, Context("cpu"))
        seen.append([*found, *(runs.difference(one, confidence, Context("cpu"))[0] for one in (share, server))])
    least = int(binom.ppf(false_alarm, repetitions, confidence))
    for exact, values in zip(truths, zip(*seen, strict=True), strict=True):
        centres = np.array([value.estimate for value in values])
        scatter = float(np.std(centres, ddof=1))
        held = sum(value.low <= exact <= value.high for value in values)
        width = float(np.mean([value.half_width for value in values]))
        assert held >= least, (exact, held, least)
        assert width <= 1.5 * student(confidence, replicas) * scatter, (exact, width, scatter)
        assert abs(float(np.mean(centres)) - exact) <= 5.0 * scatter / math.sqrt(repetitions), (exact, centres.mean())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: load(m, ["classes.one.service={law='deterministic', value=1.0}"]), "single values"),
        (lambda m: m.with_discipline("random"), "one kind of server"),
    ],
)
def test_why_there_are_no_derivatives(change: Callable[[Model], Model], why: str) -> None:
    given = change(CASES["three widths"][0])
    result = loynes.sensitivity(given, rate=0.5, samples=3000, replicas=16)
    assert {one.method for one in result.effects} == {"difference"}
    assert why in result.remarks[0]
