"""Units of work: pieces of an engine's long calls that anybody can do, anywhere.

A unit is a range of replicas through a range of jobs, with the state they are in before; what comes back is the state
after. It is a pure function of what it is given, and replicas do not know of each other: the result is the same, bit
for bit, wherever and in whatever order units are done, and if one is done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes._version import __version__
from loynes.errors import LoynesError
from loynes.kernels.backends import plain
from loynes.kernels.cpu.compiled import FINGERPRINT

# Counts travel as the few that are not 0.
SPARSE = 0.25


class Zeros(NamedTuple):
    """An array that is all zeros before."""

    shape: tuple[int, ...]
    kind: str


class Sparse(NamedTuple):
    """An array that is mostly zeros after."""

    shape: tuple[int, ...]
    where: NDArray[np.int64]
    value: NDArray[Any]


@dataclass(frozen=True)
class Unit:
    """What to do: engine.function(*before, *held, *state, **after)."""

    backend: str
    function: str
    before: tuple[Any, ...]
    held: tuple[NDArray[np.float64], ...]  # workloads, kept where the engine wants them meanwhile
    state: tuple[Any, ...]  # arrays, or named tuples of them, that the function updates
    after: dict[str, Any]  # arguments by name; arrays among them are updated too
    fingerprint: str = FINGERPRINT
    version: str = __version__


@dataclass(frozen=True)
class Outcome:
    """The arrays of a unit as the function left them."""

    held: tuple[NDArray[np.float64], ...]
    state: tuple[Any, ...]
    after: dict[str, Any]


def work(unit: Unit) -> Outcome:
    """Do it, on one core or one GPU of this machine."""
    if unit.fingerprint != FINGERPRINT:
        raise LoynesError(
            f"a worker has other kernels (loynes {__version__}) than this machine (loynes {unit.version}): install the "
            "same on both"
        )
    engine = plain(unit.backend)
    held = [engine.hold(np.array(array)) for array in unit.held]
    state = tuple(_mine(part, True) for part in unit.state)
    after = {name: _mine(value, True) for name, value in unit.after.items()}
    before = tuple(_mine(argument, False) for argument in unit.before)
    getattr(engine, unit.function)(*before, *held, *state, workers=1, **after)
    packed = tuple(_packed(part, was) for part, was in zip(state, unit.state, strict=True))
    changed = {name: value for name, value in after.items() if isinstance(value, np.ndarray)}
    return Outcome(tuple(engine.fetch(where) for where in held), packed, changed)


def ask(backend: str, name: str, *arguments: Any) -> Any:
    """What an engine says of itself, there: a constant, or a function's value."""
    value = getattr(plain(backend), name)
    return value(*arguments) if callable(value) else value


def _mine(part: Any, updated: bool) -> Any:
    """Arrays that may be written: they can arrive as views of a message, or of what somebody else has yet to read."""
    if isinstance(part, Zeros):
        return np.zeros(part.shape, part.kind)
    if isinstance(part, tuple):
        inner = (_mine(item, updated) for item in part)
        return part._make(inner) if hasattr(part, "_make") else tuple(inner)
    copied = isinstance(part, np.ndarray) and (updated or not part.flags.writeable)
    return np.array(part) if copied else part


def _packed(part: Any, was: Any) -> Any:
    if isinstance(part, tuple):
        inner = (_packed(*pair) for pair in zip(part, was, strict=True))
        return part._make(inner) if hasattr(part, "_make") else tuple(inner)
    if isinstance(was, Zeros) and part.dtype.kind in "iu":
        where = np.flatnonzero(part)
        if len(where) < SPARSE * part.size:
            return Sparse(part.shape, where, part.ravel()[where])
    return part
