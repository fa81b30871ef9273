"""Given jobs through the recurrence, once, from the empty state: every job's own wait and HOL loss.

The arithmetic is that of reference.advance_block, in blocks from the first job on: waits and workload are the same bits
in both forms of the state. The HOL loss is summed level by level, as dense.look does, and equal to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu import dense, runs
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.kinds import room
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import dense_cost, runs_cost

_dense_put, _dense_advance, _dense_rebase, _dense_get = dense.put, dense.advance, dense.rebase, dense.get
_runs_put, _runs_advance, _runs_rebase, _runs_get = runs.put, runs.advance, runs.rebase, runs.get


class Replayed(NamedTuple):
    """What the jobs met: wait and HOL loss (server time) of each, the loss in each window, the workload at the end."""

    wait: Array
    loss: Array
    lost: Array
    workload: Array


def run_replay(
    servers: int, need: Ints, service: Array, submit: Array, edges: Array, as_runs: bool | None = None
) -> Replayed:
    """Jobs submitted at given times, ascending, on an empty cluster; `edges` are the bounds of windows of time.

    A job's HOL loss falls in the windows in which its servers idled; what lies past the last edge is in the last one.
    """
    gap = np.append(np.diff(submit), 0.0)
    wait, loss, workload = np.empty(len(need)), np.empty(len(need)), np.zeros(servers)
    lost = np.zeros(len(edges) - 1)
    form = cheaper_as_runs(servers, need) if as_runs is None else as_runs
    values = np.zeros(room(servers, form))
    counts = np.zeros(len(values) if form else 1, np.int32)
    _replay(form, values, counts, need, service, gap, submit, edges, wait, loss, lost, workload)
    return Replayed(wait, loss, lost, workload)


def cheaper_as_runs(servers: int, need: Ints) -> bool:
    """As for models (shape.py): about half as many jobs as would fit are in service."""
    return runs_cost(1.0 + 0.5 * servers / float(need.mean())) < dense_cost(servers)


@compiled
def _replay(as_runs, values, counts, need, service, gap, submit, edges, wait, loss, lost, workload):
    servers = workload.size
    size = 0
    if as_runs:
        size = _runs_put(values, counts, workload)
    else:
        _dense_put(values, workload)
    window = 0
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
    if as_runs:
        _runs_get(values, counts, size, workload)
    else:
        _dense_get(values, workload)


@compiled
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


@compiled
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
