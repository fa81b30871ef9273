"""Backward samples (Algorithm 1 of the paper): sub-perfect samples of the stationary workload.

M_n is the workload at time 0 of a system that was empty n jobs ago; it never decreases with n, and its limit is the
stationary workload. A sample doubles n until M_n = M_2n, so it is a lower bound of a perfect sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loynes.errors import SamplingError
from loynes.execution.deadline import Stopped
from loynes.inputs.arrivals import PERIODIC
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import MANY_CLASSES, JobTable, rarest
from loynes.kernels.engine import Backward, Engine, Ints, SampleState, Sampling, sample_steps, whole_blocks
from loynes.kernels.reference import BLOCK

LONGEST = 1 << 30
# The first length is at most so long for the rarest of very many classes.
FEW_OF_MANY = 2.0**16


@dataclass(frozen=True)
class Samples:
    """A batch of samples: workload vectors, and for each the length and the number of doublings it took."""

    first: int  # replica number of the first row
    workload: NDArray[np.float64]
    length: NDArray[np.int64]
    doublings: NDArray[np.int64]

    @property
    def jobs(self) -> int:
        return sample_steps(self.length, self.doublings)


def initial_length(table: JobTable, fewest: float | None = None) -> int:
    """A power of two blocks in which the rarest class, or branch of one's law, is expected four times.

    At least so many jobs: two for every server, unless it is said.

    Shorter starts agree too soon: if the rare big job is missing from both M_n and M_2n, they are equal and wrong. So
    they would be, in a cycle, without its busy hours: it is at least a whole one. Of thousands of classes each brings
    little, and the rarest least: they are not waited for.
    """
    cycle = table.arrivals.time[table.arrivals.phases] if table.arrivals.process == PERIODIC else 0.0
    often = min(4.0 / rarest(table), FEW_OF_MANY if len(table.need) > MANY_CLASSES else math.inf)
    wanted = min(max(often, 2.0 * table.servers if fewest is None else fewest, BLOCK, cycle), 2.0**22)
    return BLOCK << max(0, math.ceil(math.log2(wanted / BLOCK)))


def backward_samples(
    table: JobTable,
    count: int,
    *,
    seed: int,
    first: int = 0,
    stream: int = STREAM_STATIONARY,
    initial: int | None = None,
    confirmations: int = 1,
    longest: int = LONGEST,
    engine: Engine,
) -> Iterator[Samples]:
    """Samples first .. first + count - 1, in batches of bounded size."""
    length = whole_blocks(initial) if initial else initial_length(table)

    def task(replicas: Ints) -> Backward:
        return Backward(table, seed, stream, replicas, length, longest, confirmations)

    return in_batches(engine, task, first, count, f"backward samples had not settled after {longest} jobs")


def in_batches(
    engine: Engine, task: Callable[[Ints], Sampling], first: int, count: int, unfinished: str
) -> Iterator[Samples]:
    """Samples first .. first + count - 1 of task(their numbers); a length of 0 is a failure.

    Stopped in the middle of a batch, it gives the samples that are done, and then says so.
    """
    servers = task(np.arange(first, first + 1)).table.servers
    batch = max(1, min(count, engine.batch_bytes // (8 * servers)))
    for start in range(first, first + count, batch):
        rows = min(batch, first + count - start)
        state = SampleState(np.empty((rows, servers)), np.empty(rows, np.int64), np.empty(rows, np.int64))
        stopped: Stopped | None = None
        try:
            engine.run(task(np.arange(start, start + rows)), state, 0, rows)
        except Stopped as ended:
            stopped, rows = ended, ended.at
            state = SampleState(state.workload[:rows], state.length[:rows], state.doublings[:rows])
        if not np.all(state.length):
            raise SamplingError(
                f"{np.count_nonzero(state.length == 0)} of {rows} {unfinished}; the rate is too close to the threshold "
                "for this method"
            )
        if rows:
            yield Samples(start, *state)
        if stopped is not None:
            raise stopped
