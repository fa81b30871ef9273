"""Kernels compiled for what a model has, and no more: the types of the table and of the state choose the code.

A kernel that could run every model would be compiled with all of it, several kinds of servers and every arrival process
included, and a first answer would wait for that. Here a table's type says what its jobs are like, a state's type in
which form a workload is kept, and functions that differ are chosen by these types when a kernel is compiled. All
variants compute the same bits: what is left out would not have been run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba.extending import overload

from loynes.inputs.arrivals import POISSON
from loynes.inputs.tables import JobTable


class PlainTable(JobTable):
    """One kind of servers, any of which will do; Poisson arrivals, and classes that do not depend on them."""


class SimpleTable(PlainTable):
    """The same, and all services exponential."""


TABLES: tuple[type[JobTable], ...] = (SimpleTable, PlainTable, JobTable)


def typed(table: JobTable) -> JobTable:
    """The same table, of the type that says what its jobs are like."""
    t = table.arrivals
    if not table.plain or t.process != POISSON or t.mixed > 0 or t.repeat >= 0 or t.sizes > 0:
        return table
    return SimpleTable(*table) if table.simple else PlainTable(*table)


def chosen_by_type(stub: Callable[..., Any], functions: Mapping[type, Callable[..., Any]]) -> None:
    """Calls of `stub` in compiled code go to the function for the type of the first argument."""

    def choose(first: Any, *rest: Any) -> Callable[..., Any] | None:
        return functions.get(getattr(first, "instance_class", type(None)))

    # As every kernel is compiled (see compiled.py).
    options = {"nogil": True, "error_model": "numpy", "_nrt": True}
    overload(stub, strict=False, jit_options=options)(choose)
