"""How a log's jobs arrive: the spread of gaps, their correlation, and how counts disperse over longer and longer times.

The index of dispersion of counts, variance / mean of the number of arrivals in a window of length t, is 1 for Poisson
arrivals at every t, tends to the squared coefficient of variation of gaps for any renewal process, and grows beyond it
where busy and quiet times alternate (Cox and Lewis 1966).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array
from loynes.traces.trace import Trace

SCALES = 12
# Of the longest window there are still so many, and the shortest holds so many jobs on average.
LEAST_WINDOWS = 40
LEAST_JOBS = 4.0
# A statistic counts as different when it is off by so many of its standard errors.
SURE = 5.0
# From this part of gaps of 0 on, jobs are said to come in batches.
MOST_TOGETHER = 0.2


@dataclass(frozen=True)
class Burstiness:
    """Of gaps between submissions: rate, squared coefficient of variation, lag-1 correlation; dispersion by scale."""

    jobs: int
    rate: float
    gap_cv2: float
    correlation: float
    together: float  # the part of gaps that are 0
    scale: tuple[float, ...]  # seconds
    dispersion: tuple[float, ...]
    windows: tuple[int, ...]  # how many each dispersion comes from

    def beyond(self, level: float) -> bool:
        """Whether counts disperse surely more than so much, at some scale."""
        return any(self._off(level)[k] > SURE for k in range(len(self.scale)))

    def apart(self, level: float) -> bool:
        """Whether counts disperse surely more or less than so much, at some scale."""
        return any(abs(self._off(level)[k]) > SURE for k in range(len(self.scale)))

    def _off(self, level: float) -> list[float]:
        # A sample variance of k values has a relative standard error of about sqrt(2 / k).
        errors = np.sqrt(2.0 / np.array(self.windows)) * level
        return list((np.array(self.dispersion) - level) / errors)

    @property
    def cycle(self) -> bool:
        """Whether counts disperse surely less over long times than over shorter ones: busy times come round."""
        return max(self.dispersion) > self.dispersion[-1] * (1.0 + SURE * float(np.sqrt(2.0 / self.windows[-1])))

    @property
    def regular(self) -> bool:
        """Whether counts disperse surely less, over long times, than independent gaps of this spread would."""
        return self._off(self.gap_cv2)[-1] < -SURE

    @property
    def kind(self) -> str:
        """The simplest process that these numbers do not speak against."""
        if self.together > MOST_TOGETHER:
            return "batch"
        error = np.sqrt(4.0 / self.jobs)  # of the squared coefficient of variation, for exponential gaps
        poisson = abs(self.gap_cv2 - 1.0) <= SURE * error and not self.apart(1.0)
        if poisson and abs(self.correlation) <= SURE / np.sqrt(self.jobs):
            return "poisson"
        return "mmpp" if self.beyond(max(self.gap_cv2, 1.0)) and self.dispersion[-1] > 1.0 else "renewal"


def burstiness(trace: Trace) -> Burstiness:
    gaps = np.diff(trace.submit)
    mean = float(np.mean(gaps))
    centred = gaps - mean
    spread = float(np.mean(centred * centred))
    correlation = float(np.mean(centred[1:] * centred[:-1]) / spread) if spread > 0 and len(gaps) > 2 else 0.0
    shortest, longest = LEAST_JOBS * mean, trace.span / LEAST_WINDOWS
    scales = np.geomspace(shortest, longest, SCALES) if longest > 2.0 * shortest else np.array([max(longest, mean)])
    dispersion, windows = [], []
    for scale in scales:
        counts = counts_in(trace.submit, float(scale))
        dispersion.append(float(np.var(counts, ddof=1) / np.mean(counts)) if len(counts) > 1 else 1.0)
        windows.append(len(counts))
    together = float(np.mean(gaps == 0.0))
    return Burstiness(
        len(gaps),
        1.0 / mean,
        spread / mean**2,
        correlation,
        together,
        tuple(map(float, scales)),
        tuple(dispersion),
        tuple(windows),
    )


def counts_in(submit: Array, scale: float) -> Array:
    """Arrivals in successive whole windows."""
    whole = int(submit[-1] / scale)
    if whole < 1:
        return np.array([float(len(submit))])
    place = (submit / scale).astype(np.int64)
    return np.bincount(place[place < whole], minlength=whole).astype(np.float64)
