"""The GPU as the engine sees it: is there one, compiled modules, launches, memory."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.errors import UsageError
from loynes.inputs.philox import ROUNDS, WEYL_0, WEYL_1
from loynes.inputs.tables import JobTable
from loynes.kernels.cuda.compiled import MOST_SHARED, OPTIONS, RUNS, SOURCES, Shape, table_bytes
from loynes.kernels.cuda.walked import arrival_bytes

# Where a float operation takes less than this part of a double's time, exponential times are computed in floats alone.
SLOW_DOUBLES = 4


class TooManyRunsError(Exception):
    """A list of runs had too little room: what was computed is not to be used."""


@lru_cache(maxsize=1)
def missing() -> str | None:
    """What keeps the GPU from being used, or None."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'loynes[gpu]'"
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "there is no NVIDIA GPU"
    except Exception as error:  # CuPy raises whatever its libraries raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"there is no usable NVIDIA GPU ({reason})"
    return None


def cupy() -> ModuleType:
    """CuPy, where there is a GPU to use it on."""
    what = missing()
    if what is not None:
        raise UsageError(f"backend 'cuda': {what}; use --backend cpu (or auto)")
    import cupy

    module: ModuleType = cupy
    return module


@lru_cache(maxsize=64)
def _module(shape: Shape, kernel: str, device: int) -> Any:
    # Lambdas with `auto` in them are for the device, too, like all there is in these sources.
    options = [*OPTIONS, "--device-as-default-execution-space", f"-I{SOURCES}"]
    if cupy().cuda.Device(device).attributes["SingleToDoublePrecisionPerfRatio"] > SLOW_DOUBLES:
        options.append("-DDOUBLES_ARE_SLOW")
    return cupy().RawModule(code=shape.source(kernel), options=tuple(options), backend="nvrtc")


def round_keys(seed: int) -> list[int]:
    """Philox's keys for a seed: those of the first word for every round, then those of the second."""
    starts = ((seed & 0xFFFFFFFF, WEYL_0), (seed >> 32, WEYL_1))
    return [(start + i * step) & 0xFFFFFFFF for start, step in starts for i in range(ROUNDS)]


def arrays_of(shape: Shape, table: JobTable) -> tuple[NDArray[Any], ...]:
    """The arrays that a kernel reads from the device's memory."""
    t = table.arrivals
    return (table.grid, table.pieces, *((t.time, t.row, t.cut) if shape.arriving.process else ()))


def symbols_of(shape: Shape, table: JobTable, pointers: Sequence[int]) -> dict[str, bytes]:
    """What is filled in before launches, by name; pointers are to those arrays."""
    record = table_bytes(shape, table, *pointers[:2])
    arrivals = {"arrivals": arrival_bytes(table, *pointers[2:])} if shape.arriving.process else {}
    return {"table": record, "far_table": record, **arrivals}


class Kernel:
    """One kernel for one shape, its table filled in."""

    def __init__(self, name: str, shape: Shape, table: JobTable, seed: int) -> None:
        cp = cupy()
        self.shape = shape
        if shape.shared > MOST_SHARED:
            raise UsageError(f"backend 'cuda': {shape.servers} servers do not fit on the GPU; use --backend cpu")
        self._module = module = _module(shape, name, cp.cuda.Device().id)
        self._function = module.get_function(name)
        if shape.shared > 40 << 10:  # with what is declared in the sources, more than there is without asking
            self._function.max_dynamic_shared_size_bytes = shape.shared
        self._arrays = [cp.asarray(a) if a.size else None for a in arrays_of(shape, table)]
        pointers = [0 if a is None else a.data.ptr for a in self._arrays]
        if shape.form == RUNS:
            module.get_global("overflowed").memset(0, 4)
        for symbol, data in symbols_of(shape, table, pointers).items():
            self.fill(symbol, data)
        self.fill("keys", np.array(round_keys(seed), np.uint32).tobytes())

    def fill(self, symbol: str, data: bytes) -> None:
        """Fill one of the sources' variables in, once launches before are done."""
        held = np.frombuffer(data, np.uint8)
        self._module.get_global(symbol).copy_from_host(held.ctypes.data, held.nbytes)

    def see_to_room(self) -> None:
        """TooManyRunsError if a list had too little room in any launch since this kernel was made."""
        if self.shape.form == RUNS:
            found = np.zeros(1, np.int32)
            self._module.get_global("overflowed").copy_to_host(found.ctypes.data, found.nbytes)
            if found[0]:
                raise TooManyRunsError

    @property
    def resident(self) -> int:
        """Teams that the device runs at a time."""
        cp = cupy()
        blocks = cp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self._function.kernel.ptr, self.shape.threads, self.shape.shared
        )
        processors = cp.cuda.Device().attributes["MultiProcessorCount"]
        return int(blocks * processors * self.shape.threads // self.shape.lanes)

    def __call__(self, teams: int, *arguments: Any) -> None:
        blocks = -(-teams * self.shape.lanes // self.shape.threads)
        self._function((blocks,), (self.shape.threads,), arguments, shared_mem=self.shape.shared)

    @property
    def registers(self) -> int:
        return int(self._function.num_regs)

    @property
    def spilled(self) -> int:
        return int(self._function.local_size_bytes)
