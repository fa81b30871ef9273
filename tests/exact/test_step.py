"""Identities of the step that hold exactly: order, monotonicity, and the forms' equality."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loynes.inputs.jobs import draw
from loynes.inputs.tables import job_table
from loynes.kernels import reference
from loynes.kernels.reference import BLOCK
from loynes.model import Model
from support import LAWS, models

times = st.floats(0, 1e6, allow_nan=False, allow_subnormal=False)


@st.composite
def steps(draw_: st.DrawFn) -> tuple[np.ndarray, int, float, float]:
    """A workload vector, possibly with ties and zeros, and one job."""
    pool = draw_(st.lists(times, min_size=1, max_size=6))
    W = np.sort(
        np.array(draw_(st.lists(st.one_of(st.just(0.0), st.sampled_from(pool), times), min_size=1, max_size=30)))
    )
    return W, draw_(st.integers(1, len(W))), draw_(times), draw_(times)


@given(steps())
def test_clamp_is_the_sort(step: tuple[np.ndarray, int, float, float]) -> None:
    np.testing.assert_array_equal(reference.clamp_step(*step), reference.sorted_step(*step))


@given(steps())
def test_order_is_kept(step: tuple[np.ndarray, int, float, float]) -> None:
    after = reference.clamp_step(*step)
    assert np.all(np.diff(after) >= 0)
    assert np.all(after >= 0)


@given(steps(), st.data())
def test_one_step_is_monotone(step: tuple[np.ndarray, int, float, float], data: st.DataObject) -> None:
    W, a, sigma, tau = step
    more = np.sort(W + np.array([data.draw(times) for _ in W]))
    assert np.all(reference.clamp_step(more, a, sigma, tau) >= reference.clamp_step(W, a, sigma, tau))


@given(models(), st.integers(0, 2**64 - 1), st.floats(0.01, 5), st.data())
def test_a_block_is_monotone_in_floating_point(model: Model, seed: int, load: float, data: st.DataObject) -> None:
    """Not to rounding: exactly, for every rate and any two ordered workloads."""
    jobs = draw(job_table(model, load * model.ideal), seed, 0, 0, np.arange(BLOCK))
    low = np.sort([data.draw(times) for _ in range(model.servers)])
    high = np.sort(low + np.array([data.draw(times) for _ in range(model.servers)]))
    after_low, wait_low, _ = reference.advance_block(low, jobs.need, jobs.service, jobs.gap)
    after_high, wait_high, _ = reference.advance_block(high, jobs.need, jobs.service, jobs.gap)
    assert np.all(after_low <= after_high)
    assert np.all(wait_low <= wait_high)
    assert np.all(np.diff(after_low) >= 0)


@given(models(), st.integers(0, 2**32))
def test_block_form_is_the_textbook_to_rounding(model: Model, seed: int) -> None:
    jobs = draw(job_table(model, 0.8 * model.ideal), seed, 0, 0, np.arange(4 * BLOCK))
    W = textbook = np.zeros(model.servers)
    waits = []
    for start in range(0, 4 * BLOCK, BLOCK):
        part = slice(start, start + BLOCK)
        W, wait, _ = reference.advance_block(W, jobs.need[part], jobs.service[part], jobs.gap[part])
        waits.extend(wait)
    exact = []
    for a, sigma, tau in zip(jobs.need, jobs.service, jobs.gap, strict=True):
        exact.append(textbook[a - 1])
        textbook = reference.sorted_step(textbook, a, sigma, tau)
    scale = max(1.0, float(np.sum(jobs.gap)), float(np.max(jobs.service)))
    np.testing.assert_allclose(waits, exact, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(W, textbook, rtol=0, atol=1e-12 * scale)


@given(models(most_servers=12, laws=tuple(LAWS)), st.integers(0, 2**32))
def test_backward_never_decreases(model: Model, seed: int) -> None:
    """M_n <= M_2n <= M_4n, entry by entry, exactly."""
    table = job_table(model, 0.7 * model.ideal)
    before = np.zeros(model.servers)
    for n in (BLOCK, 2 * BLOCK, 4 * BLOCK, 8 * BLOCK):
        W = np.zeros(model.servers)
        for first in range(-n, 0, BLOCK):
            jobs = draw(table, seed, 0, 0, np.arange(first, first + BLOCK))
            W, _, _ = reference.advance_block(W, jobs.need, jobs.service, jobs.gap)
        assert np.all(before <= W)
        before = W
