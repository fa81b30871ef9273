"""Kernels compiled for what a model has, and no more: the types of the table and of the state choose the code.

A kernel that could run every model would be compiled with all of it, several kinds of servers and every arrival process
included, and a first answer would wait for that. Here a table's type says what its jobs are like, a state's type in
which form a workload is kept, and functions that differ are chosen by these types when a kernel is compiled. All
variants compute the same bits: what is left out would not have been run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from numba.extending import overload

from loynes.inputs.arrivals import POISSON
from loynes.inputs.tables import JobTable


class PlainTable(JobTable):
    """One kind of servers, any of which will do; Poisson arrivals, and classes that do not depend on them."""


class SimpleTable(PlainTable):
    """The same, and all services exponential."""


def typed(table: JobTable) -> JobTable:
    """The same table, of the type that says what its jobs are like."""
    t = table.arrivals
    if not table.plain or t.process != POISSON or t.mixed > 0 or t.repeat >= 0 or t.sizes > 0:
        return table
    return SimpleTable(*table) if table.simple else PlainTable(*table)


class Chosen(Protocol):
    """A function of which compiled code calls the variant for the type of the first argument."""

    def __call__(self, *arguments: Any) -> Any: ...

    def variant(self, *types: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The decorator of the function for these types."""


def chosen_by_type(function: Callable[..., Any], counted: bool = True) -> Chosen:
    """The decorator of a function whose variants follow, each for some types of the first argument.

    Compiled code never sees the function itself, only its variants. `counted` is as for `compiled`.
    """
    variants: dict[type, Callable[..., Any]] = {}

    def variant(*types: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def enter(one: Callable[..., Any]) -> Callable[..., Any]:
            variants.update(dict.fromkeys(types, one))
            return one

        return enter

    def choose(first: Any, *rest: Any) -> Callable[..., Any] | None:
        return variants.get(getattr(first, "instance_class", type(None)))

    # As every kernel is compiled (see compiled.py); a variant mostly hands its arguments on, which a call would cost.
    options = {"nogil": True, "error_model": "numpy", "_nrt": counted, "forceinline": True, "no_cfunc_wrapper": True}
    overload(function, strict=False, jit_options=options)(choose)
    function.variant = variant  # type: ignore[attr-defined]
    return cast(Chosen, function)
