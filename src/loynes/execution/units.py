"""Units of work: pieces of a run that anybody can do, anywhere.

A unit is a task for some rows, over a range, with their state before; what comes back is the state after. It is a pure
function of what it is given: the result is the same, bit for bit, wherever and in whatever order units are done, and if
one is done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes._version import __version__
from loynes.errors import LoynesError
from loynes.inputs.tables import JobTable
from loynes.kernels.backends import engine_of
from loynes.kernels.engine import Task, mapped
from loynes.kernels.fingerprint import FINGERPRINT

# Counts travel as those that are not 0, where these are few.
SPARSE = 0.25


class Sparse(NamedTuple):
    """An array that is mostly zeros."""

    shape: tuple[int, ...]
    where: NDArray[np.int64]
    value: NDArray[Any]


@dataclass(frozen=True)
class Unit:
    backend: str
    task: Task
    state: Any  # packed
    start: int
    stop: int
    fingerprint: str = FINGERPRINT
    version: str = __version__


def run_unit(unit: Unit) -> Any:
    """The packed state afterwards, by one core or one GPU of this machine."""
    if unit.fingerprint != FINGERPRINT:
        raise LoynesError(
            f"a worker has other kernels (loynes {__version__}) than this machine (loynes {unit.version}): install the "
            "same on both"
        )
    state = unpacked(unit.state)
    engine_of(unit.backend, 1).run(unit.task, state, unit.start, unit.stop)
    return packed(state)


@dataclass(frozen=True)
class Facts:
    """What an engine says of itself."""

    name: str
    most_jobs: float
    batch_bytes: int


def facts_of(backend: str) -> Facts:
    engine = engine_of(backend)
    return Facts(engine.name, engine.most_jobs, engine.batch_bytes)


def fitting_replicas(backend: str, table: JobTable) -> int:
    return engine_of(backend).fitting_replicas(table)


def packed(state: Any) -> Any:
    """A state that travels light."""
    return mapped(state, _packed)


def unpacked(state: Any) -> Any:
    """Whole arrays that may be written: they can arrive as views of a message."""
    if isinstance(state, Sparse):
        flat = np.zeros(int(np.prod(state.shape)), state.value.dtype)
        flat[state.where] = state.value
        return flat.reshape(state.shape)
    if isinstance(state, tuple) and hasattr(state, "_make"):
        return state._make(unpacked(inner) for inner in state)
    return np.array(state) if isinstance(state, np.ndarray) else state


def _packed(array: Any) -> Any:
    if isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.ndim > 2:
        where = np.flatnonzero(array)
        if len(where) < SPARSE * array.size:
            return Sparse(array.shape, where, array.ravel()[where])
    return array
