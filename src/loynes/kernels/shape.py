"""Which form of the state pays for which model: the dense vector or the list of runs.

A dense step costs a pass over all s entries, without a branch; a run-list step costs a binary search and two block
moves over the runs, of which a job adds one however many servers it takes. Measured on one core (benchmarks/README.md):
the dense step wins below about 128 servers whatever the needs, and loses above.
"""

from __future__ import annotations

from loynes.inputs.tables import JobTable

DENSE_UP_TO = 128

# An arrival is observed once in so many jobs: neighbours see nearly the same workload, and looking is not free. A large
# cluster forgets more slowly, counted in jobs, and is dearer to look at.
LOOK_EVERY_DENSE = 16
LOOK_EVERY_RUNS = 32


def use_runs(table: JobTable) -> bool:
    """True for the run list, False for the dense vector."""
    return table.servers > DENSE_UP_TO


def look_every(table: JobTable) -> int:
    """How many jobs apart observed arrivals are; a divisor of the block length."""
    return LOOK_EVERY_RUNS if use_runs(table) else LOOK_EVERY_DENSE
