"""Replicas over cores: kernels release the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

Task = Callable[[], Any]


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_lines(
    lines: Iterable[Iterator[Task]], workers: int | None = None, after_each: Callable[[], None] | None = None
) -> None:
    """Run lines of tasks side by side: a line's tasks one after the other, any line's as soon as a core is free.

    `after_each` is called in this thread whenever a task has ended. An interrupt or an error waits for the tasks that
    run, no more.
    """
    limit = workers or cores()
    ready = deque(lines)
    running: dict[Future[Any], Iterator[Task]] = {}
    pool = ThreadPoolExecutor(limit)
    try:
        while ready or running:
            # Twice as many as there are workers, so that none waits for this thread to hand it the next one.
            while ready and len(running) < 2 * limit:
                line = ready.popleft()
                task = next(line, None)
                if task is not None:
                    running[pool.submit(task)] = line
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                ready.append(running.pop(future))
                future.result()
                if after_each is not None:
                    after_each()
    finally:
        pool.shutdown(cancel_futures=True)
