"""Which form of the state pays for which model: the dense vector or the list of runs.

A dense step is one pass over all s entries, without a branch. A run-list step is a binary search and two moves over the
runs, about one for every job in service, however many servers each takes. The costs below, in nanoseconds a job, are
fitted to a measurement on one core (benchmarks/README.md); only which of the two is smaller matters.
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
# A job that takes longer than this, in nanoseconds, is dear: nobody who says no number means so many of them.
DEAR = 100.0


def dense_cost(servers: int) -> float:
    return 11.5 + 0.28 * servers


def runs_cost(runs: float) -> float:
    return 18.5 + 5.0 * math.log2(runs) + 0.05 * runs


def use_runs(table: JobTable) -> NDArray[np.bool_]:
    """For each kind of server, true for the run list, false for the dense vector."""
    cheaper = [runs_cost(r) < dense_cost(int(s)) for r, s in zip(usual_runs(table), table.units, strict=True)]
    # A run list cannot part with particular servers.
    return np.array(cheaper) & ~table.specific.any(axis=0)


def step_cost(table: JobTable) -> float:
    """Nanoseconds a job, in the form that pays."""
    costs = zip(usual_runs(table), table.units, use_runs(table), strict=True)
    return sum(runs_cost(r) if as_runs else dense_cost(int(s)) for r, s, as_runs in costs)


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
