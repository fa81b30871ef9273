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
    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), FINGERPRINT)


def compiled(function: Callable[..., Any], counted: bool = True, inlined: bool = False) -> Any:
    """The decorator of every kernel; `counted` says whether references to arrays are."""
    # error_model="numpy": a division needs no test for zero, so loops with one still vectorise.
    # _nrt is said in any case: what is not said a function has from the first that calls it.
    dispatcher = njit(nogil=True, error_model="numpy", _nrt=counted, forceinline=inlined)(function)
    # Where neither the package's folder nor the user's cache can be written, every process compiles anew.
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)
    return dispatcher
