"""What a worker process of ours does first: Dask loads this module there, and calls `dask_setup`."""

from __future__ import annotations

import signal
from importlib import import_module


def ready() -> None:
    """Load what units need, while the question is still being prepared."""
    import_module("loynes.execution.units")


def dask_setup(worker: object) -> None:
    """Ctrl-C is the client's to answer; it ends its workers itself."""
    ready()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
