"""How much a policy can carry, where no theory says: an estimate from clusters that are given more than that.

The recurrence's threshold is known, and certified, for first come, first served. For other policies all that can be
done is to watch. At a rate r beyond the limit the line never runs out, and the cluster carries X(r) < r jobs per unit
of time: the busy servers, on average over time, divided by the work that a job brings. Below the limit X(r) = r, so the
limit is where X(r) and r part. Under first come, first served X is the threshold itself at every rate beyond it. Other
policies find more to start in a longer line, so X grows with r, and the limit is looked for close by: at two rates a
little beyond it, on the same jobs, the straight line through both X meets r at the estimate.

Busy servers are what is averaged, not the work that is left, because they vary little: they are bounded, however much
jobs differ in size. Every replica gives both X, so the interval is Student's, of the jackknife's pseudo-values (Tukey
1958). Where X jumps at the limit there is no such line, and the answer lies between two rates on both sides of it.
X need not be straight: the interval is extended by a part of what the line takes off the X of the lower rate,
which is nothing but chance under first come, first served.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, mean_of
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.kernels.engine import whole_blocks
from loynes.kernels.events.loop import KINDS, SPAN
from loynes.kernels.events.policies import Policy, find_policy
from loynes.model import Model
from loynes.questions.answering.ending import MAX_JOBS, ended_by
from loynes.questions.answering.events import event_task, run_until
from loynes.questions.answering.orders import Order
from loynes.questions.answering.thresholds import judged_rate
from loynes.results.records.policies import Limit

SOURCE = "estimate: saturated runs"
# Runs at a rate: of a first look, and of the answer.
FIRST_REPLICAS, REPLICAS, MOST_REPLICAS = 8, 32, 4096
# By which share of the limit the two rates are beyond it.
BEYOND = 0.05
# Jobs that a run observes; as many are left out before.
JOBS = 10_000
# How many standard deviations of the work that comes in that time the line is to be long when a run begins, so that it
# never runs out; and jobs that may have come before. First come, first served leaves that line, as it is quick to run.
SURELY, MOST_BEFORE = 4.0, 400_000
# Jobs that a run leaves out at most where no line can be made like that.
MOST_BURNED = 60_000
# First looks until the limit is known well enough to be near it, and how well that is.
MOST_LOOKS, NEAR = 12, 0.01
# Where what is carried jumps at the limit: how near two rates on both sides of it are to be.
JUMP = 0.05
# Of what the straight line takes off, the part that the interval is extended by.
CURVED = 0.25
# Relative, of sums over time.
ROUNDING = 1e-12
# Where X grows by more than this part of r, r is not beyond the limit.
STEEPEST = 0.8
# The width of the interval over the estimate, unless somebody asks for another; and jobs in all.
PRECISION, ALL_JOBS = 0.02, 1e8
# Squared coefficients of variation beyond this, and infinite ones, are as good as this for a run of finite length.
MOST_VARIED = 100.0


@dataclass(frozen=True)
class Carried:
    """The largest rate that a policy seems to carry, and how that was found."""

    rate: Estimate
    replicas: int
    jobs: int
    by: str = ""  # what ended it before it was as precise as it was to be


def limit_of(model: Model, order: Order, *, seed: int, context: Context) -> Limit:
    """The largest rate a policy can carry: the threshold of the recurrence, or else an estimate."""
    steady = model.model_copy(update={"scenario": None})
    if order.policy == "fcfs" and model.pooled is model:
        judged = judged_rate(steady, None, 0.9, seed=seed, context=context)
        return Limit(judged.threshold, judged.source)
    return Limit(carried(steady, order, seed=seed, context=context).rate, SOURCE)


def carried(
    model: Model,
    order: Order,
    *,
    precision: float = PRECISION,
    confidence: float = 0.99,
    replicas: int | None = None,
    max_jobs: float | None = None,
    seed: int,
    context: Context,
) -> Carried:
    """The same by watching, whatever is known, until (high - low) / estimate <= precision.

    Stopped where time was up before anything was known.
    """
    runs = _Saturated(model, order, seed, context.on("cpu"))
    steps = Steps(runs.context)
    place = _Place()
    look, rate = float(2 * FIRST_REPLICAS * JOBS), model.ideal * (1.0 + BEYOND)
    for number in range(MOST_LOOKS):
        then = look * (MOST_LOOKS - number) / 2.0 + 4.0 * REPLICAS * JOBS
        part = steps.next(look, then, f"{order.policy}, saturated")
        place.seen(rate, float(runs.at(rate, np.arange(FIRST_REPLICAS), part).mean()))
        if place.known:
            break
        rate = place.next
    if place.jumps:
        return Carried(place.between.within(0.0, model.ideal), FIRST_REPLICAS, runs.spent)
    near = place.carried
    rates = near * (1.0 + BEYOND), near * (1.0 + 2.0 * BEYOND)
    both, more, by = np.empty((0, 2)), REPLICAS if replicas is None else replicas, ""
    most = ALL_JOBS if max_jobs is None else max_jobs
    while True:
        numbers = np.arange(len(both), len(both) + more)
        part = steps.next(1.0, 1.0, f"{order.policy}, saturated, {len(both) + more} runs")
        try:
            sides = [runs.at(rate, numbers, part) for rate in rates]
        except Stopped:
            if not len(both):
                raise
            by = ended_by(context.deadline)
            break
        both = np.concatenate([both, np.stack(sides, axis=1)])
        found = _crossing(both, rates, confidence)
        width = (found.high - found.low) / found.estimate
        if width <= precision or replicas is not None:
            break
        most_more = min(MOST_REPLICAS - len(both), int((most - runs.spent) / (4 * JOBS)))
        more = min(math.ceil(len(both) * min(3.0, 1.1 * (width / precision) ** 2 - 1.0)), most_more)
        if more < 2:
            by = MAX_JOBS
            break
    estimate = _crossing(both, rates, confidence).within(0.0, model.ideal)
    return Carried(estimate, len(both), runs.spent, by)


def jobs_of_search() -> int:
    """About how many jobs a search takes."""
    return 2 * JOBS * (4 * FIRST_REPLICAS + 2 * REPLICAS)


def _crossing(both: Array, rates: tuple[float, float], confidence: float) -> Estimate:
    """Where the straight line through X at both rates meets the rate: both has X, by [replica, rate]."""
    count, sums = len(both), both.sum(axis=0)
    centre = _meets(sums / count, rates)
    without = [_meets((sums - row) / (count - 1), rates) for row in both]
    found = mean_of(centre + (count - 1) * (centre - np.array(without)), confidence)
    more = CURVED * abs(float(sums[0]) / count - centre) + ROUNDING * centre
    return Estimate(centre, min(found.low, centre) - more, max(found.high, centre) + more)


def _meets(at: Array, rates: tuple[float, float]) -> float:
    slope = min(max(float(at[1] - at[0]) / (rates[1] - rates[0]), -STEEPEST), STEEPEST)
    return (float(at[0]) - slope * rates[0]) / (1.0 - slope)


class _Place:
    """Where the limit is, about: rates that were tried, and what was carried there.

    Where X hardly changes with r, the rates that X says are soon the ones that were tried. Where it jumps, since a
    policy that is behind never catches up, they lie below the limit; then the rates on both sides are halved.
    """

    def __init__(self) -> None:
        self._below, self._above = 0.0, math.inf
        self.carried = math.inf  # at the lowest rate that was too high

    def seen(self, rate: float, carried: float) -> None:
        if carried < rate * (1.0 - BEYOND / 3.0):
            if rate < self._above:
                self._above, self.carried = rate, carried
        else:
            self._below = max(self._below, rate)

    @property
    def _guess(self) -> float:
        return self.carried * (1.0 + BEYOND)

    @property
    def jumps(self) -> bool:
        """Whether a rate that is carried lies above what is carried at a higher one."""
        return self._guess <= self._below

    @property
    def known(self) -> bool:
        if self.jumps:
            return self._above <= self._below * (1.0 + JUMP)
        return abs(self._guess - self._above) <= NEAR * self._above

    @property
    def next(self) -> float:
        return math.sqrt(self._below * self._above) if self.jumps else self._guess

    @property
    def between(self) -> Estimate:
        return Estimate(math.sqrt(self._below * self._above), self._below, self._above)


class _Saturated:
    """Runs at rates beyond what a policy can carry, from a line that first come, first served left."""

    def __init__(self, model: Model, order: Order, seed: int, context: Context) -> None:
        self._model, self._order, self._seed = model, order, seed
        self.context, self.spent = context, 0
        self._line = SURELY * spread_of_work(model) * math.sqrt(2.0 * JOBS)
        self._strict = 0.0  # what first come, first served carries
        self._strict = float(
            self._run(find_policy("fcfs"), 2.0 * model.ideal, np.arange(FIRST_REPLICAS), context).mean()
        )

    def at(self, rate: float, numbers: Ints, context: Context) -> Array:
        """X of every replica: jobs per unit of time that the resource which lags most carries. Stopped if cut short."""
        return self._run(self._order.rule, rate, numbers, context)

    def _run(self, rule: Policy, rate: float, numbers: Ints, context: Context) -> Array:
        model, before, burn_in = self._model, self._before(rate), JOBS
        history: dict[str, Any] = {"history": np.full(len(numbers), before)}
        if model.pooled is not model:  # a floor of nodes begins empty, and the line grows by what is beyond the limit
            history, burn_in = {}, int(min(self._line / BEYOND, MOST_BURNED))
        events = event_task(
            model, rate, replace(self._order, rule=rule), seed=self._seed, replicas=numbers, burn_in=burn_in,
            jobs_observed=JOBS, to_the_end=False, **history,
            limit=1 << (4 * (JOBS + burn_in + before) + 4 * model.servers).bit_length(),
        )  # fmt: skip
        records, stopped = run_until(events, self.context.watched_by(context).engine)
        if stopped:
            raise Stopped
        self.spent += sum(one.arrived for one in records)
        time = np.array([one.observations.time for one in records])
        work = np.array(model.works)
        used = np.flatnonzero(work > 0)
        carried = time[:, KINDS + 2 * used] / time[:, [SPAN]] / work[used]
        return np.asarray(carried[:, int(np.argmin(carried.mean(axis=0)))])

    def _before(self, rate: float) -> int:
        """Jobs that came before, of which first come, first served has left a line that is long enough."""
        left = max(1.0 - self._strict / rate, 0.5 * BEYOND)
        return whole_blocks(int(min(self._line / left, MOST_BEFORE)))


def spread_of_work(model: Model) -> float:
    """Root mean square of the work that a job brings, over its mean, of the resource where that is most."""
    mean, square = np.zeros(len(model.kinds)), np.zeros(len(model.kinds))
    for c in model.classes:
        work = np.array(model.demand(c)) * c.service.mean
        mean += c.probability * work
        square += c.probability * work * work * (1.0 + min(c.service.variance / c.service.mean**2, MOST_VARIED))
    used = mean > 0
    return float((np.sqrt(square[used]) / mean[used]).max())
