"""What a worker process of ours does first: Dask loads this module there, and calls `dask_setup`."""

from __future__ import annotations

import signal
from typing import Any

import loynes.study.units  # noqa: F401  what it will need, while the question is still being prepared


def dask_setup(worker: Any) -> None:
    """Ctrl-C is the client's to answer; it ends its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
