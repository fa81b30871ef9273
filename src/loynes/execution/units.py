"""Units of work: pieces of a run that anybody can do, anywhere.

A unit is a task for some rows, over a range, with their state before; what comes back is the state after. It is a pure
function of what it is given: the result is the same, bit for bit, wherever and in whatever order units are done, and if
one is done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes._version import __version__
from loynes.errors import LoynesError
from loynes.inputs.tables import JobTable
from loynes.kernels.backends import engine_of
from loynes.kernels.engine import AnyState, Task, mapped
from loynes.kernels.fingerprint import FINGERPRINT

# Counts travel as those that are not 0, where these are few.
SPARSE = 0.25


@dataclass(frozen=True)
class Sparse:
    """An array that is mostly zeros."""

    shape: tuple[int, ...]
    where: NDArray[np.int64]
    value: NDArray[Any]


@dataclass(frozen=True)
class Unit:
    backend: str
    task: Task
    state: AnyState  # packed
    start: int
    stop: int
    fingerprint: str = FINGERPRINT
    version: str = __version__


def run_unit(unit: Unit) -> AnyState:
    """The packed state afterwards, by one core or one GPU of this machine."""
    if unit.fingerprint != FINGERPRINT:
        raise LoynesError(
            f"a worker has other kernels (loynes {__version__}) than this machine (loynes {unit.version}): install the "
            "same on both"
        )
    state = unpacked(unit.state)
    engine_of(unit.backend, 1).run(unit.task, state, unit.start, unit.stop)
    return packed(state)


def fitting_replicas(backend: str, table: JobTable) -> int:
    """Asked of a worker, where only workers have the device."""
    return engine_of(backend).fitting_replicas(table)


def packed(state: AnyState) -> AnyState:
    """A state that travels light."""
    return mapped(state, _packed)


def unpacked(state: AnyState) -> AnyState:
    """Whole arrays that may be written: they can arrive as views of a message."""
    return mapped(state, _unpacked)


def _packed(array: Any) -> Any:
    if isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.ndim > 2:
        where = np.flatnonzero(array)
        if len(where) < SPARSE * array.size:
            return Sparse(array.shape, where, array.ravel()[where])
    return array


def _unpacked(array: Any) -> Any:
    if not isinstance(array, Sparse):
        return np.array(array) if isinstance(array, np.ndarray) else array
    flat = np.zeros(int(np.prod(array.shape)), array.value.dtype)
    flat[array.where] = array.value
    return flat.reshape(array.shape)
