"""How every kernel is compiled: cached on disk, without the interpreter lock, never with fast-math.

Numba's cache looks only at a function's own source file, so a kernel would keep running an old version of the code it
has inlined from other files. The house's cache key therefore holds a fingerprint of all sources a kernel can draw on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

from loynes.kernels.fingerprint import FINGERPRINT


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba carries no types
    def __init__(self, function: Callable[..., Any], key: tuple[Any, ...] | None) -> None:
        self._own_key = key
        super().__init__(function)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        if self._own_key is not None:
            return (sig, codegen.magic_tuple(), self._own_key, FINGERPRINT)
        return (*super()._index_key(sig, codegen), FINGERPRINT)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        # A user's compiled function may live in a module that cannot be imported here: it is compiled anew.
        with suppress(ImportError):
            return super()._load_overload(sig, target_context)


def compiled(
    function: Callable[..., Any],
    counted: bool = True,
    inlined: bool = False,
    cached: bool = True,
    key: tuple[Any, ...] | None = None,
) -> Callable[..., Any]:
    """The decorator of every kernel; `counted` says whether references to arrays are.

    A function that closes over compiled ones needs a `key` that tells it from others made at the same place, and a
    qualified name of its own: Numba would pickle what it closes over, which is never the same twice.
    """
    # error_model="numpy": a division needs no test for zero, so loops with one still vectorise.
    # _nrt is said in any case: what is not said a function has from the first that calls it.
    dispatcher = njit(nogil=True, error_model="numpy", _nrt=counted, forceinline=inlined)(function)
    # Where neither the package's folder nor the user's cache can be written, every process compiles anew.
    if cached:
        with suppress(RuntimeError):
            dispatcher._cache = _Cache(function, key)
    ready: Callable[..., Any] = dispatcher
    return ready


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a small kernel that is called every few jobs: a call would hand over, and count references to, every
    array it is given."""
    return compiled(function, inlined=True)


def prepares(function: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of a function that makes room for a kernel and calls it: like the kernel, it takes any types."""
    return function
