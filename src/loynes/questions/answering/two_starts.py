"""Waits under any policy, event by event, from two starts: what a run's beginning does to its answer is measured.

Under first come, first served the sandwich bounds it. For other policies nothing does; but two runs of the same jobs,
one from an empty floor and one from a loaded one, tell how much of the beginning is left in what was observed. The
loaded one is stationary under first come, first served where that exists, and else has the line that first come, first
served leaves at a rate beyond what it can take. As long as the two differ by more than chance explains, or the mean
wait is not known as well as it is to be, all runs are made anew and longer. Every number has the hull of the intervals
of both starts: where the truth lies between the two it is in there with the confidence of the intervals, however
short the runs were. That it does lie there is likely, and no more: nothing of this is proved.

The two runs of a pair see the same jobs at the same times, so that many pairs meet, and their difference is known far
better than either wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from loynes.arrays import Ints
from loynes.errors import UnstableError
from loynes.estimate import Estimate
from loynes.estimators import events as from_events
from loynes.estimators.measures import ALL_JOBS, NOTHING_MORE, Measures, Waits, Wanted, bracket
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.kernels.events.changes import Changes
from loynes.kernels.events.loop import SPAN, WAITING
from loynes.kernels.events.replica import ReplicaRecord
from loynes.model import Model
from loynes.questions.answering.ending import MAX_JOBS, ended_by
from loynes.questions.answering.events import event_task, run_until, unended_jobs
from loynes.questions.answering.orders import Order
from loynes.questions.answering.starts import History, loaded_history, stationary_history

# Pairs of runs, jobs that each observes at first, and of these what is left out before.
PAIRS, FIRST_JOBS, BURNED_IN = 32, 5_000, 0.25
# Jobs that all runs may take together, unless max_jobs says otherwise; fewer where lines are long.
MOST_JOBS = 2e8
# Jobs of the rarest class that all runs together should observe, and how much longer first runs may be made for that.
OF_A_CLASS, LONGER_FOR_IT = 400.0, 40
# By how much longer runs are: where the starts differ, and at least and most where only more jobs are needed.
APART, LEAST_LONGER, MOST_LONGER = 2.0, 2.0, 16.0
# A mean wait that grows by more than this power of the runs' length, over lengths so far apart, does not settle.
GROWS, SPREAD = 0.8, 4.0
# Jobs in line that make a job take about twice as long, for policies that look through it.
LOOKS = 100.0
# On nodes the loaded start is a burst: so many times the jobs that run at once without waits, and some; within such a
# part of a mean service.
BURST, BURST_LEAST, BURST_WITHIN = 4.0, 200, 1e-6
# A line longer than this is not waited for.
MOST_PRESENT = 1 << 17
# Nearer to the threshold of first come, first served its stationary states take too long to sample, as they do where a
# certificate takes blocks of more jobs than this.
NEAR, LONGEST_BLOCK = 0.95, 4096
# Of the time that is left, what the loaded start may take.
OF_START = 0.3
# Of a mean service, the wait whose precision is good enough for a smaller one.
SMALL = 1e-3


@dataclass(frozen=True)
class TwoStarts:
    """What was observed from both starts together, and how much of the start is left in it."""

    measures: Measures  # the hull of both starts' intervals
    slowdown: dict[str, Estimate]
    empty: Estimate  # the mean wait from an empty floor
    loaded: Estimate  # and from a loaded one
    apart: Estimate  # the second minus the first, pair by pair on the same jobs
    start: str  # the loaded one, in words
    pairs: int
    jobs: int  # of all runs
    observed: int  # in each run
    burn_in: int  # left out before
    by: str = ""  # what ended it before it was as precise as it was to be
    warnings: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether the starts differ by no more than the mean wait's own half-width."""
        return agreed(self.empty, self.loaded, self.apart)


def agreed(empty: Estimate, loaded: Estimate, apart: Estimate) -> bool:
    return abs(apart.estimate) <= max(empty.half_width, loaded.half_width)


# Whether what is known is enough, though it is not as precise as it was to be.
Enough = Callable[[Measures], bool]


def from_two_starts(
    model: Model,
    rate: float,
    order: Order,
    *,
    threshold: Estimate,
    precision: float = 0.01,
    jobs: int | None = None,
    burn_in: int | None = None,
    pairs: int | None = None,
    confidence: float = 0.99,
    wanted: Wanted = NOTHING_MORE,
    enough: Enough | None = None,
    max_jobs: float | None = None,
    usual_jobs: float = MOST_JOBS,
    seed: int = 1,
    context: Context,
) -> TwoStarts:
    """Pairs of runs at a rate under a policy, longer and longer until the starts agree and the mean wait is known to
    the precision (a relative half-width), or, with `jobs`, of this length.

    threshold: that of first come, first served, which says whether the loaded start is its stationary state.
    burn_in: jobs that every run leaves out, by default a quarter of those that it observes.
    usual_jobs: of all runs together, unless max_jobs is given; fewer where lines are long.
    enough: looked at after every length; each look has its share of what the confidence leaves, so that all hold.

    UnstableError where the line does not settle; Stopped where time was up before anything was known.
    """
    runs = _Runs(model, rate, order, threshold, PAIRS if pairs is None else pairs, seed, context)
    length = _first_jobs(model, runs.pairs) if jobs is None else jobs
    rounds: list[_Round] = []
    while True:
        left_out = int(BURNED_IN * length) if burn_in is None else burn_in
        done, by = runs.run(length, left_out, rounds, further=jobs is None)
        if done is None:
            break
        rounds.append(done)
        done.refuse_endless(rate, order)
        means = done.means(confidence)
        if not agreed(*means) and _grows(rounds):
            raise UnstableError(
                f"rate {rate:g} seems to be unstable under {order.policy}: the mean wait grows with the length of runs "
                f"({means[0].estimate:.4g} in {length} jobs; an empirical finding)"
            )
        longer = _longer(means, precision, model.mean_service)
        if jobs is not None or longer == 0.0 or by:
            break
        sure = 1.0 - (1.0 - confidence) * 0.5 ** len(rounds)
        if enough is not None and enough(done.measures(model, sure, wanted)):
            break
        most = usual_jobs / (1.0 + done.waiting / LOOKS) if max_jobs is None else max_jobs
        room = (most - sum(one.jobs for one in rounds)) / (2.0 * runs.pairs * (length + left_out))
        if room < LEAST_LONGER:
            by = MAX_JOBS
            break
        length = int(min(longer, room) * length)
    last = rounds[-1]
    empty, loaded, apart = last.means(confidence)
    return TwoStarts(
        measures=last.measures(model, confidence, wanted),
        slowdown=last.slowdown(model, confidence),
        empty=empty,
        loaded=loaded,
        apart=apart,
        start=runs.start,
        pairs=len(last.records) // 2,
        jobs=sum(one.jobs for one in rounds),
        observed=last.length,
        burn_in=last.burn_in,
        by=by,
        warnings=unended_jobs(last.records, order),
    )


def _longer(means: tuple[Estimate, Estimate, Estimate], precision: float, service: float) -> float:
    """How many times longer runs should be; 0 where these are long enough."""
    hull = bracket(means[0], means[1])
    aim = precision * max(hull.estimate, SMALL * service)
    if not agreed(*means):
        return APART
    short = (hull.half_width / aim) ** 2
    return 0.0 if short <= 1.0 else min(max(1.2 * short, LEAST_LONGER), MOST_LONGER)


def _grows(rounds: list[_Round]) -> bool:
    """Whether the mean wait from empty grows almost like the length of runs: at the very limit it grows like the root
    of it, and below it settles."""
    last = rounds[-1]
    wait = last.wait
    shorter = [one for one in rounds if SPREAD * one.length <= last.length and one.wait > 0]
    return any(wait > one.wait * (last.length / one.length) ** GROWS for one in shorter)


class _Runs:
    """Pairs of runs on the same jobs, from an empty and from a loaded floor."""

    def __init__(
        self, model: Model, rate: float, order: Order, threshold: Estimate, pairs: int, seed: int, context: Context
    ) -> None:
        self.pairs, self._context, self._steps = pairs, context, Steps(context)
        self._name, self._burst = order.policy, None
        most = max(MOST_PRESENT, 1 << (4 * model.servers).bit_length())
        if model.nodes is not None:
            # No sample says which nodes are busy: a burst loads them.
            count = BURST_LEAST + int(BURST * rate * model.mean_service)
            self.start = f"with about {count} jobs at once"
            self._task = event_task(model, rate, order, seed=seed, replicas=np.arange(pairs), limit=most)
            self._burst = burst_of(count, rate, model.mean_service)
            return
        begun, self.start = _loaded(model, rate, threshold, pairs, seed, context)
        # Rows that follow each other are a pair: where time is up, whole pairs are done. Nothing is before job 0 from
        # empty; said as a history of no jobs, so that all jobs come at the same times as after one.
        history = np.zeros(2 * pairs, np.int64)
        history[1::2] = begun.length
        self._task = event_task(
            model, rate, order, seed=seed, replicas=np.repeat(np.arange(pairs), 2), history=history, limit=most
        )

    def run(self, length: int, burn_in: int, before: list[_Round], *, further: bool) -> tuple[_Round | None, str]:
        """Runs of a length, and what ended them too early; None where what was known before is better.

        Stopped where nothing is known at all.
        """
        part = self._steps.next(1.0, 4.0 if further else 0.0, f"{self._name}, {length} jobs a run")
        task = replace(self._task, burn_in=burn_in, jobs_observed=length)
        if self._burst is None:
            records, stopped = run_until(task, self._context.watched_by(part).engine)
        else:
            engine = self._context.watched_by(part).engine
            empty, stopped = run_until(task, engine)
            loaded, late = run_until(replace(task, changes=self._burst), engine) if not stopped else ([], False)
            records = [one for pair in zip(empty, loaded, strict=False) for one in pair]
            stopped = stopped or late
        whole = len(records) // 2
        by = ended_by(self._context.deadline) if stopped else ""
        if stopped and whole < (self.pairs // 2 if before else 2):
            if not before:
                raise Stopped
            return None, by
        return _Round(records[: 2 * whole], length, burn_in), by


def burst_of(count: int, rate: float, service: float) -> Changes:
    """So many jobs, on average, in next to no time; then they come as ever."""
    within = BURST_WITHIN * service
    return Changes((0.0, within), (count / (rate * within), 1.0))


def _first_jobs(model: Model, pairs: int) -> int:
    """So many that even the rarest class is seen."""
    rarest = min(c.probability for c in model.classes if c.probability > 0)
    return int(min(max(FIRST_JOBS, OF_A_CLASS / (rarest * pairs)), LONGER_FOR_IT * FIRST_JOBS))


def _loaded(
    model: Model, rate: float, threshold: Estimate, count: int, seed: int, context: Context
) -> tuple[History, str]:
    """The loaded start of every pair, and what it is."""
    numbers: Ints = np.arange(count)
    if rate < NEAR * threshold.low:
        try:
            part = context.part(0.0, 0.0, "loaded start").within(OF_START)
            begun = stationary_history(
                model, rate, threshold, numbers, seed=seed, context=part, longest_block=LONGEST_BLOCK
            )
            return begun, f"stationary under fcfs{' (backward samples)' if begun.why else ''}"
        except Stopped:
            context.deadline.check()
    begun = loaded_history(model, count)
    return begun, f"after {int(begun.length[0])} jobs under fcfs"


@dataclass(frozen=True)
class _Round:
    """Records of runs of one length: of every pair that from empty, then that from the loaded start."""

    records: list[ReplicaRecord]
    length: int
    burn_in: int

    @property
    def jobs(self) -> int:
        return sum(one.arrived for one in self.records)

    @property
    def wait(self) -> float:
        """The mean, from empty."""
        return from_events.mean_wait(self.records[::2], 0.5).estimate

    @property
    def waiting(self) -> float:
        """Jobs in line, on average over time."""
        time = np.sum([one.observations.time for one in self.records], axis=0)
        return float(time[WAITING] / time[SPAN]) if time[SPAN] > 0 else 0.0

    def refuse_endless(self, rate: float, order: Order) -> None:
        """Refuse a rate at which lines grow beyond all bounds in half of the runs from a start."""
        for start, side in (("an empty", self.records[::2]), ("a loaded", self.records[1::2])):
            endless = sum(one.overrun for one in side)
            if 2 * endless >= len(side):
                raise UnstableError(
                    f"rate {rate:g} seems to be unstable under {order.policy}: in {endless} of {len(side)} runs from "
                    f"{start} floor jobs starve or the line grows without end (an empirical finding)"
                )

    def means(self, confidence: float) -> tuple[Estimate, Estimate, Estimate]:
        """Mean waits from empty and from loaded, and their difference, which is not known if jobs did not end."""
        empty, loaded = self.records[::2], self.records[1::2]
        apart = from_events.paired_difference(loaded, empty, confidence) or Estimate(math.nan, -math.inf, math.inf)
        sides = [from_events.mean_wait(side, confidence).within(0.0, math.inf) for side in (empty, loaded)]
        return sides[0], sides[1], apart

    def measures(self, model: Model, confidence: float, wanted: Wanted) -> Measures:
        empty, loaded = (self._of(side, model, confidence, wanted) for side in (self.records[::2], self.records[1::2]))
        names = [name for name in empty.tails if name in loaded.tails]
        grid = [x for x in empty.tails[ALL_JOBS] if x in loaded.tails[ALL_JOBS]] if names else []
        sides = [replace(one, tails={n: {x: one.tails[n][x] for x in grid} for n in names}) for one in (empty, loaded)]
        return bracket(sides[0], sides[1])

    def _of(self, records: list[ReplicaRecord], model: Model, confidence: float, wanted: Wanted) -> Measures:
        waits, _, tails = from_events.waits(model, records, confidence, wanted)
        unknown = _unknown(wanted)
        overall = waits.get(ALL_JOBS, unknown)
        classes = {c.label: waits.get(c.label, unknown) for c in model.classes}
        return Measures(overall, classes, from_events.system(model, records, confidence), tails)

    def slowdown(self, model: Model, confidence: float) -> dict[str, Estimate]:
        sides = [from_events.waits(model, side, confidence)[1] for side in (self.records[::2], self.records[1::2])]
        return {name: bracket(one, sides[1][name]) for name, one in sides[0].items() if name in sides[1]}


def _unknown(wanted: Wanted) -> Waits:
    """Of a class of which no jobs were observed."""
    nothing, chance = Estimate(math.nan, 0.0, math.inf), Estimate(math.nan, 0.0, 1.0)
    spread = wanted.spread(nothing, nothing, [nothing] * len(wanted.quantiles))
    return Waits(spread, spread, chance, dict.fromkeys(wanted.exceeds, chance))
