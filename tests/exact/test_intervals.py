"""The intervals of means, of skewed values too; and an estimate as text, number and JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from loynes.estimate import (
    Estimate,
    half_width,
    mean_of,
    number_text,
    probability_from,
    proportion_of,
    quantile_of,
    skewness_extension,
    student,
    variance_from,
)

# 1, 2, ..., 16 but for the last value: skewed to the right.
SKEWED = np.array([*range(1, 16), 40], float)


def test_student_interval() -> None:
    """Of 1, 2, 3, 4: mean 2.5, standard deviation sqrt(5/3); the 0.975 quantile of Student's law of 3 degrees."""
    value = mean_of(np.array([1.0, 2.0, 3.0, 4.0]), 0.95)
    half = 3.182446305284263 * math.sqrt(5 / 3) / 2
    assert (value.estimate, value.low, value.high) == pytest.approx((2.5, 2.5 - half, 2.5 + half), rel=1e-12)
    assert student(0.95, 4) == pytest.approx(3.182446305284263, rel=1e-12)
    assert student(0.95, 1) == half_width(np.ones(1), 0.95) == math.inf
    assert mean_of(np.ones(1), 0.9) == Estimate(1.0, -math.inf, math.inf)
    assert student(0.95, 2) < math.inf


def test_the_long_tail_is_extended() -> None:
    """By the skewness over sqrt(n) (2 t^2 + 1) / (6 t) of the half-width, on that side alone."""
    away = SKEWED - SKEWED.mean()
    skewness = np.mean(away**3) / np.mean(away**2) ** 1.5
    t = student(0.9, 16)
    part = skewness / 4.0 * (2.0 * t * t + 1.0) / (6.0 * t)
    assert 0.2 < part < 0.5
    assert skewness_extension(SKEWED, 0.9) == pytest.approx(part, rel=1e-12)
    half, value = half_width(SKEWED, 0.9), mean_of(SKEWED, 0.9)
    assert value.low == value.estimate - half
    assert value.high == pytest.approx(value.estimate + (1.0 + part) * half, rel=1e-12)
    left = mean_of(-SKEWED, 0.9)
    assert (left.low, left.high) == (-value.high, -value.low)


def test_symmetric_values_are_not_extended() -> None:
    values = np.array([*range(8), *(-x for x in range(8))], float)
    assert skewness_extension(values, 0.9) == 0.0
    half = half_width(values, 0.9)
    assert mean_of(values, 0.9) == Estimate(0.0, -half, half)
    assert skewness_extension(np.ones(16), 0.9) == 0.0


def test_never_by_more_than_half() -> None:
    values = np.array([0.0] * 63 + [1.0])
    for sign in (1.0, -1.0):
        assert skewness_extension(sign * values, 0.999) == sign * 0.5
    value, half = mean_of(values, 0.999), half_width(values, 0.999)
    assert value == Estimate(1 / 64, 1 / 64 - half, 1 / 64 + half + 0.5 * half)


def test_fewer_than_sixteen_say_nothing_of_skewness() -> None:
    assert skewness_extension(SKEWED[1:], 0.9) == 0.0
    assert skewness_extension(SKEWED, 0.9) != 0.0


@pytest.mark.parametrize(("count", "level"), [(16, 0.928), (32, 0.941), (64, 0.947)])
def test_coverage_of_skewed_values(count: int, level: float) -> None:
    """Means of exponentials, 20 000 times at confidence 0.95: with the extension, intervals reach a level from which
    plain ones stay five standard errors away, and what they miss less they miss less above them."""
    repetitions = 20_000
    values = np.random.default_rng(1).exponential(size=(repetitions, count))
    extended = [mean_of(row, 0.95) for row in values]
    halves = np.array([half_width(row, 0.95) for row in values])
    centres, low, high = (np.array([getattr(e, end) for e in extended]) for end in ("estimate", "low", "high"))
    plain = np.mean(np.abs(centres - 1.0) <= halves)
    assert plain + 5.0 * math.sqrt(plain * (1.0 - plain) / repetitions) < level
    assert level < np.mean((low <= 1.0) & (high >= 1.0)) < 0.97
    assert np.mean(low > 1.0) <= np.mean(centres - halves > 1.0) < 0.025
    assert np.mean(high < 1.0) < 0.8 * np.mean(centres + halves < 1.0)


def test_variance_is_linearised() -> None:
    """E[X^2] - E[X]^2 of averages 1, 3 and 5, 13: 9 - 4; the interval that of 5 - 4 + 4 and 13 - 12 + 4."""
    value = variance_from(np.array([1.0, 3.0]), np.array([5.0, 13.0]), 0.9)
    assert value == mean_of(np.array([5.0, 5.0]), 0.9) == Estimate.exact(5.0)
    wide = variance_from(np.array([1.0, 3.0]), np.array([4.0, 14.0]), 0.9)
    assert (wide.estimate, wide.low) == (5.0, 0.0)  # never below 0
    assert wide.high == pytest.approx(5.0 + student(0.9, 2) * 1.0, rel=1e-12)


def test_proportions_are_of_clopper_and_pearson() -> None:
    """None of n: up to 1 - (tail)^(1/n); all of n: the mirror; two of ten: the tables' 2.5% and 55.6%."""
    assert proportion_of(0, 10, 0.95) == Estimate(0.0, 0.0, pytest.approx(1.0 - 0.025**0.1, rel=1e-12))
    assert proportion_of(10, 10, 0.95) == Estimate(1.0, pytest.approx(0.025**0.1, rel=1e-12), 1.0)
    two = proportion_of(2, 10, 0.95)
    assert (two.estimate, round(two.low, 4), round(two.high, 4)) == (0.2, 0.0252, 0.5561)
    assert probability_from(np.zeros(4), 10, 0.95) == proportion_of(0, 10, 0.95)
    assert probability_from(np.ones(4), 10, 0.95) == proportion_of(10, 10, 0.95)
    some = np.array([0.0, 0.2, 0.1, 0.7])
    assert probability_from(some, 10, 0.95) == mean_of(some, 0.95).within(0.0, 1.0)
    assert probability_from(some, 10, 0.95).low == 0.0


def test_quantiles_lie_between_ranks() -> None:
    """The median of 1..10: at most 1 of 10 lie below it with probability 1.07%, at most 2 with 5.5%, so that 95% needs
    the second and the ninth, 98% the first and the last; and with five values there are no ranks for 99%."""
    ordered = np.arange(1.0, 11.0)
    assert quantile_of(ordered, 0.5, 0.98) == Estimate(5.0, 1.0, 10.0)
    assert quantile_of(ordered, 0.5, 0.95) == Estimate(5.0, 2.0, 9.0)
    assert quantile_of(ordered[:5], 0.5, 0.99) == Estimate(3.0, 0.0, math.inf)
    assert [quantile_of(ordered, q, 0.5).estimate for q in (0.01, 0.51, 0.9, 0.99)] == [1.0, 6.0, 9.0, 10.0]


def test_parts_of_an_estimate() -> None:
    value = Estimate(2.0, 1.5, 3.0)
    assert (value.half_width, value.relative, float(value)) == (0.75, 0.375, 2.0)
    assert value.scaled(2.0) == Estimate(4.0, 3.0, 6.0)
    assert value.shifted(-1.0) == Estimate(1.0, 0.5, 2.0)
    assert value.within(1.8, 2.5) == Estimate(2.0, 1.8, 2.5)
    assert value.within(2.2, 2.4) == Estimate(2.2, 2.2, 2.4)
    assert Estimate.exact(0.0).relative == Estimate(-1.0, -2.0, 0.0).relative == math.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate.exact(1 / 3), "0.333333"),
        (Estimate(5.0, 4.0, 6.0), "5.0 ±1.0"),
        (Estimate(12.3456, 12.2222, 12.469), "12.35 ±0.12"),
        (Estimate(1234.5, 1200.0, 1269.0), "1234 ±34"),
        (Estimate(0.5, 0.4996, 0.5004), "0.50000 ±0.00040"),
        (Estimate(2.0, 1.9, 3.0), "2.00 [1.90, 3.00]"),
        (Estimate(2.0, 1.0, 2.25), "2.00 [1.00, 2.25]"),
        (Estimate(0.197, 0.142, 0.357), "0.20 [0.14, 0.36]"),
        (Estimate(2.0, 1.0, 3.5), "2.0 ±1.2"),  # one and a half times as far: not yet lopsided
        (Estimate(2.0, 0.5, 3.0), "2.0 ±1.2"),
        (Estimate(1.8013, 1.80023, 1.80199), "1.80130 [1.80023, 1.80199]"),
        (Estimate(1e-9, 0.9e-9, 1.5e-9), "1e-09 [9e-10, 1.5e-09]"),
        (Estimate(1.2345678e8, 1.2345678e8 - 1e5, 1.2345678e8 + 1e5), "1.2346e+08 ±1e+05"),
        (Estimate(1e-9, 0.5e-9, 1.5e-9), "1e-09 ±5e-10"),
        (Estimate(2.0, 1.0, math.inf), "2 (at least 1)"),
        (Estimate(2.0, 0.0, math.inf), "2 (no interval)"),
        (Estimate(math.nan, -math.inf, math.inf), "- (no interval)"),
        (Estimate.exact(math.inf), "inf"),
    ],
)
def test_text(value: Estimate, text: str) -> None:
    assert str(value) == f"{value}" == text


def test_format_is_of_the_estimate() -> None:
    assert f"{Estimate(1.25, 1.0, 2.0):.3f}" == "1.250"
    assert [number_text(x) for x in (1234567.0, math.nan, math.inf)] == ["1.23457e+06", "-", "inf"]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (Estimate(1.0, 0.5, 2.0), [1.0, 0.5, 2.0]),
        (Estimate(1.0, 0.5, math.inf), [1.0, 0.5, None]),
        (Estimate(1.0, -math.inf, 2.0), [1.0, None, 2.0]),
        (Estimate(1.0, -math.inf, math.inf), [1.0, None, None]),
        (Estimate.exact(math.inf), [None, None, None]),
        (Estimate(0.0, 0.0, 0.0), [0.0, 0.0, 0.0]),
    ],
)
def test_json_has_no_infinities(value: Estimate, data: list[float | None]) -> None:
    saved = json.loads(json.dumps(value.to_dict(), allow_nan=False))
    assert saved == dict(zip(("estimate", "low", "high"), data, strict=True))
    assert Estimate.from_dict(saved) == value


def test_an_estimate_that_is_null_is_no_number() -> None:
    value = Estimate.from_dict({"estimate": None, "low": 1.0, "high": None})
    assert math.isnan(value.estimate)
    assert (value.low, value.high) == (1.0, math.inf)
