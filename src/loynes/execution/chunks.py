"""A run in stretches: between two of them there is time to tell how far it is, to write down what there is, or to end.

A run that is ended leaves a state whose rows are all equally far. So whoever asked for it can make an estimate of what
there is, a journal can record it, and the run can go on from there to the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from loynes.execution.deadline import NEVER, Deadline
from loynes.execution.progress import Progress, silent
from loynes.kernels.cpu.threads import cores
from loynes.kernels.engine import CUT, AnyState, Engine, Task

# Stretches double while they take less than so many seconds.
LONG = 1.0
# One that seems to take longer than this is done by some rows at a time, for a deadline to be seen about so often.
TOO_LONG, PROMPT = 1.0, 0.5


def stretches(engine: Engine, task: Task, state: AnyState, start: int, stop: int) -> Iterator[int]:
    """Run a task a stretch at a time, and say after each how far it is. Cut at multiples of CUT jobs from the start,
    where engines cut too, a run has the same bits as one that is not."""
    step, long = engine.first_rows(stop - start) if task.by_rows else CUT, getattr(engine, "long", LONG)
    while start < stop:
        began, last = time.monotonic(), min(stop, start + step)
        engine.run(task, state, start, last)
        start = last
        if time.monotonic() - began < long:
            step *= 2
        yield start


class Delegating:
    """An engine that runs tasks by means of another one, and else is like it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name, self.most_jobs, self.batch_bytes = engine.name, engine.most_jobs, engine.batch_bytes
        self.groups_of, self.fitting_replicas = engine.groups_of, engine.fitting_replicas
        self.look_every, self.first_rows = engine.look_every, engine.first_rows
        self.long = getattr(engine, "long", LONG)


class Chunked(Delegating):
    """Tells progress, after every stretch, how many jobs were simulated; of a task with a label, also how far it is.
    Ends a run between two stretches once its deadline has passed."""

    def __init__(self, engine: Engine, progress: Progress = silent, deadline: Deadline = NEVER) -> None:
        super().__init__(engine)
        self._progress, self._simulated = progress, getattr(progress, "simulated", None)
        self._deadline = deadline

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        before = start
        # Work that is said to be none is part of an estimate, which is wanted all the more once time is up.
        deadline = self._deadline
        if deadline is not NEVER and not task.expected_jobs(start, stop):
            deadline = NEVER
        deadline.check(before)
        engine = self._engine if deadline is NEVER else _Prompt(self._engine, deadline)
        for at in stretches(engine, task, state, start, stop):
            if self._simulated is not None:
                self._simulated(task.jobs(state, before, at))
            if task.label:
                self._progress(at / task.rows, f"{task.label}, {at} of {task.rows} replicas")
            before = at
            if at < stop:
                deadline.check(at)


class _Prompt(Delegating):
    """Does stretches that take long by some rows at a time. These are put together only when all are done: once the
    deadline has passed, the state is still what it was before the stretch."""

    def __init__(self, engine: Engine, deadline: Deadline) -> None:
        super().__init__(engine)
        self._deadline = deadline

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        seconds = 0.0 if task.by_rows else task.expected_jobs(start, stop) * task.job_seconds / cores()
        if seconds <= TOO_LONG or self.name != "cpu":
            self._engine.run(task, state, start, stop)
            return
        rows = task.groups()
        each = max(int(len(rows) * PROMPT / seconds), 4 * cores())
        done = []
        for first in range(0, len(rows), each):
            self._deadline.check(start)
            some = np.concatenate(rows[first : first + each])
            part = task.take(state, some)
            self._engine.run(task.part(some), part, start, stop)
            done.append((some, part))
        for some, part in done:
            task.put(state, some, part)
