"""A run in stretches: between two of them there is time to tell how far it is, or to write down what there is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from loynes.execution.progress import Progress
from loynes.inputs.tables import JobTable
from loynes.kernels.engine import CUT, Engine, Task

# Stretches double while they take less than so many seconds.
LONG = 4.0


def stretches(engine: Engine, task: Task, state: Any, start: int, stop: int) -> Iterator[int]:
    """Run a task a stretch at a time, and say after each how far it is. Cut at multiples of CUT jobs from the start,
    where engines cut too, a run has the same bits as one that is not."""
    step = engine.first_rows(stop - start) if task.by_rows else CUT
    while start < stop:
        began, last = time.monotonic(), min(stop, start + step)
        engine.run(task, state, start, last)
        start = last
        if time.monotonic() - began < LONG:
            step *= 2
        yield start


class Delegating:
    """An engine that runs tasks by means of another one, and else is like it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def most_jobs(self) -> float:
        return self._engine.most_jobs

    @property
    def batch_bytes(self) -> int:
        return self._engine.batch_bytes

    def groups_of(self, replicas: int) -> int:
        return self._engine.groups_of(replicas)

    def fitting_replicas(self, table: JobTable) -> int:
        return self._engine.fitting_replicas(table)

    def look_every(self, table: JobTable) -> int:
        return self._engine.look_every(table)

    def first_rows(self, rows: int) -> int:
        return self._engine.first_rows(rows)


class Chunked(Delegating):
    """Tells progress, after every stretch, how many jobs were simulated; of a task with a label, also how far it is."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        super().__init__(engine)
        self._progress, self._simulated = progress, getattr(progress, "simulated", None)

    def run(self, task: Task, state: Any, start: int, stop: int) -> None:
        before = start
        for at in stretches(self._engine, task, state, start, stop):
            if self._simulated is not None:
                self._simulated(task.jobs(state, before, at))
            if task.label:
                self._progress(at / task.rows, f"{task.label}, {at} of {task.rows} replicas")
            before = at
