"""Arrivals whose rate repeats with a cycle: steps there and back, the law of the gaps, and of jobs in every slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from loynes.errors import ModelError
from loynes.inputs.arrivals import MOVES, start_places
from loynes.inputs.elementary import log
from loynes.inputs.jobs import classes_and_services
from loynes.inputs.periodic import UNITS, ahead, behind, cycle_of
from loynes.inputs.philox import long_uniform, words
from loynes.inputs.tables import job_table
from loynes.kernels import reference
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.engine import PileInTime, SpanState
from loynes.kernels.reference import BLOCK
from loynes.model import Model, Periodic, load

DAY = {"process": "periodic", "cycle": 24.0, "rates": [0.5, 4.0, 0.0, 1.0]}
RATE = 1.1
# Of five comparisons with a law together: one false alarm in 200,000 runs, with fixed seeds.
UNLIKELY = 1e-6


def model_of(arrivals: dict[str, Any]) -> Model:
    service = {"law": "exponential", "mean": 1.0}
    return load({"servers": 5, "arrivals": arrivals, "classes": [{"need": 1, "probability": 1.0, "service": service}]})


def jobs_expected(time: np.ndarray, slots: int, places: np.ndarray) -> np.ndarray:
    """Lambda from the beginning of the cycle to each place."""
    mass, slot, r = time[:slots], places % slots, places // slots
    return np.concatenate([[0.0], np.cumsum(mass)])[slot] + mass[slot] * (r / UNITS)


def drawn(rate: float, blocks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cycle, places and gaps of a long run."""
    table = job_table(model_of(DAY), rate)
    block, x = new_block(table), int(start_places(table.arrivals, 2, 0, np.array([0]))[0])
    places, gaps = [], []
    for first in range(0, blocks * BLOCK, BLOCK):
        x = draw_block(table, np.uint64(2), 0, 0, first, block, x)
        places.append(block.place.copy())
        gaps.append(block.gap.copy())
    return table.arrivals.time, np.concatenate(places), np.concatenate(gaps)


rates = st.lists(st.sampled_from([0.0, 1e-3, 0.2, 1.0, 30.0]), min_size=1, max_size=8).filter(any)


@settings(max_examples=300, deadline=None)
@given(rates, st.floats(1e-3, 1e5), st.floats(1e-12, 37.0), st.integers(0, UNITS - 1), st.data())
def test_a_step_back_undoes_a_step_ahead(own: list[float], jobs: float, e: float, r: int, data: Any) -> None:
    """The same gap, and the same place: to the unit, and what rounding of e is worth there."""
    time = cycle_of(Periodic(cycle=10.0, rates=tuple(own)), jobs / 10.0)
    slot = data.draw(st.sampled_from([s for s, rate in enumerate(own) if rate > 0]))
    x = slot + len(own) * r
    gap, to = ahead(time, len(own), x, e)
    assert gap >= 0.0
    assert time[to % len(own)] > 0
    assert 0 <= to // len(own) < UNITS
    back, again = behind(time, len(own), to, e)
    # Places are rounded to a unit on both sides; the rest is rounding of e.
    slack = 2.0 * float(time[: len(own)].max()) / UNITS + 1e-12
    moved = abs(np.diff(jobs_expected(time, len(own), np.array([again, x])))[0])
    assert min(moved, time[len(own)] - moved) <= slack
    # At the very beginning of a slot, rounding may end before the times ahead of it in which nobody comes.
    if again % len(own) == slot and abs(again - x) < len(own) * UNITS // 2:
        assert abs(back - gap) <= (slack / time[slot] * UNITS + 2.0) * time[-1] + 1e-12 * gap


def test_whole_cycles_are_passed_at_once() -> None:
    time = cycle_of(Periodic(cycle=24.0, rates=(0.5, 4.0, 0.0, 1.0)), 1e-9)
    x = 1 + 4 * (UNITS // 2)
    assert ahead(time, 4, x, 30.0)[0] == pytest.approx(30.0e9, rel=1e-6)
    assert behind(time, 4, x, 30.0)[0] == pytest.approx(30.0e9, rel=1e-6)


def test_a_rate_multiplies_the_rates_and_leaves_the_cycle() -> None:
    one, two = (cycle_of(Periodic(cycle=24.0, rates=(0.5, 4.0, 0.0, 1.0)), rate) for rate in (1.1, 2.2))
    np.testing.assert_allclose(two[:-1], 2.0 * one[:-1], rtol=1e-15)
    assert one[-1] == two[-1] == 6.0 / UNITS
    assert one[4] == pytest.approx(24.0 * 1.1)


def test_too_many_jobs_in_a_slot() -> None:
    with pytest.raises(ModelError, match=r"arrivals.cycle: .* jobs are expected in one of its slots"):
        job_table(model_of({"process": "periodic", "cycle": 1e9, "rates": [1.0]}), 1.0)


def test_gaps_are_exponential_in_expected_jobs() -> None:
    """Lambda grows by a unit exponential from job to job, whatever the slots; and gaps are the time between places."""
    time, places, gaps = drawn(RATE, 400)
    at = jobs_expected(time, 4, places)
    cycle = 24.0
    clock = (places % 4 + places // 4 / UNITS) * 6.0
    passed = np.round((np.cumsum(gaps)[:-1] + clock[0] - clock[1:]) / cycle)
    np.testing.assert_allclose(np.cumsum(gaps)[:-1], clock[1:] - clock[0] + passed * cycle, rtol=1e-11, atol=1e-6)
    grown = np.diff(at + time[4] * np.concatenate([[0.0], passed]))
    assert kstest(grown, "expon").pvalue > UNLIKELY


def test_jobs_in_slots_are_poisson() -> None:
    """Counts in every slot of every cycle: means, and dispersion about them, at 5 standard errors."""
    time, places, gaps = drawn(RATE, 400)
    start = (places[0] % 4 + places[0] // 4 / UNITS) * 6.0
    when = start + np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    slots = (when // 6.0).astype(int)
    # Whole cycles only, without the first and the last.
    whole = int(when[-1] // 24.0)
    counts = np.bincount(slots, minlength=4 * whole)[4 : 4 * whole].reshape(-1, 4)
    mass = time[:4]
    assert not counts[:, 2].any()
    used = mass > 0
    error = np.sqrt(mass[used] / len(counts))
    assert np.all(np.abs(counts[:, used].mean(axis=0) - mass[used]) <= 5.0 * error)
    # (N - a)^2 / a has mean 1 and variance 2 + 1 / a.
    spread = ((counts[:, used] - mass[used]) ** 2 / mass[used]).mean(axis=0)
    assert np.all(np.abs(spread - 1.0) <= 5.0 * np.sqrt((2.0 + 1.0 / mass[used]) / len(counts)))


def test_jobs_find_slots_by_their_mass_and_any_time_in_them() -> None:
    """The phase at job 0 and, the same, 64 jobs later."""
    table = job_table(model_of(DAY), RATE)
    places = start_places(table.arrivals, 3, 0, np.arange(4000))
    block = new_block(table)
    later = np.array([draw_block(table, np.uint64(3), 0, r, 0, block, x) for r, x in enumerate(places)])
    for found in (places, later):
        at = jobs_expected(table.arrivals.time, 4, found) / table.arrivals.time[4]
        assert kstest(at, "uniform").pvalue > UNLIKELY


def test_many_slots() -> None:
    """As many as there may be, most of them empty."""
    own = [1.0 if s % 100 == 7 else 0.0 for s in range(672)]
    time = cycle_of(Periodic(cycle=168.0, rates=tuple(own)), 0.01)
    x = 7
    for e in np.random.default_rng(1).exponential(1.0, 200):
        gap, to = ahead(time, 672, x, float(e))
        assert own[to % 672] > 0
        assert gap >= 0
        x = to


def test_piles_of_whole_cycles_are_the_reference() -> None:
    """All jobs from the beginning of a cycle until a time, job by job."""
    service = {"law": "exponential", "mean": 1.0}
    classes = [{"need": need, "service": service} for need in (1, 3)]
    mix = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]
    model = load({"servers": 5, "arrivals": DAY | {"mix": mix}, "classes": classes})
    table, span, seed, stream = job_table(model, RATE), 3 * 24.0, 6, 5
    state = SpanState(np.empty(4), np.empty((4, 2), np.int64))
    CpuEngine().run(PileInTime(table, seed, stream, np.arange(10, 14), span), state, 0, 4)
    for r in range(4):
        n, x, now, places = 0, 0, 0.0, []
        while True:
            high, low, _, _ = words(seed, stream | MOVES, 10 + r, np.array([n]))
            gap, x = ahead(table.arrivals.time, 4, x, float(-log(long_uniform(high, low))[0]))
            now, n = now + gap, n + 1
            if now >= span:
                break
            places.append(x)
        index = np.arange(1, n)
        job_class, times = classes_and_services(table, seed, stream, 10 + r, index, np.array(places))
        pile, _, _ = reference.advance_block(np.zeros(5), table.need[job_class], times, np.zeros(n - 1))
        assert np.array_equal(state.jobs[r], np.bincount(job_class, minlength=2))
        assert state.height[r] == pytest.approx(pile.max(), rel=1e-12)


def test_jobs_of_a_cycle_are_poisson() -> None:
    """Their number over three cycles, mean and variance, at 5 standard errors."""
    table, count = job_table(model_of(DAY), RATE), 4000
    state = SpanState(np.empty(count), np.empty((count, len(table.need)), np.int64))
    CpuEngine().run(PileInTime(table, 6, 5, np.arange(count), 72.0), state, 0, count)
    mean = 72.0 * RATE
    jobs = state.jobs.sum(axis=1)
    assert abs(jobs.mean() - mean) <= 5.0 * np.sqrt(mean / count)
    assert abs(jobs.var() / mean - 1.0) <= 5.0 * np.sqrt((2.0 + 1.0 / mean) / count)
