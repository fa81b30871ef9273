"""Exact answers: the saturated chain, the queue's chain, and the formulas that stand in for them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from loynes.errors import UsageError
from loynes.markov import closed, queue, saturated, waits
from loynes.markov.phases import Stages
from loynes.markov.states import Blocked, Crews, chain_size
from loynes.model import Model
from loynes.results.records.exact import ClassWait, Exact

# What the queue's matrices may take.
MOST_BYTES = 4 << 30
# Rounding costs about 1e-15 / (1 - load) of the waits: nearer to the threshold, not even nine digits would be right.
NEAREST = 1e-6
# How much of the distribution of jobs in system is shown.
MOST_LEVELS = 10_000
SHOWN = 1e-9


def saturated_states(model: Model, max_states: int) -> Blocked | str:
    """The states of the saturated chain, or why they are not to be had."""
    stages = Stages.of(model)
    if isinstance(stages, str):
        return stages
    predicted = chain_size(stages)
    if predicted > max_states:
        return f"the saturated chain would have {predicted:.6g} states, more than max-states {max_states}"
    return Blocked.of(Crews.of(stages))


def exact_threshold(model: Model, states: Blocked | str) -> Exact:
    formula = closed.threshold(model)
    if formula is not None:
        value, method, count = formula.value, formula.name, 0
    elif isinstance(states, str):
        raise UsageError(f"{model.label}: no exact threshold: {states}; use `loynes stability`")
    else:
        chain = saturated.solve(states)
        value, method, count = chain.threshold, "saturated chain", chain.states
    lost = {
        kind: max(units - value * work, 0.0) if value < model.ideal else 0.0
        for kind, units, work in zip(model.kinds, model.units, model.works, strict=True)
    }
    return Exact(
        model=model,
        threshold=value,
        utilization=value / model.ideal,
        hol_loss_saturated=lost[model.kinds[model.bottleneck]],
        resources={kind: {"hol_loss_saturated": loss} for kind, loss in lost.items()} if model.resources else {},
        throughput={c.label: c.probability * value for c in model.classes},
        states=count,
        method=method,
    )


def exact_queue(saturation: Exact, model: Model, rate: float, states: Blocked | str, tails: tuple[float, ...]) -> Exact:
    formula = closed.wait(model, rate)
    if formula is not None:
        exceeding = {x: p for x in tails if (p := formula.exceeds(x)) is not None}
        one = ClassWait(formula.mean, formula.no_wait, formula.variance, exceeding)
        return replace(
            saturation,
            rate=rate,
            method=f"{saturation.method}; {formula.name}",
            overall=one,
            classes={c.label: one for c in model.classes},
            mean_jobs=rate * (formula.mean + model.mean_service),
            hol_loss=0.0 if closed.threshold_is_plain(model) else None,
        )
    if isinstance(states, str):
        raise UsageError(f"{model.label}: no exact waits: {states}; use `loynes evaluate`")
    if rate > (1.0 - NEAREST) * saturation.threshold:
        raise UsageError(
            f"{model.label}: no exact waits: rate {rate:.12g} is within {NEAREST:g} of the threshold, where too few "
            "digits would be right"
        )
    process = queue.Queue(states, rate)
    if process.bytes > MOST_BYTES:
        raise UsageError(
            f"{model.label}: no exact waits: {len(states)} states a level in {process.largest + 2} levels would take "
            f"{process.bytes / 2**30:.3g} GiB, more than {MOST_BYTES >> 30}; use `loynes evaluate`"
        )
    solved = queue.solve(process)
    mean_wait = max(solved.mean_jobs / rate - model.mean_service, 0.0)
    means = waits.means(solved, mean_wait)
    classes = [ClassWait(float(w), float(p)) for w, p in zip(means.wait, means.no_wait, strict=True)]
    classes, texts = _more(solved, classes, tails)
    probability = [c.probability for c in model.classes]
    blocked = solved.blocked_probability()
    idle = np.array(model.units) - states.crews.used[states.crew]
    lost = [math.fsum(blocked * unused) for unused in idle.T]
    levels = solved.distribution(MOST_LEVELS)
    shown = 1 + int((levels.cumsum() < 1.0 - SHOWN).sum())
    return replace(
        saturation,
        rate=rate,
        states=len(states),
        method=f"{saturation.method}; level-dependent quasi-birth-death process",
        overall=_mixed(probability, classes, mean_wait),
        classes={c.label: w for c, w in zip(model.classes, classes, strict=True)},
        mean_jobs=solved.mean_jobs,
        hol_loss=lost[model.bottleneck],
        resources={
            kind: saturation.resources[kind]
            | {"busy": rate * work, "utilization": rate * work / units, "hol_loss": loss}
            for kind, units, work, loss in zip(model.kinds, model.units, model.works, lost, strict=True)
        }
        if model.resources
        else {},
        jobs_in_system=tuple(levels[:shown].tolist()),
        error=queue.error(solved),
        warnings=texts,
    )


def _more(
    solved: queue.Solved, classes: list[ClassWait], tails: tuple[float, ...]
) -> tuple[list[ClassWait], tuple[str, ...]]:
    """Variances and tails, where the recursion behind them is not too long."""
    texts: tuple[str, ...] = ()
    too_long = (
        waits.steps(solved) > waits.MOST_STEPS
        or waits.multiplications(solved, 2 * len(classes)) > waits.MOST_MULTIPLICATIONS
    )
    if too_long or not waits.remembered(solved):
        texts += ("variances and P(wait > x) are left out: the recursion behind them would be too long at this load",)
        return classes, texts
    _, second = waits.moments(solved)
    classes = [replace(c, variance=float(m) - c.mean**2) for c, m in zip(classes, second, strict=True)]
    if not tails:
        return classes, texts
    if sum(x > 0 for x in tails) * waits.TRANSFORMS * waits.steps(solved) > waits.MOST_STEPS:
        return classes, (*texts, "P(wait > x) is left out: the recursions behind it would be too long at this load")
    beyond = {x: waits.tails(solved, x) if x > 0 else [1.0 - c.no_wait for c in classes] for x in tails}
    return [replace(c, exceeds={x: float(p[i]) for x, p in beyond.items()}) for i, c in enumerate(classes)], texts


def _mixed(probability: list[float], classes: list[ClassWait], mean: float) -> ClassWait:
    """The wait of any job, from those of the classes."""
    variance = None
    if all(c.variance is not None for c in classes):
        second = math.fsum(p * ((c.variance or 0.0) + c.mean**2) for p, c in zip(probability, classes, strict=True))
        variance = second - mean * mean
    tails = classes[0].exceeds
    return ClassWait(
        mean,
        math.fsum(p * c.no_wait for p, c in zip(probability, classes, strict=True)),
        variance,
        {x: math.fsum(p * c.exceeds[x] for p, c in zip(probability, classes, strict=True)) for x in tails},
    )
