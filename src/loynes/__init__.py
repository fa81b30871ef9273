"""loynes: thresholds, waits and blocking losses of clusters whose jobs need several servers at once.

import loynes
model = loynes.load("five-class-exponential")
loynes.stability(model).threshold
loynes.evaluate(model, rate=1.35).summary
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from loynes._version import __version__

# Public names are said once, in the stub that type checkers read, and loaded on first use: importing costs nothing.
_STUB = (Path(__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
_HOMES = {name: module for module, name in re.findall(r"from (loynes[\w.]*) import (\w+) as", _STUB)}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'loynes' has no attribute {name!r}")
    home = _HOMES[name]
    # A room of the same name is that name's value, whoever loads it first; loynes.report can be called.
    is_room = home in ("loynes", f"loynes.{name}")
    value = import_module(f"loynes.{name}") if is_room else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
