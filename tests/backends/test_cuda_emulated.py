"""The CUDA engine and its kernels on a CPU, where there is a C++ compiler: the same sources and the same engine against
the CPU's kernels, bit for bit in double precision. On a GPU `test_cuda.py` does the same and more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backends.emulated import emulator
from loynes.inputs.jobs import draw
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels.cpu import engine as cpu
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cuda import compiled
from loynes.kernels.cuda import engine as cuda
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import use_runs
from loynes.kernels.tally import new_heap, new_tally
from loynes.model import Model, load
from loynes.threshold.controls import Mix
from support import LAWS, nowhere

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="no C++ compiler")


def model_of(units: int | dict[str, int], *needs: Any, law: str = "erlang", discipline: str | None = None) -> Model:
    classes = [
        {"need": need, "probability": 1 / len(needs), "service": LAWS[law if i else "exponential"]}
        for i, need in enumerate(needs)
    ]
    cluster = {"resources": units} if isinstance(units, dict) else {"servers": units}
    return load(cluster | {"classes": classes, "discipline": discipline})


TWO = ({"cpu": 12, "gpu": 3}, {"cpu": 1}, {"cpu": 4, "gpu": 1}, {"cpu": 6, "gpu": 3}, {"gpu": 2})
CASES = {
    "thread": (model_of(9, 1, 2, 5, 9), compiled.THREAD),
    "warp": (model_of(70, 1, 3, 33, 70), compiled.WARP),
    "warp in segments": (model_of(600, 1, 19, 300), compiled.WARP),
    "wide": (model_of(70, 1, 3, 33, 70), compiled.WIDE),
    "kinds, thread": (model_of(*TWO), compiled.THREAD_KINDS),
    "kinds, wide": (model_of(*TWO), compiled.WIDE_KINDS),
    "kinds, thread, reserving": (model_of(*TWO, discipline="reserving"), compiled.THREAD_KINDS),
    "kinds, wide, reserving": (model_of(*TWO, discipline="reserving"), compiled.WIDE_KINDS),
    "three kinds, wide": (
        model_of({"a": 40, "b": 33, "c": 2}, {"a": 1, "b": 32}, {"a": 40}, {"b": 3, "c": 2}),
        compiled.WIDE_KINDS,
    ),
}


@pytest.fixture
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory):
    """An engine that puts models into the asked form."""
    emulator.Kernel.folder = tmp_path_factory.getbasetemp()
    monkeypatch.setattr(cuda, "cupy", emulator.cupy)
    monkeypatch.setattr(cuda, "Kernel", emulator.Kernel)
    name, bits = request.param
    form = CASES[name][1]
    chosen = compiled.shape_of

    def shape_of(table: JobTable, *arguments: Any, **options: Any) -> compiled.Shape:
        return chosen(table, *arguments, **(options | {"form": form}))

    monkeypatch.setattr(cuda, "shape_of", shape_of)
    return CASES[name][0], cuda.Engine(bits)


double = pytest.mark.parametrize("engine", [(name, 64) for name in CASES], indirect=True, ids=list(CASES))


@double
def test_chains_and_pairs(engine: tuple[Model, cuda.Engine]) -> None:
    model, gpu = engine
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    rows, jobs, found = 2, 6 * BLOCK, []
    for run in (cpu, gpu):
        W = run.hold(np.zeros((rows, model.servers)))
        tally = new_tally(1, len(needs.need), 1.0, len(model.kinds))
        numbers = np.arange(3, 3 + rows), np.zeros(rows, np.int64)
        run.run_forward(table, needs, 7, 0, *numbers, 0, jobs, run is gpu, W, tally)
        low, high = run.hold(np.zeros((rows, model.servers))), run.hold(np.full((rows, model.servers), 9.0))
        met = np.full(rows, -1, np.int64)
        run.run_sandwich(table, 7, 0, 0, jobs, low, high, met)
        found.append((run.fetch(W), run.fetch(low), run.fetch(high), met))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    # What was observed, once a block, against CPU chains that look as rarely.
    W, seen = np.zeros((rows, model.servers)), new_tally(rows, len(needs.need), 1.0, len(model.kinds))
    numbers = np.arange(3, 3 + rows), np.arange(rows)
    forward(table, needs, use_runs(table), BLOCK, np.uint64(7), 0, *numbers, 0, jobs, True, W, nowhere(rows), seen)
    assert tally.looks.sum() == seen.looks.sum()
    np.testing.assert_allclose(tally.wait[0], seen.wait.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(tally.square[0], seen.square.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(tally.loss[0], seen.loss.sum(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(tally.none[0], seen.none.sum(axis=0))
    np.testing.assert_array_equal(tally.bins[0], seen.bins.sum(axis=0))


@double
def test_piles(engine: tuple[Model, cuda.Engine]) -> None:
    model, gpu = engine
    table, needs, mix = job_table(model, None), needs_of(model), Mix.of(model)
    rows, jobs, found = 2, 4 * BLOCK, []
    for run in (cpu, gpu):
        H = run.hold(np.zeros((rows, model.servers)))
        heap = new_heap(rows, len(table.need), len(mix.blocking), len(model.kinds))
        run.run_pile(table, needs, mix.blockers, 3, 1, 0, jobs, H, heap)
        heap.loss[:] = 0.0
        if mix.regeneration > 0:
            run.run_regeneration(table, mix.blockers, 3, 1, jobs, H, heap)
        found.append((run.fetch(H), *heap))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@double
def test_samples(engine: tuple[Model, cuda.Engine]) -> None:
    model, gpu = engine
    table, count, found = job_table(model, 0.2 * model.ideal), 4, []
    for run in (cpu, gpu):
        for sample, options in ((run.run_backward, (BLOCK, 1, 1 << 12)), (run.run_perfect, (BLOCK, 1 << 12, 6.0, 1.0))):
            out = np.empty((count, model.servers)), np.empty(count, np.int64), np.empty(count, np.int64)
            sample(table, 5, 0, 11, *options, *out)
            found.append(out)
    for ours, theirs in ((found[0], found[2]), (found[1], found[3])):
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    "engine", [("thread", 32), ("warp", 32), ("kinds, thread", 32), ("kinds, wide", 32)], indirect=True
)
def test_floats_stay_close(engine: tuple[Model, cuda.Engine]) -> None:
    model, gpu = engine
    table, needs = job_table(model, 0.3 * model.ideal), needs_of(model)
    W, tally = gpu.hold(np.zeros((1, model.servers))), new_tally(1, len(needs.need), 1.0, len(model.kinds))
    gpu.run_forward(table, needs, 7, 0, np.arange(1), np.arange(1), 0, 4 * BLOCK, True, W, tally)
    V = np.zeros((1, model.servers))
    plain = new_tally(1, len(needs.need), 1.0, len(model.kinds))
    cpu.run_forward(table, needs, 7, 0, np.arange(1), np.arange(1), 0, 4 * BLOCK, False, V, plain)
    np.testing.assert_allclose(gpu.fetch(W), V, rtol=1e-4, atol=1e-4)


def off_by(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference, in units of the last place of ours."""
    return float(np.max(np.abs(ours - theirs) / np.spacing(theirs.astype(ours.dtype)).astype(float)))


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("engine", [("thread", 64)], indirect=True)
def test_jobs(engine: tuple[Model, cuda.Engine], law: str) -> None:
    model = model_of(9, 1, 5, law=law)
    table = job_table(model, 1.0)
    for bits, most in ((64, 0.0), (32, 1.5)):
        shape = compiled.shape_of(table, bits=bits, form=compiled.THREAD)
        kernel = emulator.Kernel("drawn", shape, table, 9)
        count = 2000
        out = [np.zeros(count, kind) for kind in (np.int32, shape.real, shape.real)]
        kernel(count, np.uint32(0), np.uint32(5), np.int64(-500), np.int32(count), *out)
        expected = draw(table, 9, 0, 5, np.arange(-500, count - 500))
        np.testing.assert_array_equal(out[0], expected.job_class)
        assert off_by(out[1], expected.service) <= most
        assert off_by(out[2], expected.gap) <= most


@pytest.mark.parametrize(("slow_doubles", "most"), [(False, 1.5), (True, 3.5)])
@pytest.mark.parametrize("engine", [("thread", 32)], indirect=True)
def test_exponential_times_in_float(engine: tuple[Model, cuda.Engine], slow_doubles: bool, most: float) -> None:
    """In units of the last place. Half of one is the rounding that any float has."""
    model = load({"servers": 2, "classes": [
        {"need": 1, "probability": 0.5, "service": {"law": "exponential", "mean": 1.7}},
        {"need": 2, "probability": 0.5, "service": {"law": "exponential", "mean": 0.3}},
    ]})  # fmt: skip
    table, count = job_table(model, 0.7), 1_000_000
    shape = compiled.shape_of(table, bits=32, form=compiled.THREAD)
    kernel = emulator.Kernel("drawn", shape, table, 4, slow_doubles)
    out = [np.zeros(count, kind) for kind in (np.int32, np.float32, np.float32)]
    kernel(count, np.uint32(0), np.uint32(5), np.int64(0), np.int32(count), *out)
    exact = draw(table, 4, 0, 5, np.arange(count))
    assert off_by(out[1], exact.service) <= most
    assert off_by(out[2], exact.gap) <= most
