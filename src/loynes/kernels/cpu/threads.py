"""Replicas over cores: kernels release the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(
    tasks: Iterable[Callable[[], Any]], workers: int | None = None, done: Callable[[], None] | None = None
) -> None:
    """Run every task, as many at a time as there are workers; call `done` in this thread after each.

    Tasks are started only as earlier ones end, so an interrupt or an error leaves at most `workers` to be waited for.
    """
    limit = workers or cores()
    with ThreadPoolExecutor(limit) as pool:
        running: set[Future[Any]] = set()
        for task in tasks:
            if len(running) >= limit:
                running = _settle(running, done)
            running.add(pool.submit(task))
        while running:
            running = _settle(running, done)


def _settle(running: set[Future[Any]], done: Callable[[], None] | None) -> set[Future[Any]]:
    finished, rest = wait(running, return_when=FIRST_COMPLETED)
    for future in finished:
        future.result()
        if done is not None:
            done()
    return rest
