"""The CUDA backend as the rooms above see it: what kernels/cpu/engine.py offers, with workloads kept on the device.

Numbers are floats of 32 bits unless the engine is asked for 64; sums are always doubles. Launches are kept short, so
that an interrupt is answered and progress told within a fraction of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.cuda.compiled import Shape, shape_of
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BINS, Blockers, Heap, Tally

# How long a launch should take, and how many blocks the first one makes.
LAUNCH_SECONDS = 0.2
FIRST_BLOCKS = 64
# A tally has at most so many rows; replicas share them.
MOST_GROUPS = 256

Done = Callable[[], None] | None
Places = NDArray[np.int64] | None  # of Poisson arrivals, the only ones here, which have no memory


class Engine:
    """The backend in numbers of 32 or of 64 bits."""

    name = "cuda"
    most_jobs = 4e11  # how many jobs a question may take, unless told otherwise: a minute or a few

    batch_bytes = 1 << 30  # of samples that are made at a time

    def __init__(self, bits: int = 32) -> None:
        cupy()  # says what is missing
        self.bits = bits

    def look_every(self, table: JobTable) -> int:
        """How many jobs apart observed arrivals are."""
        return BLOCK

    def groups_of(self, replicas: int) -> int:
        """How many rows a tally of so many replicas has."""
        return min(replicas, MOST_GROUPS)

    def fitting_replicas(self, table: JobTable) -> int:
        """Replicas that fill the device, a whole number a group."""
        resident = Kernel("forward", shape_of(table, bits=self.bits), table, 0).resident
        return max(1, resident // MOST_GROUPS) * MOST_GROUPS

    def hold(self, array: NDArray[np.float64]) -> Any:
        """Workloads, one row a replica, where the kernels work on them."""
        return cupy().asarray(array.astype(_real(self.bits)))

    def fetch(self, held: Any) -> NDArray[np.float64]:
        """Workloads that are held, as an ordinary array."""
        return np.asarray(held.get(), np.float64)

    def refill(self, held: Any, array: NDArray[np.float64]) -> None:
        """Put workloads back where the kernels work on them."""
        held[...] = self.hold(array)

    def run_forward(
        self,
        table: JobTable,
        needs: Needs,
        seed: int,
        stream: int,
        replicas: NDArray[np.int64],
        rows: NDArray[np.int64],
        begin: int,
        end: int,
        observe: bool,
        W: Any,
        tally: Tally,
        done: Done = None,
        workers: int | None = None,
        places: Places = None,
    ) -> None:
        """Advance the given replicas (rows of W) through jobs begin .. end-1, adding to tally rows if `observe`."""
        cp = cupy()
        count, kinds = len(W), len(needs.need)
        shape = shape_of(table, bits=self.bits)
        kernel = Kernel("forward", shape, table, seed)
        number, group = cp.asarray(replicas.astype(np.uint32)), cp.asarray(rows.astype(np.int32))
        kept = count if observe else 0
        wait, square = (cp.zeros((kinds, kept)) for _ in range(2))
        none, loss = cp.zeros((kinds, kept), cp.uint32), cp.zeros((kept, tally.loss.shape[1]))
        bins = cp.zeros((len(tally.looks) if observe else 0, kinds, BINS), cp.uint32)
        looked = cp.asarray(looked_at(shape, needs))
        per_unit = shape.real(tally.per_unit)
        for start, stop in _stretches(begin, end, done):
            kernel(
                count,
                np.uint32(stream),
                number,
                np.int64(start),
                np.int64(stop),
                np.int32(count),
                np.int32(observe),
                W,
                looked,
                per_unit,
                group,
                wait,
                square,
                none,
                loss,
                bins,
            )
        if not observe:
            return
        looks = (end - begin) // BLOCK
        np.add.at(tally.looks, rows, looks)
        np.add.at(tally.loss, rows, loss.get())
        unobserved = none.get()
        for k in range(kinds):
            tally.wait[:, k] += np.bincount(rows, wait[k].get(), len(tally.looks))
            tally.square[:, k] += np.bincount(rows, square[k].get(), len(tally.looks))
            without = np.bincount(rows, unobserved[k], len(tally.looks)).astype(np.int64)
            tally.none[:, k] += without
            tally.bins[:, k, 0] += without.astype(np.uint32)
        tally.bins[...] += bins.get()

    def run_pile(
        self,
        table: JobTable,
        needs: Needs,
        blockers: Blockers,
        seed: int,
        stream: int,
        begin: int,
        end: int,
        H: Any,
        heap: Heap,
        done: Done = None,
        workers: int | None = None,
        places: Places = None,
        first_replica: int = 0,
    ) -> None:
        """Pile jobs begin .. end-1 on replicas first_replica, first_replica + 1, ... (rows of H)."""
        self._pile(table, needs, blockers, seed, stream, begin, end, False, H, heap, done, first_replica)

    def run_regeneration(
        self,
        table: JobTable,
        blockers: Blockers,
        seed: int,
        stream: int,
        begin: int,
        H: Any,
        heap: Heap,
        done: Done = None,
        workers: int | None = None,
        first_replica: int = 0,
    ) -> None:
        """Pile on from job `begin` until a job that needs all servers has left each replica's pile flat."""
        self._pile(table, None, blockers, seed, stream, begin, begin + BLOCK, True, H, heap, done, first_replica)

    def _pile(
        self,
        table: JobTable,
        needs: Needs | None,
        blockers: Blockers,
        seed: int,
        stream: int,
        begin: int,
        end: int,
        regenerate: bool,
        H: Any,
        heap: Heap,
        done: Done,
        first_replica: int,
    ) -> None:
        cp = cupy()
        count = len(H)
        shape = shape_of(table, heap.blocked.shape[1], bits=self.bits)
        kernel = Kernel("pile", shape, table, seed)
        of_class, waits_for = cp.asarray(blockers.of_class.astype(np.int32)), cp.asarray(blockers.waits_for)
        held = [cp.asarray(column) for column in heap]
        looked = cp.asarray(looked_at(shape, needs)) if needs else cp.zeros(0)
        for start, stop in _stretches(begin, end, done):
            kernel(
                count,
                np.uint32(stream),
                np.uint32(first_replica),
                np.int64(start),
                np.int64(stop),
                np.int32(count),
                np.int32(regenerate),
                H,
                looked,
                of_class,
                waits_for,
                *held,
            )
        for column, own in zip(heap, held, strict=True):
            column[...] = own.get()

    def run_sandwich(
        self,
        table: JobTable,
        seed: int,
        stream: int,
        begin: int,
        end: int,
        low: Any,
        high: Any,
        met: NDArray[np.int64],
        done: Done = None,
        workers: int | None = None,
        places: Places = None,
        first_replica: int = 0,
    ) -> None:
        """Pairs of chains low[r] <= high[r] through jobs begin .. end-1; met[r] becomes when they first were equal."""
        cp = cupy()
        kernel = Kernel("sandwich", shape_of(table, bits=self.bits, chains=2), table, seed)
        held = cp.asarray(met)
        for start, stop in _stretches(begin, end, done):
            kernel(
                len(low),
                np.uint32(stream),
                np.uint32(first_replica),
                np.int64(start),
                np.int64(stop),
                np.int32(len(low)),
                low,
                high,
                held,
            )
        met[...] = held.get()

    def run_backward(
        self,
        table: JobTable,
        seed: int,
        stream: int,
        first_replica: int,
        initial: int,
        confirmations: int,
        longest: int,
        W: NDArray[np.float64],
        length: NDArray[np.int64],
        doublings: NDArray[np.int64],
        done: Done = None,
        workers: int | None = None,
    ) -> None:
        """One backward sample a row of W, replicas first_replica, first_replica + 1, ..."""
        kernel = Kernel("backward", shape_of(table, bits=self.bits), table, seed)
        options = (np.int64(initial), np.int32(confirmations), np.int64(longest))
        _samples(kernel, first_replica, stream, options, W, length, doublings, done)

    def run_perfect(
        self,
        table: JobTable,
        seed: int,
        stream: int,
        first_replica: int,
        initial: int,
        longest: int,
        ceiling: float,
        rise: float,
        W: NDArray[np.float64],
        length: NDArray[np.int64],
        doublings: NDArray[np.int64],
        done: Done = None,
        workers: int | None = None,
    ) -> None:
        """One perfect sample a row of W, replicas first_replica, first_replica + 1, ..."""
        kernel = Kernel("perfect", shape_of(table, bits=self.bits, chains=2), table, seed)
        # Rounded up: a ceiling may be higher than it has to be, never lower.
        up = 1.0 if self.bits == 64 else 1.0 + 2.0**-22
        options = (np.int64(initial), np.int64(longest), np.float64(ceiling * up), np.float64(rise * up))
        _samples(kernel, first_replica, stream, options, W, length, doublings, done)


SLOT = np.dtype([("sample", "i8"), ("n", "i8"), ("first", "i8"), ("doublings", "i4"), ("agreed", "i4")])


def _samples(
    kernel: Kernel,
    first_replica: int,
    stream: int,
    options: tuple[Any, ...],
    W: NDArray[np.float64],
    length: NDArray[np.int64],
    doublings: NDArray[np.int64],
    done: Done,
) -> None:
    """Samples by slots; where they do not all fit into the device's memory, in two parts."""
    cp = cupy()
    numbers = (np.uint32(stream), np.uint32(first_replica))
    try:
        _take_samples(kernel, (*numbers, *options), W, length, doublings, done)
    except cp.cuda.memory.OutOfMemoryError:
        if len(W) == 1:
            raise
        cp.get_default_memory_pool().free_all_blocks()
        half = len(W) // 2
        for part in (slice(0, half), slice(half, len(W))):
            first = first_replica + part.start
            _samples(kernel, first, stream, options, W[part], length[part], doublings[part], done)


def _take_samples(
    kernel: Kernel,
    options: tuple[Any, ...],
    W: NDArray[np.float64],
    length: NDArray[np.int64],
    doublings: NDArray[np.int64],
    done: Done,
) -> None:
    """Each launch makes some blocks of jobs, until no slot has a sample under way."""
    cp = cupy()
    count, servers = W.shape
    slots = min(kernel.resident, count)
    state = np.zeros(slots, SLOT)
    state["sample"] = -1
    held = cp.asarray(state.view(np.uint8))
    unfinished = cp.zeros((slots, kernel.shape.chains, servers), kernel.shape.real)
    found = cp.zeros((count, servers), kernel.shape.real)
    found_length, found_doublings = cp.zeros(count, cp.int64), cp.zeros(count, cp.int64)
    taken = cp.zeros(1, cp.uint32)
    limits = (np.int64(count), np.int32(slots))
    results = (taken, held, unfinished, found, found_length, found_doublings)
    blocks = FIRST_BLOCKS
    while np.any(held.get().view(SLOT)["sample"] != -2):
        began = time.perf_counter()
        kernel(slots, *options, *limits, np.int32(blocks), *results)
        cp.cuda.get_current_stream().synchronize()
        blocks = _next_blocks(blocks, time.perf_counter() - began)
        if done is not None:
            done()
    W[...] = found.get()
    length[...], doublings[...] = found_length.get(), found_doublings.get()


def _stretches(begin: int, end: int, done: Done) -> Iterator[tuple[int, int]]:
    """begin .. end cut into launches of about LAUNCH_SECONDS; each is waited for."""
    blocks = FIRST_BLOCKS
    stream = cupy().cuda.get_current_stream()
    while begin < end:
        stop = min(end, begin + blocks * BLOCK)
        began = time.perf_counter()
        yield begin, stop
        stream.synchronize()
        blocks = _next_blocks(blocks, time.perf_counter() - began)
        begin = stop
        if done is not None:
            done()


def _next_blocks(blocks: int, took: float) -> int:
    return int(min(max(blocks * min(8.0, LAUNCH_SECONDS / max(took, 1e-6)), 1), 1 << 24))


def looked_at(shape: Shape, needs: Needs) -> NDArray[Any]:
    """What HOL losses are computed from: i P(need > i) for every entry i, in the order in which the form of the state
    reads them; with several kinds, the probabilities of needs."""
    if shape.units:
        return needs.weight.astype(shape.real)
    i = np.arange(shape.servers)
    more = needs.weight @ (needs.need[:, None] > i)
    idled = (i * more).astype(shape.real)
    if shape.form != 1:
        return idled
    padded = np.zeros(32 * shape.segments * shape.entries, shape.real)
    padded[: len(idled)] = idled
    # entry (32 g + l) ENTRIES + e -> place (g ENTRIES + e) 32 + l
    return np.ascontiguousarray(padded.reshape(shape.segments, 32, shape.entries).transpose(0, 2, 1))


def _real(bits: int) -> type[np.floating[Any]]:
    return np.float32 if bits == 32 else np.float64
