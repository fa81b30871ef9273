"""Chains that carry derivatives: which services and gaps every workload is made of (see `reference.slopes_block`).

The state is a list of runs, ascending: servers that become free together, because one job holds them, and the row of
`paths` that has the derivatives of that moment. A job takes the first runs away and adds one of its own, so
only one row of derivatives is written a job. Values are, bit for bit, those of `forward`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


class Runs(NamedTuple):
    """Room for the runs of one workload: there are never more than servers."""

    value: np.ndarray
    servers: np.ndarray  # how many of them
    path: np.ndarray  # row of `paths`
    paths: np.ndarray  # [row, class], derivatives of the moment a run becomes free; last those by the gaps
    spare: np.ndarray  # rows of `paths` that are not in use, spare[: held[1]]
    held: np.ndarray  # how many runs there are, and how many spare rows


@prepares
def slopes(table, needs, stride, seed, stream, replicas, begin, end, observe, W, D, places, sums, flag=NO_FLAG):
    """Jobs begin .. end-1 (multiples of BLOCK) of the replicas whose workloads are the rows of W, and their derivatives
    those of D; updates these, the places of the arrival process and, where they are observed, the sums."""
    rooms = new_block(table, flag), _new_runs(table.servers, D.shape[2])
    numbers = stride, seed, stream, replicas, begin, end, observe
    _slopes(typed(table), needs, *rooms, *numbers, W, D, places, sums)


@compiled
def _slopes(table, needs, block, runs, stride, seed, stream, replicas, begin, end, observe, W, D, places, sums):
    for r in range(W.shape[0]):
        _put(runs, W[r], D[r])
        x = places[r]
        for first in range(begin, end, BLOCK):
            if block.flag[0]:
                return
            x = draw_block(table, seed, stream, replicas[r], first, block, x)
            now = 0.0
            for j in range(BLOCK):
                if observe and j % stride == 0:
                    phase = block.place[j] % table.arrivals.phases if needs.phase_weight.size > 0 else -1
                    _note(runs, needs, phase, now, sums.wait[r], sums.slope[r])
                    sums.looks[r] += 1.0
                _step(runs, block.need[j], block.job_class[j], block.service[j], now)
                now += block.gap[j]
            _rebase(runs, now)
        places[r] = x
        _get(runs, W[r], D[r])


def _new_runs(servers: int, width: int) -> Runs:
    return Runs(
        np.empty(servers + 1),
        np.empty(servers + 1, np.int64),
        np.empty(servers + 1, np.int64),
        np.empty((servers + 1, width)),
        np.empty(servers + 1, np.int64),
        np.zeros(2, np.int64),
    )


@compiled
def _put(runs, W, D):
    """Take over a workload; servers that are alike are one run."""
    size = 0
    for i in range(W.size):
        same = size > 0 and runs.value[size - 1] == W[i]
        for c in range(D.shape[1]):
            same = same and runs.paths[size - 1, c] == D[i, c]
        if same:
            runs.servers[size - 1] += 1
        else:
            runs.value[size], runs.servers[size], runs.path[size] = W[i], 1, size
            runs.paths[size] = D[i]
            size += 1
    spare = 0
    for row in range(size, W.size + 1):
        runs.spare[spare] = row
        spare += 1
    runs.held[0], runs.held[1] = size, spare


@compiled
def _get(runs, W, D):
    i = 0
    for k in range(runs.held[0]):
        for _ in range(runs.servers[k]):
            W[i] = runs.value[k]
            D[i] = runs.paths[runs.path[k]]
            i += 1


@compiled
def _step(runs, need, job_class, service, now):
    """One job: the runs it takes, then one of its own."""
    value, count, path, paths, spare = runs.value, runs.servers, runs.path, runs.paths, runs.spare
    size, unused = runs.held[0], runs.held[1]
    left, gone, last = need, 0, 0
    while left > 0:
        last = gone
        if count[gone] > left:
            count[gone] -= left
            left = 0
        else:
            left -= count[gone]
            spare[unused] = path[gone]
            unused += 1
            gone += 1
    # The row that is taken may be the very one that decided: it is read before it is written.
    unused -= 1
    own, gaps = spare[unused], paths.shape[1] - 1
    if value[last] > now:
        v = value[last] + service
        decided = path[last]
        for c in range(gaps + 1):
            paths[own, c] = paths[decided, c]
    else:
        v = now + service
        paths[own, :] = 0.0
        paths[own, gaps] = now
    paths[own, job_class] += service
    at = gone
    while at < size and value[at] <= v:
        at += 1
    if gone == 0:
        for k in range(size, at, -1):
            value[k], count[k], path[k] = value[k - 1], count[k - 1], path[k - 1]
    else:
        for k in range(gone, at):
            value[k - gone], count[k - gone], path[k - gone] = value[k], count[k], path[k]
        if gone > 1:
            for k in range(at, size):
                value[k - gone + 1], count[k - gone + 1], path[k - gone + 1] = value[k], count[k], path[k]
    value[at - gone], count[at - gone], path[at - gone] = v, need, own
    runs.held[0], runs.held[1] = size - gone + 1, unused


@compiled
def _rebase(runs, now):
    """End of a block: workloads seen from `now`; idle servers are one run, of which nothing depends on anything."""
    value, count, path, gaps = runs.value, runs.servers, runs.path, runs.paths.shape[1] - 1
    size, idle, servers = runs.held[0], 0, 0
    while idle < size and value[idle] <= now:
        servers += count[idle]
        if idle > 0:
            runs.spare[runs.held[1]] = path[idle]
            runs.held[1] += 1
        idle += 1
    for k in range(idle, size):
        value[k] -= now
        runs.paths[path[k], gaps] -= now
    if idle > 0:
        value[0], count[0] = 0.0, servers
        runs.paths[path[0], :] = 0.0
        for k in range(idle, size):
            value[k - idle + 1], count[k - idle + 1], path[k - idle + 1] = value[k], count[k], path[k]
        runs.held[0] = size - idle + 1


@compiled
def _note(runs, needs, phase, now, wait, slope):
    """Add what an arrival of each need (ascending) would wait now, and the derivatives of that; phase -1 where a class
    does not depend on it."""
    run, passed, gaps = 0, runs.servers[0], runs.paths.shape[1] - 1
    for k in range(needs.need.size):
        while passed < needs.need[k]:
            run += 1
            passed += runs.servers[run]
        if runs.value[run] > now:
            weight = 1.0 if phase < 0 else needs.phase_weight[phase, k]
            row = runs.path[run]
            wait[k] += weight * (runs.value[run] - now)
            for c in range(gaps):
                slope[k, c] += weight * runs.paths[row, c]
            slope[k, gaps] += weight * (runs.paths[row, gaps] - now)
