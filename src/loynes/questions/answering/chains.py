"""Exact answers: the saturated chain, the queue's chain, and the formulas that stand in for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, beyond, percentile_name
from loynes.estimators.tails import RAREST, grid_to
from loynes.execution.progress import Progress, silent
from loynes.markov import closed, queue, saturated
from loynes.markov.decay import decay_rate
from loynes.markov.phases import Places, Stages
from loynes.markov.states import MOST_COUNTED, Blocked, Crews, chain_bytes, chain_size
from loynes.markov.waits import Waits
from loynes.model import Model, Poisson
from loynes.results.records.exact import ClassWait, Exact, digits
from loynes.results.tails import Tails

# What the saturated chain, and the queue's matrices, may take.
MOST_BYTES = 4 << 30
# Inputs are rounded, which costs about 1e-16 / (1 - load) of the waits: nearer to the threshold, too little is left.
NEAREST = 1e-6
# How much of the distribution of jobs in system is shown.
MOST_LEVELS = 10_000
SHOWN = 1e-9
# Percentiles that are shown unless others are asked for, and with which probability a wait exceeds them.
PERCENTILES = {"p50": 0.5, "p95": 0.05, "p99": 0.01, "p99.9": 1e-3, "p99.99": 1e-4, "p99.999": 1e-5, "p99.9999": 1e-6}
# Decay rates of chains up to so many states take half a second: other questions show them.
CHEAP_DECAY = 2_000
# No number has more digits than these, whatever one reads.
MOST_DIGITS = 15
IN_TABLES = 10


def saturated_states(model: Model, max_states: int) -> Blocked | str:
    """The states of the saturated chain, or why they are not to be had."""
    # Any of the stages may be alone in service: there are at least as many states.
    why = Stages.none(model, max_states) or _too_large(Places.least(model), max_states)
    if why:
        return why
    stages = Stages.of(model, max_states)
    return stages if isinstance(stages, str) else _too_large(stages, max_states) or Blocked.of(Crews.of(stages))


def _too_large(stages: Places, max_states: int) -> str:
    """Why the saturated chain is not made, with its size; nothing if it is."""
    predicted = chain_size(stages)
    states = f"{predicted:.6g}" if math.isfinite(predicted) else f"more than {MOST_COUNTED:g}"
    if predicted > max_states:
        return f"the saturated chain would have {states} states, more than max-states {max_states}"
    taken = chain_bytes(stages, predicted)
    if taken > MOST_BYTES:
        return (
            f"the saturated chain of {states} states in {len(stages.of_class)} stages would take "
            f"{taken / 2**30:.3g} GiB, more than {MOST_BYTES >> 30}"
        )
    return ""


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
        resources={kind: {"hol_loss_saturated": loss} for kind, loss in lost.items()} if model.by_resource else {},
        throughput={c.label: c.probability * value for c in model.classes},
        states=count,
        method=method,
    )


def exact_queue(
    saturation: Exact,
    model: Model,
    rate: float,
    states: Blocked | str,
    tails: tuple[float, ...],
    percentiles: tuple[float, ...] = (),
    progress: Progress = silent,
) -> Exact:
    chances = {percentile_name(p): beyond(p) for p in percentiles} or PERCENTILES
    formula = closed.wait(model, rate)
    # A formula that knows means only gives way to a chain, which knows more.
    if formula is not None and (formula.decay is not None or isinstance(states, str)):
        one = ClassWait(
            formula.mean,
            formula.no_wait,
            formula.variance,
            {x: p for x in tails if (p := formula.exceeds(x)) is not None},
            formula.constant,
            {name: x for name, chance in chances.items() if (x := formula.percentile(chance)) is not None},
        )
        return replace(
            saturation,
            rate=rate,
            method=f"{saturation.method}; {formula.name}",
            overall=one,
            classes={c.label: one for c in model.classes},
            mean_jobs=rate * (formula.mean + model.mean_service),
            hol_loss=0.0 if closed.threshold_is_plain(model) else None,
            decay_rate=formula.decay,
            tails=_tails_by_formula(formula, model),
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
            f"{model.label}: no exact waits: the matrices of {len(states)} states and {len(states.crews)} crews would "
            f"take {process.bytes / 2**30:.3g} GiB, more than {MOST_BYTES >> 30}; use `loynes evaluate`"
        )
    progress(0.1, f"queue of {len(states)} states")
    solved = queue.solve(process)
    progress(0.6, "waits" + (f", and how many exceed {len(tails)} times" if tails else ""))
    found = Waits(solved)
    known = Known.of(found, rate / saturation.threshold)
    overall, *classes = known.waits(found, tails, chances)
    idle = np.array(model.units) - states.crews.used[states.crew]
    lost = [known.rounded(math.fsum(solved.blocked * unused)) for unused in idle.T]
    return replace(
        saturation,
        rate=rate,
        states=len(states),
        method=f"{saturation.method}; quasi-birth-death process",
        overall=overall,
        classes={c.label: w for c, w in zip(model.classes, classes, strict=True)},
        mean_jobs=known.rounded(solved.mean_jobs),
        hol_loss=lost[model.bottleneck],
        resources={
            kind: saturation.resources[kind]
            | {"busy": rate * work, "utilization": rate * work / units, "hol_loss": loss}
            for kind, units, work, loss in zip(model.kinds, model.units, model.works, lost, strict=True)
        }
        if model.by_resource
        else {},
        jobs_in_system=tuple(solved.distribution(MOST_LEVELS, SHOWN).tolist()),
        decay_rate=rounded(solved.decay.rate, known.of_decay),
        digits=right_digits(known.of_means),
        error=queue.error(solved),
        tails=known.tails(found, [c.label for c in model.classes]),
    )


def _tails_by_formula(formula: closed.WaitFormula, model: Model) -> Tails | None:
    """P(wait > x) over x, the same for all classes; None where the formula is of means only."""
    longest = formula.percentile(RAREST)
    if longest is None:
        return None
    values = {x: Estimate.exact(formula.exceeds(x) or 0.0) for x in grid_to(longest)}
    return Tails.of(dict.fromkeys((ALL_JOBS, *(c.label for c in model.classes)), values))


def cheap_decay(model: Model, rate: float, threshold: float) -> float | None:
    """The rate at which tails of waits decay, if a formula or a small chain gives it at once."""
    if not isinstance(model.arrivals, Poisson) or model.chain is not None or rate > (1.0 - NEAREST) * threshold:
        return None
    formula = closed.wait(model, rate)
    if formula is not None and formula.decay is not None:
        return formula.decay
    states = saturated_states(model, CHEAP_DECAY)
    if isinstance(states, str):
        return None
    decay = decay_rate(saturated.Moves.of(states), rate)
    return rounded(decay.rate, decay.doubt + 2.0**-52 / (1.0 - rate / threshold))


@dataclass(frozen=True)
class Known:
    """About the relative errors of what a chain says: numbers are cut to the digits that are right."""

    of_means: float
    of_decay: float

    @classmethod
    def of(cls, found: Waits, load: float) -> Known:
        # Rounding of the model's own numbers moves the threshold by as much, and what is left to it by far more.
        of_decay = found.solved.decay.doubt + 2.0**-52 / (1.0 - load)
        return cls(found.doubt + of_decay, of_decay)

    def rounded(self, value: float) -> float:
        return rounded(value, self.of_means)

    def of_tail(self, exponent: float) -> float:
        """Of exp(-decay x), and all before it."""
        return self.of_means + exponent * self.of_decay

    def tails(self, found: Waits, classes: list[str]) -> Tails | None:
        """P(wait > x) over x."""
        columns = {ALL_JOBS: len(classes)} | {name: column for column, name in enumerate(classes)}
        grid = grid_to(max(found.percentile(column, RAREST)[0] for column in columns.values()))
        chances = found.tails(np.array(grid))
        return Tails.of({
            name: {x: Estimate.exact(rounded(p, self.of_tail(found.decay * x)))
                   for x, p in zip(grid, chances[:, column].tolist(), strict=True)}
            for name, column in columns.items()
        })  # fmt: skip

    def waits(self, found: Waits, tails: tuple[float, ...], chances: dict[str, float]) -> list[ClassWait]:
        """Of all jobs, then of each class."""
        first, second = found.moments()
        exceeded = {x: found.exceeds(x) for x in tails}
        order = [len(first) - 1, *range(len(first) - 1)]
        return [
            ClassWait(
                self.rounded(first[c]),
                self.rounded(found.no_wait[c]),
                self.rounded(second[c] - first[c] ** 2),
                {x: rounded(p[c], self.of_tail(found.decay * x)) for x, p in exceeded.items()},
                self.rounded(found.constants[c]),
                {name: self._percentile(found, c, p) for name, p in chances.items()},
            )
            for c in order
        ]

    def _percentile(self, found: Waits, column: int, beyond: float) -> float:
        x, steepness = found.percentile(column, beyond)
        # An error of the probability is one of x by how steeply the probability falls there.
        return rounded(x, self.of_tail(found.decay * x) / (steepness * x)) if x > 0 else 0.0


def right_digits(error: float) -> int:
    """How many digits are right with that relative error, 15 at most."""
    return min(max(math.floor(-math.log10(2.0 * error)), 0), MOST_DIGITS)


def rounded(value: float, error: float) -> float:
    """The number, rounded to as many digits as are right with that relative error.

    Both ends of what it may be are rounded to the same; and so it stays when tables round it again, to ten.
    """
    ends = value * (1.0 - 2.0 * error), value * (1.0 + 2.0 * error)
    for count in range(MOST_DIGITS, 0, -1):
        shortened = {float(f"{x:.{count}g}") for x in ends}
        same_in_tables = len({digits(x) for x in (*ends, *shortened)}) == 1
        if len(shortened) == 1 and (same_in_tables or count <= IN_TABLES):
            return shortened.pop()
    return float(f"{value:.0e}")
