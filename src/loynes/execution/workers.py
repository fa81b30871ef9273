"""An engine whose work is done by others: any `concurrent.futures.Executor`, or a Dask cluster.

Runs are cut into units of some rows and some seconds each. A unit's result is written where its rows' state is, and the
next stretch of these rows is handed out: nobody waits for the others until the run is done. Worker loss is the
executor's business (Dask does a lost unit again elsewhere).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar, cast

import numpy as np

from loynes.errors import LoynesError
from loynes.execution.deadline import NEVER, Deadline, Stopped
from loynes.execution.units import Unit, fitting_replicas, packed, run_unit, unpacked
from loynes.inputs.tables import JobTable
from loynes.kernels.backends import check_backend, engine_of
from loynes.kernels.cuda.engine import CudaEngine
from loynes.kernels.engine import CUT, AnyState, Backend, Ints, Look, Task

# A unit takes about so many seconds; a run that takes less than the second figure is done here.
UNIT_SECONDS = 0.8
NOT_WORTH_IT = 0.1
# Units there are at a time, for every one that can be done at a time.
A_WORKER = 8
# Seconds between looks at the deadline.
LOOK_EVERY = 0.5
# How much faster than a core a GPU is, to an order.
A_GPU = 1000.0

T = TypeVar("T")
Line = Iterator[tuple[Ints, Unit]]


class Pool:
    """An executor, and how much it can do at a time."""

    def __init__(self, executor: object) -> None:
        self._client: Any = executor if hasattr(executor, "get_executor") else getattr(executor, "_client", None)
        if self._client is None and not isinstance(executor, Executor):
            raise LoynesError(
                f"executor {executor!r}: must be a concurrent.futures.Executor or a Dask client, for instance "
                "ProcessPoolExecutor(4)"
            )
        self._executors: dict[bool, Any] = {}
        if not hasattr(executor, "get_executor"):
            self._executors = {False: executor, True: executor}

    def executor(self, gpu: bool) -> Executor:
        """Where to submit; on Dask, units for a GPU go to workers that say they have one, if any does."""
        if gpu not in self._executors:
            resources = {"GPU": 1} if gpu and self._with_gpu() else None
            self._executors[gpu] = self._client.get_executor(pure=False, retries=2, resources=resources)
        return cast(Executor, self._executors[gpu])

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


class Spread:
    """The engine of a backend, on the workers of a pool. This machine needs no GPU if the workers have one."""

    # Stretches double while they take less: between two of them workers wait for one another.
    long = 4.0

    def __init__(self, pool: Pool, backend: str, deadline: Deadline = NEVER) -> None:
        check_backend(backend)
        self._pool, self._backend, self._deadline = pool, backend, deadline
        self._gpu = backend.startswith("cuda")
        self._here: Backend | None = None if self._gpu else engine_of(backend)
        facts: type[CudaEngine] | Backend = CudaEngine if self._here is None else self._here
        self.name, self.most_jobs, self.batch_bytes = facts.name, facts.most_jobs, facts.batch_bytes
        self.groups_of, self.look_every = facts.groups_of, facts.look_every

    def fitting_replicas(self, table: JobTable) -> int:
        if self._here is not None:
            return self._here.fitting_replicas(table)
        return int(result_of(self._pool.executor(True).submit(fitting_replicas, self._backend, table)))

    def first_rows(self, rows: int) -> int:
        """All at once: units are cut, and handed out, by the run itself."""
        return rows

    def run(self, task: Task, state: AnyState, start: int, stop: int, look: Look | None = None) -> None:
        seconds = task.expected_jobs(start, stop) * self._job_seconds(task)
        if self._here is not None and seconds < NOT_WORTH_IT:
            self._here.run(task, state, start, stop, look)
            return
        rows = list(np.arange(start, stop)[:, None]) if task.by_rows else task.groups()
        # Enough lines of units for every worker; a GPU's are as long as can be.
        slots = self._pool.slots(self._gpu)
        lines = slots if self._gpu else A_WORKER * slots
        if task.by_rows:
            lines = max(lines, int(seconds / UNIT_SECONDS))
        each = -(-len(rows) // lines)
        parts = [np.concatenate(rows[at : at + each]) for at in range(0, len(rows), each)]
        self._hand_out(task, state, [self._line(task, state, part, start, stop) for part in parts], start)

    def _line(self, task: Task, state: AnyState, rows: Ints, start: int, stop: int) -> Line:
        """Some rows through the whole range, a unit after the other; each is cut when the one before has come back."""
        part = task.part(rows)
        if task.by_rows:
            yield rows, Unit(self._backend, part, packed(task.take(state, rows)), 0, len(rows))
            return
        step = max(1, int(UNIT_SECONDS / (self._job_seconds(task) * len(rows) * CUT))) * CUT
        for first in range(start, stop, step):
            before = packed(task.take(state, rows))
            yield rows, Unit(self._backend, part, before, first, min(stop, first + step))

    def _hand_out(self, task: Task, state: AnyState, lines: list[Line], start: int) -> None:
        slots, executor = self._pool.slots(self._gpu), self._pool.executor(self._gpu)
        waiting = iter(lines)
        under_way: dict[Future[AnyState], tuple[Ints, Line]] = {}
        # Of a run by rows, those that are done are all rows before some row, whenever it ends.
        early: dict[int, tuple[Ints, AnyState]] = {}
        done = start

        def submit(line: Line) -> None:
            following = next(line, None)
            if following is not None:
                under_way[executor.submit(run_unit, following[1])] = (following[0], line)

        try:
            more = True
            while under_way or more:
                # So many under way that nobody waits for this loop, and no more: results are kept in memory.
                while more and len(under_way) < A_WORKER * slots:
                    line = next(waiting, None)
                    more = line is not None
                    if line is not None:
                        submit(line)
                for future in wait(under_way, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done:
                    rows, line = under_way.pop(future)
                    after = unpacked(result_of(future))
                    if not task.by_rows:
                        task.put(state, rows, after)
                        submit(line)
                        continue
                    early[int(rows[0])] = rows, after
                    while done in early:
                        rows, after = early.pop(done)
                        task.put(state, rows, after)
                        done += len(rows)
                if task.by_rows and (under_way or more) and self._deadline.passed:
                    self._deadline.note_cut()
                    raise Stopped(done)
        finally:
            for future in under_way:
                future.cancel()

    def _job_seconds(self, task: Task) -> float:
        """Of a job step, to an order."""
        return task.job_seconds / (A_GPU if self._gpu else 1.0)


def result_of(future: Future[T]) -> T:
    """The result of a worker, or what became of it, in words."""
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
