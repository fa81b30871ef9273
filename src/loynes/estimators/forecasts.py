"""From draws of starts to forecasts, and how good forecasts were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.threads import cores

# The intervals that a forecast has, by the probability with which each is to hold the truth.
INTERVALS = (0.5, 0.8, 0.95)
# Probabilities at which a forecast is judged.
LEVELS = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
PIT_BINS = 10
# Jobs and draws that are turned from rows into columns at a time: both the lines that are read and those that are
# written stay in a cache. 64 and 512 of them took 0.3 of the time of 32 and all.
JOBS_TOGETHER, DRAWS_TOGETHER = 64, 512
# Earlier forecasts that recalibration wants at least, and that it looks back at.
LEAST_EARLIER = 100
MOST_EARLIER = 2000
# Lengths of the stretches of a log that are taken to be independent, in seconds, and how many there are to be.
STRETCHES = (7 * 86400.0, 86400.0)
LEAST_STRETCHES = 10
# Of a product that should be a whole number.
ROUNDING = 1e-9


class SortedStarts(NamedTuple):
    """Draws of every waiting job's start, sorted: [job, draw]."""

    values: NDArray[np.float32]

    @property
    def draws(self) -> int:
        return int(self.values.shape[1])

    def quantile(self, level: float | Array) -> Array:
        """The draw of such a rank, of every job.

        A truth that is one more draw lies below the k-th of n with probability k / (n + 1): ranks are of n + 1, and
        rounded away from the middle, so that an interval holds at least what it says, as far as the draws go.
        """
        place = np.clip(_rank(np.asarray(level), self.draws), 0, self.draws - 1)
        if place.ndim == 0:
            return np.asarray(self.values[:, int(place)], np.float64)
        return np.asarray(self.values[np.arange(len(self.values)), place], np.float64)

    def quantiles(self, levels: Sequence[float]) -> Array:
        """[job, level]."""
        return np.stack([self.quantile(level) for level in levels], axis=1)

    def within(self, time: float) -> Array:
        """The share of draws in which a job has started by a time."""
        limit = np.float32(min(time, float(np.finfo(np.float32).max)))  # starts are numbers of this size
        return np.array([np.searchsorted(row, limit, side="right") for row in self.values]) / self.draws

    def place(self, truth: Array) -> Array:
        """Where the truth lies among the draws, between 0 and 1; in the middle of those that it is equal to."""
        spots = np.empty(len(self.values))
        for j, (row, true) in enumerate(zip(self.values, truth.astype(np.float32), strict=True)):
            left, right = np.searchsorted(row, true, side="left"), np.searchsorted(row, true, side="right")
            spots[j] = (left + right) / (2 * self.draws)
        return spots


def sorted_starts(starts: NDArray[np.float32], jobs: Ints) -> SortedStarts:
    """Of some jobs, the draws that the kernels have as [draw, job]."""
    values = np.empty((len(jobs), len(starts)), np.float32)
    first, last = (int(jobs[0]), int(jobs[-1])) if len(jobs) else (0, -1)
    chosen: Ints | slice = slice(first, last + 1) if last - first + 1 == len(jobs) else jobs
    for draw in range(0, len(starts), DRAWS_TOGETHER):
        some = slice(draw, draw + DRAWS_TOGETHER)
        values[:, some] = starts[some, chosen].T
    values.sort(axis=1)
    return SortedStarts(values)


def seen_in_groups(starts: NDArray[np.float32], jobs: Ints, see: Callable[[SortedStarts], Array]) -> Array:
    """What is seen of the sorted draws of these jobs, ascending: one row each. Those of a few jobs are kept at a time.

    `starts` is [draw, job], as the kernels have it.
    """
    groups = [jobs[first : first + JOBS_TOGETHER] for first in range(0, max(len(jobs), 1), JOBS_TOGETHER)]
    with ThreadPoolExecutor(cores()) as pool:  # NumPy lets go of the interpreter while it copies and sorts
        return np.concatenate([*pool.map(lambda group: see(sorted_starts(starts, group)), groups)])


def _rank(level: Array, count: int) -> Ints:
    """From 0: the place in order at which such a share of count + 1 lies below; rounded away from the middle."""
    share = level * (count + 1)
    return np.asarray(np.where(level > 0.5, np.ceil(share - ROUNDING), np.floor(share + ROUNDING)), np.int64) - 1


@dataclass(frozen=True)
class Scores:
    """How one way to forecast did: coverage and mean width of each interval, and the mean pinball loss."""

    name: str
    coverage: dict[str, float]
    width: dict[str, float]
    pinball: float
    bias: float  # mean of forecast median minus truth
    coverage_error: dict[str, float] = field(default_factory=dict)  # standard errors; stretches are independent


def pinball(forecast: Array, truth: Array, level: float) -> Array:
    """The loss of a quantile forecast: level x shortfall, or (1 - level) x excess."""
    under = truth - forecast
    return np.asarray(np.where(under >= 0, level * under, (level - 1.0) * under))


@dataclass(frozen=True)
class Stretches:
    """Stretches of a log that are taken to be independent of each other."""

    count: int
    length: float  # of one, in seconds


def stretches(times: Array) -> tuple[Ints, float]:
    """Which stretch of a log each of these times is in, and how long the stretches are, in seconds.

    What is judged on one day hangs together, as one long job delays hundreds. Stretches are weeks, in logs of fewer
    than ten weeks days.
    """
    for length in STRETCHES:
        number = np.unique(np.floor(times / length), return_inverse=True)[1].ravel()
        if len(times) and number.max() + 1 >= LEAST_STRETCHES:
            break
    return np.asarray(number, np.int64), length


def share_error(holds: Array, stretch: Ints) -> float:
    """The standard error of a share, where whole stretches are independent, and what lies within one is not.

    Each stretch adds the sum of its deviations from the share; the variance of a sum of independent terms is that of
    the squares. There are to be two of them at least.
    """
    sums = np.bincount(stretch, holds - holds.mean())
    count = len(sums)
    return float(np.sqrt(count / (count - 1) * np.sum(sums**2)) / len(holds))


def scores(name: str, quantiles: Array, truth: Array, stretch: Ints | None = None) -> Scores:
    """Of forecasts given by their quantiles, [case, LEVELS]; a plain number has all of them equal.

    `stretch` says what hangs together; without it every case is taken to be independent.
    """
    place = {level: i for i, level in enumerate(LEVELS)}
    own = np.arange(len(truth)) if stretch is None else stretch
    coverage, width, error = {}, {}, {}
    for share in INTERVALS:
        low = quantiles[:, place[round((1.0 - share) / 2, 6)]]
        high = quantiles[:, place[round((1.0 + share) / 2, 6)]]
        holds = ((low <= truth) & (truth <= high)).astype(np.float64)
        coverage[f"{share:g}"] = float(holds.mean())
        if own.max(initial=0) > 0:
            error[f"{share:g}"] = share_error(holds, own)
        width[f"{share:g}"] = float(np.mean(high - low))
    loss = np.mean([pinball(quantiles[:, i], truth, level).mean() for i, level in enumerate(LEVELS)])
    bias = float(np.mean(quantiles[:, place[0.5]] - truth))
    return Scores(name, coverage, width, float(loss), bias, error)


def conformal_levels(earlier: Array) -> Array | None:
    """The levels to ask for instead of LEVELS, so that earlier truths would have fallen as often as they should.

    `earlier` are the places of earlier truths among their draws. Their empirical quantile at a level is the level that
    held so often; with n of them, the (n + 1)-th part is added on either side, as in split conformal prediction. None
    where there are too few.
    """
    recent = earlier[-MOST_EARLIER:]
    if len(recent) < LEAST_EARLIER:
        return None
    return np.asarray(np.sort(recent)[np.clip(_rank(np.array(LEVELS), len(recent)), 0, len(recent) - 1)])
