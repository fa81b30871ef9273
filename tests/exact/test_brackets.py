"""Variances and HOL losses between chains that have not met: worked out by hand, and against what lies between."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.estimate import Estimate, mean_of, variance_from
from loynes.estimators import brackets
from loynes.estimators import chains as from_chains
from loynes.estimators.measures import Measures, Wanted, bracket
from loynes.estimators.metrics import leaves
from loynes.estimators.pairs import ChainTallies, system_difference
from loynes.estimators.workloads import SampledWaits
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.tally import Tally, new_tally
from loynes.model import Model, load
from support import models, models_of_kinds

RATE = 0.5
CONFIDENCE = 0.9


def exponential(mean: float) -> dict[str, Any]:
    return {"law": "exponential", "mean": mean}


ONE = load({"servers": 1, "classes": [{"need": 1, "probability": 1.0, "service": exponential(1.0)}]})
FOUR = load(
    {
        "servers": 4,
        "classes": [
            {"name": "small", "need": 1, "probability": 0.75, "service": exponential(1.0)},
            {"name": "wide", "need": 3, "probability": 0.25, "service": exponential(2.0)},
        ],
    }
)
CARDS = load(
    {
        "resources": {"cpu": 2, "gpu": 1},
        "classes": [{"name": "card", "need": {"gpu": 1}, "probability": 1.0, "service": exponential(1.0)}],
    }
)


def tally_of(model: Model, *replicas: list[list[float]]) -> Tally:
    """What arrivals meet in these workloads, those of one replica after the other."""
    needs, table = needs_of(model), job_table(model, RATE)
    tally = new_tally(len(replicas), len(needs.need), 1.0, len(table.units))
    for row, workloads in enumerate(replicas):
        sampled = SampledWaits(table, needs, 1)
        sampled.add(np.array(workloads, dtype=float))
        waits = sampled.waits
        tally.looks[row] = len(workloads)
        tally.wait[row], tally.square[row] = waits.sum(axis=0), (waits * waits).sum(axis=0)
        tally.none[row] = (waits == 0.0).sum(axis=0)
        tally.loss[row] = sampled.loss.sum(axis=0)
        tally.bins[row, :, 0] = tally.none[row]
        tally.bins[row, :, 9] = len(workloads) - tally.none[row]
    return tally


def between(model: Model, lower: Tally, upper: Tally, confidence: float = CONFIDENCE) -> Measures:
    return brackets.measures(model, RATE, needs_of(model), (lower, upper), confidence)


def alone(model: Model, tally: Tally, confidence: float = CONFIDENCE) -> Measures:
    return from_chains.measures(model, RATE, needs_of(model), tally, confidence)


def test_variance_of_what_lies_between_two_constants() -> None:
    """Waits 1 below and 3 above vary not at all; what is 1 or 3, half the time each, has variance 1. At most 9 - 1."""
    lower, upper = tally_of(ONE, [[1.0]], [[1.0]]), tally_of(ONE, [[3.0]], [[3.0]])
    found = between(ONE, lower, upper)
    assert found.overall.wait.variance == found.classes["need-1"].wait.variance == Estimate(0.0, 0.0, 8.0)
    assert found.overall.response.variance == Estimate(1.0, 0.0, 9.0)
    truth = alone(ONE, tally_of(ONE, [[1.0], [3.0]], [[1.0], [3.0]])).overall
    assert truth.wait.variance == Estimate.exact(1.0)
    # The hull of both chains' own intervals misses it.
    hull = bracket(alone(ONE, lower), alone(ONE, upper)).overall
    assert (hull.wait.variance, hull.response.variance) == (Estimate.exact(0.0), Estimate.exact(1.0))
    assert found.overall.wait.mean == hull.wait.mean == Estimate(2.0, 1.0, 3.0)


def test_variance_that_stays_above_zero() -> None:
    """Below 0 or 10, above 1 or 10: 50 - 5.5^2 at least, 50.5 - 5^2 at most; chains themselves have 25 and 20.25."""
    lower, upper = (
        tally_of(ONE, [[0.0], [10.0]] * 2, [[0.0], [10.0]]),
        tally_of(ONE, [[1.0], [10.0]] * 2, [[1.0], [10]]),
    )
    assert between(ONE, lower, upper).overall.wait.variance == Estimate(22.625, 19.75, 25.5)


def test_variance_of_responses_of_two_classes() -> None:
    """Means 1 and 2, of all 1.25. The waits of those with longer services count for, of the others against:
    2 x 0.25 x 0.75 of the wide, 2 x 0.75 x -0.25 of the small. Services have variance 0.75 + 0.25 x 4 + 0.1875."""
    lower = tally_of(FOUR, *[[[1.0, 2.0, 3.0, 4.0]]] * 2)
    upper = tally_of(FOUR, *[[[2.0, 3.0, 4.0, 5.0]]] * 2)
    found, own = between(FOUR, lower, upper), 0.75 + 0.25 * 4 + 0.1875
    first, second = (0.75 * 1 + 0.25 * 3, 0.75 * 2 + 0.25 * 4), (0.75 * 1 + 0.25 * 9, 0.75 * 4 + 0.25 * 16)
    low, high = second[0] - first[1] ** 2, second[1] - first[0] ** 2
    variance = found.overall.wait.variance
    assert (variance.low, variance.high) == (max(low, 0.0), pytest.approx(high))
    variance = found.overall.response.variance
    assert variance.low == pytest.approx(max(low + own + 0.375 * (3 - 2), 0.0))
    assert variance.high == pytest.approx(high + own + 0.375 * (4 - 1))
    # Of one class, waits and services vary on their own.
    wide = found.classes["wide"]
    assert wide.response.variance.high == pytest.approx(wide.wait.variance.high + 4.0)
    assert wide.wait.variance.high == pytest.approx(16.0 - 9.0)


def test_responses_that_were_seen() -> None:
    """Where services hang together with waits, responses have tallies of their own, from below and from above."""
    waits = tally_of(ONE, *[[[1.0]]] * 2), tally_of(ONE, *[[[2.0]]] * 2)
    seen = tally_of(ONE, *[[[2.0]]] * 2), tally_of(ONE, *[[[5.0]]] * 2)
    found = brackets.measures(ONE, RATE, needs_of(ONE), waits, CONFIDENCE, Wanted(), seen).overall
    assert found.wait.variance == Estimate(0.0, 0.0, 4.0 - 1.0)
    assert found.response.variance == Estimate(0.0, 0.0, 25.0 - 4.0)


def test_services_without_a_variance() -> None:
    """Nor have responses one, while waits may."""
    heavy = {"law": "pareto", "shape": 1.5, "mean": 1.0}
    model = load({"servers": 1, "classes": [{"need": 1, "probability": 1.0, "service": heavy}]})
    found = between(model, *(tally_of(model, *[[[level]]] * 2) for level in (1.0, 3.0))).overall
    assert found.wait.variance == Estimate(0.0, 0.0, 8.0)
    assert found.response.variance == Estimate.exact(math.inf)


def test_both_ends_have_intervals_of_their_own() -> None:
    """Three replicas that differ: the interval of second moments of one chain less squared means of the other."""
    lower = tally_of(ONE, [[1.0], [9.0]], [[2.0], [8.0]], [[0.0], [7.0]])
    upper = tally_of(ONE, [[1.5], [9.0]], [[2.0], [8.5]], [[1.0], [7.0]])
    first = [tally.wait[:, 0] / 2 for tally in (lower, upper)]
    second = [tally.square[:, 0] / 2 for tally in (lower, upper)]
    found = between(ONE, lower, upper).overall.wait.variance
    assert found.low == variance_from(first[1], second[0], CONFIDENCE).low
    assert found.high == variance_from(first[0], second[1], CONFIDENCE).high
    assert found.low > 0.0


def test_loss_that_no_chain_has() -> None:
    """All servers free below, all busy for 2 above: no loss. Two free and two busy lie between: a wide job waits 2 and
    idles two servers. The bracket goes just as far, 2 x (2 - 0); small jobs idle nobody."""
    lower, upper = (tally_of(FOUR, *[[[level] * 4]] * 2) for level in (0.0, 2.0))
    truth = alone(FOUR, tally_of(FOUR, *[[[0.0, 0.0, 2.0, 2.0]]] * 2)).system.hol_loss
    assert truth == Estimate.exact(RATE * 0.25 * 4.0)
    assert between(FOUR, lower, upper).system.hol_loss == Estimate(0.0, 0.0, truth.high)
    assert bracket(alone(FOUR, lower), alone(FOUR, upper)).system.hol_loss == Estimate.exact(0.0)
    # Single servers lose nothing, however far apart.
    assert between(ONE, tally_of(ONE, *[[[0.0]]] * 2), tally_of(ONE, *[[[9.0]]] * 2)).system.hol_loss.high == 0.0


def test_least_loss() -> None:
    """Both chains lose 4 a wide job, and are 1 apart: 4 - 2 is what the upper one may have too much."""
    lower = tally_of(FOUR, [[0.0, 0.0, 2.0, 9.0]], [[0.0, 0.0, 3.0, 9.0]])
    upper = tally_of(FOUR, [[1.0, 1.0, 3.0, 9.0]], [[1.0, 1.0, 4.0, 9.0]])
    found = between(FOUR, lower, upper).system.hol_loss
    low, high = (mean_of(RATE * 0.25 * np.array(ends), CONFIDENCE) for ends in ([2.0, 4.0], [6.0, 8.0]))
    idle = 4 - RATE * 2.25
    assert found == Estimate(pytest.approx(RATE * 0.25 * 5.0), max(low.low, 0.0), pytest.approx(min(high.high, idle)))


def test_loss_of_several_kinds() -> None:
    """Everything free below, everything busy for 5 above. A busy card between idle processors: both idle for 5."""
    lower, upper = (tally_of(CARDS, *[[[level] * 3]] * 2) for level in (0.0, 5.0))
    low, high = brackets.loss_columns(CARDS, needs_of(CARDS), (lower, upper)) or ([], [])
    truth = tally_of(CARDS, [[0.0, 0.0, 5.0]]).loss
    assert truth.tolist() == [[10.0, 0.0]]
    assert np.array(high).tolist() == [[10.0, 5.0]] * 2
    assert np.array(low).tolist() == [[-10.0, -5.0]] * 2
    found = between(CARDS, lower, upper).system
    # No more than what idles: both processors, which nobody uses, and half of the card.
    assert found.resources["cpu"].hol_loss == Estimate(0.0, 0.0, 2.0)
    assert found.hol_loss == found.resources["gpu"].hol_loss == Estimate(0.0, 0.0, 0.5)


def test_what_is_left_a_hull() -> None:
    """Where jobs are not strictly in turn, the HOL loss of every kind; the plain model is the same in any order."""
    reserving = CARDS.with_discipline("reserving")
    assert brackets.hulls(reserving) == ["hol_loss", "cpu.hol_loss", "gpu.hol_loss"]
    assert brackets.hulls(FOUR.with_discipline("random")) == ["hol_loss"]
    assert brackets.hulls(FOUR.with_discipline("reserving")) == brackets.hulls(FOUR) == brackets.hulls(CARDS) == []
    lower, upper = (tally_of(reserving, *[[[level, level, 2 * level]]] * 2) for level in (0.0, 5.0))
    assert brackets.loss_columns(reserving, needs_of(reserving), (lower, upper)) is None
    own = [alone(reserving, tally).system for tally in (lower, upper)]
    assert between(reserving, lower, upper).system == bracket(own[0], own[1])


def test_differences_of_losses() -> None:
    """Least of the one less most of the other; against chains that have met, less what these lose."""
    lower, upper = (tally_of(FOUR, *[[[level] * 4]] * 2) for level in (0.0, 2.0))
    met = tally_of(FOUR, *[[[0.0, 0.0, 1.0, 1.0]]] * 2)
    a, b = (ChainTallies(FOUR, RATE, needs_of(FOUR), tallies) for tallies in ((lower, upper), (met,)))
    most, seen = RATE * 0.25 * 4.0, RATE * 0.25 * 2.0
    assert system_difference(a, b, [0, 1], [0, 1], CONFIDENCE)["hol_loss"] == Estimate(seen, seen - most, seen + most)
    assert system_difference(b, a, [0, 1], [0, 1], CONFIDENCE)["hol_loss"] == Estimate(-seen, -seen - most, most - seen)
    assert system_difference(a, a, [0, 1], [0, 1], CONFIDENCE)["hol_loss"] == Estimate(0.0, -2 * most, 2 * most)
    assert system_difference(b, b, [0, 1], [0, 1], CONFIDENCE)["hol_loss"] == Estimate.exact(0.0)


def ordered(draw: Any, model: Model) -> list[list[list[float]]]:
    """A few workloads, those of three chains, each no less than the one before, entry by entry."""
    values = st.lists(st.integers(0, 5), min_size=model.servers, max_size=model.servers)
    count = draw(st.integers(1, 4))
    chains, level = [], np.zeros((count, model.servers))
    for _ in range(3):
        level = level + np.array([draw(values) for _ in range(count)])
        kinds = np.split(level, np.cumsum(model.units)[:-1], axis=1)
        level = np.hstack([np.sort(part, axis=1) for part in kinds])
        chains.append(level.tolist())
    return chains


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_brackets_hold_what_lies_between(data: Any) -> None:
    """Chains, and whatever lies between them, have variances and losses inside; twice the same chain is that chain."""
    model = data.draw(models(most_servers=6, laws=("exponential", "erlang", "deterministic")))
    tallies = [tally_of(model, workloads, workloads) for workloads in ordered(data.draw, model)]
    found = between(model, tallies[0], tallies[2])
    own = [alone(model, tally) for tally in tallies]
    for values in zip(*(leaves({"": m.overall, **m.classes}, m.system) for m in (found, *own)), strict=True):
        name, metric, value = values[0]
        if metric.endswith(("mean", "variance", "loss", "wait")) or "jobs" in metric:
            for _, _, inner in values[1:]:
                slack = 1e-9 * (1.0 + abs(inner.estimate))
                assert value.low - slack <= inner.estimate <= value.high + slack, (name, metric)
    same = between(model, tallies[1], tallies[1])
    for (_, metric, value), (_, _, as_it_is) in zip(
        *(leaves({"": m.overall, **m.classes}, m.system) for m in (same, own[1])), strict=True
    ):
        for end, expected in zip(dataclasses.astuple(value), dataclasses.astuple(as_it_is), strict=True):
            assert end == pytest.approx(expected, rel=1e-9, abs=1e-9), metric
    assert same.overall.wait.variance == own[1].overall.wait.variance


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_losses_of_kinds_hold_what_lies_between(data: Any) -> None:
    """Of several kinds of servers, and of specific ones."""
    model = data.draw(models_of_kinds(disciplines=("fcfs",)))
    lower, middle, upper = (tally_of(model, workloads) for workloads in ordered(data.draw, model))
    columns = brackets.loss_columns(model, needs_of(model), (lower, upper))
    assert columns is not None
    for tally in (lower, middle, upper):
        loss = tally.loss / tally.looks[:, None]
        assert (columns[0] <= loss + 1e-9).all()
        assert (loss <= columns[1] + 1e-9).all()
    met = brackets.loss_columns(model, needs_of(model), (middle, middle))
    assert met is not None
    assert (met[0] == met[1]).all()
    assert math.isfinite(float(np.sum(met)))
