"""How much a policy can carry, where no theory says: an estimate from runs that grow, or do not.

The recurrence's threshold is known, and certified, for first come, first served. For other policies all that can be
done is to watch: at a rate too high, work piles up in proportion to time. The largest rate at which it does not is
searched for by bisection. Right at the limit work grows, too, like the square root of time: a rate closer to it than
that can be taken for one on its other side, so the interval is a judgement, and wide where jobs differ much in size.
"""

from __future__ import annotations

import math

import numpy as np

from loynes.estimate import Estimate, half_width
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.kernels.engine import Engine
from loynes.kernels.events.engine import run_replicas
from loynes.model import Model
from loynes.questions.answering.events import event_task
from loynes.questions.answering.orders import Order
from loynes.questions.answering.thresholds import judged_rate
from loynes.results.records.policies import Limit

REPLICAS = 16
# The search ends when the limit is known to this share of the ideal rate, or as well as runs can tell.
WITHIN = 0.005
# Jobs in a run: fewer while the limit is known less well, and where lines are long, which some policies look through.
LEAST_JOBS, MOST_JOBS = 20_000, 800_000
MOST_LOOKS = 2e9
# A line longer than this, and than chance explains, is not one of a stable cluster.
MOST_PRESENT = 1 << 13
# Squared coefficients of variation beyond this, and infinite ones, are as good as this for a run of finite length.
MOST_VARIED = 100.0


def limit_of(model: Model, order: Order, *, seed: int, context: Context) -> Limit:
    """The largest rate a policy can carry: the threshold of the recurrence, or else an estimate."""
    steady = model.model_copy(update={"scenario": None})
    if order.policy == "fcfs" and model.pooled is model:
        judged = judged_rate(steady, None, 0.9, seed=seed, context=context)
        return Limit(judged.threshold, judged.source)
    return searched_limit(steady, order, seed=seed, context=context)


def searched_limit(model: Model, order: Order, *, seed: int, context: Context) -> Limit:
    """The same by watching, whatever is known."""
    low, high, spread = 0.0, model.ideal, _spread_of_work(model)
    unsure = {low: 0.0, high: 0.0}  # by which share a rate may be off the limit, where it was judged
    expected, steps = _expected(spread), Steps(context)
    for step in range(len(expected)):
        rate, jobs = 0.5 * (low + high), _jobs_of(spread, (high - low) / model.ideal)
        part = steps.next(float(jobs), float(sum(expected[step + 1 :])), f"how much {order.policy} can carry")
        room = 1 << max(MOST_PRESENT, int(4.0 * spread * math.sqrt(jobs)), 4 * model.servers).bit_length()
        try:
            grows, known = _growth(model, order, rate, jobs, room, seed, part.engine)
        except Stopped:
            if step == 0:
                raise
            break  # what the steps so far tell is wider
        chance = 2.0 * _by_chance(spread, jobs)  # blocking adds to it
        unsure[rate] = chance + known if math.isfinite(known) else chance
        low, high = (low, rate) if grows > chance else (rate, high)
    bottom, top = low * (1.0 - unsure[low]), min(high * (1.0 + unsure[high]), model.ideal)
    return Limit(Estimate(0.5 * (low + high), bottom, top), "estimate: runs that grow, or do not")


def jobs_of_search(model: Model) -> int:
    """About how many jobs a search takes."""
    return REPLICAS * sum(_expected(_spread_of_work(model)))


def _expected(spread: float) -> list[int]:
    """Jobs of the runs of a search, one after the other, each of which halves what is known of the limit."""
    enough = max(WITHIN, 0.5 * _by_chance(spread, _most_jobs(spread)))
    return [_jobs_of(spread, 0.5**step) for step in range(math.ceil(math.log2(1.0 / enough)))]


def _most_jobs(spread: float) -> float:
    return float(min((MOST_LOOKS / spread) ** (2.0 / 3.0), MOST_JOBS))


def _jobs_of(spread: float, width: float) -> int:
    """Of a run, where the limit is known to this share of the ideal rate."""
    return int(min(max((8.0 * _by_chance(spread, 1) / width) ** 2, LEAST_JOBS), _most_jobs(spread)))


def _spread_of_work(model: Model) -> float:
    """Root mean square of the work that a job brings, over its mean, of the resource where that is most."""
    mean, square = np.zeros(len(model.kinds)), np.zeros(len(model.kinds))
    for c in model.classes:
        work = np.array(model.demand(c)) * c.service.mean
        mean += c.probability * work
        square += c.probability * work * work * (1.0 + min(c.service.variance / c.service.mean**2, MOST_VARIED))
    used = mean > 0
    return float((np.sqrt(square[used]) / mean[used]).max())


def _by_chance(spread: float, jobs: float) -> float:
    """Which share of the work that comes is left, at the limit itself, in the second half of a run: like a Brownian
    motion reflected at 0, sqrt(2 / pi) (1 - sqrt(1/2)) sqrt(jobs) times the spread."""
    return 2.0 * math.sqrt(2.0 / math.pi) * (1.0 - math.sqrt(0.5)) * spread / math.sqrt(jobs)


def _growth(
    model: Model, order: Order, rate: float, jobs: int, room: int, seed: int, engine: Engine
) -> tuple[float, float]:
    """Which share of the work that comes piles up in the second half of a run, and the half-width of that."""
    end, kinds = jobs / rate, len(model.kinds)
    events = event_task(
        model, rate, order, seed=seed, replicas=np.arange(REPLICAS), horizon=end,
        at=np.array([0.5 * end, end]), limit=room, to_the_end=False,
    )  # fmt: skip
    replicas = run_replicas(events, engine)
    if any(one.overrun for one in replicas):
        return math.inf, math.inf
    left = np.array([one.moments[:, 2 + 2 * kinds :] for one in replicas])  # [replica, moment, kind]
    work = np.array(model.works)
    grown = (left[:, 1] - left[:, 0])[:, work > 0] / (0.5 * jobs * work[work > 0])
    worst = grown[:, int(np.argmax(grown.mean(axis=0)))]
    return float(worst.mean()), half_width(worst, 0.99)
