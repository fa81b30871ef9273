"""Replicas over cores: kernels release the interpreter lock, so plain threads are enough.

Work that is under way is given up by a flag, which kernels look at once a block of jobs: whoever waits for them raises
it when an interrupt, an error or a deadline comes. What was given up is of no use, and nobody keeps it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.kernels.engine import Look

Call = Callable[[], Any]
# One byte, 0 until the work is given up.
Flag = NDArray[np.uint8]
# Seconds between looks at whether somebody wants an end.
LOOK_EVERY = 0.2


def new_flag() -> Flag:
    return np.zeros(1, np.uint8)


# Of work that nobody gives up.
NO_FLAG = new_flag()


class GivenUpError(Exception):
    """Work ends here, as its flag was raised; whoever raised it has an error of his own."""


def heed(flag: Flag) -> None:
    """End the work here, if it is given up."""
    if flag[0]:
        raise GivenUpError


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_lines(
    lines: Iterable[Iterator[Call]], threads: int, flag: Flag | None = None, look: Look | None = None
) -> None:
    """Run lines of calls side by side: a line's calls one after the other, any line's as soon as a thread is free.

    `look` is called every so often, and may end all by an exception. That, an interrupt or an error raises the flag,
    and waits for the calls that run: until they see it, or, if they do not look, until they are done.
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
            for future in wait(running, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done:
                ready.append(running.pop(future))
                future.result()
            if look is not None and (ready or running):
                look()
    except BaseException:
        if flag is not None:
            flag[0] = 1
        raise
    finally:
        pool.shutdown(cancel_futures=True)
