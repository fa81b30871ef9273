"""What a log can tell: measures of resamples of it, with the doubt that its length leaves.

A quantity x has one value in the log itself, replayed, and one in every resample. Intervals are made of these:

- **data**: where x lies in the long run, given the log alone. The spread of x over resamples stands for that of logs
  around the truth: the bootstrap assumes that days put together anew vary as the log would, had it been recorded
  again. It is laid around the log's own value, not around the resamples' mean, since stretches of days that were never
  neighbours collide where they meet: users submit what fits.
  Waits respond to load as 1 / (1 - load) does, so a log that happened to be quiet shows too little spread. Times are
  therefore taken as -1 / (x + service), in M/M/1 a straight line in the load; on that scale the interval is Student's.
  Where its upper end would pass 0 the log cannot exclude that the queue is unstable, and the end is infinite. The log
  has about n independent stretches of days, whose sums have heavy tails: half of n - 1 degrees of freedom, at least 3,
  and WIDER times the standard deviation (for waits; n - 1 and once for shares) were chosen so that 95% intervals hold
  the truth of synthetic logs of ten weeks, with sessions and cycles, 90 to 98% of the time (docs/logs.md). That is a
  measurement, no proof.
- **ahead**: where x will be in the next period as long as the log: the same with twice the variance.
- **Monte Carlo**: how well the estimate is known from so many runs. The log itself is replayed exactly; a log with jobs
  added is put together anew a few times, and the interval is Student's over these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array
from loynes.estimate import Estimate, mean_of
from loynes.estimators.measures import Measures, Resource, Spread, System, Waits, Wanted, part_of
from loynes.kernels.events.recorded import (
    BOUNDED,
    BUSY,
    COUNT,
    EXCEEDS,
    LINE,
    NONE,
    RANKS,
    RESPONSE,
    THERE,
    WAIT,
    RecordedState,
)

# See above.
WIDER = 1.25
LEAST_FREEDOM = 3.0
# Times that are shorter than this are as good as 0: their inverses stay finite.
NO_TIME = 1e-9


@dataclass(frozen=True)
class Quantity:
    """The values of a quantity: in the log itself, as often as it was run, and in resamples."""

    own: Array
    others: Array
    service: float = math.inf  # what is added to it where it responds to load; infinite for what is taken as it is
    most: float = math.inf

    @property
    def value(self) -> float:
        return float(self.own.mean())

    def on_scale(self, values: Array) -> Array:
        return values if math.isinf(self.service) else -1.0 / np.maximum(values + self.service, NO_TIME)

    def back(self, value: float) -> float:
        if math.isinf(self.service):
            return value
        return -1.0 / value - self.service if value < 0.0 else math.inf

    def deviation(self, stretches: float) -> tuple[float, float]:
        """The standard deviation to reckon with on the scale, and Student's degrees of freedom."""
        others = self.others[~np.isnan(self.others)]
        if len(others) < 2:
            return math.inf, LEAST_FREEDOM
        # A bootstrap of n pieces has a standard deviation that is too small by sqrt(1 - 1/n).
        pieces = max(2.0, stretches)
        spread = math.sqrt(pieces / (pieces - 1.0)) * float(self.on_scale(others).std(ddof=1))
        if np.ptp(others) == 0.0:
            spread = 0.0  # but for rounding
        if math.isinf(self.service):
            return spread, max(LEAST_FREEDOM, stretches - 1.0)
        return WIDER * spread, max(LEAST_FREEDOM, 0.5 * (stretches - 1.0))

    def around(self, confidence: float, stretches: float, more: float = 1.0) -> tuple[float, float]:
        """The ends of the interval of a log of so many stretches, with the deviation so many times as large."""
        from scipy.stats import t

        deviation, freedom = self.deviation(stretches)
        if deviation == 0.0 or math.isinf(deviation):
            return (self.value, self.value) if deviation == 0.0 else (0.0, self.most)
        middle = float(self.on_scale(np.array([self.value]))[0])
        half = more * deviation * float(t.ppf(0.5 + 0.5 * confidence, freedom))
        return max(0.0, self.back(middle - half)), min(self.most, self.back(middle + half))

    def probability_at_most(self, bound: float, stretches: float, times: float = 1.0) -> float:
        """That the quantity, in the long run, is at most a bound, by the interval's own law.

        With `times` above 1, as it would be if the log were so many times as long and showed the same.
        """
        from scipy.stats import t

        at = self.on_scale(np.array([self.value, bound]))
        deviation = self.deviation(stretches)[0] / math.sqrt(times)
        if deviation == 0.0:
            return 1.0 if at[0] <= at[1] else 0.0
        return float(t.cdf((at[1] - at[0]) / deviation, self.deviation(times * stretches)[1]))


Estimator = Callable[[Quantity], Estimate]


def monte_carlo(confidence: float) -> Estimator:
    """In the log itself, and how well the runs of it determine that."""

    def estimate(quantity: Quantity) -> Estimate:
        if len(quantity.own) < 2:
            return Estimate.exact(quantity.value)
        return mean_of(quantity.own, confidence).within(0.0, quantity.most)

    return estimate


def over_resamples(confidence: float) -> Estimator:
    """The mean over resamples, and how well so many of them determine it."""

    def estimate(quantity: Quantity) -> Estimate:
        others = quantity.others[~np.isnan(quantity.others)]
        if len(others) < 2:
            return Estimate(math.nan, -math.inf, math.inf)
        return mean_of(others, confidence).within(0.0, quantity.most)

    return estimate


def data_interval(confidence: float, stretches: float, ahead: bool = False) -> Estimator:
    """In the log itself, and where it lies in the long run, given a log of so many stretches.

    Ahead: where it will lie in the next period as long as the log, which varies around the long run as the log does;
    both doubts add up as variances.
    """
    more = math.sqrt(2.0) if ahead else 1.0

    def estimate(quantity: Quantity) -> Estimate:
        low, high = quantity.around(confidence, stretches, more)
        return Estimate(quantity.value, min(low, quantity.value), max(high, quantity.value))

    return estimate


def wait_quantity(
    state: RecordedState, own: int, group: int, column: int, quantile: float | None = None, of_response: bool = False
) -> Quantity:
    """A column of the waits of a group of jobs (0: all), of which the first rows are the log itself."""
    values = state.waits[:, group, column]
    mine = values[:own][~np.isnan(values[:own])]  # where jobs are left out, a group may have none in some of the runs
    mean_service = float(np.nanmean(state.waits[:own, group, RESPONSE] - state.waits[:own, group, WAIT]))
    if quantile is not None:
        added = 0.0 if of_response else -math.log1p(-quantile) * mean_service
        return Quantity(mine, values[own:], added)
    if column == BOUNDED:  # it responds to load as a response does
        return Quantity(mine, values[own:], 0.0)
    if column >= NONE:
        return Quantity(mine, values[own:], most=1.0)
    statistic = (column - WAIT) % 6
    # Of an exponential service: mean, variance, percentiles.
    shape = (1.0, mean_service, *(-math.log1p(-q) for q in RANKS))[statistic]
    added = shape * mean_service if column < RESPONSE else 0.0
    return Quantity(mine, values[own:], added)


def measures(
    state: RecordedState, own: int, groups: Sequence[str], units: dict[str, int], wanted: Wanted, estimate: Estimator
) -> Measures:
    """All jobs, each group that has jobs in the log, and the cluster, each quantity by the same estimator.

    The first `own` rows are runs of the log itself.
    """

    def waits(group: int) -> Waits:
        def value(column: int) -> Estimate:
            return estimate(wait_quantity(state, own, group, column))

        def spread(first: int) -> Spread:
            of_response = first == RESPONSE
            place = EXCEEDS + len(wanted.exceeds) + of_response * len(wanted.percentiles)
            more = [
                estimate(wait_quantity(state, own, group, place + k, part_of(p), of_response))
                for k, p in enumerate(wanted.percentiles)
            ]
            return wanted.spread(value(first), value(first + 1), [*(value(first + k) for k in range(2, 6)), *more])

        tails = {x: value(EXCEEDS + k) for k, x in enumerate(wanted.exceeds)}
        return Waits(spread(WAIT), spread(RESPONSE), value(NONE), tails, value(BOUNDED))

    def over_time(column: int, divided: float = 1.0, service: float = math.inf, most: float = math.inf) -> Estimate:
        values = state.time[:, column] / divided
        return estimate(Quantity(values[:own], values[own:], service, most))

    there = state.waits[0, :, COUNT] > 0
    kinds = {}
    for k, (kind, count) in enumerate(units.items()):
        used, busy = (over_time(BUSY + 2 * k, by, most=count / by) for by in (float(count), 1.0))
        idle = Estimate(count - busy.estimate, count - busy.high, count - busy.low)
        kinds[kind] = Resource(busy, used, idle, over_time(BUSY + 2 * k + 1, most=float(count)))
    scarce = max(kinds.values(), key=lambda one: one.utilization.estimate)
    in_service = float(np.mean(state.time[:own, THERE] - state.time[:own, LINE]))
    system = System(
        busy_servers=scarce.busy,
        utilization=scarce.utilization,
        idle_servers=scarce.idle,
        hol_loss=scarce.hol_loss,
        jobs_in_system=over_time(THERE, service=0.0),
        jobs_waiting=over_time(LINE, service=in_service),
        resources=kinds if len(kinds) > 1 else {},
        fragmentation={
            kind: over_time(BUSY + 2 * len(units) + k, most=float(count))
            for k, (kind, count) in enumerate(units.items())
            if state.time.shape[1] > BUSY + 2 * len(units)  # there are nodes
        },
    )
    return Measures(waits(0), {name: waits(1 + k) for k, name in enumerate(groups) if there[1 + k]}, system)


def difference(first: Quantity, second: Quantity, confidence: float, stretches: float) -> Estimate:
    """Of a quantity in two cases on the same resamples, second minus first."""
    from scipy.stats import t

    minus = Quantity(np.array([second.value - first.value]), second.others - first.others)
    deviation, freedom = minus.deviation(stretches)
    half = WIDER * deviation * float(t.ppf(0.5 + 0.5 * confidence, freedom))
    return Estimate(minus.value, minus.value - half, minus.value + half)
