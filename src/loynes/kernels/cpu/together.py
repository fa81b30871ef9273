"""Several replicas step by step in turn: a dense step waits for the stores of the one before, other replicas do not.

A replica's numbers are those that it has alone: rows know nothing of each other, only the order in time of their steps
changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable
from loynes.kernels.cpu import dense
from loynes.kernels.cpu.layers import Layers
from loynes.kernels.cpu.memory import aligned, clamp
from loynes.kernels.cpu.state import Array, Dense, Kinds, Runs, advance, new_state
from loynes.kernels.cpu.variants import PlainTable, SimpleTable, chosen_by_type
from loynes.kernels.reference import BLOCK

# How many replicas take turns. Measured at 20 servers, nanoseconds a step: alone 5.5, two 3.1, four 2.5, eight 1.9,
# whose jobs would take a third of the fastest cache.
TOGETHER = 4

_registers = dense.registers


class DenseRows(NamedTuple):
    """Dense vectors of as many replicas: [replica, entry]."""

    servers: int
    values: Array


class Jobs(NamedTuple):
    """What a step reads of the present blocks of several replicas, and their clocks."""

    need: NDArray[np.int64]  # [replica, job]
    service: Array
    gap: Array
    now: Array  # [replica]


def new_jobs(count: int) -> Jobs:
    """Room for a block of as many replicas."""
    service, gap = np.zeros((2, count, BLOCK))
    return Jobs(np.zeros((count, BLOCK), np.int64), service, gap, np.zeros(count))


def new_states(table: JobTable, forms: NDArray[np.int64], count: int) -> DenseRows | Runs | Layers | Kinds:
    """Room for as many replicas where they can take turns, and for one where not."""
    one = new_state(table, forms)
    return DenseRows(one.servers, aligned(count, one.values.size)) if isinstance(one, Dense) else one


@chosen_by_type
def rows_together(states, table):
    """How many replicas may take turns."""


@chosen_by_type
def member(states, g):
    """The state of one of them."""


@chosen_by_type
def advance_together(states, block, jobs, count, begin, end):
    """Jobs begin .. end-1 of the blocks of as many replicas, whose clocks go on; of one alone, those of `block`."""


@chosen_by_type
def _turns(table):
    """How many replicas take turns; one if what is seen at a job is looked up in its block, of which there is one."""


@chosen_by_type
def keep_jobs(states, block, jobs, g):
    """A replica's block is drawn: keep it while others are, and set the replica's clock to 0."""


@keep_jobs.variant(DenseRows)
def _dense_keep(states, block, jobs, g):
    for j in range(BLOCK):
        jobs.need[g, j] = block.need[j]
        jobs.service[g, j] = block.service[j]
        jobs.gap[g, j] = block.gap[j]
    jobs.now[g] = 0.0


@keep_jobs.variant(Runs, Layers, Kinds)
def _keep_none(states, block, jobs, g):
    jobs.now[g] = 0.0


@_turns.variant(SimpleTable, PlainTable)
def _turns_plain(table):
    return TOGETHER


@_turns.variant(JobTable)
def _turns_any(table):
    return 1


@rows_together.variant(DenseRows)
def _dense_together(states, table):
    return _turns(table)


@rows_together.variant(Runs, Layers, Kinds)
def _one_alone(states, table):
    return 1


@member.variant(DenseRows)
def _dense_member(states, g):
    return Dense(states.servers, states.values[g])


@member.variant(Runs, Layers, Kinds)
def _the_one(states, g):
    return states


@advance_together.variant(DenseRows)
def _dense_advance(states, block, jobs, count, begin, end):
    values, need, service, gap, now = states.values, jobs.need, jobs.service, jobs.gap, jobs.now
    registers, width = _registers(states.servers), values.shape[1]
    for j in range(begin, end):
        for g in range(count):
            a, at = need[g, j], now[g]
            v = max(at, values[np.uint64(g), np.uint64(a - 1)]) + service[g, j]
            now[g] = at + gap[g, j]
            clamp(values, g * width, a, v, registers)


@advance_together.variant(Runs, Layers, Kinds)
def _one_advance(states, block, jobs, count, begin, end):
    jobs.now[0] = advance(states, block, begin, end, jobs.now[0])
