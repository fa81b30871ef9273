"""The same questions answered to ten digits, where Markov chains or formulas can."""

from __future__ import annotations

import math
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import LoynesWarning, UnstableError, UsageError
from loynes.markov import closed, queue, saturated, waits
from loynes.markov.phases import Stages
from loynes.markov.states import Blocked, Crews, count_crews, count_states
from loynes.model import Model, Poisson
from loynes.model import load as read
from loynes.model.fields import LARGEST, SMALLEST
from loynes.results.exact import ClassWait, Exact
from loynes.study.progress import Progress, silent

MAX_STATES = 500_000
# Chains up to here take a tenth of a second: other questions ask them instead of sampling.
CHEAP_STATES = 5_000
# What the queue's matrices may take.
MOST_BYTES = 4 << 30
# Rounding costs about 1e-15 / (1 - load) of the waits: nearer to the threshold, not even nine digits would be right.
NEAREST = 1e-6
# How much of the distribution of jobs in system is told.
MOST_LEVELS = 10_000
TOLD = 1e-9


def exact(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    rate: float | None = None,
    load: float | None = None,
    exceeds: Iterable[float] = (),
    max_states: int = MAX_STATES,
    progress: Progress = silent,
) -> Exact:
    """The exact threshold; with a rate or a load (a fraction of it) also waits, overall and per class.

    Needs services of phase type (exponential, erlang, hyperexponential, phase_type, coxian, mixtures of them) and a
    chain of at most `max_states` states, or one of the closed forms. The model's own rate is used if it has one.
    `exceeds` asks for P(wait > x).
    """
    began = time.perf_counter()
    if rate is not None and load is not None:
        raise UsageError("give a rate or a load, not both")
    if rate is not None and not SMALLEST <= rate <= LARGEST:
        raise UsageError(f"rate {rate:g}: must be a finite number above 0")
    if load is not None and not 0 < load < math.inf:
        raise UsageError(f"load {load:g}: must be above 0 and below 1")
    if max_states < 1:
        raise UsageError(f"max-states {max_states}: must be at least 1")
    tails = tuple(float(x) for x in exceeds)
    if not all(0 <= x < math.inf for x in tails):
        raise UsageError("exceeds: must be finite times of at least 0")
    model = read(model)
    poisson = isinstance(model.arrivals, Poisson) and model.chain is None
    if rate is None and load is None and poisson:
        rate = model.rate
    progress(0.0, "threshold")
    states = _states(model, max_states)
    found = _threshold(model, states)
    if load is not None:
        rate = load * found.threshold
    if rate is not None:
        if not poisson:
            raise UsageError(f"{model.label}: no exact waits: they are for Poisson arrivals; use `loynes evaluate`")
        if rate >= found.threshold:
            raise UnstableError(f"rate {rate:g} is unstable: the threshold is {found.threshold:.10g}")
        progress(0.5, "queue")
        found = _queue(found, model, rate, states, tails)
    for text in found.warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return replace(found, seconds=time.perf_counter() - began)


@lru_cache(maxsize=64)
def cheap_threshold(model: Model) -> tuple[float, str] | None:
    """The exact threshold and where it comes from, if a formula or a small chain gives it at once."""
    formula = closed.threshold(model)
    if formula is not None:
        return formula.value, formula.name
    stages = Stages.of(model)
    if isinstance(stages, str) or _size(stages) > CHEAP_STATES:
        return None
    states = Blocked.of(Crews.of(stages))
    return saturated.solve(states).threshold, f"saturated chain of {len(states)} states"


def _size(stages: Stages) -> float:
    """Of the larger of the two lists that the chain is made of."""
    return max(count_states(stages), float(count_crews(stages).sum()))


def _states(model: Model, max_states: int) -> Blocked | str:
    """The states of the saturated chain, or why they are not to be had."""
    stages = Stages.of(model)
    if isinstance(stages, str):
        return stages
    predicted = _size(stages)
    if predicted > max_states:
        return f"the saturated chain would have {predicted:.6g} states, more than max-states {max_states}"
    return Blocked.of(Crews.of(stages))


def _threshold(model: Model, states: Blocked | str) -> Exact:
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


def _queue(found: Exact, model: Model, rate: float, states: Blocked | str, tails: tuple[float, ...]) -> Exact:
    formula = closed.wait(model, rate)
    if formula is not None:
        exceeding = {x: p for x in tails if (p := formula.exceeds(x)) is not None}
        one = ClassWait(formula.mean, formula.no_wait, formula.variance, exceeding)
        return replace(
            found,
            rate=rate,
            method=f"{found.method}; {formula.name}",
            overall=one,
            classes={c.label: one for c in model.classes},
            mean_jobs=rate * (formula.mean + model.mean_service),
            hol_loss=0.0 if closed.threshold_is_plain(model) else None,
        )
    if isinstance(states, str):
        raise UsageError(f"{model.label}: no exact waits: {states}; use `loynes evaluate`")
    if rate > (1.0 - NEAREST) * found.threshold:
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
    told = 1 + int((levels.cumsum() < 1.0 - TOLD).sum())
    return replace(
        found,
        rate=rate,
        states=len(states),
        method=f"{found.method}; level-dependent quasi-birth-death process",
        overall=_mixed(probability, classes, mean_wait),
        classes={c.label: w for c, w in zip(model.classes, classes, strict=True)},
        mean_jobs=solved.mean_jobs,
        hol_loss=lost[model.bottleneck],
        resources={
            kind: found.resources[kind] | {"busy": rate * work, "utilization": rate * work / units, "hol_loss": loss}
            for kind, units, work, loss in zip(model.kinds, model.units, model.works, lost, strict=True)
        }
        if model.resources
        else {},
        jobs=tuple(levels[:told].tolist()),
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
    found = {x: waits.tails(solved, x) if x > 0 else [1.0 - c.no_wait for c in classes] for x in tails}
    return [replace(c, exceeds={x: float(p[i]) for x, p in found.items()}) for i, c in enumerate(classes)], texts


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
