"""Small functions on the floor, compiled without counting references.

A compiled function counts references, atomically, to every array it is given: with functions of ten instructions,
called a few times an event, that was two thirds of all time. These only read and write arrays that their callers own;
one that makes an array of its own is refused by the compiler, and is decorated with `compiled` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loynes.kernels.cpu.compiled import compiled


def uncounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of functions on the floor that make no arrays."""
    return compiled(function, counted=False)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what is called at every event: a call would hand over all of the floor's arrays."""
    return compiled(function, counted=False, inlined=True)
