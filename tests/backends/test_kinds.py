"""Several kinds of servers and specific servers: kernels against the reference, bit for bit, and the reference against
the textbook form, event-by-event runs and the plain model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.inputs.jobs import Jobs, assignment_words, draw, places
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.cpu.backward import backward
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.pile import pile
from loynes.kernels.cpu.sandwich import perfect, sandwich
from loynes.kernels.engine import Forward
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import use_runs
from loynes.kernels.tally import new_heap, new_tally
from loynes.model import Model, load
from loynes.threshold.controls import Mix
from support import empty_chains, models_of_kinds, nowhere

seeds = st.integers(0, 2**64 - 1)


def forms(table: JobTable) -> list[np.ndarray]:
    """All kinds dense, and all kinds as run lists that can be."""
    return [np.zeros(len(table.units), bool), ~table.specific.any(axis=0)]


def split(table: JobTable, W: np.ndarray) -> list[np.ndarray]:
    return np.split(W, np.cumsum(table.units)[:-1])


def own_places(table: JobTable, jobs: Jobs, seed: int, stream: int, replica: int, first: int) -> list[list[np.ndarray]]:
    """The specific servers of every job, by kind."""
    found = []
    for j, c in enumerate(jobs.job_class):
        counts = table.specific[c]
        words = assignment_words(seed, stream, replica, first + j, int(counts.sum()))
        parts = np.split(words, np.cumsum(counts)[:-1])
        found.append([places(w, int(n), int(s)) for w, n, s in zip(parts, counts, table.units, strict=True)])
    return found


def reference_block(
    table: JobTable, seed: int, stream: int, replica: int, first: int, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    jobs = draw(table, seed, stream, replica, np.arange(first, first + BLOCK))
    own = own_places(table, jobs, seed, stream, replica, first)
    after, wait, loss = reference.kinds_block(
        split(table, W), table.demand[jobs.job_class], own, jobs.service, jobs.gap, table.strict
    )
    return np.concatenate(after), wait, loss


def reference_chain(table: JobTable, seed: int, replica: int, begin: int, end: int, W: np.ndarray) -> np.ndarray:
    for first in range(begin, end, BLOCK):
        W, _, _ = reference_block(table, seed, 0, replica, first, W)
    return W


@settings(max_examples=60, deadline=None)
@given(models_of_kinds(disciplines=("fcfs", "reserving", "random")), seeds, st.floats(0.1, 1.3))
def test_forward(model: Model, seed: int, load_factor: float) -> None:
    table, needs = job_table(model, load_factor * model.ideal), needs_of(model)
    expected = reference_chain(table, seed, 4, 0, 4 * BLOCK, np.zeros(model.servers))
    tallies = []
    for as_runs in forms(table):
        W = np.zeros((1, model.servers))
        tally = new_tally(1, len(needs.need), 1.0, len(model.kinds))
        numbers = np.array([4]), np.arange(1)
        forward(table, needs, as_runs, 16, np.uint64(seed), 0, *numbers, 0, 4 * BLOCK, True, W, nowhere(len(W)), tally)
        np.testing.assert_array_equal(W[0], expected)
        tallies.append(tally)
    np.testing.assert_array_equal(tallies[0].wait, tallies[1].wait)
    np.testing.assert_array_equal(tallies[0].bins, tallies[1].bins)
    np.testing.assert_allclose(tallies[0].loss, tallies[1].loss, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(models_of_kinds(disciplines=("fcfs", "reserving", "random")), seeds)
def test_looks_meet_what_jobs_meet(model: Model, seed: int) -> None:
    """Looking at every arrival: with one need, what is observed is every job's own wait and loss."""
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    W, tally = np.zeros((1, model.servers)), new_tally(1, len(needs.need), 1.0, len(model.kinds))
    forward(
        table,
        needs,
        use_runs(table),
        1,
        np.uint64(seed),
        0,
        np.arange(1),
        np.arange(1),
        0,
        BLOCK,
        True,
        W,
        nowhere(1),
        tally,
    )
    _, wait, loss = reference_block(table, seed, 0, 0, 0, np.zeros(model.servers))
    if len(needs.need) == 1:
        np.testing.assert_allclose(tally.wait[0, 0], wait.sum(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(tally.loss[0], loss.sum(axis=0), rtol=1e-11, atol=1e-11)
    elif not table.strict and not table.plain:
        np.testing.assert_allclose(tally.loss[0], loss.sum(axis=0), rtol=1e-11, atol=1e-11)


@settings(max_examples=30, deadline=None)
@given(models_of_kinds(), seeds)
def test_pile(model: Model, seed: int) -> None:
    table, needs, mix = job_table(model, None), needs_of(model), Mix.of(model)
    base, H = 0.0, np.zeros(model.servers)
    for first in range(0, 3 * BLOCK, BLOCK):
        H, _, _ = reference_block(table, seed, 1, 2, first, H)
        base, H = base + H.min(), H - H.min()
    for as_runs in forms(table):
        ours = np.zeros((1, model.servers))
        heap = new_heap(1, len(table.need), len(mix.blocking), len(model.kinds))
        pile(
            table, needs, mix.blockers, as_runs, 16, np.uint64(seed), 1, 2, 0, 3 * BLOCK, ours, nowhere(len(ours)), heap
        )
        np.testing.assert_array_equal(ours[0], H)
        assert heap.base[0] == base


@settings(max_examples=25, deadline=None)
@given(models_of_kinds(disciplines=("fcfs", "reserving", "random")), seeds)
def test_samples(model: Model, seed: int) -> None:
    """Backward and perfect samples, and pairs: the forms agree, and the reference's chain ends where they do."""
    table = job_table(model, 0.3 * model.ideal)
    found = []
    for as_runs in forms(table):
        W, length, doublings = np.empty((3, model.servers)), np.empty(3, np.int64), np.empty(3, np.int64)
        backward(table, as_runs, np.uint64(seed), 0, 9, BLOCK, 1, 1 << 14, nowhere(len(W)), W, length, doublings)
        V, reach, doubled = np.empty((3, model.servers)), np.empty(3, np.int64), np.empty(3, np.int64)
        perfect(table, as_runs, np.uint64(seed), 0, 9, BLOCK, 1 << 14, 30.0, 1.0, nowhere(len(V)), V, reach, doubled)
        low, high, met = np.zeros((2, model.servers)), np.full((2, model.servers), 20.0), np.full(2, -1, np.int64)
        sandwich(table, as_runs, np.uint64(seed), 0, 0, 0, 4 * BLOCK, low, high, nowhere(len(low)), met)
        assert np.all(low <= high)
        found.append((W, length, doublings, V, reach, doubled, low, high, nowhere(len(low)), met))
    for x, y in zip(*found, strict=True):
        np.testing.assert_array_equal(x, y)
    W, length = found[0][:2]
    if 0 < length[0] <= 1 << 10:
        expected = reference_chain(table, seed, 9, -int(length[0]), 0, np.zeros(model.servers))
        np.testing.assert_array_equal(W[0], expected)


@settings(max_examples=60, deadline=None)
@given(models_of_kinds(disciplines=("fcfs", "reserving", "random")), seeds, st.floats(0.3, 1.5))
def test_the_computed_step_is_monotone(model: Model, seed: int, load_factor: float) -> None:
    table = job_table(model, load_factor * model.ideal)
    rng = np.random.default_rng(seed % 2**32)
    low = np.concatenate([np.sort(rng.exponential(1.0, s)) for s in model.units])
    high = low + np.concatenate([np.sort(rng.exponential(0.5, s)) * rng.integers(0, 2) for s in model.units])
    assert np.all(
        reference_chain(table, seed, 0, 0, 2 * BLOCK, low) <= reference_chain(table, seed, 0, 0, 2 * BLOCK, high)
    )


@settings(max_examples=60, deadline=None)
@given(models_of_kinds(disciplines=("fcfs", "reserving", "random")), seeds, st.floats(0.3, 1.2))
def test_textbook_form(model: Model, seed: int, load_factor: float) -> None:
    """Sort, and let time pass after every job: the same to rounding."""
    table = job_table(model, load_factor * model.ideal)
    jobs = draw(table, seed, 0, 0, np.arange(BLOCK))
    own = own_places(table, jobs, seed, 0, 0, 0)
    W = [np.zeros(s) for s in model.units]
    for j, c in enumerate(jobs.job_class):
        taken = [reference._taken(len(w), table.demand[c, t], own[j][t]) for t, w in enumerate(W)]
        start = max(float(np.max(w[mine], initial=0.0)) for w, mine in zip(W, taken, strict=True))
        for t, mine in enumerate(taken):
            after = np.maximum(W[t], start) if table.strict else W[t].copy()
            after[mine] = start + jobs.service[j]
            W[t] = np.maximum(np.sort(after) - jobs.gap[j], 0.0)
    found = reference_chain(table, seed, 0, 0, BLOCK, np.zeros(model.servers))
    np.testing.assert_allclose(found, np.concatenate(W), rtol=1e-9, atol=1e-9)


def starts(model: Model, seed: int, blocks: int = 2) -> np.ndarray:
    """When jobs start, from the reference."""
    table = job_table(model, 0.8 * model.ideal)
    W, now, found = np.zeros(model.servers), 0.0, []
    for first in range(0, blocks * BLOCK, BLOCK):
        jobs = draw(table, seed, 0, 0, np.arange(first, first + BLOCK))
        W, wait, _ = reference_block(table, seed, 0, 0, first, W)
        arrival = now + np.concatenate([[0.0], np.cumsum(jobs.gap)])
        found.append(arrival[:-1] + wait)
        now = arrival[-1]
    return np.concatenate(found)


@settings(max_examples=40, deadline=None)
@given(models_of_kinds(disciplines=("fcfs",)), seeds)
def test_strict_order(model: Model, seed: int) -> None:
    """Nobody starts before the job ahead has."""
    assert np.all(np.diff(starts(model, seed)) >= -1e-9)


def test_reserving_overtakes() -> None:
    """The printed equations let a CPU job pass a GPU job that waits, in the docs' example."""
    model = load("cpu-gpu-mix")
    assert np.all(np.diff(starts(model, 1)) >= -1e-9)
    assert np.any(np.diff(starts(model.with_discipline("reserving"), 1)) < -1e-3)


@settings(max_examples=30, deadline=None)
@given(models_of_kinds(specific=False, disciplines=("fcfs",)), seeds)
def test_event_by_event(model: Model, seed: int) -> None:
    """The same start times from a SimPy model: one lock for the head of the line, one container a kind."""
    table = job_table(model, 0.9 * model.ideal)
    jobs = draw(table, seed, 0, 0, np.arange(2 * BLOCK))
    environment = simpy.Environment()
    head = simpy.Resource(environment, 1)
    free = [simpy.Container(environment, init=int(s), capacity=int(s)) for s in table.units]
    start = np.zeros(2 * BLOCK)

    def job(n: int) -> Iterator[Any]:
        asked = [(t, int(a)) for t, a in enumerate(table.demand[jobs.job_class[n]]) if a]
        with head.request() as turn:
            yield turn
            yield simpy.AllOf(environment, [free[t].get(a) for t, a in asked])
            start[n] = environment.now
        yield environment.timeout(jobs.service[n])
        for t, a in asked:
            yield free[t].put(a)

    def source() -> Iterator[Any]:
        for n in range(2 * BLOCK):
            environment.process(job(n))
            yield environment.timeout(jobs.gap[n])

    environment.process(source())
    environment.run()
    W, now, found = np.zeros(model.servers), 0.0, []
    for first in range(0, 2 * BLOCK, BLOCK):
        part = slice(first, first + BLOCK)
        W, wait, _ = reference_block(table, seed, 0, 0, first, W)
        arrival = now + np.concatenate([[0.0], np.cumsum(jobs.gap[part])])
        found.append(arrival[:-1] + wait)
        now = arrival[-1]
    np.testing.assert_allclose(np.concatenate(found), start, rtol=1e-9, atol=1e-9)


FIVE = load("five-class-exponential")


def as_resources(model: Model, more: dict[str, int] | None = None) -> Model:
    """A plain model written with resources, and others beside that are never scarce."""
    document = model.to_dict()
    document["resources"] = {"cpu": document.pop("servers")} | (more or {})
    for job_class in document["classes"]:
        job_class["need"] = {"cpu": job_class["need"]} | dict.fromkeys(more or {}, 1)
    return load(document)


def test_one_resource_is_the_plain_model() -> None:
    one = as_resources(FIVE)
    assert one.plain
    assert one.ideal == FIVE.ideal
    tables = (job_table(one, 1.0), job_table(FIVE, 1.0))
    for ours, theirs in zip(*((*table.arrivals, *table._replace(arrivals=None)) for table in tables), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("as_runs", [False, True])
def test_a_resource_that_is_never_scarce_changes_nothing(as_runs: bool) -> None:
    """21 units beside 20 servers, a unit a job: never all taken. The first kind's workload is the plain one's."""
    both, rate = as_resources(FIVE, {"disk": 21}), 0.8 * FIVE.ideal
    table, needs = job_table(both, rate), needs_of(both)
    W, tally = np.zeros((2, 41)), new_tally(2, len(needs.need), 1.0, 2)
    numbers = np.arange(2), np.arange(2)
    forward(
        table,
        needs,
        np.array([as_runs, as_runs]),
        16,
        np.uint64(3),
        0,
        *numbers,
        0,
        50 * BLOCK,
        True,
        W,
        nowhere(len(W)),
        tally,
    )
    plain, plain_needs = job_table(FIVE, rate), needs_of(FIVE)
    chains = empty_chains(plain, plain_needs, 2)
    CpuEngine().run(Forward(plain, 3, 0, numbers[0], plain_needs, numbers[1], True), chains, 0, 50 * BLOCK)
    np.testing.assert_array_equal(W[:, :20], chains.workload)
    np.testing.assert_array_equal(tally.wait, chains.tally.wait)
    np.testing.assert_allclose(tally.loss[:, 0], chains.tally.loss[:, 0], rtol=1e-12)


@given(st.integers(1, 12), st.data())
def test_places_are_a_set(servers: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, servers))
    words = np.array(data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)), np.uint64)
    found = places(words, count, servers)
    assert len(set(found.tolist())) == count
    assert np.all((found >= 0) & (found < servers))
    assert np.all(np.diff(found) > 0)


def test_places_are_uniform() -> None:
    """All 10 pairs of 5 places equally often: chi-squared with 9 degrees of freedom, below its 1 - 1e-6 quantile."""
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**32, (20_000, 2), dtype=np.uint64)
    pairs = [tuple(places(w, 2, 5).tolist()) for w in words]
    count = np.array([pairs.count(pair) for pair in sorted(set(pairs))])
    assert len(count) == 10
    assert np.sum((count - 2000.0) ** 2 / 2000.0) < 45.1
