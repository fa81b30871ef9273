"""Differences of two models against the differences of their exact answers, two hundred times over.

One interval that holds the truth says little of intervals: so every comparison is repeated with 200 seeds, and what is
held is how often its intervals hold the truth, how wide they are for how far the estimates scatter, and where the
estimates' mean lies. All three have a chance of less than 1e-6 to refuse a correct program: coverage is binomial, and
five standard errors of a mean of 200 are as rare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.stats import binom

import loynes
from loynes.estimate import Estimate, student
from loynes.estimators import pairs
from loynes.model import Model, load

REPETITIONS = 200
CONFIDENCE = 0.9
REPLICAS = 32
FALSE_ALARM = 1e-6
# An interval may be wider than the estimates' scatter asks for: by a quarter, at most, since it is extended for
# skewness, and by the error of a standard deviation of 200 (5% each time, five times over).
MOST_WIDTH = 1.5


@dataclass(frozen=True)
class Case:
    """Two models, how `compare` is asked for them, and the exact answers of both."""

    first: Model
    options: dict[str, Any]
    second: Model
    rates: tuple[float, float]
    shared: tuple[str, ...]
    grid: tuple[float, ...] = ()  # where P(wait > x) is asked for, to find exact 90th percentiles in between

    def truths(self) -> dict[str, float]:
        """Second minus first, of everything that chains answer exactly."""
        a, b = (
            loynes.exact(m, rate=r, exceeds=self.grid)
            for m, r in zip((self.first, self.second), self.rates, strict=True)
        )
        assert a.mean_jobs is not None
        assert b.mean_jobs is not None
        values = {"jobs_in_system": b.mean_jobs - a.mean_jobs}
        for name in self.shared:
            values[f"{name} wait"] = b.classes[name].mean - a.classes[name].mean
            values[f"{name} no_wait"] = b.classes[name].no_wait - a.classes[name].no_wait
            means = [next(c.service.mean for c in m.classes if c.label == name) for m in (self.first, self.second)]
            values[f"{name} response"] = values[f"{name} wait"] + means[1] - means[0]
        share = {c.label: c.probability for c in self.first.classes if c.label in self.shared}
        for what in ("wait", "response", "no_wait"):
            values[f"overall {what}"] = sum(share[n] * values[f"{n} {what}"] for n in share) / sum(share.values())
        for name, of in (("overall", share), *((name, {name: 1.0}) for name in share)) if self.grid else ():
            ends = []
            for result in (a, b):
                above = sum(p * np.array(list(result.classes[n].exceeds.values())) for n, p in of.items())
                smooth = CubicSpline(self.grid, np.log(above / sum(of.values())))
                ends.append(brentq(lambda x, smooth=smooth: smooth(x) - math.log(0.1), self.grid[0], self.grid[-1]))
            values[f"{name} p90"] = ends[1] - ends[0]
        return values

    def estimates(self, seed: int) -> dict[str, Estimate]:
        result = loynes.compare(
            self.first,
            rate=self.rates[0],
            samples=2000,
            replicas=REPLICAS,
            burn_in=400,
            confidence=CONFIDENCE,
            seed=seed,
            **self.options,
        )
        values = {"jobs_in_system": result.system["jobs_in_system"]}
        for name, one in (("overall", result.overall), *result.classes.items()):
            values[f"{name} wait"] = one.wait["mean"]
            values[f"{name} response"] = one.response["mean"]
            values[f"{name} no_wait"] = one.no_wait
            if self.grid:
                values[f"{name} p90"] = one.wait["p90"]
        return values


def model(servers: int, *classes: tuple[str, int, float, dict[str, Any]]) -> Model:
    names = ("name", "need", "probability", "service")
    return load({"servers": servers, "classes": [dict(zip(names, one, strict=True)) for one in classes]})


def exponential(mean: float) -> dict[str, Any]:
    return {"law": "exponential", "mean": mean}


def a_class_gets_faster() -> Case:
    """The wide jobs are served in two thirds of the time: small ones, which wait for them, gain less."""
    first = model(4, ("small", 1, 0.7, exponential(1.0)), ("wide", 3, 0.3, exponential(1.5)))
    change = "classes.wide.service.mean=1.0"
    second, options = load(first, (change,)), {"change": [change], "method": "forward"}
    return Case(first, options, second, (1.0, 1.0), ("small", "wide"), (1.0, 2.0, 3.0, 4.0, 5.0))


def a_server_less_and_another_law() -> Case:
    """Another model: one server less, and services of one class that vary more."""
    varied = {"law": "hyperexponential", "probabilities": [0.2, 0.8], "means": [3.0, 0.5]}
    others = (("two", 2, 0.4, exponential(0.9)), ("four", 4, 0.1, exponential(0.7)))
    first = model(8, ("one", 1, 0.5, exponential(1.0)), *others)
    second = model(7, ("one", 1, 0.5, varied), *others)
    return Case(first, {"other": second, "method": "forward"}, second, (2.0, 2.0), ("one", "two", "four"))


def without_a_class() -> Case:
    """What jobs that need all servers cost the others: the model without them, at the rate that is left."""
    left = (("a", 1, 0.5, exponential(1.0)), ("b", 3, 0.3, exponential(0.8)))
    first = model(5, *left, ("c", 5, 0.2, exponential(0.6)))
    second = model(5, *((name, need, p / 0.8, law) for name, need, p, law in left))
    return Case(first, {"without": ["c"], "method": "forward"}, second, (1.1, 0.8 * 1.1), ("a", "b"))


@pytest.fixture(autouse=True)
def fewer_percentiles(means_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """They and tails take longer than all the rest of so small a run: of differences one is kept, of the two runs, of
    which no difference is made, none."""
    monkeypatch.setattr(pairs, "PERCENTILES", (90.0,))


@pytest.mark.parametrize("case", [a_class_gets_faster, a_server_less_and_another_law, without_a_class])
def test_coverage_of_differences(case: Any) -> None:
    asked: Case = case()
    truths = asked.truths()
    seen: dict[str, list[Estimate]] = {name: [] for name in truths}
    for seed in range(REPETITIONS):
        found = asked.estimates(seed)
        assert set(found) == set(truths)
        for name, value in found.items():
            seen[name].append(value)
    least = int(binom.ppf(FALSE_ALARM, REPETITIONS, CONFIDENCE))
    for name, truth in truths.items():
        values = seen[name]
        centres = np.array([value.estimate for value in values])
        scatter = float(np.std(centres, ddof=1))
        held = sum(value.low <= truth <= value.high for value in values)
        width = float(np.mean([value.half_width for value in values]))
        away = float(np.mean(centres) - truth)
        assert held >= least, (name, held, least)
        assert width <= MOST_WIDTH * student(CONFIDENCE, REPLICAS) * scatter, (name, width, scatter)
        assert abs(away) <= 5.0 * scatter / math.sqrt(REPETITIONS), (name, truth, away, scatter)
