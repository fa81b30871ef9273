"""A digest of the code of a function and of everything it draws on, so that a cached loop runs no other code."""

from __future__ import annotations

import hashlib
import types
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

PACKAGE = Path(__file__).parents[3]
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)


def digest_of(function: Any) -> str:
    """Of a function's code, its constants, and the globals and closed-over values it names, through all its calls.

    The package's own functions count by name: the fingerprint of all kernels covers them. A value of a kind that is not
    known here counts as new every time, so that nothing which depends on it is ever read from a cache.
    """
    digest = hashlib.sha256()
    for part in _parts(function, (), set()):
        digest.update(part.encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _parts(value: Any, names: tuple[str, ...], met: set[int]) -> Iterator[str]:
    """Texts that tell a value from others; `names` are those that the code around it looks up in it."""
    if isinstance(value, Dispatcher):
        yield from _parts(value.py_func, names, met)
    elif isinstance(value, types.FunctionType):
        if Path(value.__code__.co_filename).is_relative_to(PACKAGE):
            yield f"{value.__module__}.{value.__qualname__}"
        elif id(value) not in met:
            met.add(id(value))
            yield from _code_parts(value.__code__, value, met)
    elif isinstance(value, types.ModuleType):
        yield value.__name__
        for name in names:
            if hasattr(value, name):
                yield name
                yield from _parts(getattr(value, name), names, met)
    elif isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield f"{type(value).__name__} {len(value)}"
        for one in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _parts(one, names, met)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
        yield f"{type(value).__name__} {getattr(value, '__module__', '')} {value.__name__}"
    else:
        yield uuid.uuid4().hex


def _code_parts(code: types.CodeType, function: types.FunctionType, met: set[int]) -> Iterator[str]:
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant, function, met)
        else:
            yield from _parts(constant, (), met)
    for name in code.co_names:
        if name in function.__globals__:
            yield name
            yield from _parts(function.__globals__[name], code.co_names, met)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name
        yield from _parts(cell.cell_contents, code.co_names, met)
