"""An engine whose work is done by others: any `concurrent.futures.Executor`, or a Dask cluster.

Long calls are cut into units of some replicas and some seconds each. A unit's result is written where its replicas'
state is, and the next stretch of these replicas is handed out: nobody waits for the others until the call is done.
Worker loss is the executor's business (Dask does a lost unit again elsewhere).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesError
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.backends import wrapped
from loynes.kernels.cpu.engine import TASK_JOBS
from loynes.kernels.shape import step_cost
from loynes.kernels.tally import Blockers, Heap, Tally
from loynes.study.calls import Calls
from loynes.study.units import Outcome, Sparse, Unit, Zeros, ask, work

# A unit takes about so many seconds; a call that takes less than the second figure is done here, where it was asked.
UNIT_SECONDS = 0.8
NOT_WORTH_IT = 0.1
# Units there are at a time, for every one that can be done at a time.
A_WORKER = 8
# How much faster than a core a GPU is, to an order.
A_GPU = 1000.0

Done = Callable[[], None] | None
Ints = NDArray[np.int64]
Array = NDArray[np.float64]
# The state of some rows goes out as a unit, and comes back: (rows, start, stop) -> Unit; (rows, outcome).
Rows = slice | Ints
Cut = Callable[[Any, int, int], Unit]
Put = Callable[[Any, Outcome], None]


@contextmanager
def spread_over(executor: Any) -> Iterator[None]:
    """While this lasts, engines hand out their work to the executor (None: they do it themselves)."""
    if executor is None:
        yield
        return
    pool = Pool(executor)
    with wrapped(lambda name, make: SpreadEngine(pool, name, make)):
        yield


class Pool:
    """An executor, and how much it can do at a time."""

    def __init__(self, executor: Any) -> None:
        self._client: Any = executor if hasattr(executor, "get_executor") else getattr(executor, "_client", None)
        if self._client is None and not isinstance(executor, Executor):
            raise LoynesError(
                f"executor {executor!r}: must be a concurrent.futures.Executor or a Dask client, for instance "
                "ProcessPoolExecutor(4)"
            )
        self._executors: dict[bool, Any] = {}
        if not hasattr(executor, "get_executor"):
            self._executors = {False: executor, True: executor}

    def executor(self, gpu: bool) -> Any:
        """Where to submit; on Dask, units for a GPU go to workers that say they have one, if any does."""
        if gpu not in self._executors:
            resources = {"GPU": 1} if gpu and self._with_gpu() else None
            self._executors[gpu] = self._client.get_executor(pure=False, retries=2, resources=resources)
        return self._executors[gpu]

    def slots(self, gpu: bool) -> int:
        """Units that can be done at a time, now."""
        if self._client is None:
            return int(getattr(self._executors[False], "_max_workers", None) or os.cpu_count() or 1)
        if gpu:
            return max(1, self._with_gpu() or len(self._client.nthreads()))
        return max(1, int(sum(self._client.nthreads().values())))

    def _with_gpu(self) -> int:
        if self._client is None:
            return 0
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return int(sum(worker.get("resources", {}).get("GPU", 0) for worker in workers))


class SpreadEngine(Calls):
    """The engine of a backend, on the workers of a pool."""

    def __init__(self, pool: Pool, backend: str, make: Callable[[str], Any]) -> None:
        self._pool, self._backend = pool, backend
        self._gpu = backend.startswith("cuda")
        # This machine needs no GPU if the workers have one.
        self._here: Any = None if self._gpu else make(backend)
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._here is not None:
            return getattr(self._here, name)
        if name in ("name", "most_jobs", "batch_bytes"):
            if name not in self._known:
                self._known[name] = self._asked(name)
            return self._known[name]
        return lambda *arguments: self._asked(name, *arguments)

    def _asked(self, name: str, *arguments: Any) -> Any:
        return result_of(self._pool.executor(self._gpu).submit(ask, self._backend, name, *arguments))

    # Workloads are kept here, between units.

    def hold(self, array: Array) -> Array:
        return array.copy()

    def fetch(self, held: Array) -> Array:
        return held.copy()

    def refill(self, held: Array, array: Array) -> None:
        held[...] = array

    def run_forward(
        self, table: JobTable, needs: Needs, seed: int, stream: int, replicas: Ints, rows: Ints, begin: int, end: int,
        observe: bool, W: Array, tally: Tally, done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        if self._small(table, len(W) * (end - begin)):
            numbers = (seed, stream, replicas, rows, begin, end, observe, W, tally)
            self._here.run_forward(table, needs, *numbers, done, workers, places)
            return

        # A row of a GPU's tally belongs to many replicas: whoever has one has all of them, in their order.
        order = np.argsort(rows, kind="stable")
        starts = np.flatnonzero(np.diff(rows[order], prepend=-1))

        def cut(part: Ints, start: int, stop: int) -> Unit:
            # Whole counts are added to what there is; sums of reals go on where they were, to the same bits.
            own, inner = np.unique(rows[part], return_inverse=True)
            counts = tally.bins.dtype.kind in "iu"
            kept = [column[own] for column in tally[1:-1]]
            shape = (len(own), *tally.bins.shape[1:])
            bins = Zeros(shape, tally.bins.dtype.str) if counts else tally.bins[own]
            part_of = Tally._make([tally.per_unit, *kept, bins])
            before = (table, needs, seed, stream, replicas[part], inner.astype(np.int64), start, stop, observe)
            return self._unit("run_forward", before, (W[part],), (part_of,), places, part)

        def put(part: Ints, outcome: Outcome) -> None:
            (W[part],), (found,) = outcome.held, outcome.state
            own = np.unique(rows[part])
            for column, new in zip(tally[1:-1], found[1:-1], strict=True):
                column[own] = new
            if tally.bins.dtype.kind in "iu":
                tally.bins[own] += _whole(found.bins)
            else:
                tally.bins[own] = found.bins

        parts = [np.concatenate(part) for part in self._parts(np.split(order, starts[1:]))]
        self._hand_out(table, parts, begin, end, cut, _with_places(put, places), done)

    def _pile(
        self, name: str, asked: tuple[Any, ...], H: Array, heap: Heap, done: Done, workers: int | None, places: Any,
        first: int,
    ) -> None:  # fmt: skip
        *what, begin, end = asked
        if self._small(what[0], len(H) * (end - begin)):
            getattr(self._here, name)(*asked, H, heap, done, workers, places, first)
            return

        def cut(part: slice, start: int, stop: int) -> Unit:
            state = (Heap._make(column[part] for column in heap),)
            return self._unit(name, (*what, start, stop), (H[part],), state, places, part, first)

        put = _with_places(_put_heap(H, heap), places)
        self._hand_out(what[0], self._slices(len(H)), begin, end, cut, put, done)

    def run_regeneration(
        self, table: JobTable, blockers: Blockers, seed: int, stream: int, begin: int, H: Array, heap: Heap,
        done: Done = None, workers: int | None = None, first_replica: int = 0,
    ) -> None:  # fmt: skip
        def cut(part: slice, start: int, stop: int) -> Unit:
            state = (Heap._make(column[part] for column in heap),)
            before = (table, blockers, seed, stream, begin)
            return self._unit("run_regeneration", before, (H[part],), state, None, part, first_replica)

        if self._here is not None:  # it is short
            self._here.run_regeneration(table, blockers, seed, stream, begin, H, heap, done, workers, first_replica)
        else:
            self._hand_out(table, self._slices(len(H)), 0, 1, cut, _put_heap(H, heap), done)

    def run_sandwich(
        self, table: JobTable, seed: int, stream: int, begin: int, end: int, low: Array, high: Array, met: Ints,
        done: Done = None, workers: int | None = None, places: Any = None, first_replica: int = 0,
    ) -> None:  # fmt: skip
        if self._small(table, 2 * len(low) * (end - begin)):
            pairs = (low, high, met, done, workers, places, first_replica)
            self._here.run_sandwich(table, seed, stream, begin, end, *pairs)
            return

        def cut(part: slice, start: int, stop: int) -> Unit:
            before, pairs = (table, seed, stream, start, stop), (low[part], high[part])
            return self._unit("run_sandwich", before, pairs, (met[part],), places, part, first_replica)

        def put(part: slice, outcome: Outcome) -> None:
            (low[part], high[part]), (met[part],) = outcome.held, outcome.state

        self._hand_out(table, self._slices(len(low)), begin, end, cut, _with_places(put, places), done)

    def _samples(
        self, name: str, what: tuple[Any, ...], first: int, options: tuple[Any, ...], W: Array, length: Ints,
        doublings: Ints, done: Done, workers: int | None,
    ) -> None:  # fmt: skip
        table, jobs = what[0], 4 * options[0]
        if self._small(table, len(W) * jobs):
            getattr(self._here, name)(*what, first, *options, W, length, doublings, done, workers)
            return

        def cut(part: slice, start: int, stop: int) -> Unit:
            rows = part.stop - part.start
            shapes = (Zeros((rows, W.shape[1]), "<f8"), Zeros((rows,), "<i8"), Zeros((rows,), "<i8"))
            return Unit(self._backend, name, (*what, first + part.start, *options), (), shapes, {})

        def put(part: slice, outcome: Outcome) -> None:
            W[part], length[part], doublings[part] = (_whole(array) for array in outcome.state)

        few = int(len(W) * jobs * self._cost(table) / UNIT_SECONDS)
        self._hand_out(table, self._slices(len(W), few), 0, 1, cut, put, done)

    def _small(self, table: JobTable, jobs: int) -> bool:
        return self._here is not None and jobs * step_cost(table) * 1e-9 < NOT_WORTH_IT

    def _unit(
        self, function: str, before: tuple[Any, ...], held: tuple[Array, ...], state: tuple[Any, ...], places: Any,
        part: Any, first: int | None = None,
    ) -> Unit:  # fmt: skip
        after: dict[str, Any] = {} if places is None else {"places": places[part]}
        if first is not None:
            after["first_replica"] = first + part.start
        return Unit(self._backend, function, before, held, state, after)

    def _cost(self, table: JobTable) -> float:
        """Seconds a job, to an order."""
        return step_cost(table) * 1e-9 / (A_GPU if self._gpu else 1.0)

    def _parts(self, rows: list[Any], least: int = 1) -> list[Any]:
        """Rows to a line of units: enough lines for every worker, a GPU's as long as can be."""
        slots = self._pool.slots(self._gpu)
        lines = max(least, slots if self._gpu else A_WORKER * slots)
        each = -(-len(rows) // lines)
        return [rows[at : at + each] for at in range(0, len(rows), each)]

    def _slices(self, rows: int, least: int = 1) -> list[slice]:
        return [slice(part[0], part[-1] + 1) for part in self._parts(list(range(rows)), least)]

    def _hand_out(
        self, table: JobTable, parts: list[Any], begin: int, end: int, cut: Cut, put: Put, done: Done
    ) -> None:  # fmt: skip
        """All parts through jobs begin .. end, each in a line of units one after the other."""
        slots, executor = self._pool.slots(self._gpu), self._pool.executor(self._gpu)
        rows = max(part.stop - part.start if isinstance(part, slice) else len(part) for part in parts)
        step = max(1, int(UNIT_SECONDS / (self._cost(table) * rows * TASK_JOBS))) * TASK_JOBS

        def line(part: Rows) -> Iterator[tuple[Rows, Unit]]:
            for start in range(begin, end, step):
                yield part, cut(part, start, min(end, start + step))

        waiting = iter([line(part) for part in parts])
        lines: dict[Future[Outcome], tuple[Rows, Iterator[tuple[Rows, Unit]]]] = {}

        def submit(units: Iterator[tuple[Rows, Unit]]) -> bool:
            following = next(units, None)
            if following is not None:
                lines[executor.submit(work, following[1])] = (following[0], units)
            return following is not None

        try:
            more = True
            while lines or more:
                # So many under way that nobody waits for this loop, and no more: results are kept in memory.
                while more and len(lines) < A_WORKER * slots:
                    units = next(waiting, None)
                    more = units is not None and submit(units)
                for future in wait(lines, return_when=FIRST_COMPLETED).done:
                    part, units = lines.pop(future)
                    put(part, result_of(future))
                    submit(units)
                    if done is not None:
                        done()
        finally:
            for future in lines:
                future.cancel()


def result_of(future: Any) -> Any:
    """What a worker found, or what became of it, in words."""
    try:
        return future.result()
    except (BrokenProcessPool, CancelledError) as error:
        raise LoynesError(f"the workers are lost ({type(error).__name__}); what was recorded is kept") from None
    except LoynesError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise LoynesError(
                "a unit of work was lost with several workers, one after another: is there memory?"
            ) from None
        raise


def _put_heap(H: Array, heap: Heap) -> Put:
    def put(part: slice, outcome: Outcome) -> None:
        (H[part],), (found,) = outcome.held, outcome.state
        for column, new in zip(heap, found, strict=True):
            column[part] = new

    return put


def _with_places(put: Put, places: Any) -> Put:
    if places is None:
        return put

    def both(part: slice, outcome: Outcome) -> None:
        put(part, outcome)
        places[part] = outcome.after["places"]

    return both


def _whole(array: Any) -> NDArray[Any]:
    if not isinstance(array, Sparse):
        return np.asarray(array)
    flat = np.zeros(int(np.prod(array.shape)), array.value.dtype)
    flat[array.where] = array.value
    return flat.reshape(array.shape)
