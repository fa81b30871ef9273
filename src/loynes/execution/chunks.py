"""A run in stretches: between two of them there is time to tell how far it is, to write down what there is, or to end.

A run that is ended leaves a state whose rows are all equally far. So whoever asked for it can make an estimate of what
there is, a journal can record it, and the run can go on from there to the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from loynes.execution.deadline import NEVER, Deadline
from loynes.execution.progress import Progress, silent
from loynes.kernels.cpu.threads import cores
from loynes.kernels.engine import CUT, AnyState, Backend, Engine, Task

# Stretches double while they take less than so many seconds.
LONG = 1.0
# One through jobs that seems to take longer than is soon, under a deadline, is done on copies, by some rows at a time
# that take about so many times as long.
PROMPT = 2.0


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

    def __init__(self, engine: Backend, progress: Progress = silent, deadline: Deadline = NEVER) -> None:
        super().__init__(engine)
        self._backend = engine
        self._progress, self._simulated = progress, getattr(progress, "simulated", None)
        self._deadline = deadline

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        before = start
        # Work that is said to be none is part of an estimate, which is wanted all the more once time is up.
        deadline = self._deadline
        if deadline is not NEVER and not task.expected_jobs(start, stop):
            deadline = NEVER
        deadline.check(before)
        engine: Engine = self._backend if deadline is NEVER else _Prompt(self._backend, deadline)
        for at in stretches(engine, task, state, start, stop):
            if self._simulated is not None:
                self._simulated(task.jobs(state, before, at))
            if task.label:
                self._progress(at / task.rows, f"{task.label}, {at} of {task.rows} replicas")
            before = at
            if at < stop:
                deadline.check(at)


class _Prompt(Delegating):
    """Looks at the deadline while a stretch is under way. One through jobs is done on copies, if it takes long, of some
    rows at a time, which are put together only when all are done: once the deadline has passed, the state is still what
    it was before the stretch."""

    def __init__(self, engine: Backend, deadline: Deadline) -> None:
        super().__init__(engine)
        self._backend, self._deadline = engine, deadline

    def run(self, task: Task, state: AnyState, start: int, stop: int) -> None:
        look = partial(self._look, start)
        seconds = task.expected_jobs(start, stop) * task.job_seconds / cores()
        # What a GPU does is copied to it, and back when it is done.
        if task.by_rows or self.name != "cpu":
            self._backend.run(task, state, start, stop, look)
            return
        if seconds <= self._deadline.soon:
            self._backend.run(task, state, start, stop)
            return
        rows = task.groups()
        each = max(int(len(rows) * PROMPT * self._deadline.soon / seconds), 4 * cores())
        done = []
        for first in range(0, len(rows), each):
            self._deadline.check(start)
            some = np.concatenate(rows[first : first + each])
            part = task.take(state, some)
            self._backend.run(task.part(some), part, start, stop, look)
            done.append((some, part))
        for some, part in done:
            task.put(state, some, part)

    def _look(self, start: int) -> None:
        if self._deadline.passed:
            self._deadline.check(start)
