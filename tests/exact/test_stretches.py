"""A log in stretches, on one thread or several: the same bits, whether guesses are met or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.kernels import reference
from loynes.kernels.cpu.stretches import LEAST_STRETCH, LEAST_TURN, run_replay
from loynes.kernels.reference import BLOCK

Array = np.ndarray
Workload = tuple[int, Array, Array, Array]


def drawn(seed: int, servers: int, jobs: int, load: float, whole: bool = False) -> Workload:
    """Servers, needs, services and submissions, with so much work for each server and unit of time."""
    rng = np.random.default_rng(seed)
    need = rng.integers(1, servers + 1, jobs)
    service = rng.exponential(1.0, jobs)
    gap = rng.exponential(float(need @ service) / (load * servers * jobs), jobs)
    if whole:
        service, gap = np.ceil(10 * service), np.floor(10 * gap)
    return servers, need, service, np.cumsum(gap) - gap[0]


@st.composite
def workloads(draw: Any) -> Workload:
    return drawn(
        draw(st.integers(0, 2**32)),
        draw(st.integers(1, 24)),
        draw(st.integers(1, 40 * BLOCK)),
        draw(st.sampled_from([0.2, 0.4, 0.6, 1.0, 2.0])),
        draw(st.booleans()),
    )


def one_window_after_another(workload: Workload, wait: Array, edges: Array) -> Array:
    """HOL loss in windows from the reference's workloads: every server that a job takes idles until the job starts."""
    servers, need, service, submit = workload
    lost, W = np.zeros(len(edges) - 1), np.zeros(servers)
    for j in range(len(need)):
        free = submit[j] + W[: need[j]]
        start = submit[j] + wait[j]
        until = np.append(edges[1:-1], np.inf)
        lost += np.maximum(np.minimum(start, until[:, None]) - np.maximum(free, edges[:-1, None]), 0.0).sum(axis=1)
        W = reference.clamp_step(W, int(need[j]), service[j], submit[min(j + 1, len(need) - 1)] - submit[j])
    return lost


@pytest.mark.parametrize("as_runs", [False, True])
@settings(max_examples=60)
@given(workloads(), st.integers(2, 5), st.integers(1, 4), st.integers(1, 40))
def test_threads_and_stretches_change_no_bit(
    as_runs: bool, workload: Workload, threads: int, blocks: int, windows: int
) -> None:
    whole = run_replay(*workload, as_runs, threads=1)
    found = run_replay(*workload, as_runs, threads, blocks * BLOCK)
    for name in ("wait", "loss", "workload"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    edges = np.linspace(0.0, float((workload[3] + whole.wait + workload[2]).max()), windows + 1)
    # A single stretch is summed as the kernel goes, window by window; many are put together.
    np.testing.assert_array_equal(found.lost_in(edges), whole.lost_in(edges))
    assert found.lost_in(edges).sum() == pytest.approx(whole.loss.sum(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("load", "meets"), [(0.5, True), (1.5, False)])
@pytest.mark.parametrize("as_runs", [False, True])
def test_guesses_that_are_met_and_that_never_are(as_runs: bool, load: float, meets: bool) -> None:
    """With half of the work that servers could do, lines empty soon; with too much, the true line only grows."""
    workload = drawn(3, 16, 64 * LEAST_TURN * BLOCK, load)
    whole = run_replay(*workload, as_runs, threads=1)
    found = run_replay(*workload, as_runs, 2, BLOCK)
    np.testing.assert_array_equal(found.wait, whole.wait)
    np.testing.assert_array_equal(found.loss, whole.loss)
    np.testing.assert_array_equal(found.workload, whole.workload)
    assert whole.again == 0
    stretches = 64 * LEAST_TURN
    if meets:
        assert 0 < found.again < stretches / 8
    else:
        # Given up for longer and longer: less than a half is run twice.
        assert stretches / 16 <= found.again <= stretches / 3


def test_losses_fall_in_the_windows_in_which_servers_idled() -> None:
    workload = drawn(7, 12, 6 * BLOCK, 0.5)
    found = run_replay(*workload, stretch=BLOCK)
    end = float((workload[3] + found.wait + workload[2]).max())
    for windows in (1, 3, 50, 1000):
        edges = np.linspace(0.0, end, windows + 1)
        expected = one_window_after_another(workload, found.wait, edges)
        np.testing.assert_allclose(found.lost_in(edges), expected, rtol=1e-9, atol=1e-9 * end)


def test_a_stretch_has_whole_blocks() -> None:
    """Of default length, which grows with the servers: states kept take no more room than jobs."""
    assert LEAST_STRETCH % BLOCK == 0
    servers = LEAST_STRETCH + 1
    workload = servers, np.array([1, servers]), np.array([1.0, 2.0]), np.array([0.0, 0.5])
    assert run_replay(*workload).wait.tolist() == [0.0, 0.5]
