"""Which backend runs a task: the only place that knows their names."""

from __future__ import annotations

from functools import lru_cache

from loynes.errors import UsageError
from loynes.inputs.tables import JobTable
from loynes.kernels.engine import Backend

NAMES = ("auto", "cpu", "cuda", "cuda:64")

# Work that the CPU would do sooner, in seconds, than a GPU's first launch takes is left to it.
WORTH_A_GPU = 5.0
# A pair of workload vectors has to fit into a multiprocessor's shared memory.
MOST_ON_GPU = 28_000


def check_backend(name: str) -> None:
    if name not in NAMES:
        raise UsageError(f"backend {name!r}: must be one of {', '.join(NAMES)}")


@lru_cache(maxsize=8)
def engine_of(name: str, threads: int | None = None) -> Backend:
    """A backend on this machine; `auto` is the CPU, until `chosen` has weighed the work."""
    check_backend(name)
    if name.startswith("cuda"):
        from loynes.kernels.cuda.engine import CudaEngine

        return CudaEngine(64 if name == "cuda:64" else 32)
    from loynes.kernels.cpu.engine import CpuEngine

    return CpuEngine(threads)


def chosen(name: str, seconds: float, table: JobTable) -> str:
    """What `auto` stands for, where the CPU would take about so many seconds; any other name stays."""
    if name != "auto" or seconds < WORTH_A_GPU or table.servers > MOST_ON_GPU:
        return name
    from loynes.kernels.cuda.device import missing

    return "cpu" if missing() else "cuda"
