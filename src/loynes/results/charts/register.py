"""Registers of functions by the class of result they are for, filled where each function is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from loynes.results.base import Result
from loynes.results.charts.chart import Chart

R = TypeVar("R", bound=Result)
P = ParamSpec("P")
Made = TypeVar("Made")


class Register(Generic[Made]):
    """What is made of a result: charts, or a page."""

    def __init__(self) -> None:
        self._makers: dict[type[Result], Callable[..., Made]] = {}

    def enter(self, kind: type[R]) -> Callable[[Callable[Concatenate[R, P], Made]], Callable[Concatenate[R, P], Made]]:
        """Enter the function for a class of results."""

        def take(make: Callable[Concatenate[R, P], Made]) -> Callable[Concatenate[R, P], Made]:
            self._makers[kind] = make
            return make

        return take

    def make(self, result: Result, **options: Any) -> Made | None:
        """What the function for this result makes of it; None where there is no such function."""
        makers = (self._makers[kind] for kind in type(result).__mro__ if kind in self._makers)
        make = next(makers, None)
        return None if make is None else make(result, **options)

    @property
    def kinds(self) -> set[type[Result]]:
        """The classes that have a function."""
        return set(self._makers)


CHARTS: Register[list[Chart]] = Register()
charts_for = CHARTS.enter
