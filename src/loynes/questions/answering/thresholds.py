"""The threshold, exact or sampled, and the rate that a question is asked at, judged by it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Protocol

from loynes.errors import UnstableError, UsageError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels.engine import whole_blocks
from loynes.kernels.shape import usual_jobs, usual_runs
from loynes.model import Model, Periodic
from loynes.questions.answering.ending import after, allow, ended_by
from loynes.results.quantity import rate_text
from loynes.results.records.threshold import BY_WORK, Threshold
from loynes.stationary.backward import initial_length
from loynes.threshold import work
from loynes.threshold.bracket import bracket
from loynes.threshold.controls import Mix
from loynes.threshold.crossing import crossing
from loynes.threshold.doubling import doubling
from loynes.threshold.outcome import Outcome
from loynes.threshold.piles import Piles

# Cycles a replica should see, on average, for the regenerative formula to be worth its last, unfinished one.
CYCLES = 8
# Up to so many servers, piles are at first twice as many jobs.
LARGE = 2048
# Chains up to so many states take a tenth of a second: other questions ask them instead of sampling.
CHEAP_STATES = 5_000
# How well the threshold is known before a rate is judged by it, and how well where the rate comes near.
JUDGED_WITHIN = 0.01
JUDGED_NEARLY_WITHIN = 0.001
# Jobs to spend on that at most; what is left uncertain shows in the threshold's bracket.
JUDGED_BY_JOBS = 3e8
JUDGED_NEARLY_BY_JOBS = 3e9

# Of the time that is left, what the threshold may take before a rate is judged by it.
OF_TIME = 0.3
# Of all work of a question, what the threshold is to an order.
OF_PROGRESS = 0.03

NO_RATE = "the model has no arrivals.rate; say --rate R (jobs per unit of time) or --load X (0 to 1)"


@lru_cache(maxsize=64)
def cheap_threshold(model: Model) -> tuple[float, str] | None:
    """The exact threshold and where it comes from, if a formula or a small chain gives it at once."""
    from loynes.markov import closed
    from loynes.markov.phases import Stages
    from loynes.markov.states import Blocked, Crews, chain_size

    formula = closed.threshold(model)
    if formula is not None:
        return formula.value, formula.name
    stages = Stages.of(model, CHEAP_STATES)
    if isinstance(stages, str) or chain_size(stages) > CHEAP_STATES:
        return None
    from loynes.markov import saturated

    states = Blocked.of(Crews.of(stages))
    return saturated.solve(states).threshold, f"saturated chain of {len(states)} states"


def sampled_threshold(
    model: Model,
    *,
    precision: float = 0.005,
    confidence: float = 0.99,
    method: str = "auto",
    replicas: int | None = None,
    max_jobs: float | None = None,
    seed: int,
    context: Context,
) -> Threshold:
    """The threshold from piles, until (high - low) / estimate <= precision or max_jobs jobs have been piled up."""
    one = _by_work(model, precision) if method == "auto" else None
    if one is None:
        most = usual_jobs(context.engine.most_jobs, job_table(model, None)) if max_jobs is None else max_jobs
        pile = partial(_piled, method=method, replicas=replicas, seed=seed, context=context)
        # Where slots of a cycle bring other classes, their order depends on the rate.
        found = _in_cycles if model.phase_mix is not None and isinstance(model.arrivals, Periodic) else _as_they_come
        one = found(model, pile, precision, confidence, most)
    outcome = one.outcome
    warnings: tuple[str, ...] = ()
    if not outcome.precise:
        more = ended_by(context.deadline) if outcome.stopped else "max-jobs"
        warnings += (f"stopped{after(more, one.jobs, context.deadline)} with {one.reached}; {allow(more)}",)
    if model.highest_moment < 2:
        warnings += ("a service has no finite variance, so the bracket's confidence cannot be trusted",)
    if outcome.threshold.low > model.ideal * (1.0 + 1e-9):
        warnings += ("the sampled bracket lies above the ideal rate: its confidence cannot be trusted",)
    losses = {
        kind: loss.within(0.0, units)
        for kind, units, loss in zip(model.kinds, model.units, outcome.hol_loss, strict=True)
    }
    return Threshold(
        model=model,
        # No discipline serves more work than there are servers.
        threshold=Estimate(*(min(x, model.ideal) for x in vars(outcome.threshold).values())),
        ideal=model.ideal,
        hol_loss_saturated=losses[model.kinds[model.bottleneck]],
        resources=losses if model.by_resource else {},
        discipline=model.order,
        method=one.method,
        confidence=confidence,
        replicas=one.replicas,
        variance_reduction=outcome.reduction,
        jobs=one.jobs,
        seed=seed,
        backend=context.engine.name,
        stopped={} if outcome.precise else {"by": more, "precision": 2.0 * outcome.threshold.relative},
        warnings=warnings,
    )


@dataclass(frozen=True)
class _Piled:
    """What piles told, and how."""

    outcome: Outcome
    method: str
    replicas: int
    jobs: int
    reached: str  # how far they came, if not as far as they were to


class _Pile(Protocol):
    def __call__(self, model: Model, precision: float, confidence: float, *, max_jobs: float) -> _Piled: ...


def _by_work(model: Model, precision: float) -> _Piled | None:
    """What the work of jobs alone says of the threshold, if that is narrow enough: no pile is needed then."""
    low, high = work.bounds(model)
    threshold = Estimate(0.5 * (low + high), low, high)
    if 2.0 * threshold.relative > precision:
        return None
    # Saturated, servers idle only where a job waits for more of them.
    idle = Estimate(*(model.units[0] - rate * model.work for rate in (threshold.estimate, high, low)))
    return _Piled(Outcome(threshold, (idle.within(0.0, model.units[0]),), 1.0, precise=True), BY_WORK, 0, 0, "")


def _piled(
    model: Model,
    precision: float,
    confidence: float,
    *,
    method: str,
    replicas: int | None,
    max_jobs: float,
    seed: int,
    context: Context,
) -> _Piled:
    """Piles of a model's jobs, in the order of its own rate where that matters."""
    table, mix = job_table(model, None), Mix.of(model)
    piles = Piles(table, needs_of(model), mix, seed=seed, replicas=replicas or mix.replicas, engine=context.engine)
    most = whole_blocks(int(min(max_jobs, context.engine.most_jobs) / (2 * piles.replicas)))
    initial, method = _method(model, mix, method, initial_length(table, _fewest(table)), most)
    if method == "doubling":
        outcome = doubling(
            piles, initial, precision=precision, confidence=confidence, max_jobs=max_jobs, progress=context.progress
        )
        reached = f"two successive estimates that do not yet agree to {precision:g}"
    else:
        outcome = bracket(
            piles, initial, regenerative=method == "regenerative", precision=precision, confidence=confidence,
            max_jobs=max_jobs, progress=context.progress, bounds=work.bounds(model),
        )  # fmt: skip
        reached = _wide(outcome, precision)
    return _Piled(outcome, method, piles.replicas, outcome.jobs, reached)


def _fewest(table: JobTable) -> float:
    """Jobs of a pile at first: two for every server of a small cluster; of a large one, of those that fit at once."""
    return 2.0 * max(min(table.servers, LARGE), 2.0 * float(usual_runs(table).max()))


def _as_they_come(model: Model, pile: _Pile, precision: float, confidence: float, most: float) -> _Piled:
    return pile(model, precision, confidence, max_jobs=most)


def _in_cycles(model: Model, pile: _Pile, precision: float, confidence: float, most: float) -> _Piled:
    """The rate that is the threshold of the order it brings."""
    found: list[_Piled] = []

    def order(rate: float, precision: float, confidence: float, part: float) -> Outcome:
        found.append(pile(model.with_rate(rate), precision, confidence, max_jobs=part * most))
        return found[-1].outcome

    outcome = crossing(order, 0.9 * model.ideal, precision=precision, confidence=confidence)
    jobs = sum(one.jobs for one in found)
    return replace(found[0], outcome=outcome, jobs=jobs, reached=_wide(outcome, precision))


def _wide(outcome: Outcome, precision: float) -> str:
    width = 2.0 * outcome.threshold.relative
    return f"a bracket of relative width {width:.2g}, above the precision {precision:g}"


def _method(model: Model, mix: Mix, method: str, initial: int, most: int) -> tuple[int, str]:
    """The first length, and the method that `auto` stands for."""
    p = mix.regeneration
    if method == "regenerative" and (p == 0 or model.order != "fcfs"):
        need = "independent jobs, a class of which needs all servers," if p == 0 else "discipline 'fcfs'"
        raise UsageError(f"method 'regenerative': needs {need}")
    cycles = whole_blocks(int(CYCLES / p)) if p > 0 else 0
    if method == "auto":
        method = "regenerative" if p > 0 and model.order == "fcfs" and cycles <= most else "bracket"
    if method == "regenerative":
        initial = max(initial, cycles)
    return min(initial, most), method


@dataclass(frozen=True)
class JudgedRate:
    """The rate a question is asked at, and the threshold that it lies below."""

    rate: float
    threshold: Estimate
    source: str  # where the threshold comes from
    warnings: tuple[str, ...]

    @property
    def load(self) -> float:
        return self.rate / self.threshold.estimate


def judged_rate(model: Model, rate: float | None, load: float | None, *, seed: int, context: Context) -> JudgedRate:
    """The rate that is given, by a load or by the model, judged by the threshold; an unstable one is refused.

    The exact threshold is taken where a formula or a small Markov chain gives it, and else the sampled one.
    """

    def said(value: float, digits: int = 6) -> str:
        return rate_text(value, model.time_unit, digits)

    if rate is not None and load is not None:
        raise UsageError("give a rate or a load, not both")
    if load is None:
        rate = stated_rate(model, rate)
        if rate >= model.ideal:
            raise UnstableError(
                f"rate {said(rate)} is unstable: {model.size} take less than {said(model.ideal)} even unblocked"
            )
    elif load >= 1:
        raise UnstableError(f"load {load:g} is unstable: it must be below 1, a fraction of the threshold")

    warnings: tuple[str, ...] = ()
    if model.scenario:
        warnings = ("the model's scenario is left out: this answer is for a rate and servers that never change",)
    known = cheap_threshold(model)
    if known is not None:
        value, source = known
        rate = load * value if load is not None else rate
        assert rate is not None
        if rate >= value:
            raise UnstableError(f"rate {said(rate)} is unstable: the threshold is {said(value, 10)} (exact: {source})")
        return JudgedRate(rate, Estimate.exact(value), f"exact: {source}", warnings)

    def sampled(precision: float, max_jobs: float) -> Estimate:
        return _within_reason(model, precision, max_jobs, seed, context)

    if rate is None:
        assert load is not None
        # Waits grow like 1 / (1 - load): what is left to the threshold must be known, not only the threshold.
        threshold = sampled(max(JUDGED_WITHIN * (1 - load), 1e-4), JUDGED_BY_JOBS)
        rate = load * threshold.estimate
    else:
        threshold = sampled(JUDGED_WITHIN, JUDGED_BY_JOBS)
        if threshold.low <= rate < threshold.high:
            threshold = sampled(JUDGED_NEARLY_WITHIN, JUDGED_NEARLY_BY_JOBS)
    within = f"{said(threshold.estimate, 5)}, in [{said(threshold.low, 5)}, {said(threshold.high, 5)}]"
    if rate >= threshold.estimate:
        verdict = "is unstable" if rate >= threshold.high else "may be unstable"
        raise UnstableError(f"rate {said(rate)} {verdict}: the threshold is {within}")
    if rate >= threshold.low:
        warnings += (f"rate {said(rate)} lies inside the threshold's own uncertainty ({within}): it may be unstable",)
    return JudgedRate(rate, threshold, "sampled", warnings)


def _within_reason(model: Model, precision: float, max_jobs: float, seed: int, context: Context) -> Estimate:
    """The sampled threshold, for a part of a question's work and time."""
    max_jobs = usual_jobs(max_jobs, job_table(model, None))
    part = context.part(0.0, OF_PROGRESS).within(OF_TIME)
    return sampled_threshold(model, precision=precision, max_jobs=max_jobs, seed=seed, context=part).threshold


def known_threshold(model: Model, *, seed: int, context: Context) -> tuple[Estimate, str]:
    """The threshold, whatever rate is asked about, and where it comes from."""
    known = cheap_threshold(model)
    if known is not None:
        return Estimate.exact(known[0]), f"exact: {known[1]}"
    return _within_reason(model, JUDGED_WITHIN, JUDGED_BY_JOBS, seed, context), "sampled"


def stated_rate(model: Model, rate: float | None) -> float:
    """The rate that is given, or the model's own."""
    rate = model.rate if rate is None else rate
    if rate is None:
        raise UsageError(NO_RATE)
    return rate


def unjudged_rate(model: Model, rate: float) -> JudgedRate:
    """A rate whose threshold nobody asked for."""
    return JudgedRate(rate, Estimate(math.nan, 0.0, model.ideal), "not asked for", ())


def fewest_moments(model: Model) -> str:
    """The beginning of a warning: whose service has how few moments."""
    highest = model.highest_moment
    which = next(c.label for c in model.classes if c.service.highest_moment == highest)
    return f"class {which!r}: the service has finite moments only up to {int(highest)}, so "


def moment_warnings(model: Model) -> tuple[str, ...]:
    """A finite k-th moment of the wait needs a finite (k+1)-th of the service; an interval needs twice the moment."""
    highest = model.highest_moment
    if highest >= 5:
        return ()
    start = fewest_moments(model)
    if highest < 2:
        return (start + "the mean wait may be infinite, and no mean, variance or interval of it can be trusted",)
    if highest < 3:
        return (start + "the interval of the mean wait cannot be trusted, and the variance may be infinite",)
    return (start + "the interval of the wait's variance cannot be trusted",)
