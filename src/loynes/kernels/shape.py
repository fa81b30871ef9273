"""Which form of the state pays for which model: the dense vector, the list of runs, or that in two layers.

A dense step is one pass over all s entries, without a branch. A run-list step is a binary search and two moves over the
runs, about one for every job in service, however many servers each takes. In two layers it is a move over about the
root of that, and more to decide. The costs below, in nanoseconds a job, are fitted to a measurement on one core
(benchmarks/README.md); only which of them is smallest matters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array
from loynes.inputs.tables import JobTable, class_probabilities

# An arrival is observed once in so many jobs: neighbours see nearly the same workload, and looking is not free. A large
# cluster forgets more slowly, counted in jobs, and is dearer to look at.
LOOK_EVERY_DENSE = 16
LOOK_EVERY_RUNS = 32
# The forms of a kind of server's state.
DENSE, RUNS, LAYERED = range(3)
# A job that takes longer than this, in nanoseconds, is dear: nobody who says no number means so many of them.
DEAR = 100.0


def dense_cost(servers: int) -> float:
    return 11.5 + 0.28 * servers


def runs_cost(runs: float) -> float:
    return 18.5 + 5.0 * math.log2(runs) + 0.05 * runs


def layers_cost(runs: float) -> float:
    return 120.0 + 0.6 * math.sqrt(runs) + 0.001 * runs


def use_runs(table: JobTable) -> NDArray[np.bool_]:
    """For each kind of server, true for runs, false for the dense vector."""
    cheaper = [runs_cost(r) < dense_cost(int(s)) for r, s in zip(usual_runs(table), table.units, strict=True)]
    # A run list cannot part with particular servers.
    return np.array(cheaper) & ~table.specific.any(axis=0)


def forms_of(table: JobTable) -> NDArray[np.int64]:
    """For each kind of server the form that pays: DENSE, RUNS, or, if it is the only one, LAYERED."""
    forms, runs = use_runs(table).astype(np.int64), float(usual_runs(table)[0])
    if table.plain and forms[0] == RUNS and layers_cost(runs) < runs_cost(runs):
        forms[0] = LAYERED
    return forms


def step_cost(table: JobTable) -> float:
    """Nanoseconds a job, in the form that pays."""
    kinds = zip(usual_runs(table), table.units, forms_of(table), strict=True)
    return sum((dense_cost(int(s)), runs_cost(r), layers_cost(r))[form] for r, s, form in kinds)


def usual_jobs(jobs: float, table: JobTable, cost: float = DEAR) -> float:
    """So many jobs, if none takes longer than so many nanoseconds; else as many as take as long together."""
    return jobs * min(1.0, cost / step_cost(table))


def usual_runs(table: JobTable) -> Array:
    """How many runs each kind's list has: about half as many jobs as would fit are in service, and the idle servers are
    one more run."""
    probability, taken = class_probabilities(table), table.demand + table.specific
    fit = np.min(table.units / np.maximum(probability @ taken, 1e-12))
    return np.asarray(1.0 + 0.5 * fit * (probability @ (taken > 0)))


def look_every(table: JobTable) -> int:
    """How many jobs apart observed arrivals are; a divisor of the block length."""
    return LOOK_EVERY_RUNS if use_runs(table).any() else LOOK_EVERY_DENSE
