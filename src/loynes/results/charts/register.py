"""Registers of functions by the class of result they are for, filled where each function is defined."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Concatenate, Generic, ParamSpec, TypeVar

from loynes.errors import UsageError
from loynes.results.base import Result
from loynes.results.charts.chart import Chart
from loynes.results.charts.units import in_units

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

    def make(self, result: Result, **options: object) -> Made | None:
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


def load_modules(package: str) -> None:
    """Every module of a package is loaded, and so enters what it has."""
    for module in pkgutil.iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")


def charts_of(result: Result, **options: object) -> list[Chart]:
    """The charts of any result, the first of which is its picture; a sweep has options."""
    load_modules("loynes.results.charts")
    charts = CHARTS.make(result, **options)
    if charts is None:
        raise UsageError("there is no picture of this kind of result")
    return [in_units(chart, result.time_unit) for chart in charts]
