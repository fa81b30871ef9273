"""Replicas over cores: kernels release the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

Call = Callable[[], Any]


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_lines(lines: Iterable[Iterator[Call]], threads: int) -> None:
    """Run lines of calls side by side: a line's calls one after the other, any line's as soon as a thread is free.

    An interrupt or an error waits for the calls that run, no more.
    """
    ready = deque(lines)
    running: dict[Future[Any], Iterator[Call]] = {}
    pool = ThreadPoolExecutor(threads)
    try:
        while ready or running:
            # Twice as many as there are threads, so that none waits for this one to hand it the next call.
            while ready and len(running) < 2 * threads:
                line = ready.popleft()
                call = next(line, None)
                if call is not None:
                    running[pool.submit(call)] = line
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                ready.append(running.pop(future))
                future.result()
    finally:
        pool.shutdown(cancel_futures=True)
