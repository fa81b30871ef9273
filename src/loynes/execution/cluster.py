"""Dask clusters: one that is there, or workers on this machine for as long as a question lasts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loynes.errors import LoynesError, UsageError
from loynes.execution.worker import ready

# Seconds to wait for a scheduler, and for its first worker.
PATIENCE = 30
MOST_WORKERS = 1024


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A Dask client of the cluster at an address, or of so many processes here; None if neither is wanted."""
    if address is None and workers is None:
        yield None
        return
    if address is not None and workers is not None:
        raise UsageError("give --cluster or --workers, not both")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"workers {workers}: must be at least 1 and at most {MOST_WORKERS}")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("clusters need dask and distributed: pip install 'loynes[scale]'") from None
    settings = {"distributed.admin.large-graph-warning-threshold": "1GB", "distributed.comm.timeouts.connect": PATIENCE}
    with dask.config.set(settings):
        if workers is not None:
            # The kernels let go of the interpreter, but a process each keeps Python's own work apart too.
            options: dict[str, Any] = {
                "threads_per_worker": 1,
                "processes": True,
                "preload": ["loynes.execution.worker"],
            }
            with (
                LocalCluster(
                    n_workers=workers, dashboard_address=":0", silence_logs=logging.CRITICAL, **options
                ) as local,
                Client(local) as client,
            ):
                yield client
            return
        try:
            client = Client(address, timeout=PATIENCE)
        except (OSError, ValueError, ImportError) as error:
            raise LoynesError(f"cluster {address}: cannot be reached: {error}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise LoynesError(
                    f"cluster {address}: has no workers (start one with: dask worker {address})"
                ) from None
            _wake(client)
            yield client


def _wake(client: Any) -> None:
    """Workers load what they will need while the question is still being prepared."""
    from distributed import fire_and_forget

    for worker in client.nthreads():
        fire_and_forget(client.submit(ready, workers=[worker], pure=False))
