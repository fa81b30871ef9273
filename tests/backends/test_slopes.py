"""Derivatives along a path: the kernel against the reference, and the reference against what derivatives are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.inputs.jobs import draw
from loynes.inputs.tables import JobTable, Needs, job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.slopes import slopes
from loynes.kernels.engine import Slopes, SlopeState, SlopeSums
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load
from support import LAWS, empty_chains, models, nowhere

seeds = st.integers(0, 2**64 - 1)
JOBS = 6 * BLOCK
# Two paths are equally long with probability 0 only where no service takes a single value.
SMOOTH = tuple(name for name in LAWS if name not in ("deterministic", "mixture", "empirical"))


def empty(table: JobTable, needs: Needs, rows: int) -> SlopeState:
    width, kinds = len(table.need) + 1, len(needs.need)
    sums = SlopeSums(np.zeros(rows), np.zeros((rows, kinds)), np.zeros((rows, kinds, width)))
    return SlopeState(np.zeros((rows, table.servers)), np.zeros((rows, table.servers, width)), nowhere(rows), sums)


def run(table: JobTable, needs: Needs, seed: int, replicas: list[int], stride: int = 16) -> SlopeState:
    state = empty(table, needs, len(replicas))
    slopes(table, needs, stride, np.uint64(seed), 0, np.array(replicas), 0, JOBS, True, *state)
    return state


@settings(max_examples=60)
@given(models(), seeds, st.floats(0.05, 1.4))
def test_kernel_is_the_reference(model: Model, seed: int, factor: float) -> None:
    """Workloads bit for bit, those of `forward` too; derivatives too, where paths are told apart by their lengths."""
    table, needs = job_table(model, factor * model.ideal), needs_of(model)
    state = run(table, needs, seed, [3, 4], stride=BLOCK)
    plain = empty_chains(table, needs, 2)
    numbers = (np.array([3, 4]), np.arange(2), 0, JOBS, True)
    forward(table, needs, np.array([False]), BLOCK, np.uint64(seed), 0, *numbers, *plain)
    np.testing.assert_array_equal(state.workload, plain.workload)
    np.testing.assert_allclose(state.sums.wait, plain.tally.wait, rtol=1e-12)
    tied = any(c.service.law in ("deterministic", "mixture", "empirical") for c in model.classes)
    for row, replica in enumerate((3, 4)):
        W, D = np.zeros(model.servers), np.zeros((model.servers, len(model.classes) + 1))
        seen = np.zeros_like(state.sums.slope[row])
        for start in range(0, JOBS, BLOCK):
            seen += D[needs.need - 1]
            jobs = draw(table, seed, 0, replica, np.arange(start, start + BLOCK))
            W, D, _, _ = reference.slopes_block(W, D, jobs.need, jobs.job_class, jobs.service, jobs.gap)
        np.testing.assert_array_equal(state.workload[row], W)
        if not tied:
            np.testing.assert_array_equal(state.slopes[row], D)
            np.testing.assert_allclose(state.sums.slope[row], seen, rtol=1e-12, atol=1e-300)


@given(models(), seeds, st.floats(0.3, 1.2))
def test_derivatives_of_an_entry_add_up_to_it(model: Model, seed: int, factor: float) -> None:
    """Services and gaps all stretched by c stretch waits by c: Euler's identity, path by path, up to rounding."""
    table, needs = job_table(model, factor * model.ideal), needs_of(model)
    state = run(table, needs, seed, [0, 7])
    size = max(float(np.abs(state.slopes).max()), 1e-300)
    np.testing.assert_allclose(state.slopes.sum(axis=2), state.workload, rtol=0, atol=1e-12 * size)
    assert (state.slopes[:, :, :-1] >= 0).all()
    assert (state.slopes[:, :, -1] <= 1e-12 * size).all()
    sums = state.sums
    size = max(float(np.abs(sums.slope).max()), 1e-300)
    np.testing.assert_allclose(sums.slope.sum(axis=2), sums.wait, rtol=0, atol=1e-11 * size)


@settings(max_examples=40)
@given(models(most_servers=12, laws=SMOOTH), seeds, st.floats(0.4, 1.2), st.data())
def test_a_little_longer(model: Model, seed: int, factor: float, data: st.DataObject) -> None:
    """A path stays the path for a little while: what is stretched by so little moves waits as the derivative says."""
    table = job_table(model, factor * model.ideal)
    classes = len(model.classes)
    which = data.draw(st.integers(0, classes))
    little = 1e-9
    W, D = np.zeros(model.servers), np.zeros((model.servers, classes + 1))
    moved = W.copy()
    for start in range(0, 4 * BLOCK, BLOCK):
        jobs = draw(table, seed, 0, 0, np.arange(start, start + BLOCK))
        longer = jobs.service * np.where(jobs.job_class == which, 1.0 + little, 1.0)
        gap = jobs.gap * (1.0 + little) if which == classes else jobs.gap
        W, D, wait, slope = reference.slopes_block(W, D, jobs.need, jobs.job_class, jobs.service, jobs.gap)
        moved, changed, _ = reference.advance_block(moved, jobs.need, longer, gap)
        size = 1.0 + float(jobs.gap.sum()) + float(np.abs(slope).max(initial=0.0)) + float(W[-1])
        np.testing.assert_allclose(
            changed - wait, little * slope[:, which], rtol=0, atol=1e-13 * size + 1e-5 * little * size
        )


def test_however_the_work_is_cut() -> None:
    model = load("five-class-exponential")
    table, needs = job_table(model, 1.5), needs_of(model)
    whole, parts = empty(table, needs, 5), empty(table, needs, 5)
    task = Slopes(table, 9, 0, np.arange(5), needs, True)
    CpuEngine(1).run(task, whole, 0, 20 * BLOCK)
    for first, last in ((0, 3), (3, 4), (4, 20)):
        CpuEngine(2).run(task, parts, first * BLOCK, last * BLOCK)
    for rows in (np.array([0, 3]), np.array([1, 2, 4])):
        alone = task.take(empty(table, needs, 5), rows)
        CpuEngine(1).run(task.part(rows), alone, 0, 20 * BLOCK)
        np.testing.assert_array_equal(alone.slopes, whole.slopes[rows])
        np.testing.assert_array_equal(alone.sums.slope, whole.sums.slope[rows])
    np.testing.assert_array_equal(parts.slopes, whole.slopes)
    np.testing.assert_array_equal(parts.sums.slope, whole.sums.slope)
    np.testing.assert_array_equal(parts.workload, whole.workload)
