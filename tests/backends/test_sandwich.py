"""Chains from below and from above: against the reference, ordered to the last bit, and one for good once they met."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.inputs.jobs import draw
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels import reference
from loynes.kernels.cpu import engine
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.sandwich import perfect, sandwich
from loynes.kernels.cpu.state import Runs, new_state, put, same
from loynes.kernels.engine import Perfect, Sandwich
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import DENSE, LAYERED, RUNS
from loynes.model import Model, builtin_names, load
from support import LAWS, models, nowhere, pairs_up_to, unsampled

CLASS = {"need": 1, "probability": 1.0, "service": LAWS["exponential"]}

FORMS = [np.array([form]) for form in (DENSE, RUNS, LAYERED)]
seeds = st.integers(0, 2**64 - 1)


def chain(table: JobTable, seed: int, replica: int, first: int, last: int, W: np.ndarray) -> list[np.ndarray]:
    """The reference's workloads at all block ends."""
    ends = []
    for start in range(first, last, BLOCK):
        jobs = draw(table, seed, 0, replica, np.arange(start, start + BLOCK))
        W, _, _ = reference.advance_block(W, jobs.need, jobs.service, jobs.gap)
        ends.append(W)
    return ends


@settings(max_examples=60)
@given(models(), seeds, st.floats(0.05, 1.2), st.floats(0, 30), st.integers(1, 7))
def test_pairs(model: Model, seed: int, load_factor: float, height: float, cut: int) -> None:
    """Both chains are the reference's; the lower never exceeds the upper; equal once, they stay so."""
    table, jobs = job_table(model, load_factor * model.ideal), 8 * BLOCK
    start = np.sort(np.random.default_rng(seed).uniform(0, height, model.servers))
    below = chain(table, seed, 2, 0, jobs, np.zeros(model.servers))
    above = chain(table, seed, 2, 0, jobs, start)
    equal = [bool(np.array_equal(x, y)) for x, y in zip(below, above, strict=True)]
    assert all(np.all(x <= y) for x, y in zip(below, above, strict=True))
    assert equal == sorted(equal)
    met = BLOCK * (equal.index(True) + 1) if any(equal) else -1
    for form in FORMS:
        low, high, found = np.zeros((1, model.servers)), start[None].copy(), np.full(1, -1)
        for begin, end in ((0, cut * BLOCK), (cut * BLOCK, jobs)):
            sandwich(table, form, np.uint64(seed), 0, 2, begin, end, low, high, nowhere(len(low)), found)
            np.testing.assert_array_equal(low[0], below[end // BLOCK - 1])
            np.testing.assert_array_equal(high[0], above[end // BLOCK - 1])
        assert found[0] == met


@settings(max_examples=40)
@given(models(most_servers=12), seeds, st.floats(0.1, 0.8), st.floats(0.5, 20))
def test_perfect(model: Model, seed: int, load_factor: float, ceiling: float) -> None:
    """The first n, doubling, after which chains from 0 and from the ceiling are equal at time 0."""
    table, longest, rise = job_table(model, load_factor * model.ideal), 16 * BLOCK, 0.25
    n, doublings, length = BLOCK, 0, 0
    while n <= longest:
        below = chain(table, seed, 5, -n, 0, np.zeros(model.servers))[-1]
        above = chain(table, seed, 5, -n, 0, np.full(model.servers, ceiling + rise * doublings))[-1]
        if np.array_equal(below, above):
            length = n
            break
        n, doublings = 2 * n, doublings + 1
    for form in FORMS:
        W, found, doubled = np.zeros((1, model.servers)), np.zeros(1, np.int64), np.zeros(1, np.int64)
        perfect(table, form, np.uint64(seed), 0, 5, BLOCK, longest, ceiling, rise, nowhere(len(W)), W, found, doubled)
        np.testing.assert_array_equal(W[0], below)
        assert (found[0], doubled[0]) == (length, doublings)


@compiled
def put_both(one, two, W, V):
    put(one, W)
    put(two, V)


@compiled
def same_both(one, two):
    return same(one, two), same(two, one)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 8), st.integers(0, 3))
def test_same(values: list[int], place: int, other: int) -> None:
    """Equality of states, whatever the runs they are written in."""
    W = np.sort(np.array(values, dtype=float))
    V = W.copy()
    V[min(place, len(V) - 1)] = other
    V.sort()
    for form in FORMS:
        table = job_table(load({"servers": len(W), "classes": [CLASS]}), 1.0)
        one, two = new_state(table, form), new_state(table, form)
        put_both(one, two, W, V)
        if form[0] == RUNS:  # split the first run: a list need not be the shortest one
            split(two)
        assert same_both(one, two) == (np.array_equal(W, V), np.array_equal(W, V))


def split(state: Runs) -> None:
    if state.counts[0] > 1:
        size = state.size[0]
        state.values[1 : size + 1] = state.values[:size].copy()
        state.counts[1 : size + 1] = state.counts[:size].copy()
        state.counts[0], state.counts[1] = 1, state.counts[1] - 1
        state.size[0] += 1


@pytest.mark.parametrize("name", builtin_names())
def test_cutting_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks, pieces and threads: the same bits."""
    model = load(name)
    table, end, found = job_table(model, 0.5 * model.ideal), 24 * BLOCK, []
    for cuts, threads, piece in (([end], 1, 1 << 20), ([end], 3, 4 * BLOCK), ([BLOCK, 7 * BLOCK, end], 2, BLOCK)):
        monkeypatch.setattr(engine, "CUT", piece)
        cpu, begin = engine.CpuEngine(threads), 0
        pairs, samples = pairs_up_to(table, 2.0 * model.mean_service, 5), unsampled(table, 5)
        for cut in cuts:
            cpu.run(Sandwich(table, 9, 0, np.arange(5)), pairs, begin, cut)
            begin = cut
        perfectly = Perfect(table, 9, 0, np.arange(3, 8), BLOCK, 64 * BLOCK, ceiling=1.0, rise=0.5)
        for first, last in ((0, 5),) if threads == 1 else ((0, 2), (2, 5)):
            cpu.run(perfectly, samples, first, last)
        found.append((*pairs, *samples))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
