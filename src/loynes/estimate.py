"""A number with its interval, and the intervals used throughout.

Replica averages are independent and nearly normal, so their mean has a Student interval; independent samples have exact
binomial intervals for probabilities and order-statistic intervals for percentiles, whatever their law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Array = NDArray[np.float64]

# Fewer values say nothing of their skewness; and no interval is extended by more than half of its half-width.
LEAST_FOR_SKEWNESS = 16
MOST_EXTENDED = 0.5
# An interval is written with ± while its longer side is at most so many times the shorter one: half the width on either
# side then puts no end off by more than a fifth of that, (1.5 - 1) / (1.5 + 1). Others show both ends.
MOST_LOPSIDED = 1.5


@dataclass(frozen=True)
class Estimate:
    """An estimate and the ends of its interval; all three are equal where the value is exact."""

    estimate: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Estimate:
        return cls(value, value, value)

    @property
    def half_width(self) -> float:
        return 0.5 * (self.high - self.low)

    @property
    def relative(self) -> float:
        """Half-width over estimate; infinite where the estimate is not positive."""
        return self.half_width / self.estimate if self.estimate > 0 else math.inf

    def scaled(self, factor: float) -> Estimate:
        return Estimate(self.estimate * factor, self.low * factor, self.high * factor)

    def shifted(self, amount: float) -> Estimate:
        return Estimate(self.estimate + amount, self.low + amount, self.high + amount)

    def within(self, low: float, high: float) -> Estimate:
        """Cut to a range that the true value cannot leave."""
        return Estimate(*(min(max(x, low), high) for x in (self.estimate, self.low, self.high)))

    def __float__(self) -> float:
        return self.estimate

    def __str__(self) -> str:
        """With as many digits as the interval supports, and after it the half-width, or both ends if lopsided."""
        return _with_half_width(self)

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def to_dict(self) -> dict[str, float | None]:
        """For JSON, which has no infinities: they become null."""
        return {k: v if math.isfinite(v) else None for k, v in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, float | None]) -> Self:
        """Null is what cannot be a number there: no estimate, no end of the interval; or all three are infinite."""
        estimate, low, high = (data[name] for name in ("estimate", "low", "high"))
        if estimate is None and low is None and high is None:
            return cls(math.inf, math.inf, math.inf)
        return cls(
            math.nan if estimate is None else float(estimate),
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """How records that hold estimates are written as JSON and read back."""
        from pydantic_core import core_schema

        def read(value: Any) -> Estimate:
            return value if isinstance(value, Estimate) else cls.from_dict(value)

        to_dict = core_schema.plain_serializer_function_ser_schema(lambda value: value.to_dict())
        return core_schema.no_info_plain_validator_function(read, serialization=to_dict)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        names = ["estimate", "low", "high"]
        ends = {name: {"type": ["number", "null"]} for name in names}
        return {"title": "Estimate", "type": "object", "properties": ends, "required": names}


def key_text(value: float) -> str:
    """A number as a JSON key or a name: as short as it reads back equal."""
    short = f"{value:.15g}"
    return short if float(short) == value else repr(float(value))


def number_text(value: float) -> str:
    """A number in a table."""
    return f"{value:.6g}" if math.isfinite(value) else ("-" if math.isnan(value) else "inf")


def _with_half_width(value: Estimate) -> str:
    centre, half = value.estimate, value.half_width
    if half == 0.0 or value.low == value.high:
        return number_text(centre)
    if math.isfinite(centre) and value.low > 0 and value.high == math.inf:
        return f"{centre:.4g} (at least {value.low:.4g})"
    if not math.isfinite(half) or not math.isfinite(centre):
        return f"{number_text(centre)} (no interval)"
    # Two digits of the half-width, and all else to the same place: no digit is printed that is only noise.
    decimals = 1 - math.floor(math.log10(half))
    spec, of_half = f".{max(decimals, 0)}f", f".{max(decimals, 0)}f"
    if max(abs(centre), half) >= 1e7 or decimals > 8:
        digits = 2 + max(0, math.floor(math.log10(max(abs(centre), half)) - math.log10(half)))
        spec, of_half = f".{min(digits, 12)}g", ".2g"
    above, below = value.high - centre, centre - value.low
    if max(above, below) > MOST_LOPSIDED * min(above, below):
        return f"{centre:{spec}} [{value.low:{spec}}, {value.high:{spec}}]"
    return f"{centre:{spec}} ±{half:{of_half}}"


def student(confidence: float, count: int) -> float:
    """Two-sided Student factor for the mean of `count` independent values; infinite for one."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) if count > 1 else math.inf


def half_width(values: Array, confidence: float) -> float:
    """Half-width of the interval for the mean of independent values."""
    if len(values) < 2:
        return math.inf
    return student(confidence, len(values)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def mean_of(values: Array, confidence: float) -> Estimate:
    """The mean of independent values, with a Student interval extended on the side of a skewed sample's long tail."""
    centre, half = float(np.mean(values)), half_width(values, confidence)
    more = half * skewness_extension(values, confidence) if math.isfinite(half) else 0.0
    return Estimate(centre, centre - half + min(more, 0.0), centre + half + max(more, 0.0))


def skewness_extension(values: Array, confidence: float) -> float:
    """By which part of its half-width an interval is extended for skewness (Johnson 1978; Hall 1992).

    Averages of waits are skewed to the right; the Student interval then misses high truths more often than low ones,
    and more often in all than it says. To first order in skewness / sqrt(n), the t-statistic's quantiles are those of
    Student minus skewness (2 t^2 + 1) / (6 sqrt(n)). That moves both ends; the one that would move inwards stays.
    """
    count, spread = len(values), float(np.std(values))
    if count < LEAST_FOR_SKEWNESS or not spread > 0:
        return 0.0
    away = (values - np.mean(values)) / spread
    skewness = float(np.mean(away * away * away))
    t = student(confidence, count)
    return min(max(skewness / math.sqrt(count) * (2.0 * t * t + 1.0) / (6.0 * t), -MOST_EXTENDED), MOST_EXTENDED)


def variance_from(
    first: Array, second: Array, confidence: float, changed: Callable[[Array], Array] = np.asarray
) -> Estimate:
    """E[X^2] - E[X]^2 from independent pairs of averages of X and X^2, linearised around the means; averages changed
    before means are taken, if so wanted."""
    centre = float(np.mean(changed(first)))
    linear = second - 2.0 * centre * first + centre * centre
    return mean_of(changed(linear), confidence).within(0.0, math.inf)


def proportion_of(hits: int, count: int, confidence: float) -> Estimate:
    """Clopper and Pearson's exact interval for a probability seen `hits` times in `count` independent trials."""
    from scipy.special import betaincinv

    tail = 0.5 * (1.0 - confidence)
    low = float(betaincinv(hits, count - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1.0 - tail)) if hits < count else 1.0
    return Estimate(hits / count, low, high)


def probability_from(values: Array, count: int, confidence: float) -> Estimate:
    """A probability from independent averages, which together are worth at least `count` independent observations.

    An event never (or always) seen has probability at most what that many observations leave open.
    """
    mean = mean_of(values, confidence).within(0.0, 1.0)
    if mean.estimate in (0.0, 1.0):
        return proportion_of(int(mean.estimate * count), count, confidence)
    return mean


def quantile_of(ordered: Array, q: float, confidence: float) -> Estimate:
    """The q-quantile of independent samples in ascending order, between two order statistics.

    The number of samples below the true quantile is binomial, so the ranks that hold it are known for every law.
    Where there are too few samples for an upper rank, the interval is open above (infinite).
    """
    n = len(ordered)
    tail = 0.5 * (1.0 - confidence)
    lower = _binomial_quantile(tail, n, q) - 1
    upper = _binomial_quantile(1.0 - tail, n, q)
    return Estimate(
        float(ordered[min(max(math.ceil(n * q) - 1, 0), n - 1)]),
        float(ordered[lower]) if lower >= 0 else 0.0,
        float(ordered[upper]) if upper < n else math.inf,
    )


def _binomial_quantile(p: float, n: int, q: float) -> int:
    """The least k with P(at most k hits in n trials of probability q) >= p."""
    from scipy.special import bdtr, bdtrik

    k = math.ceil(bdtrik(p, n, q))
    return k - 1 if k >= 1 and bdtr(k - 1, n, q) >= p else k
