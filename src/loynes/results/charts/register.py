"""Which charts belong to which result: every file of this folder enters its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from loynes.results.charts.chart import Chart

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., list[Chart]])
Make = Callable[..., list[Chart]]
_MAKERS: dict[str, Callable[..., list[Chart]]] = {}


@overload
def charts_for(kind: type[R]) -> Callable[[Make], Make]: ...
@overload
def charts_for(kind: str) -> Callable[[F], F]: ...
def charts_for(kind: type[Any] | str) -> Callable[[F], F]:
    """Enter the function that makes the charts of a class of results (by its name, where it lives in a later room)."""

    def enter(make: F) -> F:
        _MAKERS[kind if isinstance(kind, str) else kind.__name__] = make
        return make

    return enter


def maker_of(result: object) -> Callable[..., list[Chart]] | None:
    """The function that makes a result's charts; None where there is none."""
    return next((_MAKERS[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in _MAKERS), None)
