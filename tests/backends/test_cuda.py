"""CUDA kernels: their sources compile for every form of the state; and, where there is a GPU, each is held against the
reference and the CPU, bit for bit in double precision."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import arriving
from loynes.errors import UsageError
from loynes.inputs.arrivals import start_places
from loynes.inputs.jobs import draw
from loynes.inputs.philox import words
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.backends import chosen, engine_of
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cuda import compiled, walks
from loynes.kernels.cuda import engine as engine_module
from loynes.kernels.cuda.device import SLOW_DOUBLES, Kernel, missing
from loynes.kernels.cuda.random_shape import shape_of_random
from loynes.kernels.cuda.warming import asked_for
from loynes.kernels.engine import Backward, Engine, Forward, Perfect, Pile, Regeneration, SampleState, Sandwich
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import use_runs
from loynes.model import Model, builtin_names, load
from loynes.questions.evaluate import evaluate
from loynes.questions.exact import exact
from loynes.questions.stability import stability
from loynes.threshold.controls import Mix
from support import LAWS, empty_chains, flat_piles, pairs_up_to, unsampled

PLAIN = [name for name in builtin_names() if load(name).plain]
THREAD, WARP, FRONT, RUNS = compiled.THREAD, compiled.WARP, compiled.FRONT, compiled.RUNS
gpu = pytest.mark.skipif(missing() is not None, reason="no GPU")
compiler = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")

# Servers, needs: every form of the state, sizes that divide by 32 and that do not, needs around lanes and segments.
SIZES = [
    (1, [1]),
    (5, [1, 3]),
    (20, [1, 2, 5, 10, 15]),
    (33, [2, 7, 33]),
    (64, [1, 64]),
    (100, [1, 3, 4, 31, 32, 33, 99]),
    (256, [1, 8, 256]),
    (600, [1, 5, 19, 20, 300, 600]),
    (1024, [1, 16, 17, 512, 513]),
    (2048, [1, 2, 20, 256, 2000]),
    (2500, [3, 640, 2500]),
]


def model_of(servers: int, needs: list[int], law: str = "erlang") -> Model:
    classes = [
        {"need": need, "probability": 1 / len(needs), "service": LAWS[law] if i else LAWS["exponential"]}
        for i, need in enumerate(needs)
    ]
    return load({"servers": servers, "classes": classes})


def with_specific(discipline: str) -> Model:
    """Specific servers of one kind, of the other, of both and of none."""
    needs: list[tuple[dict[str, int], dict[str, int]]] = [
        ({"cpu": 1}, {"gpu": 1}),
        ({"cpu": 3, "gpu": 1}, {"cpu": 9}),
        ({"cpu": 20, "gpu": 3}, {}),
        ({}, {"cpu": 45, "gpu": 6}),
    ]
    classes = [
        {"need": need, "specific": specific, "probability": 0.25, "service": LAWS["erlang" if i else "exponential"]}
        for i, (need, specific) in enumerate(needs)
    ]
    return load({"resources": {"cpu": 70, "gpu": 9}, "classes": classes, "discipline": discipline})


def tables(servers: int, needs: list[int]) -> JobTable:
    model = model_of(servers, needs)
    return job_table(model, 0.5 * model.ideal)


def forms(table: JobTable, bits: int, chains: int = 1) -> list[int]:
    """The forms that can hold a model."""
    each = chains * table.servers
    found = [FRONT, RUNS]
    if each <= compiled.MOST_IN_THREAD[bits]:
        found.append(THREAD)
    if each <= compiled.MOST_IN_WARP[bits]:
        found.append(WARP)
    return found


def compile_source(source: str, folder: Path) -> None:
    path = folder / "kernel.cu"
    path.write_text(source)
    options = [*compiled.OPTIONS, "-arch=sm_90", "-ptx", f"-I{compiled.SOURCES}", "-o", str(folder / "kernel.ptx")]
    done = subprocess.run(["nvcc", *options, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


@compiler
@pytest.mark.parametrize("kernel", ["forward", "pile", "backward", "sandwich", "given"])
@pytest.mark.parametrize(
    ("name", "form"),
    [("five-class-pareto", THREAD), ("one-or-all", WARP), ("one-or-all", FRONT), ("cpu-gpu-mix", compiled.RUNS)],
)
def test_sources_compile(kernel: str, name: str, form: int, tmp_path: Path) -> None:
    bits, chains = (32, 2) if kernel == "sandwich" else (64, 1)
    table = job_table(load(name), None if kernel == "pile" else 1.0)
    shape = compiled.shape_of(table, 2 if kernel == "pile" else 0, bits=bits, chains=chains, form=form)
    compile_source(shape.source(kernel), tmp_path)


@compiler
def test_sources_that_draw_servers_compile(tmp_path: Path) -> None:
    compile_source(compiled.shape_of(job_table(with_specific("reserving"), 1.0)).source("forward"), tmp_path)
    for form in compiled.RANDOM:
        drawn_at_random = job_table(load("five-class-pareto").with_discipline("random"), None)
        compile_source(shape_of_random(drawn_at_random, 2, form=form).source("pile"), tmp_path)


@compiler
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("sessions of gaps", "walk"),
        ("a cycle with a mix, kinds", "walk"),
        ("phases with a mix", "forward"),
        ("sessions in phases with a mix", "pile"),
        ("batches in phases", "sandwich"),
        ("erlang gaps", "backward"),
    ],
)
def test_sources_of_arrivals_compile(name: str, kernel: str, tmp_path: Path) -> None:
    case = arriving.CASES[name]
    table, chains = job_table(case.model, None if kernel == "pile" else 1.0), 2 if kernel == "sandwich" else 1
    shape = compiled.shape_of(table, bits=32, chains=chains, form=case.form)
    compile_source((compiled.walk_shape(shape) if kernel == "walk" else shape).source(kernel), tmp_path)


def test_form_by_size() -> None:
    for name in PLAIN:
        table = job_table(load(name), 1.0)
        shape = compiled.shape_of(table)
        assert shape.form == {"one-or-all": FRONT, "two-class-200": WARP, "borg-cell-b": RUNS}.get(name, THREAD)
        assert shape.shared <= compiled.MOST_SHARED
    many = load(
        {
            "servers": 4096,
            "classes": [{"need": n, "probability": 1 / 100, "service": LAWS["uniform"]} for n in range(1, 101)],
        }
    )
    assert compiled.shape_of(job_table(many, 1.0)).form == RUNS


def test_without_a_gpu() -> None:
    five = job_table(load("five-class-exponential"), 1.0)
    if missing() is None:
        assert engine_of("cuda").name == "cuda"
        assert chosen("auto", 1e9, five) == "cuda"
    else:
        with pytest.raises(UsageError, match=r"backend 'cuda': (CuPy is not installed|there is no)"):
            engine_of("cuda")
        assert chosen("auto", 1e9, five) == "cpu"
    assert chosen("auto", 0.1, five) == "auto"
    assert chosen("auto", 1e9, five._replace(servers=100_000)) == "auto"
    mix = load("cpu-gpu-mix")
    assert chosen("auto", 1e9, job_table(mix, 1.0)) == chosen("auto", 1e9, five)
    assert chosen("auto", 1e9, job_table(mix.with_discipline("random"), 1.0)) == chosen("auto", 1e9, five)
    assert chosen("auto", 1e9, job_table(load("cpu-memory-mix"), 1.0)) == chosen("auto", 1e9, five)
    assert chosen("auto", 1e9, job_table(arriving.CASES["phases with a mix"].model, 1.0)) == chosen("auto", 1e9, five)
    assert chosen("cuda", 0.0, five) == "cuda"
    with pytest.raises(UsageError, match="must be one of auto, cpu, cuda, cuda:64"):
        engine_of("tpu")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("evaluate one-or-all --backend cuda", True),
        ("evaluate one-or-all --backend=cuda:64 -q", True),
        ("evaluate cuda --backend cpu", False),
        ("evaluate one-or-all", False),
        ("evaluate one-or-all --backend", False),
    ],
)
def test_command_lines_that_name_the_gpu(line: str, named: bool) -> None:
    assert asked_for(line.split()) is named


def test_forms_that_draw_servers() -> None:
    for name in builtin_names():
        model = load(name).with_discipline("random")
        table = job_table(model, None)
        assert compiled.shape_of(table).form == compiled.WIDE_KINDS
        for bits in (32, 64):
            assert compiled.shape_of(table, bits=bits).shared <= compiled.MOST_SHARED
            if len(model.kinds) == 1:
                shape = shape_of_random(table, bits=bits)
                assert shape.shared <= compiled.MOST_SHARED
                assert shape.form == compiled.RANDOM[int(model.servers > compiled.MOST_IN_THREAD[bits])]


def test_full_memory_halves_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that holds seven samples: all are made, each once, in parts."""

    class FullError(Exception):
        pass

    freed = []
    pool = SimpleNamespace(free_all_blocks=lambda: freed.append(True))
    memory = SimpleNamespace(OutOfMemoryError=FullError)
    fake = SimpleNamespace(cuda=SimpleNamespace(memory=memory), get_default_memory_pool=lambda: pool)
    monkeypatch.setattr(engine_module, "cupy", lambda: fake)
    made: list[int] = []

    def take(kernel: Any, options: Any, state: SampleState, look: Any) -> None:
        if len(state.workload) > 7:
            raise FullError
        numbers = range(int(options[1]), int(options[1]) + len(state.workload))
        made.extend(numbers)
        state.workload[:] = np.array(numbers)[:, None]

    monkeypatch.setattr(engine_module, "_take_samples", take)
    table = tables(2, [1, 2])
    task, samples = Backward(table, 5, 0, np.arange(100, 150), BLOCK, 1 << 12, confirmations=1), unsampled(table, 50)
    engine_module._samples(None, task, (), samples, (0, 50), None)
    assert made == list(range(100, 150))
    assert samples.workload[:, 0].tolist() == made
    assert freed


@gpu
def test_words() -> None:
    import cupy as cp

    table = tables(20, [1, 2])
    for seed in (0, 1, 0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDEF):
        kernel = Kernel("words", compiled.shape_of(table, bits=64), table, seed)
        for first in (-(2**40), -64, 0, 2**32 - 500, 2**50):
            out = cp.zeros((1000, 4), cp.uint32)
            kernel(1000, np.uint32(3), np.uint32(77), np.int64(first), np.int32(1000), out)
            expected = np.stack(words(seed, 3, 77, np.arange(first, first + 1000)), axis=1)
            np.testing.assert_array_equal(out.get(), expected.astype(np.uint32))


def drawn(table: JobTable, bits: int, count: int, first: int = -5000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import cupy as cp

    shape = compiled.shape_of(table, bits=bits)
    kernel = Kernel("drawn", shape, table, 9)
    job_class = cp.zeros(count, cp.int32)
    service, gap = cp.zeros(count, shape.real), cp.zeros(count, shape.real)
    teams = count if shape.lanes == 1 else -(-count // 32)
    kernel(teams, np.uint32(0), np.uint32(5), np.int64(first), np.int32(count), job_class, service, gap)
    return job_class.get(), service.get(), gap.get()


@gpu
@pytest.mark.parametrize("law", sorted(LAWS))
def test_jobs_in_double_are_the_reference(law: str) -> None:
    model = model_of(20, [1, 5, 20], law)
    table = job_table(model, 0.5 * model.ideal)
    expected = draw(table, 9, 0, 5, np.arange(-5000, 95_000))
    job_class, service, gap = drawn(table, 64, 100_000)
    np.testing.assert_array_equal(job_class, expected.job_class)
    np.testing.assert_array_equal(service, expected.service)
    np.testing.assert_array_equal(gap, expected.gap)


@gpu
@pytest.mark.parametrize("law", sorted(LAWS))
def test_jobs_in_float_are_close(law: str) -> None:
    """To 1.5 units of the last place, where doubles are fast."""
    import cupy as cp

    model = model_of(20, [1, 5, 20], law)
    table = job_table(model, 0.5 * model.ideal)
    count = 4_000_000
    expected = draw(table, 9, 0, 5, np.arange(-5000, count - 5000))
    job_class, service, gap = drawn(table, 32, count)
    np.testing.assert_array_equal(job_class, expected.job_class)
    most = 1.5 if cp.cuda.Device().attributes["SingleToDoublePrecisionPerfRatio"] <= SLOW_DOUBLES else 3.5
    for ours, theirs in ((service, expected.service), (gap, expected.gap)):
        assert np.max(np.abs(ours - theirs) / np.spacing(theirs.astype(np.float32)).astype(float)) <= most


@gpu
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("servers", "needs"), SIZES)
def test_given_jobs(servers: int, needs: list[int], bits: int) -> None:
    """The whole trajectory on the same jobs, in every form: bit for bit the reference's (in float: its own)."""
    import cupy as cp

    table = tables(servers, needs)
    rng = np.random.default_rng(servers)
    blocks = 12
    real = np.float32 if bits == 32 else np.float64
    need = rng.choice(needs, blocks * BLOCK)
    service = rng.exponential(1.0, blocks * BLOCK).astype(real)
    gap = rng.exponential(1.2 * float(np.mean(need)) / servers, blocks * BLOCK).astype(real)
    # Runs as long as the least need, but for the first: as jobs make them.
    start = np.repeat(np.sort(rng.exponential(1.0, servers)), min(needs))[-servers:].astype(real)
    expected, waits, W = [], [], start
    for first in range(0, blocks * BLOCK, BLOCK):
        part = slice(first, first + BLOCK)
        W, wait = block_of(W, need[part], service[part], gap[part])
        expected.append(W)
        waits.append(wait)
    for form in forms(table, bits):
        shape = compiled.shape_of(table, bits=bits, form=form, roomy=True)
        kernel = Kernel("given", shape, table, 0)
        kind = np.array([shape.by_odds.index(n) for n in need]) if form == WARP else need
        trajectory, wait = cp.zeros((blocks, servers), real), cp.zeros(blocks * BLOCK, real)
        kernel(
            1, np.int32(blocks), cp.asarray(need.astype(np.int32)), cp.asarray(kind.astype(np.int32)),
            cp.asarray(service), cp.asarray(gap), cp.asarray(start), trajectory, wait,
        )  # fmt: skip
        np.testing.assert_array_equal(trajectory.get(), np.array(expected), err_msg=compiled.FORMS[form])
        np.testing.assert_array_equal(wait.get(), np.concatenate(waits), err_msg=compiled.FORMS[form])


def block_of(W: np.ndarray, need: np.ndarray, service: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """reference.advance_block in the arrays' own precision."""
    if W.dtype == np.float64:
        after, wait, _ = reference.advance_block(W, need, service, gap)
        return after, wait
    W, now, wait = W.copy(), np.float32(0), np.empty(len(need), np.float32)
    for j, a in enumerate(need):
        start = max(now, W[a - 1])
        wait[j] = start - now
        shifted = np.concatenate([W[a:], np.full(a, np.inf, np.float32)])
        W = np.minimum(shifted, np.maximum(start + service[j], W))
        now = now + gap[j]
    return np.maximum(W - now, np.float32(0)), wait


def engines() -> tuple[Engine, Engine]:
    return engine_of("cpu"), engine_of("cuda:64")


@gpu
@pytest.mark.parametrize(("servers", "needs"), SIZES)
def test_forward_and_sandwich_are_the_cpu_s(servers: int, needs: list[int]) -> None:
    model = model_of(servers, needs)
    table, distinct = job_table(model, 0.4 * model.ideal), needs_of(model)
    rows, jobs = 5, 40 * BLOCK
    found = []
    for engine in engines():
        chains, pairs = empty_chains(table, distinct, rows), pairs_up_to(table, 30.0, rows)
        engine.run(Forward(table, 3, 0, np.arange(7, 7 + rows), distinct, np.arange(rows), False), chains, 0, jobs)
        engine.run(Sandwich(table, 3, 0, np.arange(rows)), pairs, 0, jobs)
        found.append((chains.workload, *pairs))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@gpu
@pytest.mark.parametrize("name", PLAIN)
def test_observed_waits_are_the_cpu_s(name: str) -> None:
    """Looks once a block, so against the reference run block by block."""
    model = load(name)
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    rows, blocks = 3, 30
    chains = empty_chains(table, needs, rows, model.mean_service)
    task, tally = Forward(table, 1, 0, np.arange(rows), needs, np.arange(rows), True), chains.tally
    engine_of("cuda:64").run(task, chains, 0, blocks * BLOCK)
    assert tally.looks.tolist() == [blocks] * rows
    assert (tally.bins.sum(axis=2) == blocks).all()
    for r in range(rows):
        state, wait, loss = np.zeros(model.servers), np.zeros(len(needs.need)), 0.0
        for first in range(0, blocks * BLOCK, BLOCK):
            wait += state[needs.need - 1]
            loss += sum(w * np.sum(state[n - 1] - state[:n]) for n, w in zip(needs.need, needs.weight, strict=True))
            jobs = draw(table, 1, 0, r, np.arange(first, first + BLOCK))
            state, _, _ = reference.advance_block(state, jobs.need, jobs.service, jobs.gap)
        np.testing.assert_allclose(tally.wait[r], wait, rtol=1e-13)
        np.testing.assert_allclose(tally.loss[r], loss, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(chains.workload[r], state)


@gpu
@pytest.mark.parametrize(("servers", "needs"), SIZES)
def test_piles_are_the_cpu_s(servers: int, needs: list[int]) -> None:
    model = model_of(servers, needs)
    table, distinct, mix = job_table(model, None), needs_of(model), Mix.of(model)
    rows, jobs = 6, 30 * BLOCK
    found = []
    for engine in engines():
        piles = flat_piles(table, mix, rows)
        engine.run(Pile(table, 3, 1, np.arange(rows), distinct, mix.blockers), piles, 0, jobs)
        piles.heap.loss[:] = 0.0
        if max(needs) == servers:
            engine.run(Regeneration(table, 3, 1, np.arange(rows), mix.blockers, jobs), piles, 0, rows)
        found.append((piles.heights, *piles.heap))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@gpu
@pytest.mark.parametrize(("servers", "needs"), SIZES)
def test_samples_are_the_cpu_s(servers: int, needs: list[int]) -> None:
    model = model_of(servers, needs)
    table = job_table(model, 0.35 * model.ideal)
    replicas = np.arange(11, 51)
    for task in (
        Backward(table, 5, 0, replicas, 2 * BLOCK, 1 << 20, confirmations=1),
        Perfect(table, 5, 0, replicas, BLOCK, 1 << 20, ceiling=20.0, rise=1.5),
    ):
        found = []
        for engine in engines():
            samples = unsampled(table, len(replicas))
            engine.run(task, samples, 0, 15)
            engine.run(task, samples, 15, len(replicas))
            found.append(samples)
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_array_equal(theirs, ours)


@gpu
@pytest.mark.parametrize("discipline", ["fcfs", "reserving"])
@pytest.mark.parametrize("name", ["cpu-gpu-mix", "cpu-memory-mix"])
def test_several_kinds_are_the_cpu_s(name: str, discipline: str) -> None:
    model = load(name).with_discipline(discipline)
    table, needs, mix = job_table(model, 0.4 * model.ideal), needs_of(model), Mix.of(model)
    rows, jobs = 3, 20 * BLOCK
    found: list[list[np.ndarray]] = []
    replicas, sampled = np.arange(rows), np.arange(11, 19)
    for engine in engines():
        chains, piles = empty_chains(table, needs, rows), flat_piles(table, mix, rows)
        engine.run(Forward(table, 3, 0, replicas, needs, replicas, False), chains, 0, jobs)
        engine.run(Pile(job_table(model, None), 3, 1, replicas, needs, mix.blockers), piles, 0, jobs)
        piles.heap.loss[:] = 0.0
        found.append([chains.workload, piles.heights, *piles.heap])
        tasks = [Backward(table, 5, 0, sampled, 2 * BLOCK, 1 << 20, confirmations=1)]
        if name != "cpu-memory-mix":  # a pair of its states in double is more than a multiprocessor holds
            tasks.append(Perfect(table, 5, 0, sampled, 2 * BLOCK, 1 << 20, ceiling=20.0, rise=1.5))
        for task in tasks:
            samples = unsampled(table, len(sampled))
            engine.run(task, samples, 0, len(sampled))
            found[-1] += samples
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@gpu
@pytest.mark.parametrize(
    "model",
    [
        with_specific("fcfs"),
        with_specific("reserving"),
        with_specific("random"),
        model_of(1100, [1, 40, 150]).with_discipline("random"),
    ],
    ids=["fcfs", "reserving", "random", "one kind, random"],
)
def test_specific_servers_are_the_cpu_s(model: Model) -> None:
    table, needs, mix = job_table(model, 0.3 * model.ideal), needs_of(model), Mix.of(model)
    rows, jobs = 7, 12 * BLOCK
    found: list[list[np.ndarray]] = []
    replicas, sampled = np.arange(rows), np.arange(11, 19)
    for engine in engines():
        chains, pairs = empty_chains(table, needs, rows), pairs_up_to(table, 9.0, rows)
        engine.run(Forward(table, 3, 0, replicas, needs, replicas, True), chains, 0, jobs)
        engine.run(Sandwich(table, 3, 0, replicas), pairs, 0, jobs)
        piles = flat_piles(table, mix, rows)
        engine.run(Pile(job_table(model, None), 3, 1, replicas, needs, mix.blockers), piles, 0, jobs)
        piles.heap.loss[:] = 0.0
        found.append([chains.workload, *pairs, piles.heights, *piles.heap])
        for task in (
            Backward(table, 5, 0, sampled, BLOCK, 1 << 14, confirmations=1),
            Perfect(table, 5, 0, sampled, BLOCK, 1 << 14, ceiling=9.0, rise=1.5),
        ):
            samples = unsampled(table, len(sampled))
            engine.run(task, samples, 0, len(sampled))
            found[-1] += samples
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    # What was observed, once a block, against CPU chains that look as rarely.
    tally, (W, places, seen) = chains.tally, empty_chains(table, needs, rows)
    numbers = replicas, replicas, 0, jobs, True
    forward(table, needs, use_runs(table), BLOCK, np.uint64(3), 0, *numbers, W, places, seen)
    for theirs, ours in zip(tally[1:], seen[1:], strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)


@gpu
@pytest.mark.parametrize(
    ("servers", "needs"),
    [(1, [1]), (9, [1, 2, 5, 9]), (64, [1, 7, 33, 64]), (70, [1, 3, 33, 40, 70]), (2048, [1, 2, 100, 1100, 2000])],
)
def test_random_piles_are_the_cpu_s(servers: int, needs: list[int]) -> None:
    """Who is where, too; losses are summed in another order."""
    model = model_of(servers, needs).with_discipline("random")
    table, distinct, mix = job_table(model, None), needs_of(model), Mix.of(model)
    rows, jobs, found = 37, 20 * BLOCK, []
    for engine in engines():
        piles = flat_piles(table, mix, rows)
        engine.run(Pile(table, 3, 1, np.arange(rows), distinct, mix.blockers, random=True), piles, 0, jobs)
        found.append((piles.heights, *piles.heap))
    for name, ours, theirs in zip(("heights", *piles.heap._fields), *found, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-12 if name == "loss" else 0.0, err_msg=name)


@gpu
@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("name", list(arriving.CASES))
def test_arrivals_are_the_cpu_s(name: str, short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows as long as they are, and so short that a few hundred jobs take several."""
    case, chosen_shape = arriving.CASES[name], compiled.shape_of
    if short:
        monkeypatch.setattr(walks, "MOST_JOBS", 2 * BLOCK)

    def shape_of(*arguments: Any, **options: Any) -> compiled.Shape:
        return chosen_shape(*arguments, **(options | {"form": case.form}))

    monkeypatch.setattr(engine_module, "shape_of", shape_of)
    arriving.check_chains_and_pairs(case.model, engine_of("cuda:64"))
    arriving.check_samples(case.model, engine_of("cuda:64"))
    arriving.check_piles(case.model, engine_of("cuda:64"))
    arriving.check_floats(case.model, engine_of("cuda"))


@gpu
def test_many_rows_of_arrivals() -> None:
    """As many rows as run at a time, and more: their windows are short, their samples are taken in parts."""
    model = arriving.CASES["sessions in phases with a mix"].model
    table, needs, jobs = job_table(model, 0.5 * model.ideal), needs_of(model), 100 * BLOCK
    rows = 40_000
    replicas, found = np.arange(rows), []
    start = start_places(table.arrivals, 7, 0, replicas)
    for run, some in ((engine_of("cuda:64"), replicas), (engine_of("cpu"), replicas[::97])):
        chains = empty_chains(table, needs, len(some), groups=1)
        chains.places[:] = start[some]
        run.run(Forward(table, 7, 0, some, needs, np.zeros(len(some), np.int64), False), chains, 0, jobs)
        found.append((chains.workload, chains.places))
    for ours, theirs in zip(*reversed(found), strict=True):
        np.testing.assert_array_equal(theirs[::97], ours)
    task, samples = Backward(table, 5, 0, replicas, BLOCK, 1 << 14, confirmations=1), unsampled(table, rows)
    engine_of("cuda:64").run(task, samples, 0, rows)
    known = unsampled(table, 500)
    engine_of("cpu").run(task, known, 0, 500)
    for ours, theirs in zip(known, samples, strict=True):
        np.testing.assert_array_equal(theirs[:500], ours)


@gpu
@pytest.mark.parametrize("bits", ["cuda", "cuda:64"])
@pytest.mark.parametrize("method", ["sandwich", "perfect", "forward"])
def test_evaluate(method: str, bits: str) -> None:
    """Against the exact waits; a 99.9% interval misses one of the twelve in a hundred runs of this test."""
    known = exact("five-class-exponential", load=0.75)
    found = evaluate("five-class-exponential", load=0.75, method=method, confidence=0.999, backend=bits, seed=3)
    assert found.backend == "cuda"
    for name, waits in found.classes.items():
        assert waits.wait.mean.low <= known.classes[name].mean <= waits.wait.mean.high, name
    assert found.overall.no_wait.low <= known.no_wait <= found.overall.no_wait.high


@gpu
def test_threshold() -> None:
    found = stability("five-class-exponential", precision=0.002, backend="cuda")
    assert found.threshold.low <= 1.800855359117 <= found.threshold.high


@gpu
@pytest.mark.parametrize("name", PLAIN)
def test_float_chains_stay_close_to_double_ones(name: str) -> None:
    model = load(name)
    table, needs = job_table(model, 0.3 * model.ideal), needs_of(model)
    found = []
    for backend in ("cuda", "cuda:64"):
        chains = empty_chains(table, needs, 4)
        task = Forward(table, 2, 0, np.arange(4), needs, np.arange(4), True)
        engine_of(backend).run(task, chains, 0, 200 * BLOCK)
        found.append(chains.workload)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-4 * model.mean_service)
