"""How much a policy can carry, where no theory says: an estimate from clusters that are given more than that.

The recurrence's threshold is known, and certified, for first come, first served. For other policies all that can be
done is to watch. At a rate r beyond the limit the line never runs out, and the cluster carries X(r) < r jobs per unit
of time: the busy servers, on average over time, divided by the work that a job brings. Below the limit X(r) = r, so the
limit is where X(r) and r part. Under first come, first served X is the threshold itself at every rate beyond it. Other
policies find more to start in a longer line, so X grows with r, and the limit is looked for close by: at two rates a
little beyond it, on the same jobs, the straight line through both X meets r at the estimate.

Busy servers are what is averaged, not the work that is left, because they vary little: they are bounded, however much
jobs differ in size. Every replica gives both X, so the interval is Student's, of the jackknife's pseudo-values (Tukey
1958). X need not be straight: the interval is extended by a part of what the line takes off the X of the lower rate,
which is nothing but chance under first come, first served.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array, Ints
from loynes.estimate import Estimate, mean_of
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.kernels.engine import Engine
from loynes.kernels.events.loop import KINDS, SPAN
from loynes.model import Model
from loynes.questions.answering.ending import MAX_JOBS, ended_by
from loynes.questions.answering.events import event_task, run_until
from loynes.questions.answering.orders import Order
from loynes.questions.answering.thresholds import judged_rate
from loynes.results.records.policies import Limit

SOURCE = "estimate: saturated runs"
# Runs at a rate: of a first look, and of the answer.
FIRST_REPLICAS, REPLICAS, MOST_REPLICAS = 8, 32, 4096
# By which share of the limit the two rates are beyond it; more where jobs differ much, so that the line never runs out.
BEYOND, MOST_BEYOND = 0.05, 0.4
# How many standard deviations of the work that comes the line is to be long, when a run begins to be observed.
SURELY = 4.0
# Jobs that a run observes; as many are left out before. Lines grow with it, which some policies look through.
LEAST_JOBS, MOST_JOBS = 8_000, 60_000
# First looks until the limit is known well enough to be near it, and how well that is.
MOST_LOOKS, NEAR = 6, 0.01
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
    look = float(FIRST_REPLICAS * 2 * runs.jobs)
    near = model.ideal
    for number in range(MOST_LOOKS):
        part = steps.next(look, look * (MOST_LOOKS - number) + 4.0 * REPLICAS * runs.jobs, f"{order.policy}, saturated")
        before, near = near, float(runs.at(near * (1.0 + runs.beyond), np.arange(FIRST_REPLICAS), part).mean())
        near = min(near, model.ideal)
        if abs(near - before) <= NEAR * near:
            break
    rates = near * (1.0 + runs.beyond), near * (1.0 + 2.0 * runs.beyond)
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
        most_more = min(MOST_REPLICAS - len(both), int((most - runs.spent) / (4 * runs.jobs)))
        more = min(math.ceil(len(both) * min(3.0, 1.1 * (width / precision) ** 2 - 1.0)), most_more)
        if more < 2:
            by = MAX_JOBS
            break
    estimate = _crossing(both, rates, confidence).within(0.0, model.ideal)
    return Carried(estimate, len(both), runs.spent, by)


def jobs_of_search(model: Model) -> int:
    """About how many jobs a search takes."""
    jobs, _ = _lengths(model)
    return 2 * jobs * (3 * FIRST_REPLICAS + 2 * REPLICAS)


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


class _Saturated:
    """Runs at rates beyond what a policy can carry."""

    def __init__(self, model: Model, order: Order, seed: int, context: Context) -> None:
        self._model, self._order, self._seed = model, order, seed
        self.context, self.spent = context, 0
        self.jobs, self.beyond = _lengths(model)
        self._room = 1 << (4 * self.jobs + 4 * model.servers).bit_length()

    def at(self, rate: float, numbers: Ints, context: Context) -> Array:
        """X of every replica: jobs per unit of time that the resource which lags most carries. Stopped if cut short."""
        model, engine = self._model, self._engine(context)
        events = event_task(
            model, rate, self._order, seed=self._seed, replicas=numbers, burn_in=self.jobs, jobs_observed=self.jobs,
            limit=self._room, to_the_end=False,
        )  # fmt: skip
        records, stopped = run_until(events, engine)
        if stopped:
            raise Stopped
        self.spent += sum(one.arrived for one in records)
        time = np.array([one.observations.time for one in records])
        work = np.array(model.works)
        used = np.flatnonzero(work > 0)
        carried = time[:, KINDS + 2 * used] / time[:, [SPAN]] / work[used]
        return np.asarray(carried[:, int(np.argmin(carried.mean(axis=0)))])

    def _engine(self, context: Context) -> Engine:
        return self.context.watched_by(context).engine


def _lengths(model: Model) -> tuple[int, float]:
    """Jobs that a run observes, and how far beyond the limit it is run, so that its line never runs out."""
    spread = spread_of_work(model)
    jobs = int(min(max((SURELY * spread / BEYOND) ** 2, LEAST_JOBS), MOST_JOBS))
    return jobs, min(max(SURELY * spread / math.sqrt(jobs), BEYOND), MOST_BEYOND)


def spread_of_work(model: Model) -> float:
    """Root mean square of the work that a job brings, over its mean, of the resource where that is most."""
    mean, square = np.zeros(len(model.kinds)), np.zeros(len(model.kinds))
    for c in model.classes:
        work = np.array(model.demand(c)) * c.service.mean
        mean += c.probability * work
        square += c.probability * work * work * (1.0 + min(c.service.variance / c.service.mean**2, MOST_VARIED))
    used = mean > 0
    return float((np.sqrt(square[used]) / mean[used]).max())
