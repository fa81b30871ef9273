"""One state, several forms: everything above this file is written once and works on dense vectors and run lists, of one
kind of server or of several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.kernels.cpu import dense, runs, typed
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.runs import WINDOW

_dense_put, _dense_advance, _dense_rebase = dense.put, dense.advance, dense.rebase
_dense_lower, _dense_look, _dense_get = dense.lower, dense.look, dense.get
_dense_same, _runs_same = dense.same, runs.same
_runs_put, _runs_advance, _runs_rebase = runs.put, runs.advance, runs.rebase
_runs_lower, _runs_look, _runs_get = runs.lower, runs.look, runs.get
_typed_put, _typed_advance, _typed_rebase, _typed_lower = typed.put, typed.advance, typed.rebase, typed.lower
_typed_look, _typed_same, _typed_get = typed.look, typed.same, typed.get


class State(NamedTuple):
    """A workload: one vector of s servers, or one a kind. `size` is the number of runs, 0 for a dense vector."""

    servers: int
    plain: bool
    values: np.ndarray
    counts: np.ndarray
    size: np.ndarray  # [kind]
    # Several kinds, or specific servers (see typed.py):
    strict: bool
    as_runs: np.ndarray  # [kind]
    units: np.ndarray  # [kind]
    begin: np.ndarray  # [kind + 1], where a kind's entries lie
    demand: np.ndarray  # [class, kind]
    specific: np.ndarray  # [class, kind]
    floor: np.ndarray  # [1], the last start
    lost: np.ndarray  # [kind], HOL loss of all jobs served so far, where the order is not strict
    chosen: np.ndarray  # scratch: places of specific servers


@compiled
def new_state(table, as_runs):
    # A run has at least one server, so there are at most s; one more while a job is inserted; a window to read past.
    kinds = table.units.size
    begin = np.zeros(kinds + 1, np.int64)
    for t in range(kinds):
        s = table.units[t]
        begin[t + 1] = begin[t] + (s + 1 + WINDOW if as_runs[t] else 2 * s)
    most = 1
    for c in range(table.need.size):
        for t in range(kinds):
            most = max(most, table.specific[c, t])
    return State(
        table.servers,
        table.plain,
        np.empty(begin[kinds]),
        np.zeros(begin[kinds], np.int32),
        np.zeros(kinds, np.int64),
        table.strict,
        as_runs,
        table.units,
        begin,
        table.demand,
        table.specific,
        np.zeros(1),
        np.zeros(kinds),
        np.zeros(most, np.int64),
    )


@compiled
def put(state, W):
    if not state.plain:
        _typed_put(state, W)
    elif state.as_runs[0]:
        state.size[0] = _runs_put(state.values, state.counts, W)
    else:
        state.size[0] = 0
        _dense_put(state.values, W)


@compiled
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of the block; returns the block's clock after them."""
    if not state.plain:
        return _typed_advance(state, block, begin, end, now)
    if state.size[0] > 0:
        size, now = _runs_advance(
            state.values, state.counts, state.size[0], block.need, block.service, block.gap, begin, end, now
        )
        state.size[0] = size
        return now
    return _dense_advance(state.values, state.servers, block.need, block.service, block.gap, begin, end, now)


@compiled
def rebase(state, now):
    if not state.plain:
        _typed_rebase(state, now)
    elif state.size[0] > 0:
        state.size[0] = _runs_rebase(state.values, state.counts, state.size[0], now)
    else:
        _dense_rebase(state.values, state.servers, now)


@compiled
def lower(state):
    if not state.plain:
        return _typed_lower(state)
    if state.size[0] > 0:
        return _runs_lower(state.values, state.size[0])
    return _dense_lower(state.values, state.servers)


@compiled
def look(state, block, j, needs, now, wait, loss):
    """Wait, and HOL loss by kind, that an arrival of each need would meet in the place of job j."""
    if not state.plain:
        _typed_look(state, needs, block.assignment[j], now, wait, loss)
    elif state.size[0] > 0:
        _runs_look(state.values, state.counts, state.size[0], needs.need, now, wait, loss[:, 0])
    else:
        _dense_look(state.values, needs.need, now, wait, loss[:, 0])


@compiled
def same(state, other):
    """Whether two states of the same form are equal."""
    if not state.plain:
        return _typed_same(state, other)
    if state.size[0] > 0:
        return _runs_same(state.values, state.counts, state.size[0], other.values, other.counts, other.size[0])
    return _dense_same(state.values, other.values, state.servers)


@compiled
def get(state, W):
    if not state.plain:
        _typed_get(state, W)
    elif state.size[0] > 0:
        _runs_get(state.values, state.counts, state.size[0], W)
    else:
        _dense_get(state.values, W)
