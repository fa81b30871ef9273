"""Every CPU kernel against the reference, bit for bit, and against itself however the work is cut."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.registry import cpu_target

from loynes.inputs.jobs import Jobs, draw, picks
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.cpu import engine, layers
from loynes.kernels.cpu.backward import _backward, backward
from loynes.kernels.cpu.forward import _forward, forward
from loynes.kernels.cpu.jobs import _draw_block, draw_block, new_block
from loynes.kernels.cpu.pile import _pile, pile, regenerate
from loynes.kernels.engine import Forward, ForwardState, Pile, arrays_of
from loynes.kernels.fingerprint import FINGERPRINT, fingerprint
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import DENSE, LAYERED, RUNS
from loynes.kernels.tally import BINS, bin_edges, new_heap, new_tally
from loynes.model import Exponential, JobClass, Model, builtin_names, load
from loynes.threshold.controls import Mix
from support import LAWS, empty_chains, flat_piles, models, nowhere

FORMS = [np.array([form]) for form in (DENSE, RUNS, LAYERED)]
seeds = st.integers(0, 2**64 - 1)


def reference_chain(table: JobTable, seed: int, replica: int, first: int, last: int, W: np.ndarray) -> np.ndarray:
    for start in range(first, last, BLOCK):
        jobs = draw(table, seed, 0, replica, np.arange(start, start + BLOCK))
        W, _, _ = reference.advance_block(W, jobs.need, jobs.service, jobs.gap)
    return W


@given(models(), seeds, st.integers(0, 2**32 - 1), st.integers(-(2**30), 2**30), st.booleans())
def test_jobs(model: Model, seed: int, replica: int, block: int, saturated: bool) -> None:
    table = job_table(model, None if saturated else 0.5 * model.ideal)
    ours = new_block(table)
    draw_block(table, np.uint64(seed), 2, replica, block * BLOCK, ours, 0)
    expected = draw(table, seed, 2, replica, np.arange(block * BLOCK, (block + 1) * BLOCK))
    for name in ("job_class", "need", "service", "gap"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name), err_msg=name)


def test_jobs_of_many_classes() -> None:
    """Beyond a few classes another search picks them; it must pick the same."""
    classes = [{"need": 1 + i % 7, "probability": 1 / 40, "service": LAWS["exponential"]} for i in range(40)]
    table = job_table(load({"servers": 9, "classes": classes}), 1.0)
    ours = new_block(table)
    draw_block(table, np.uint64(5), 0, 0, 0, ours, 0)
    expected = draw(table, 5, 0, 0, np.arange(BLOCK))
    np.testing.assert_array_equal(ours.job_class, expected.job_class)
    np.testing.assert_array_equal(ours.service, expected.service)


@settings(max_examples=60)
@given(models(), seeds, st.floats(0.05, 1.4), st.booleans())
def test_forward(model: Model, seed: int, load_factor: float, observe: bool) -> None:
    table, needs = job_table(model, load_factor * model.ideal), needs_of(model)
    expected = [reference_chain(table, seed, r, 0, 5 * BLOCK, np.zeros(model.servers)) for r in (3, 4)]
    tallies = []
    for form in FORMS:
        W, tally = np.zeros((2, model.servers)), new_tally(2, len(needs.need), model.mean_service)
        forward(
            table,
            needs,
            form,
            16,
            np.uint64(seed),
            0,
            np.array([3, 4]),
            np.arange(2),
            0,
            5 * BLOCK,
            observe,
            W,
            nowhere(2),
            tally,
        )
        np.testing.assert_array_equal(W, expected)
        tallies.append(tally)
    for dense, runs, layered in zip(*tallies, strict=True):
        np.testing.assert_allclose(dense, runs, rtol=1e-12)
        np.testing.assert_array_equal(runs, layered)


@given(models(most_servers=15), seeds)
def test_what_is_observed(model: Model, seed: int) -> None:
    """The tally against waits and losses worked out from the reference's workload vectors."""
    table, needs = job_table(model, 0.8 * model.ideal), needs_of(model)
    W, tally = np.zeros((1, model.servers)), new_tally(1, len(needs.need), model.mean_service)
    forward(
        table,
        needs,
        FORMS[0],
        BLOCK,
        np.uint64(seed),
        0,
        np.arange(1),
        np.arange(1),
        0,
        6 * BLOCK,
        True,
        W,
        nowhere(1),
        tally,
    )
    seen = [reference_chain(table, seed, 0, 0, k * BLOCK, np.zeros(model.servers)) for k in range(6)]
    waits = np.array([[w[n - 1] for n in needs.need] for w in seen])
    loss = [sum(p * np.sum(w[n - 1] - w[:n]) for n, p in zip(needs.need, needs.weight, strict=True)) for w in seen]
    assert tally.looks.tolist() == [6]
    np.testing.assert_allclose(tally.wait[0], waits.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(tally.square[0], (waits**2).sum(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(tally.none[0], (waits == 0).sum(axis=0))
    np.testing.assert_allclose(tally.loss[0], sum(loss), rtol=1e-9, atol=1e-9)
    edges = bin_edges(model.mean_service)
    for k in range(len(needs.need)):
        place = np.clip(np.searchsorted(edges, waits[:, k], side="right") - 1, 0, BINS - 1)
        # A wait within rounding of an edge may fall on either side of it.
        clear = np.abs(waits[:, k] / edges[np.clip(place, 1, None)] - 1) > 1e-12
        if clear.all():
            np.testing.assert_array_equal(np.bincount(place, minlength=BINS), tally.bins[0, k])


@settings(max_examples=60)
@given(models(most_servers=15), seeds, st.integers(1, 2))
def test_backward(model: Model, seed: int, confirmations: int) -> None:
    """M_n of the reference, doubled by hand; and no entry ever falls."""
    table = job_table(model, 0.6 * model.ideal)
    longest = 32 * BLOCK
    ends = {n: reference_chain(table, seed, 9, -n, 0, np.zeros(model.servers)) for n in (BLOCK << k for k in range(6))}
    n, agreed, length, doublings = BLOCK, 0, 0, 0
    while n < longest:
        assert np.all(ends[2 * n] >= ends[n])
        agreed = agreed + 1 if np.array_equal(ends[n], ends[2 * n]) else 0
        n *= 2
        doublings += 1
        if agreed == confirmations:
            length = n
            break
    for form in FORMS:
        W, found, doubled = np.zeros((1, model.servers)), np.zeros(1, np.int64), np.zeros(1, np.int64)
        backward(table, form, np.uint64(seed), 0, 9, BLOCK, confirmations, longest, nowhere(len(W)), W, found, doubled)
        np.testing.assert_array_equal(W[0], ends[n])
        assert (found[0], doubled[0]) == (length, doublings)


@settings(max_examples=60)
@given(models(), seeds)
def test_pile(model: Model, seed: int) -> None:
    table, needs, mix = job_table(model, None), needs_of(model), Mix.of(model)
    H, base = np.zeros(model.servers), 0.0
    for first in range(0, 5 * BLOCK, BLOCK):
        jobs = draw(table, seed, 1, 0, np.arange(first, first + BLOCK))
        H, base = reference.pile_block(H, base, jobs.need, jobs.service)
    for form in FORMS:
        ours, heap = np.zeros((1, model.servers)), new_heap(1, len(model.classes), len(mix.blocking))
        pile(table, needs, mix.blockers, form, 16, np.uint64(seed), 1, 0, 0, 5 * BLOCK, ours, nowhere(len(ours)), heap)
        np.testing.assert_array_equal(ours[0], H)
        assert heap.base[0] == base
        all_jobs = draw(table, seed, 1, 0, np.arange(5 * BLOCK))
        classes = len(model.classes)
        np.testing.assert_array_equal(heap.jobs[0], np.bincount(all_jobs.job_class, minlength=classes))
        sums = np.bincount(all_jobs.job_class, weights=all_jobs.service, minlength=classes)
        np.testing.assert_allclose(heap.service[0], sums, rtol=1e-12)
        for place, blocker in enumerate(mix.blocking):
            np.testing.assert_allclose(heap.blocked[0, place], waited_for(mix, blocker, all_jobs), rtol=1e-12)


def waited_for(mix: Mix, blocker: int, jobs: Jobs) -> float:
    """The sum over the blocker's jobs of the longest conflicting service since its last one, the plain way."""
    total, since = 0.0, [0.0]
    for job_class, service in zip(jobs.job_class, jobs.service, strict=True):
        if job_class == blocker:
            total, since = total + max(since), [0.0]
        elif mix.conflicts_of(blocker)[job_class]:
            since.append(service)
    return total


@settings(max_examples=40)
@given(models(), seeds)
def test_regeneration(model: Model, seed: int) -> None:
    """On to the first job that needs all servers, which leaves the pile flat."""
    whole = JobClass(need=model.servers, probability=0.02, service=Exponential(mean=1.0))
    rest = [c.model_copy(update={"name": c.label, "probability": 0.98 * c.probability}) for c in model.classes]
    model = Model(servers=model.servers, classes=(*rest, whole))
    table, mix = job_table(model, None), Mix.of(model)
    H, base, end = np.zeros(model.servers), 0.0, 0
    while True:
        jobs = draw(table, seed, 1, 2, np.arange(end, end + BLOCK))
        found = np.flatnonzero(jobs.need == model.servers)
        last = int(found[0]) + 1 if found.size else BLOCK
        H, base = reference.pile_block(H, base, jobs.need[:last], jobs.service[:last])
        end += last
        if found.size:
            break
    assert np.all(H == 0)
    for form in FORMS:
        ours = np.zeros((1, model.servers))
        heap = new_heap(1, len(model.classes), len(mix.blocking))
        regenerate(table, mix.blockers, form, np.uint64(seed), 1, 2, 0, ours, heap)
        np.testing.assert_array_equal(ours[0], H)
        assert (heap.base[0], heap.jobs[0].sum()) == (base, end)


@settings(max_examples=40)
@given(models(), seeds)
def test_random_assignment(model: Model, seed: int) -> None:
    table, mix, s = job_table(model, None), Mix.of(model), model.servers
    H, base, lost = np.zeros(s), 0.0, 0.0
    for first in range(0, 3 * BLOCK, BLOCK):
        jobs = draw(table, seed, 1, 4, np.arange(first, first + BLOCK))
        for j, (a, sigma) in enumerate(zip(jobs.need, jobs.service, strict=True)):
            moved = min(a, s - a)
            H, loss = reference.random_step(H, a, sigma, picks(seed, 1, 4, first + j, moved, s))
            lost += loss
        H, base = H - H.min(), base + H.min()
    ours = flat_piles(table, mix, 5)
    task = Pile(table, seed, 1, np.arange(5), needs_of(model), mix.blockers, random=True)
    engine.CpuEngine().run(task, ours, 0, 3 * BLOCK)
    np.testing.assert_array_equal(ours.heights[4], H)
    assert ours.heap.base[4] == base
    np.testing.assert_allclose(ours.heap.loss[4], lost, rtol=1e-9)


SPECIFIC = {"need": 2, "specific": 1, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}


@pytest.mark.parametrize("model", ["two-class-200", {"servers": 9, "classes": [SPECIFIC]}], ids=["runs", "kinds"])
def test_piles_that_are_not_observed(model: Any) -> None:
    """They do without losses; all else stays."""
    model = load(model)
    table, mix = job_table(model, None), Mix.of(model)
    seen, unseen = flat_piles(table, mix, 3), flat_piles(table, mix, 3)
    for piles, observe in ((seen, True), (unseen, False)):
        task = Pile(table, 7, 1, np.arange(3), needs_of(model), mix.blockers, observe=observe)
        engine.CpuEngine().run(task, piles, 0, 3 * BLOCK)
    assert (seen.heap.loss > 0).all()
    assert (unseen.heap.loss == 0).all()
    np.testing.assert_array_equal(seen.heights, unseen.heights)
    for name in ("base", "jobs", "service", "blocked", "longest"):
        np.testing.assert_array_equal(getattr(seen.heap, name), getattr(unseen.heap, name), err_msg=name)


def run(model: Model, cuts: list[int], threads: int, rows: int = 5) -> ForwardState:
    table, needs = job_table(model, 0.7 * model.ideal), needs_of(model)
    chains = empty_chains(table, needs, rows, model.mean_service)
    task = Forward(table, 11, 0, np.arange(rows), needs, np.arange(rows), True)
    for begin, end in itertools.pairwise(cuts):
        engine.CpuEngine(threads).run(task, chains, begin, end)
    return chains


@pytest.mark.parametrize("name", builtin_names())
def test_cutting_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks, pieces and threads: the same bits, tallies included."""
    model = load(name)
    whole = arrays_of(run(model, [0, 48 * BLOCK], 1))
    for cuts, threads, piece in (
        ([0, 48 * BLOCK], 3, 8 * BLOCK),
        ([0, BLOCK, 20 * BLOCK, 48 * BLOCK], 2, 1 << 20),
        ([0, 48 * BLOCK], 2, BLOCK),
    ):
        monkeypatch.setattr(engine, "CUT", piece)
        for field, array in arrays_of(run(model, cuts, threads)).items():
            np.testing.assert_array_equal(whole[field], array, err_msg=field)


def test_replicas_do_not_depend_on_their_company() -> None:
    model = load("five-class-erlang")
    many = run(model, [0, 16 * BLOCK], 2, rows=7)
    few = run(model, [0, 16 * BLOCK], 2, rows=3)
    one = run(model, [0, 16 * BLOCK], 1, rows=1)  # the others take turns
    for field, array in arrays_of(few).items():
        np.testing.assert_array_equal(arrays_of(many)[field][:3], array, err_msg=field)
        np.testing.assert_array_equal(array[:1], arrays_of(one)[field], err_msg=field)


@pytest.mark.parametrize("name", ["one-or-all", "borg-cell-b", "two-class-200"])
def test_large_models_in_both_forms(name: str) -> None:
    """The forms agree on the clusters that hypothesis does not reach."""
    model = load(name)
    table, needs = job_table(model, 0.9 * model.ideal), needs_of(model)
    found = []
    for form in FORMS:
        W, tally = np.zeros((1, model.servers)), new_tally(1, len(needs.need), model.mean_service)
        numbers = np.arange(1), np.arange(1), 0, 100 * BLOCK, True
        forward(table, needs, form, 32, np.uint64(3), 0, *numbers, W, nowhere(1), tally)
        found.append((W, tally))
    for W, _ in found[1:]:
        np.testing.assert_array_equal(found[0][0], W)
    for dense, runs, layered in zip(*(tally for _, tally in found), strict=True):
        np.testing.assert_allclose(dense, runs, rtol=1e-10)
        np.testing.assert_array_equal(runs, layered)


def exponential(need: int, probability: float, mean: float) -> JobClass:
    return JobClass(need=need, probability=probability, service=Exponential(mean=mean))


# Thousands side by side with a rare large job; and long jobs among short ones, which are few: the list of the old runs
# changes for none of them, so that more subtractions are due to it than are noted.
LARGE = {
    "one or half": Model(servers=3000, classes=(exponential(1, 0.999, 1.0), exponential(1500, 0.001, 1.0))),
    "long among short": Model(servers=2000, classes=(exponential(1, 0.999, 1.0), exponential(1, 0.001, 1e5))),
}


@pytest.mark.parametrize("name", LARGE)
def test_layers_of_large_clusters(name: str) -> None:
    """Piles and chains, in two runs and looked at, where lists are merged many times: all that run lists give."""
    model, found = LARGE[name], []
    needs, mix = needs_of(model), Mix.of(model)
    busy = np.random.default_rng(1).exponential(1e4, (1, model.servers // 2))
    start = np.sort(np.hstack([busy, np.zeros((1, model.servers - busy.size))]))
    for form in (RUNS, LAYERED):
        H, heap = np.zeros((1, model.servers)), new_heap(1, len(model.classes), len(mix.blocking))
        W, tally = start.copy(), new_tally(1, len(needs.need), model.mean_service)
        for first, last in itertools.pairwise((0, 5 * BLOCK, (layers.MOST_LATE + 60) * BLOCK)):
            numbers = 32, np.uint64(3), 0
            rest = np.arange(1), np.arange(1), first, last, True, W, nowhere(1), tally
            forward(job_table(model, 0.8 * model.ideal), needs, np.array([form]), *numbers, *rest)
            rest = 0, first, last, H, nowhere(1), heap
            pile(job_table(model, None), needs, mix.blockers, np.array([form]), *numbers, *rest)
        found.append((H, W, *heap, *tally))
    for runs, layered in zip(*found, strict=True):
        np.testing.assert_array_equal(runs, layered)
    assert np.isfinite(found[0][0]).all()
    assert found[0][3].sum() > 0 or name != "one or half"  # losses


def test_a_stale_kernel_cannot_run(tmp_path: Path) -> None:
    """Numba looks at a function's own file only; our cache key changes with any source a kernel can draw on."""
    code_generator = cpu_target.target_context.codegen()
    for kernel in (_forward, _backward, _pile, _draw_block):
        assert kernel._cache.found._index_key((), code_generator)[-1] == FINGERPRINT
    package = Path(engine.__file__).parents[2]
    copy = tmp_path / "loynes"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert fingerprint(copy) == FINGERPRINT
    with (copy / "inputs" / "philox.py").open("a") as source:
        source.write("# changed\n")
    assert fingerprint(copy) != FINGERPRINT
