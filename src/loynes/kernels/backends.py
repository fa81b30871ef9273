"""Which backend answers: the only place that knows their names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from loynes.errors import UsageError
from loynes.inputs.tables import JobTable

NAMES = ("auto", "cpu", "cuda", "cuda:64")

# A question that the CPU would answer sooner, in seconds, than a GPU's first launch takes is left to it.
WORTH_A_GPU = 5.0
# A pair of workload vectors has to fit into a multiprocessor's shared memory. Of several kinds, a GPU passes over all
# units at every job, and with very many of them does no better than a few cores with their run lists.
MOST_ON_GPU = 28_000
MOST_OF_SEVERAL_KINDS = 4096


def backend(name: str) -> Any:
    """The engine of a backend, with the functions of `kernels/cpu/engine.py`; `auto` is the CPU (see `settle`)."""
    if name not in NAMES:
        raise UsageError(f"backend {name!r}: must be one of {', '.join(NAMES)}")
    return _maker.get()(name)


Maker = Callable[[str], Any]


@contextmanager
def wrapped(wrap: Callable[[str, Maker], Any]) -> Iterator[None]:
    """Within it, whoever asks for an engine gets wrap(name, how engines were made before): recorded, or elsewhere."""
    before = _maker.get()
    token = _maker.set(lambda name: wrap(name, before))
    try:
        yield
    finally:
        _maker.reset(token)


def plain(name: str) -> Any:
    """The engine itself, on this machine."""
    if name.startswith("cuda"):
        return _cuda(64 if name == "cuda:64" else 32)
    from loynes.kernels.cpu import engine

    return engine


_maker: ContextVar[Maker] = ContextVar("maker", default=plain)


def warm_up(name: str) -> None:
    """Start the GPU, if that is the backend, while this thread goes on: it takes half a second."""

    def start() -> None:
        with suppress(Exception):  # whatever is wrong will be said when the backend is asked for
            import cupy

            cupy.zeros(1)

    if name.startswith("cuda"):
        threading.Thread(target=start, daemon=True).start()


def settle(name: str, seconds: float, table: JobTable) -> str:
    """The backend for a question that would take the CPU about so many seconds: what `auto` stands for."""
    most = MOST_ON_GPU if table.plain else MOST_OF_SEVERAL_KINDS
    if (
        name != "auto"
        or seconds < WORTH_A_GPU
        or table.servers > most
        or table.specific.any()
        or table.arrivals.process
    ):
        return name
    from loynes.kernels.cuda.device import missing

    return "cpu" if missing() else "cuda"


@lru_cache(maxsize=2)
def _cuda(bits: int) -> Any:
    from loynes.kernels.cuda.engine import Engine

    return Engine(bits)
