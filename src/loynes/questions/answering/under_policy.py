"""A model at a rate under a policy, as an evaluation: event by event from two starts, an estimate and nothing more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loynes.errors import UnstableError, UsageError
from loynes.estimators.measures import NOTHING_MORE, Wanted
from loynes.execution.context import Context
from loynes.model import Model
from loynes.questions.answering.ending import after, allow
from loynes.questions.answering.orders import Order, check_order
from loynes.questions.answering.thresholds import known_threshold, moment_warnings, stated_rate
from loynes.questions.answering.two_starts import MOST_JOBS, PAIRS, Enough, TwoStarts, from_two_starts
from loynes.results.quantity import rate_text
from loynes.results.records.evaluation import Evaluation
from loynes.results.tails import Tails

METHOD = "events"


def refuse_recurrence(policy: str, **given: object) -> None:
    """Refuse options that only the recurrence has: nothing of it holds under another policy."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name.replace('_', '-')} {value}: means nothing under policy {policy!r}")


def evaluated_under(
    model: Model,
    order: Order,
    *,
    rate: float | None = None,
    load: float | None = None,
    precision: float = 0.01,
    samples: int | None = None,
    replicas: int | None = None,
    burn_in: int | None = None,
    wanted: Wanted = NOTHING_MORE,
    enough: Enough | None = None,
    confidence: float = 0.99,
    max_jobs: float | None = None,
    usual_jobs: float = MOST_JOBS,
    seed: int = 1,
    context: Context,
) -> Evaluation:
    """Waits under a policy at a rate, or at a load: a multiple of what first come, first served can take.

    Options are those of `evaluate`, and `enough` that of `from_two_starts`; `samples` are jobs that all pairs of runs
    observe together. The result has no certificate; its details say what the two starts gave.
    """
    if rate is not None and load is not None:
        raise UsageError("give a rate or a load, not both")
    warnings = check_order(model, order)
    if model.scenario:
        warnings += ("the model's scenario is left out: this answer is for a rate and servers that never change",)
    steady = model.model_copy(update={"scenario": None})
    if load is None:
        rate = stated_rate(model, rate)
        if rate >= model.ideal:
            said = (rate_text(x, model.time_unit, 6) for x in (rate, model.ideal))
            raise UnstableError(
                f"rate {next(said)} is unstable: {model.size} take less than {next(said)} even unblocked"
            )
    context = context.on("cpu")
    threshold, source = known_threshold(steady, seed=seed, context=context)
    if load is not None:
        rate = load * threshold.estimate
        if rate >= model.ideal:
            raise UnstableError(
                f"load {load:g} is unstable: {model.size} take less than {model.ideal / threshold.estimate:.6g} times "
                "the threshold of fcfs even unblocked"
            )
    assert rate is not None
    pairs = PAIRS if replicas is None else replicas
    found = from_two_starts(
        steady, rate, order, threshold=threshold, precision=precision,
        jobs=None if samples is None else -(-samples // pairs), burn_in=burn_in, pairs=pairs, confidence=confidence,
        wanted=replace(wanted, tails=True), enough=enough, max_jobs=max_jobs, usual_jobs=usual_jobs, seed=seed,
        context=context,
    )  # fmt: skip
    mean = found.measures.overall.wait.mean
    return Evaluation(
        model=model.with_rate(rate),
        rate=rate,
        threshold=threshold,
        method=METHOD,
        overall=found.measures.overall,
        classes=found.measures.classes,
        system=found.measures.system,
        confidence=confidence,
        replicas=found.pairs,
        jobs=found.jobs,
        seed=seed,
        backend=context.engine.name,
        details={"threshold": source, "policy": order.policy} | order.details | _starts(found),
        why=f"waits under {order.policy} are an estimate, event by event",
        stopped={"by": found.by, "precision": mean.relative} if found.by else {},
        warnings=(*warnings, *moment_warnings(model), *found.warnings, *_shortfalls(found, order, precision, context)),
        tails=Tails.of(found.measures.tails),
    )


def _starts(found: TwoStarts) -> dict[str, Any]:
    """What the details of an evaluation say of the two starts."""
    waits = {name: getattr(found, name).to_dict() for name in ("empty", "loaded", "apart")}
    return {
        "burn_in": found.burn_in,
        "observed": found.observed,
        "starts": {"loaded_is": found.start, "agree": found.agree} | waits,
    }


def _shortfalls(found: TwoStarts, order: Order, precision: float, context: Context) -> tuple[str, ...]:
    mean = found.measures.overall.wait.mean
    texts: tuple[str, ...] = ()
    if not found.agree:
        texts += (
            f"runs from empty and runs that begin {found.start} do not agree: mean waits {found.empty} and "
            f"{found.loaded}, apart {found.apart}; they are too short to forget how they began, or the rate is more "
            f"than {order.policy} can take",
        )
    if found.by and mean.estimate > 0:
        texts += (
            f"stopped{after(found.by, found.jobs, context.deadline)} with a relative half-width of {mean.relative:.2g} "
            f"of the mean wait, above the precision {precision:g}; {allow(found.by)}",
        )
    if mean.estimate == 0:
        texts += ("no observed job had to wait: waits are too rare for this run, and their mean has no interval",)
    return texts
