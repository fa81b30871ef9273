"""From draws of starts to forecasts, and how good forecasts were."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array
from loynes.kernels.cpu.threads import cores

# The intervals that a forecast has, by the probability with which each is to hold the truth.
INTERVALS = (0.5, 0.8, 0.95)
# Probabilities at which a forecast is judged.
LEVELS = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
PIT_BINS = 10
# Jobs whose draws are sorted at a time: what is read of one draw then fills a cache line or two.
TOGETHER = 32
# Earlier forecasts that recalibration wants at least, and that it looks back at.
LEAST_EARLIER = 100
MOST_EARLIER = 2000


class SortedStarts(NamedTuple):
    """Draws of every waiting job's start, sorted: [job, draw]."""

    values: NDArray[np.float32]

    @property
    def draws(self) -> int:
        return int(self.values.shape[1])

    def quantile(self, level: float | Array) -> Array:
        """The smallest draw that at least such a share of draws does not exceed, of every job."""
        place = np.clip(np.ceil(np.asarray(level) * self.draws).astype(np.int64) - 1, 0, self.draws - 1)
        if place.ndim == 0:
            return np.asarray(self.values[:, int(place)], np.float64)
        return np.asarray(self.values[np.arange(len(self.values)), place], np.float64)

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


def sorted_starts(starts: NDArray[np.float32]) -> SortedStarts:
    """Draws as the kernels have them, [draw, job], sorted by job."""
    values = np.empty(starts.shape[::-1], np.float32)

    def part(first: int) -> None:
        own = values[first : first + TOGETHER]
        own[...] = starts[:, first : first + TOGETHER].T
        own.sort(axis=1)

    with ThreadPoolExecutor(cores()) as pool:  # NumPy lets go of the interpreter while it copies and sorts
        list(pool.map(part, range(0, len(values), TOGETHER)))
    return SortedStarts(values)


@dataclass(frozen=True)
class Scores:
    """How one way to forecast did: coverage and mean width of each interval, and the mean pinball loss."""

    name: str
    coverage: dict[str, float]
    width: dict[str, float]
    pinball: float
    bias: float  # mean of forecast median minus truth


def pinball(forecast: Array, truth: Array, level: float) -> Array:
    """The loss of a quantile forecast: level x shortfall, or (1 - level) x excess."""
    under = truth - forecast
    return np.asarray(np.where(under >= 0, level * under, (level - 1.0) * under))


def scores(name: str, quantiles: Array, truth: Array) -> Scores:
    """Of forecasts given by their quantiles, [case, LEVELS]; a plain number has all of them equal."""
    place = {level: i for i, level in enumerate(LEVELS)}
    coverage, width = {}, {}
    for share in INTERVALS:
        low = quantiles[:, place[round((1.0 - share) / 2, 6)]]
        high = quantiles[:, place[round((1.0 + share) / 2, 6)]]
        coverage[f"{share:g}"] = float(np.mean((low <= truth) & (truth <= high)))
        width[f"{share:g}"] = float(np.mean(high - low))
    loss = np.mean([pinball(quantiles[:, i], truth, level).mean() for i, level in enumerate(LEVELS)])
    return Scores(name, coverage, width, float(loss), float(np.mean(quantiles[:, place[0.5]] - truth)))


def conformal_levels(earlier: Array) -> Array | None:
    """The levels to ask for instead of LEVELS, so that earlier truths would have fallen as often as they should.

    `earlier` are the places of earlier truths among their draws. Their empirical quantile at a level is the level that
    held so often; with n of them, the (n + 1)-th part is added on either side, as in split conformal prediction. None
    where there are too few.
    """
    recent = earlier[-MOST_EARLIER:]
    if len(recent) < LEAST_EARLIER:
        return None
    ordered, count = np.sort(recent), len(recent)
    levels = []
    for level in LEVELS:
        rank = np.ceil(level * (count + 1)) - 1 if level >= 0.5 else np.floor(level * (count + 1)) - 1
        levels.append(ordered[int(np.clip(rank, 0, count - 1))])
    return np.array(levels)
