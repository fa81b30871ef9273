"""Resamples of recorded jobs, event by event under a policy, each on a core of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.engine import PIECES, Piece
from loynes.kernels.cpu.threads import Flag, heed
from loynes.kernels.engine import Look, Task
from loynes.kernels.events.engine import run_classes
from loynes.kernels.events.layout import Layout, Rules
from loynes.kernels.events.loop import KINDS, PRESENT, SPAN, WAITING, loop_of
from loynes.kernels.events.pace import go_on
from loynes.kernels.events.policies import Policy
from loynes.kernels.events.predictions import Beliefs
from loynes.traces.resampling import DAY, Days, resample

# Columns of what is observed of a group of jobs: how many, then of waits and of responses the mean, the variance and
# four percentiles, the share that did not wait, the mean slowdown and the mean bounded slowdown; then the shares that
# waited longer than some x, and other percentiles, of waits and of responses.
COUNT, WAIT, RESPONSE, NONE, SLOWDOWN, BOUNDED, EXCEEDS = 0, 1, 7, 13, 14, 15, 16
RANKS = (0.50, 0.90, 0.95, 0.99)
# Columns of time averages: jobs waiting and present; then busy and lost servers of every kind; and where there are
# nodes, those of every kind that idle because no node has enough together.
LINE, THERE, BUSY = range(3)
# An event, and what is drawn and observed for it, to an order.
JOB_SECONDS = 2e-6
# Services shorter than this, in seconds, count as so long in bounded slowdowns.
SHORTEST = 10.0


class RecordedJobs(NamedTuple):
    """The jobs of a log, in order of submission."""

    submit: Array
    job_class: Ints  # a row of `demand`
    demand: Ints  # [class, kind]
    service: Array
    guess: Array  # what a scheduler believes
    group: Ints  # whose waits are observed together, from 0 on
    session: Ints


class RecordedState(NamedTuple):
    waits: Array  # [row, all jobs and every group, column]; NaN where a group has no job
    time: Array  # [row, column]


@dataclass(frozen=True, eq=False)
class Recorded(Task):
    """One resample a row, by its number; those up to 0 are the log itself. Averages over time end with the last day."""

    seed: int
    numbers: Ints  # [row]
    log: RecordedJobs
    days: Days
    units: Ints
    policy: Policy
    option: float = 1
    scale: float = 1.0
    groups_observed: int = 1
    exceeds: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    layout: Layout | None = None
    rules: Rules | None = None
    shortest: float = SHORTEST
    beliefs: Beliefs | None = None  # of every job of the log

    by_rows: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        return len(self.numbers)

    @property
    def job_seconds(self) -> float:
        return JOB_SECONDS

    def part(self, rows: Ints) -> Self:
        return replace(self, numbers=self.numbers[rows])

    @property
    def label(self) -> str:
        return self.policy.name

    def expected_jobs(self, start: int, stop: int) -> int:
        return int(self.scale * len(self.log.submit)) * (stop - start)

    def new_state(self) -> RecordedState:
        columns = EXCEEDS + len(self.exceeds) + 2 * len(self.quantiles)
        waits = np.full((self.rows, 1 + self.groups_observed, columns), np.nan)
        return RecordedState(waits, np.full((self.rows, self._columns), np.nan))

    @property
    def _columns(self) -> int:
        """Of time averages."""
        return BUSY + (2 if self.layout is None else 3) * len(self.units)

    def run_row(self, number: int, look: Look = go_on) -> tuple[Array, Array]:
        """What is observed of one resample: of groups of jobs, and over time. `look` may end it by an exception."""
        log = self.log
        index, when = resample(self.days, log.submit, log.session, self.seed, number, self.scale)
        service = log.service[index]
        end = float(when[-1]) if number <= 0 else DAY * self.days.length
        beliefs = self.beliefs
        if beliefs is not None:
            beliefs = beliefs._replace(user=beliefs.user[index], limit=beliefs.limit[index])
        times, sums = run_classes(
            self.units, when, log.job_class[index], log.demand, service, log.guess[index], self.policy, self.option,
            np.array([0.0, max(end, 1e-9)]), self.layout, self.rules, beliefs, look=look,
        )  # fmt: skip
        time = np.full(self._columns, np.nan)
        time[LINE], time[THERE] = sums[0, WAITING], sums[0, PRESENT]
        time[BUSY:] = sums[0, KINDS:]
        group = log.group[index]
        asked = (self.exceeds, self.quantiles, self.shortest)
        observed = [observe(times, service, *asked)]
        order = np.argsort(group, kind="stable")
        cuts = np.searchsorted(group[order], np.arange(self.groups_observed + 1))
        for begin, stop in pairwise(cuts):
            who = order[begin:stop]
            observed.append(observe(times[who], service[who], *asked))
        return np.array(observed), time / sums[0, SPAN]


def slowdowns_of(wait: Array, service: Array, shortest: float) -> Array:
    """Bounded slowdowns, max(1, response / max(service, shortest)) (Feitelson, Rudolph, Schwiegelshohn 1997)."""
    return np.maximum((wait + service) / np.maximum(service, shortest), 1.0)


def observe(
    times: Array,
    service: Array,
    exceeds: tuple[float, ...] = (),
    quantiles: tuple[float, ...] = (),
    shortest: float = SHORTEST,
) -> Array:
    """Columns of jobs whose waits and responses are given; NaN if there are none. A percentile is one of the values."""
    row = np.full(EXCEEDS + len(exceeds) + 2 * len(quantiles), np.nan)
    row[COUNT] = len(times)
    if not len(times):
        return row
    ranks = np.maximum(np.ceil(len(times) * np.array(RANKS + quantiles)).astype(np.int64) - 1, 0)
    more = EXCEEDS + len(exceeds)
    for column, values, others in ((WAIT, times[:, 0], more), (RESPONSE, times[:, 1], more + len(quantiles))):
        row[column], row[column + 1] = values.mean(), values.var()
        found = np.partition(values, np.unique(ranks))[ranks]
        row[column + 2 : column + 6], row[others : others + len(quantiles)] = found[:4], found[4:]
    wait = times[:, 0]
    row[NONE] = np.mean(wait == 0.0)
    row[SLOWDOWN] = np.mean(times[:, 1] / service)
    row[BOUNDED] = np.mean(slowdowns_of(wait, service, shortest))
    row[EXCEEDS:more] = [np.mean(wait > x) for x in exceeds]
    return row


def _piece(task: Recorded, state: RecordedState, flag: Flag) -> Piece:
    loop_of(task.policy)  # one for all threads

    def piece(rows: slice, start: int, stop: int) -> None:
        for row in range(rows.start, rows.stop):
            state.waits[row], state.time[row] = task.run_row(int(task.numbers[row]), partial(heed, flag))

    return piece


PIECES[Recorded] = _piece
