"""A result as one HTML file that needs nothing else: words, charts, tables, and what they rest on."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from loynes.report.page import page, write

if TYPE_CHECKING:
    from loynes.results.base import Result

__all__ = ["Page", "page", "report", "write"]

# Pixels of a page in a notebook, which scrolls it.
HEIGHT = 640


class Page(str):
    """A page's HTML; a notebook shows it in a frame of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<page of {len(self.encode()) / 1000:.0f} kB>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'


def report(result: Result, path: str | Path | None = None) -> Page:
    """The page of a result, written to an .html file if one is given."""
    if path is not None:
        write(result, path)
    return Page(page(result))


class _Room(ModuleType):
    """This package, which is also what its name says: loynes.report(result) is the page of a result."""

    def __call__(self, result: Result, path: str | Path | None = None) -> Page:
        return report(result, path)


sys.modules[__name__].__class__ = _Room
