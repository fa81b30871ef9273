"""The CUDA engine on a CPU: kernels compiled as C++ (see cuda_on_cpu.hpp), NumPy's arrays in the place of CuPy's."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from loynes.inputs.tables import JobTable
from loynes.kernels.cuda.compiled import RUNS, SOURCES, Shape
from loynes.kernels.cuda.device import TooManyRunsError, arrays_of, round_keys, symbols_of

HERE = Path(__file__).parent


def _compiler() -> str | None:
    """A C++ compiler that knows what the emulation needs."""
    found = shutil.which("g++")
    if found is None:
        return None
    snippet = "#include <ucontext.h>\n#include <utility>\ninline thread_local ucontext_t home;"
    options = ["-std=c++17", "-fsyntax-only", "-x", "c++", "-"]
    tried = subprocess.run([found, *options], input=snippet, text=True, capture_output=True)
    return found if tried.returncode == 0 else None


COMPILER = _compiler()
# Blocks small enough that idle lanes do not take most of the time.
THREADS = 32


class Array(np.ndarray):
    """An array 'on the device'."""

    def get(self) -> np.ndarray:
        return np.array(self)

    @property
    def data(self) -> Any:  # type: ignore[override]  # CuPy's: what knows the address
        return SimpleNamespace(ptr=self.ctypes.data)


def _held(array: np.ndarray) -> Array:
    return np.ascontiguousarray(array).view(Array)


class OutOfMemoryError(Exception):
    pass


def cupy() -> Any:
    """What the engine uses of CuPy."""
    stream = SimpleNamespace(synchronize=lambda: None)
    memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    return SimpleNamespace(
        asarray=lambda array: _held(np.array(array)),
        zeros=lambda shape, dtype=np.float64: _held(np.zeros(shape, dtype)),
        uint32=np.uint32,
        int64=np.int64,
        cuda=SimpleNamespace(get_current_stream=lambda: stream, memory=memory),
    )


class Kernel:
    """In the place of `loynes.kernels.cuda.device.Kernel`."""

    folder: Path  # where libraries are kept

    def __init__(self, name: str, shape: Shape, table: JobTable, seed: int, slow_doubles: bool = False) -> None:
        self.shape = replace(shape, threads=THREADS)
        self._library = ctypes.CDLL(str(self._build(name, "#define DOUBLES_ARE_SLOW\n" if slow_doubles else "")))
        self._arrays = [np.ascontiguousarray(a) for a in arrays_of(shape, table)]
        for symbol, data in symbols_of(shape, table, [a.ctypes.data for a in self._arrays]).items():
            self.fill(symbol, data)
        self.fill("keys", np.array(round_keys(seed), np.uint32).tobytes())

    def fill(self, symbol: str, data: bytes) -> None:
        ctypes.memmove(ctypes.addressof(ctypes.c_char.in_dll(self._library, symbol)), data, len(data))

    def _build(self, name: str, defined: str) -> Path:
        emulated = f"""{defined}#include "{HERE}/cuda_on_cpu.hpp"
{self.shape.source(name)}
alignas(16) char shared[{max(self.shape.shared, 16)}];
extern "C" void go(unsigned blocks, void **arguments) {{ launch({name}, blocks, THREADS, LANES > 1, arguments); }}
"""
        text = emulated + (HERE / "cuda_on_cpu.hpp").read_text()
        target = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.so"
        if not target.exists():
            source = target.with_suffix(".cpp")
            source.write_text(emulated)
            options = ["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-fPIC", "-shared", "-pthread", f"-I{SOURCES}"]
            assert COMPILER is not None
            subprocess.run([COMPILER, *options, str(source), "-o", str(target)], check=True)
        return target

    def see_to_room(self) -> None:
        if self.shape.form == RUNS:
            overflowed = ctypes.c_int.in_dll(self._library, "overflowed")
            found, overflowed.value = overflowed.value, 0
            if found:
                raise TooManyRunsError

    @property
    def resident(self) -> int:
        return 8

    def __call__(self, teams: int, *arguments: Any) -> None:
        held = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else np.array(a) for a in arguments]
        pointers = (ctypes.c_void_p * len(held))()
        kept = []
        for i, a in enumerate(held):
            if isinstance(a, np.ndarray):
                pointers[i] = a.ctypes.data
            else:
                kept.append(a)
                pointers[i] = ctypes.cast(ctypes.pointer(a), ctypes.c_void_p)
        blocks = -(-teams * self.shape.lanes // self.shape.threads)
        self._library.go(ctypes.c_uint(blocks), pointers)
