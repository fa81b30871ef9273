"""Registers of functions by the class of result they are for, filled where each function is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from loynes.results.charts.chart import Chart

R = TypeVar("R")
Made = TypeVar("Made")
F = TypeVar("F", bound=Callable[..., Any])


class Register(Generic[Made]):
    """What is made of a result: charts, or a page."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[Any], Made]] = {}

    @overload
    def enter(self, kind: type[R]) -> Callable[[Callable[[R], Made]], Callable[[R], Made]]: ...
    @overload
    def enter(self, kind: str) -> Callable[[F], F]: ...
    def enter(self, kind: type[Any] | str) -> Callable[[F], F]:
        """Enter the function for a class of results, given by its name where importing it is too much."""

        def take(make: F) -> F:
            self._makers[kind if isinstance(kind, str) else kind.__name__] = make
            return make

        return take

    def make(self, result: object) -> Made | None:
        """What the function for this result makes of it; None where there is no such function."""
        names = (kind.__name__ for kind in type(result).__mro__)
        return next((self._makers[name](result) for name in names if name in self._makers), None)

    @property
    def names(self) -> set[str]:
        """The classes that have a function."""
        return set(self._makers)


CHARTS: Register[list[Chart]] = Register()
charts_for = CHARTS.enter
