"""How every kernel is compiled: cached on disk, without the interpreter lock, never with fast-math.

Numba's cache looks only at a function's own source file, so a kernel would keep running an old version of the code it
has inlined from other files. The house's cache key therefore holds a fingerprint of all sources a kernel can draw on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, NullCache

from loynes.kernels.fingerprint import FINGERPRINT


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba carries no types
    def __init__(self, function: Callable[..., Any], key: tuple[Any, ...] | None, use: str) -> None:
        self._own_key, self._use = key, use
        super().__init__(function)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        if self._own_key is not None:
            return (sig, codegen.magic_tuple(), self._own_key, self._use, FINGERPRINT)
        return (*super()._index_key(sig, codegen), self._use, FINGERPRINT)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        # A user's compiled function may live in a module that cannot be imported here: it is compiled anew.
        with suppress(ImportError):
            return super()._load_overload(sig, target_context)


class _CacheOnDemand(NullCache):  # type: ignore[misc]
    """The cache of a function once the function is needed: Numba's writes a file to see whether it can, and most
    functions are never asked for."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    @cached_property
    def found(self) -> Any:
        # Where neither the package's folder nor the user's cache can be written, every process compiles anew.
        try:
            return _Cache(*self._given)
        except RuntimeError:
            return NullCache()

    @property
    def cache_path(self) -> Any:
        return self.found.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self.found.load_overload(sig, target_context)

    def save_overload(self, sig: Any, compile_result: Any) -> None:
        self.found.save_overload(sig, compile_result)

    def flush(self) -> None:
        self.found.flush()


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

    def made(use: str) -> Any:
        # error_model="numpy": a division needs no test for zero, so loops with one still vectorise.
        # _nrt is said in any case: what is not said a function has from the first that calls it.
        dispatcher = njit(
            nogil=True,
            error_model="numpy",
            _nrt=counted,
            forceinline=inlined,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=use == "compiled code",
        )(function)
        if cached:
            dispatcher._cache = _CacheOnDemand(function, key, use)
        return dispatcher

    # Numba compiles, with every function, what makes its arguments of Python's objects: a quarter of all time, and of
    # use only where Python calls it. Compiled code that calls the function is given a twin without that.
    twin = cache(lambda: made("compiled code"))
    dispatcher = made("Python")
    dispatcher.get_call_template = lambda *given: twin().get_call_template(*given)
    dispatcher.get_overload = lambda signature: twin().get_overload(signature)
    ready: Callable[..., Any] = dispatcher
    return ready


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a small kernel that is called every few jobs: a call would hand over, and count references to, every
    array it is given."""
    return compiled(function, inlined=True)


def prepares(function: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of a function that makes room for a kernel and calls it: like the kernel, it takes any types."""
    return function
