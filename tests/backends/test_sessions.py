"""Sessions: what jobs of one session share, and where a job finds itself in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from loynes.errors import ModelError
from loynes.inputs.arrivals import start_places
from loynes.inputs.jobs import draw, first_jobs
from loynes.inputs.sessions import jobs_before
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load

ONE = {"law": "exponential", "mean": 1.0}
# Of ten comparisons with a law together: one false alarm in 100,000 runs, with fixed seeds.
UNLIKELY = 1e-6


def model_of(repeat: float = 0.3, **more: Any) -> Model:
    arrivals = {
        "process": "sessions",
        "size": {"law": "empirical", "values": [1.0, 2.0, 5.0], "weights": [2.0, 1.0, 1.0]},
        "gap": {"law": "uniform", "low": 0.0, "high": 0.2},
        "of": {"process": "poisson", "rate": 0.5},
        "repeat": repeat,
    }
    classes = [{"need": n, "probability": p, "service": ONE} for n, p in ((1, 0.6), (3, 0.4))]
    return load({"servers": 5, "arrivals": arrivals | more, "classes": classes})


def drawn(model: Model, blocks: int, past: bool = False) -> tuple[np.ndarray, ...]:
    """Places, gaps, classes and services of a long run, from job 0 on or before it."""
    table = job_table(model, model.rate)
    block, x = new_block(table), int(start_places(table.arrivals, 2, 0, np.array([0]))[0])
    length = blocks * BLOCK
    trail = extend_trail(table, np.uint64(2), 0, 0, length, block, new_trail(x)) if past else new_trail(x)
    found: list[tuple[np.ndarray, ...]] = []
    for first in range(-length if past else 0, 0 if past else length, BLOCK):
        x = draw_block(table, np.uint64(2), 0, 0, first, block, trail_at(trail, first) if past else x)
        found.append(tuple(part.copy() for part in (block.place, block.gap, block.job_class, block.service)))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


@pytest.mark.parametrize("past", [False, True])
def test_jobs_of_a_session_are_alike(past: bool) -> None:
    """One class a session, services that are the first's as often as they should; sizes, gaps and classes by law."""
    place, gap, job_class, service = drawn(model_of(), 400, past)
    before, after = place % 5, place // 5
    # Whole sessions: from the first that begins to the last that ends.
    starts = np.flatnonzero(before == 0)
    starts = starts[starts + after[starts] < len(place)]
    size = after[starts] + 1
    assert set(size) == {1, 2, 5}
    for first, count in zip(starts, size, strict=True):
        jobs = slice(first, first + count)
        assert list(before[jobs]) == list(range(count))
        assert len(set(job_class[jobs])) == 1
    assert chisquare(np.unique(size, return_counts=True)[1], np.array([0.5, 0.25, 0.25]) * len(size)).pvalue > UNLIKELY
    big = np.mean(job_class[starts])
    assert abs(big - 0.4) <= 5.0 * np.sqrt(0.24 / len(starts))
    later = np.flatnonzero((before > 0) & (np.arange(len(place)) >= starts[0]))
    again = service[later] == service[later - before[later]]
    assert abs(np.mean(again) - 0.3) <= 5.0 * np.sqrt(0.21 / len(later))
    # Within a session uniform gaps, after its last job exponential ones; all services exponential.
    assert kstest(gap[after > 0] / 0.2, "uniform").pvalue > UNLIKELY
    assert kstest(gap[after == 0] * 0.5, "expon").pvalue > UNLIKELY
    assert kstest(service[starts], "expon").pvalue > UNLIKELY


def test_all_or_none_of_the_services_repeat() -> None:
    place, _, _, service = drawn(model_of(1.0), 50)
    later = np.flatnonzero(place % 5 > 0)
    later = later[later >= 5]
    assert np.array_equal(service[later], service[later - 1])
    place, _, _, service = drawn(model_of(0.0), 50)
    assert len(np.unique(service)) == len(service)


def test_where_job_0_stands() -> None:
    """(jobs before, jobs to come) with probability P(size = their sum + 1) / E[size], at job 0 and 64 jobs later."""
    table = job_table(model_of(), None)
    places, block = start_places(table.arrivals, 3, 0, np.arange(4000)), new_block(table)
    later = np.array([draw_block(table, np.uint64(3), 0, r, 0, block, x) for r, x in enumerate(places)])
    size = {1: 0.5, 2: 0.25, 5: 0.25}
    expected = np.zeros((5, 5))
    for s, p in size.items():
        for k in range(s):
            expected[s - 1 - k, k] = p / 2.25
    for found in (places, later):
        counts = np.bincount(found, minlength=25)[:25]
        assert counts[expected.ravel() == 0].sum() == 0
        used = expected.ravel() > 0
        assert chisquare(counts[used], 4000 * expected.ravel()[used]).pvalue > UNLIKELY


def test_first_jobs_are_those_of_the_reference() -> None:
    for model in (model_of(), model_of(of={"process": "renewal", "gap": ONE, "rate": 1.0})):
        table = job_table(model, 1.0)
        job_class, service = first_jobs(table, 4, 0, np.arange(30))
        for r in range(30):
            one = draw(table, 4, 0, r, np.array([0]))
            assert (one.job_class[0], one.service[0]) == (job_class[r], service[r])


def test_a_rate_speeds_up_gaps_within_and_between_sessions() -> None:
    model = model_of()
    # 2.25 jobs in a session, a gap of 2 before it and 1.25 of 0.1 in it.
    assert model.rate == pytest.approx(2.25 / (2.0 + 0.125))
    one, two = (job_table(model, factor * float(model.rate or 0)) for factor in (1.0, 2.0))
    slow, fast = (draw(table, 1, 0, 0, np.arange(-40, 40)) for table in (one, two))
    np.testing.assert_allclose(fast.gap, 0.5 * slow.gap, rtol=1e-14)
    assert np.array_equal(fast.service, slow.service)
    assert np.array_equal(jobs_before(np.array([7]), 1, 5), [2])


def test_the_saturated_system_keeps_sessions() -> None:
    model = model_of()
    slow, none = (draw(job_table(model, rate), 1, 0, 0, np.arange(-40, 40)) for rate in (model.rate, None))
    assert np.array_equal(slow.job_class, none.job_class)
    assert np.array_equal(slow.service, none.service)
    assert not none.gap.any()
    # Without anything alike, they are nothing to it.
    alone = load(model_of(0.0).to_dict() | {"classes": [{"need": 3, "probability": 1.0, "service": ONE}]})
    assert alone.independent
    assert job_table(alone, None).arrivals.process == 0


def test_what_is_missing() -> None:
    with pytest.raises(ModelError, match=r"arrivals\.gap: is missing"):
        load({"servers": 1, "arrivals": {"process": "sessions", "size": ONE, "of": {"rate": 1.0}},
              "classes": [{"need": 1, "probability": 1.0, "service": ONE}]})  # fmt: skip
