"""The CUDA backend: the same tasks as kernels/cpu/engine.py, on a GPU.

Numbers are floats of 32 bits unless the engine is made for 64; sums are always doubles. A run takes the state to the
device and brings it back: a float that becomes a double and a float again is the same. Launches are kept short, so that
an interrupt is answered within a fraction of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import UsageError
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels import engine as kinds
from loynes.kernels.cuda import pasts
from loynes.kernels.cuda.compiled import Shape, shape_of
from loynes.kernels.cuda.device import Kernel, TooManyRunsError, cupy
from loynes.kernels.cuda.random_shape import shape_of_random
from loynes.kernels.cuda.walked import Arriving
from loynes.kernels.cuda.walks import Walks
from loynes.kernels.cuda.weights import Weights, first_columns, weighed_by
from loynes.kernels.engine import mapped
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BINS

# How long a launch should take, and how many blocks of jobs the first one makes.
LAUNCH_SECONDS = 0.2
FIRST_BLOCKS = 64
# What the CPU does sooner than a kernel would be compiled for it.
SHORT = (kinds.BlockBefore, kinds.PileInTime)
# A tally has at most so many rows; replicas share them.
MOST_GROUPS = 256


class CudaEngine:
    """The backend in numbers of 32 or of 64 bits."""

    name = "cuda"
    most_jobs = 4e11
    batch_bytes = 1 << 30

    def __init__(self, bits: int = 32) -> None:
        cupy()  # says what is missing
        self.bits = bits

    @staticmethod
    def groups_of(replicas: int) -> int:
        return min(replicas, MOST_GROUPS)

    def fitting_replicas(self, table: JobTable) -> int:
        """Replicas that fill the device, a whole number a group."""
        resident = Kernel("forward", shape_of(table, bits=self.bits), table, 0).resident
        return max(1, resident // MOST_GROUPS) * MOST_GROUPS

    @staticmethod
    def look_every(table: JobTable) -> int:
        return BLOCK

    def first_rows(self, rows: int) -> int:
        return max(1, rows // 4)

    def run(
        self, task: kinds.Task, state: kinds.AnyState, start: int, stop: int, look: kinds.Look | None = None
    ) -> None:
        if isinstance(task, SHORT) or (isinstance(task, kinds.Regeneration) and Arriving.of(task.table).walked):
            from loynes.kernels.cpu.engine import CpuEngine  # loads a compiler that is not needed otherwise

            CpuEngine().run(task, state, start, stop, look)
            return
        runner = RUNNERS.get(type(task))
        if runner is None:
            raise UsageError(f"backend 'cuda': does not do this ({type(task).__name__}); use --backend cpu (or auto)")
        try:
            runner(task, state, start, stop, Options(self.bits, look=look))
        except TooManyRunsError:  # before anything was written into the state
            runner(task, state, start, stop, Options(self.bits, True, look))


@dataclass(frozen=True)
class Options:
    """How kernels are compiled: numbers of so many bits, lists of runs with room for as many as there can be; and who
    looks, after every launch, whether to go on."""

    bits: int
    roomy: bool = False
    look: kinds.Look | None = None

    def shape_of(self, table: JobTable, blockers: int = 0, chains: int = 1, random: bool = False) -> Shape:
        if random:
            return shape_of_random(table, blockers, bits=self.bits)
        return shape_of(table, blockers, bits=self.bits, chains=chains, roomy=self.roomy)


def _forward(task: kinds.Forward, state: kinds.ForwardState, start: int, stop: int, options: Options) -> None:
    cp = cupy()
    count, tally = task.rows, state.tally
    columns = tally.wait.shape[1]
    shape = weighed_by(options.shape_of(task.table), task.needs)
    kernel = Kernel("forward", shape, task.table, task.seed)
    looks = (stop - start) // BLOCK * int(np.bincount(task.group).max())
    weights = Weights(kernel, task.needs, looked_at(shape, task.needs), columns, looks)
    walks = _walks_of(kernel, task, state.places, stop - start)
    number, group = cp.asarray(task.replicas.astype(np.uint32)), cp.asarray(task.group.astype(np.int32))
    workload = cp.asarray(state.workload.astype(shape.real))
    kept = count if task.observe else 0
    wait, square = (cp.zeros((columns, kept)) for _ in range(2))
    none, loss = cp.zeros((columns, kept), weights.count), cp.zeros((kept, tally.loss.shape[1]))
    bins = cp.zeros((len(tally.looks) if task.observe else 0, columns, BINS), weights.bin)
    sums = (workload, weights.looked, shape.real(tally.per_unit), group, wait, square, none, loss, bins)
    for first, last in _launches(start, stop, walks, options.look):
        jobs = (np.int64(first), np.int64(last), np.int32(count), np.int32(task.observe))
        kernel(count, np.uint32(task.stream), number, *jobs, *sums)
    kernel.see_to_room()
    state.workload[...], state.places[...] = workload.get(), walks.places()
    if not task.observe:
        return
    np.add.at(tally.looks, task.group, (stop - start) // BLOCK)
    np.add.at(tally.loss, task.group, loss.get())
    unwaited = none.get()
    for k in range(columns):
        tally.wait[:, k] += np.bincount(task.group, wait[k].get(), len(tally.looks))
        tally.square[:, k] += np.bincount(task.group, square[k].get(), len(tally.looks))
        without = np.bincount(task.group, unwaited[k], len(tally.looks))
        tally.none[:, k] += without.astype(tally.none.dtype)
        tally.bins[:, k, 0] += without.astype(tally.bins.dtype)
    tally.bins[...] += weights.counts(bins.get())


def _pile(task: kinds.Pile, state: kinds.PileState, start: int, stop: int, options: Options) -> None:
    _piled(task, state, start, stop, options, task.needs)


def _regeneration(task: kinds.Regeneration, state: kinds.PileState, start: int, stop: int, options: Options) -> None:
    """All rows at once: they are few, and end soon."""
    if start == 0:
        _piled(task, state, task.begin, task.begin + BLOCK, options, None)


def _piled(
    task: kinds.Pile | kinds.Regeneration,
    state: kinds.PileState,
    start: int,
    stop: int,
    options: Options,
    needs: Needs | None,
) -> None:
    """Piles; without needs to observe, until a job that needs all servers has left each of them flat."""
    cp = cupy()
    blockers, count = task.blockers, task.rows
    random = isinstance(task, kinds.Pile) and task.random
    needs = None if random else needs  # random piles sum the losses of all jobs themselves
    shape = options.shape_of(task.table, state.heap.blocked.shape[1], random=random)
    shape = weighed_by(shape, needs) if needs else shape
    kernel = Kernel("pile", shape, task.table, task.seed)
    walks = _walks_of(kernel, task, state.places, stop - start)
    heights = cp.asarray(state.heights.astype(shape.real))
    columns = [cp.asarray(column) for column in state.heap]
    weights = Weights(kernel, needs, looked_at(shape, needs), len(needs.need), 1) if needs else None
    looked = weights.looked if weights else cp.zeros(0)
    blocking = (cp.asarray(blockers.of_class.astype(np.int32)), cp.asarray(blockers.waits_for))
    numbers = (np.uint32(task.stream), np.uint32(task.replicas[0]))
    for first, last in _launches(start, stop, walks, options.look):
        jobs = (np.int64(first), np.int64(last), np.int32(count), np.int32(isinstance(task, kinds.Regeneration)))
        kernel(count, *numbers, *jobs, heights, looked, *blocking, *columns)
    kernel.see_to_room()
    state.heights[...], state.places[...] = heights.get(), walks.places()
    for column, held in zip(state.heap, columns, strict=True):
        column[...] = held.get()


def _sandwich(task: kinds.Sandwich, state: kinds.PairState, start: int, stop: int, options: Options) -> None:
    cp = cupy()
    shape = options.shape_of(task.table, chains=2)
    kernel = Kernel("sandwich", shape, task.table, task.seed)
    low, high = (cp.asarray(chain.astype(shape.real)) for chain in (state.low, state.high))
    met = cp.asarray(state.met)
    numbers = (np.uint32(task.stream), np.uint32(task.replicas[0]))
    walks = _walks_of(kernel, task, state.places, stop - start)
    for first, last in _launches(start, stop, walks, options.look):
        kernel(task.rows, *numbers, np.int64(first), np.int64(last), np.int32(task.rows), low, high, met)
    kernel.see_to_room()
    for array, held in zip(state, (low.get(), high.get(), met.get(), walks.places()), strict=True):
        array[...] = held


def _backward(task: kinds.Backward, state: kinds.SampleState, start: int, stop: int, options: Options) -> None:
    shape = options.shape_of(task.table)
    if shape.arriving.walked:
        pasts.backward(
            task, mapped(state, lambda array: array[start:stop]), task.replicas[start:stop], shape, options.look
        )
        return
    kernel = Kernel("backward", shape, task.table, task.seed)
    numbers = (np.int64(task.initial), np.int32(task.confirmations), np.int64(task.longest))
    _samples(kernel, task, numbers, state, (start, stop), options.look)


def _perfect(task: kinds.Perfect, state: kinds.SampleState, start: int, stop: int, options: Options) -> None:
    shape = options.shape_of(task.table, chains=2)
    # Rounded up: a ceiling may be higher than it has to be, never lower.
    up = 1.0 if options.bits == 64 else 1.0 + 2.0**-22
    if shape.arriving.walked:
        pasts.perfect(
            task, mapped(state, lambda array: array[start:stop]), task.replicas[start:stop], shape, up, options.look
        )
        return
    kernel = Kernel("perfect", shape, task.table, task.seed)
    numbers = (
        np.int64(task.initial),
        np.int64(task.longest),
        np.float64(task.ceiling * up),
        np.float64(task.rise * up),
    )
    _samples(kernel, task, numbers, state, (start, stop), options.look)


RUNNERS: dict[type[kinds.Task], Callable[[Any, Any, int, int, Options], None]] = {
    kinds.Forward: _forward,
    kinds.Pile: _pile,
    kinds.Regeneration: _regeneration,
    kinds.Sandwich: _sandwich,
    kinds.Backward: _backward,
    kinds.Perfect: _perfect,
}

# What a slot of the device keeps of the sample that is under way in it.
SLOT = np.dtype([("sample", "i8"), ("n", "i8"), ("first", "i8"), ("doublings", "i4"), ("agreed", "i4")])


def _samples(
    kernel: Kernel,
    task: kinds.Sampling,
    options: tuple[Any, ...],
    state: kinds.SampleState,
    rows: tuple[int, int],
    look: kinds.Look | None,
) -> None:
    """Samples by slots; where they do not all fit into the device's memory, in two parts."""
    cp, (start, stop) = cupy(), rows
    try:
        numbers = (np.uint32(task.stream), np.uint32(task.replicas[start]))
        _take_samples(kernel, (*numbers, *options), mapped(state, lambda array: array[start:stop]), look)
    except cp.cuda.memory.OutOfMemoryError:
        if stop - start == 1:
            raise
        cp.get_default_memory_pool().free_all_blocks()
        middle = (start + stop) // 2
        _samples(kernel, task, options, state, (start, middle), look)
        _samples(kernel, task, options, state, (middle, stop), look)


def _take_samples(kernel: Kernel, options: tuple[Any, ...], state: kinds.SampleState, look: kinds.Look | None) -> None:
    """Each launch makes some blocks of jobs, until no slot has a sample under way."""
    cp = cupy()
    count, servers = state.workload.shape
    slots = min(kernel.resident, count)
    under_way = np.zeros(slots, SLOT)
    under_way["sample"] = -1
    held = cp.asarray(under_way.view(np.uint8))
    unfinished = cp.zeros((slots, kernel.shape.chains, servers), kernel.shape.real)
    samples = (cp.zeros((count, servers), kernel.shape.real), cp.zeros(count, cp.int64), cp.zeros(count, cp.int64))
    taken = cp.zeros(1, cp.uint32)
    blocks = FIRST_BLOCKS
    while np.any(held.get().view(SLOT)["sample"] != -2):
        began = time.perf_counter()
        limits = (np.int64(count), np.int32(slots), np.int32(blocks))
        kernel(slots, *options, *limits, taken, held, unfinished, *samples)
        cp.cuda.get_current_stream().synchronize()
        blocks = _next_blocks(blocks, time.perf_counter() - began)
        if look is not None:
            look()
    kernel.see_to_room()
    for array, sampled in zip(state, samples, strict=True):
        array[...] = sampled.get()


def _walks_of(kernel: Kernel, task: kinds.ModelTask, places: kinds.Ints, jobs: int) -> Walks:
    walks = Walks(kernel, task, task.rows, jobs)
    walks.take(task.replicas, places)
    return walks


def _launches(start: int, stop: int, walks: Walks, look: kinds.Look | None) -> Iterator[tuple[int, int]]:
    """start .. stop cut into launches of about LAUNCH_SECONDS; each is waited for."""
    blocks = FIRST_BLOCKS
    stream = cupy().cuda.get_current_stream()
    while start < stop:
        last = min(stop, start + min(blocks * BLOCK, walks.window))
        began = time.perf_counter()
        walks.go(start, last)
        yield start, last
        stream.synchronize()
        blocks = _next_blocks((last - start) // BLOCK, time.perf_counter() - began)
        start = last
        if look is not None and start < stop:
            look()


def _next_blocks(blocks: int, took: float) -> int:
    return int(min(max(blocks * min(8.0, LAUNCH_SECONDS / max(took, 1e-6)), 1), 1 << 24))


def looked_at(shape: Shape, needs: Needs) -> NDArray[Any]:
    """What HOL losses are computed from: i P(need > i) for every entry i, in the order in which the form of the state
    reads them; with several kinds, the probabilities of needs. Where classes depend on the phase, one a phase."""
    if not shape.arriving.weighed:
        return _looked_at(shape, needs, needs.weight)
    return np.stack([_looked_at(shape, needs, needs.weight * more) for more in needs.phase_weight])


def _looked_at(shape: Shape, needs: Needs, weight: kinds.Array) -> NDArray[Any]:
    if shape.units:
        columns = first_columns(needs)[:-1] if shape.arriving.weighed else np.arange(len(weight))
        return np.add.reduceat(weight, columns).astype(shape.real)
    i = np.arange(shape.servers)
    more = weight @ (needs.need[:, None] > i)
    idled = (i * more).astype(shape.real)
    if shape.form != 1:
        return idled
    padded = np.zeros(32 * shape.segments * shape.entries, shape.real)
    padded[: len(idled)] = idled
    # entry (32 g + l) ENTRIES + e -> place (g ENTRIES + e) 32 + l
    return np.ascontiguousarray(padded.reshape(shape.segments, 32, shape.entries).transpose(0, 2, 1))
