"""How a service is made of one uniform number u in (0, 1): the formulas that every backend knows.

A law names its formula and the numbers in it (`Law.recipe`); a law that names none is drawn from a table of its
quantiles. The list is closed, because each formula is written out in NumPy (inputs/jobs.py), for the CPU
(kernels/cpu/jobs.py) and for the GPU (kernels/cuda/jobs.cuh), with the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from loynes.arrays import Array

if TYPE_CHECKING:
    from loynes.model.laws.law import Law

Formula = Literal[
    "exponential",  # p (-ln u)
    "pareto",  # p exp(q (-ln u))
    "bounded_pareto",  # p exp(q (-ln(1 - r u)))
    "deterministic",  # p
    "uniform",  # p + q u
    "weibull",  # p exp(q ln(-ln u))
    "table",  # exp of the tabulated log-quantile at ln(u / (1 - u))
    "pieces",  # linear in u between nodes, found by a search
]


class Recipe(NamedTuple):
    """A formula and its numbers; to all of them `add` is added."""

    formula: Formula
    p: float = 0.0
    q: float = 0.0
    r: float = 0.0
    add: float = 0.0
    tabulated: Law | None = None  # "table": the law whose log-quantiles are tabulated
    nodes: Array | None = None  # "pieces": rows of (u, Q(u), slope of Q from there); the first u is 0
