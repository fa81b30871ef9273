"""A run in stretches: between two of them there is time to tell how far it is, or to write down what there is."""

from __future__ import annotations

import time
from collections.abc import Iterator

from loynes.execution.progress import Progress
from loynes.kernels.engine import CUT, AnyState, Engine, Task

# Stretches double while they take less than so many seconds.
LONG = 4.0


def stretches(engine: Engine, task: Task, state: AnyState, start: int, stop: int) -> Iterator[int]:
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
        self.name, self.most_jobs, self.batch_bytes = engine.name, engine.most_jobs, engine.batch_bytes
        self.groups_of, self.fitting_replicas = engine.groups_of, engine.fitting_replicas
        self.look_every, self.first_rows = engine.look_every, engine.first_rows


class Chunked(Delegating):
    """Tells progress, after every stretch, how many jobs were simulated; of a task with a label, also how far it is."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        super().__init__(engine)
        self._progress, self._simulated = progress, getattr(progress, "simulated", None)

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        before = start
        for at in stretches(self._engine, task, state, start, stop):
            if self._simulated is not None:
                self._simulated(task.jobs(state, before, at))
            if task.label:
                self._progress(at / task.rows, f"{task.label}, {at} of {task.rows} replicas")
            before = at
