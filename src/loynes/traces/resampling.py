"""Other logs that could have been recorded: whole days of a log, put together anew at random.

This is the stationary bootstrap (Politis, Romano 1994) by seasons. A resample takes days in the log's own order, a
stretch at a time. After every day the stretch ends with probability 1 / block, and another one begins at a random day
of the same weekday; so a resample has the log's days and nights, its weekdays, the sessions of its users and the bursts
that last no longer than a stretch. After the last day of the log comes its first one of the weekday that is due, so
that all days are about equally likely. Logs of less than three weeks are resampled by days, whatever the weekday.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError
from loynes.traces.trace import Trace, rows_of

HOUR, DAY = 3600.0, 86400.0
WEEK = 7
# Weeks that a log must have to be resampled by weekdays; whole days it must have at all.
LEAST_WEEKS = 3
LEAST_DAYS = 4
# Mean length of a stretch, days.
BLOCK = 7.0
BLOCK_OF_SHORT = 1.0
# Sessions of added jobs are moved by at most so many seconds.
JITTER = 600.0


class Days(NamedTuple):
    """Where the whole days of a log lie among its jobs."""

    first: Ints  # [days + 1], the first job of each day
    begin: float  # of the first day, in the log's own time; days begin at the hour in which the fewest jobs come
    season: int  # days until the same kind of day comes again: 7, or 1 in a short log
    block: float  # mean length of a stretch, days

    @property
    def length(self) -> int:
        return len(self.first) - 1

    @property
    def stretches(self) -> float:
        """About how many independent pieces the log has."""
        return self.length / self.block


def days_of(submit: Array, source: str, block: float | None = None) -> Days:
    """The whole days of a log whose jobs were submitted at these times, in seconds and ascending."""
    by_hour = np.bincount(((submit % DAY) // HOUR).astype(np.int64), minlength=24)
    begin = float(np.argmin(by_hour)) * HOUR
    if begin > submit[0]:
        begin -= DAY
    if submit[0] - begin > HOUR:  # the day that was under way when the log began
        begin += DAY
    # The last day is whole if jobs came in its last hour.
    count = int((submit[-1] - begin + HOUR) // DAY) if submit[-1] > begin else 0
    if count < LEAST_DAYS:
        raise TraceError(
            f"{source}: has {max(count, 0)} whole days; other logs like it are made of at least {LEAST_DAYS}"
        )
    season = WEEK if count >= LEAST_WEEKS * WEEK else 1
    usual = BLOCK if season == WEEK else BLOCK_OF_SHORT
    first = np.searchsorted(submit, begin + DAY * np.arange(count + 1))
    return Days(first.astype(np.int64), begin, season, usual if block is None else block)


def same_days(days: Days, submit: Array) -> Days:
    """The same days of a log whose jobs were changed, and now come at these times."""
    first = np.searchsorted(submit, days.begin + DAY * np.arange(days.length + 1))
    return days._replace(first=first.astype(np.int64))


def choose_days(days: Days, rng: np.random.Generator, count: int | None = None) -> Ints:
    """The days of the log that one resample of so many days (by default as many) is made of, in order."""
    count = days.length if count is None else count
    jumps = rng.random(count) < 1.0 / days.block
    targets = rng.random(count)
    chosen = np.empty(count, np.int64)
    day = -1
    for k in range(count):
        kind = k % days.season
        if k == 0 or jumps[k]:
            alike = (days.length - kind - 1) // days.season + 1  # days of this kind: kind, kind + season, ...
            day = kind + days.season * int(targets[k] * alike)
        else:
            day = day + 1 if day + 1 < days.length else kind
        chosen[k] = day
    return chosen


def jobs_on(days: Days, submit: Array, chosen: Ints) -> tuple[Ints, Array]:
    """The jobs of the days that were chosen, as numbers of the log's jobs, and when they come; days begin at 0."""
    sizes = days.first[chosen + 1] - days.first[chosen]
    ends = np.cumsum(sizes)
    index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(days.first[chosen] - (ends - sizes), sizes)
    shift = DAY * np.arange(len(chosen)) - (days.begin + DAY * chosen)
    return index, submit[index] + np.repeat(shift, sizes)


def resample(
    days: Days | None, submit: Array, session: Ints, seed: int, number: int, scale: float = 1.0
) -> tuple[Ints, Array]:
    """The jobs of a resample (by their numbers in the log) and when they come, in order; up to 0, the log itself.

    A scale other than 1 lays resamples on top of each other, as many as make so many times the jobs; of the last one
    every session is there with the probability that is left. All sessions but those of the first one are moved by some
    minutes, so that the same day twice is not the same jobs at the same instants. Resamples of one number agree in all
    days and sessions that they share, whatever the scale: what differs between two scales is the jobs added.
    """
    indices, times = [], []
    for copy in range(int(np.ceil(scale))):
        rng = np.random.default_rng([seed, abs(number), copy, int(number <= 0)])
        if number <= 0 and copy == 0:
            index, when = np.arange(len(submit)), submit
            stretch = np.zeros(len(submit), np.int64)
        else:
            assert days is not None  # needed unless the log itself is run, or thinned
            chosen = choose_days(days, rng)
            index, when = jobs_on(days, submit, chosen)
            if number <= 0:  # laid on the log itself, whose days begin at another time than 0
                when = when + days.begin
            begins = np.diff(chosen, prepend=-2) != 1
            sizes = days.first[chosen + 1] - days.first[chosen]
            stretch = np.repeat(np.cumsum(begins), sizes)
        share = min(1.0, scale - copy)
        if copy or share < 1.0:
            # A session that is there twice, in two stretches, is two.
            which = np.unique(stretch * (int(session.max()) + 1) + session[index], return_inverse=True)[1].ravel()
            kept = rng.random(which.max(initial=-1) + 1)[which] < share
            moved = np.abs(when + JITTER * (2.0 * rng.random(which.max(initial=-1) + 1)[which] - 1.0))
            index, when = index[kept], (moved if copy else when)[kept]
        indices.append(index)
        times.append(when)
    index, when = np.concatenate(indices), np.concatenate(times)
    if len(times) > 1:
        order = np.argsort(when, kind="stable")
        index, when = index[order], when[order]
    return index, when


def alternate_weeks(trace: Trace, days: Days) -> tuple[Trace, Trace]:
    """Every other week of a log, one put after the other, and the weeks in between; of a short log, days.

    Both halves see the whole span of a log, so that what differs between them is chance, not a trend.
    """
    length = days.season
    halves = []
    for which in (0, 1):
        chosen = np.flatnonzero(np.arange(days.length) // length % 2 == which)
        index, when = jobs_on(days, trace.submit, chosen)
        halves.append(replace(rows_of(trace, index), submit=when, origin=None))
    return halves[0], halves[1]
