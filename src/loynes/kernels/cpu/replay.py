"""Given jobs through the recurrence, once, from the empty state: every job's own wait and HOL loss.

The arithmetic is that of reference.advance_block, in blocks from the first job on: waits and workload are the same bits
in both forms of the state. The HOL loss is summed level by level, as dense.look does, and equal to rounding.

A log is run in stretches of whole blocks, and the state before each is kept: a stretch can be run again without the
ones before it. stretches.py says how that is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu import dense, runs
from loynes.kernels.cpu.compiled import compiled, inlined
from loynes.kernels.cpu.kinds import room
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import dense_cost, runs_cost

_dense_put, _dense_rebase, _dense_get = dense.put, dense.rebase, dense.get
_runs_put, _runs_rebase, _runs_get, _runs_same = runs.put, runs.rebase, runs.get, runs.same
_dense_advance, _runs_advance = dense.advance, runs.advance


class Jobs(NamedTuple):
    """Jobs submitted at given times, ascending."""

    need: Ints
    service: Array
    submit: Array


class Met(NamedTuple):
    """What jobs met: wait and HOL loss (server time) of each."""

    wait: Array
    loss: Array


class Saved(NamedTuple):
    """A state between two blocks: the workloads of servers, or of runs of servers beside how many these are."""

    values: Array
    counts: NDArray[np.int32]


class Chain:
    """A cluster, empty at first, that jobs are run through."""

    def __init__(self, servers: int, as_runs: bool) -> None:
        self.servers, self.as_runs = servers, as_runs
        self._values = np.zeros(room(servers, as_runs))
        self._counts = np.zeros(len(self._values) if as_runs else 1, np.int32)
        self._size = 0
        self.clear()

    def clear(self) -> None:
        workload = np.zeros(self.servers)
        if self.as_runs:
            self._size = _runs_put(self._values, self._counts, workload)
        else:
            _dense_put(self._values, workload)

    def run(self, jobs: Jobs, first: int, stop: int, met: Met, edges: Array, window: int, lost: Array) -> int:
        """Jobs first .. stop - 1, from the start of a block on; returns the window that the last loss fell in.

        `edges` are the bounds of windows of time. A job's HOL loss falls in the windows in which its servers idled, and
        is added to `lost` there; what lies past the last edge is in the last one. No loss falls before `window`.
        """
        part = slice(first, stop)
        gap = np.zeros(stop - first)
        np.subtract(jobs.submit[first + 1 : stop + 1], jobs.submit[first : min(stop, len(jobs.submit) - 1)],
                    out=gap[: min(stop, len(jobs.submit) - 1) - first])  # fmt: skip
        self._size, window = _replay(
            self.as_runs, self._values, self._counts, self._size, jobs.need[part], jobs.service[part], gap,
            jobs.submit[part], edges, window, met.wait[part], met.loss[part], lost, self.servers,
        )  # fmt: skip
        return int(window)

    @property
    def state(self) -> Saved:
        """A copy."""
        size = self._size if self.as_runs else self.servers
        return Saved(self._values[:size].copy(), self._counts[:size].copy())

    @state.setter
    def state(self, saved: Saved) -> None:
        size = len(saved.values)
        self._values[size:] = 0.0 if self.as_runs else np.inf
        self._values[:size] = saved.values
        self._counts[: len(saved.counts)] = saved.counts
        self._size = size

    def stands_at(self, saved: Saved) -> bool:
        """Whether it is in the same state, so that the same jobs will meet the same."""
        if self.as_runs:
            here = (self._values, self._counts, self._size)
            return bool(_runs_same(*here, saved.values, saved.counts, len(saved.values)))
        return np.array_equal(self._values[: self.servers], saved.values)

    @property
    def workload(self) -> Array:
        found = np.empty(self.servers)
        if self.as_runs:
            _runs_get(self._values, self._counts, self._size, found)
        else:
            _dense_get(self._values, found)
        return found


def cheaper_as_runs(servers: int, need: Ints) -> bool:
    """As for models (shape.py): about half as many jobs as would fit are in service."""
    return runs_cost(1.0 + 0.5 * servers / float(need.mean())) < dense_cost(servers)


@compiled
def _replay(as_runs, values, counts, size, need, service, gap, submit, edges, window, wait, loss, lost, servers):
    """Whole blocks of jobs, and at the end of a log what is left; returns the number of runs, and the window."""
    for first in range(0, need.size, BLOCK):
        now = 0.0
        origin = submit[first]
        for j in range(first, min(first + BLOCK, need.size)):
            if as_runs:
                start, idled = _idled_runs(values, counts, size, need[j], now, np.inf)
            else:
                start, idled = _idled_dense(values, need[j], now, np.inf)
            wait[j] = start - now
            loss[j] = idled
            if idled > 0.0:
                # Servers idle for this job's sake after the job before has started and before it starts itself, so
                # that these stretches of time follow each other and no window is met twice.
                earlier = 0.0
                while window < lost.size - 1 and edges[window + 1] < origin + start:
                    until = edges[window + 1] - origin
                    if as_runs:
                        so_far = _idled_runs(values, counts, size, need[j], now, until)[1]
                    else:
                        so_far = _idled_dense(values, need[j], now, until)[1]
                    lost[window] += so_far - earlier
                    earlier = so_far
                    window += 1
                lost[window] += idled - earlier
            if as_runs:
                size, now = _runs_advance(values, counts, size, need, service, gap, j, j + 1, now)
            else:
                now = _dense_advance(values, servers, need, service, gap, j, j + 1, now)
        if as_runs:
            size = _runs_rebase(values, counts, size, now)
        else:
            _dense_rebase(values, servers, now)
    return size, window


@inlined
def _idled_dense(values, need, now, until):
    """Start of a job that arrives now, and what its servers idle for it before `until`, level by level."""
    level = max(now, values[0])
    idled = 0.0
    for i in range(1, need):
        above = max(now, values[i])
        if above > level:
            idled += i * (min(above, until) - min(level, until))
            level = above
    return level, idled


@inlined
def _idled_runs(values, counts, size, need, now, until):
    """The same of a run list."""
    place = np.uint64(size - 1)
    level = max(now, values[place])
    passed = np.int64(counts[place])
    idled = 0.0
    while passed < need:
        place -= np.uint64(1)
        above = max(now, values[place])
        if above > level:
            idled += passed * (min(above, until) - min(level, until))
            level = above
        passed += counts[place]
    return level, idled
