"""One state, several forms: everything above this file is written once and works on dense vectors and run lists, of one
kind of server or of several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.kernels.cpu import dense, kinds, runs
from loynes.kernels.cpu.compiled import compiled

_dense_put, _dense_advance, _dense_rebase = dense.put, dense.advance, dense.rebase
_dense_lower, _dense_look, _dense_get = dense.lower, dense.look, dense.get
_dense_same, _runs_same = dense.same, runs.same
_runs_put, _runs_advance, _runs_rebase = runs.put, runs.advance, runs.rebase
_runs_lower, _runs_look, _runs_get = runs.lower, runs.look, runs.get
_kinds_put, _kinds_advance, _kinds_rebase, _kinds_lower = kinds.put, kinds.advance, kinds.rebase, kinds.lower
_kinds_same, _kinds_get = kinds.same, kinds.get
_kinds_plan, _room = kinds.new_plan, kinds.room


class State(NamedTuple):
    """A workload: one vector of s servers, or one a kind. `size` is the number of runs, 0 for a dense vector.

    Few arrays, because each costs a little at every call: what several kinds need is packed (see kinds.py).
    """

    servers: int
    plain: bool
    as_runs: bool  # of the only kind
    strict: bool
    values: np.ndarray
    counts: np.ndarray
    size: np.ndarray  # [kind]
    plan: np.ndarray  # integers, for kinds.py


@compiled
def new_state(table, as_runs):
    # A run has at least one server, so there are at most s; one more while a job is inserted; a window to read past.
    count = table.units.size
    room = 0
    for t in range(count):
        room += _room(table.units[t], as_runs[t])
    plan = np.zeros(0, np.int64) if table.plain else _kinds_plan(table, as_runs)
    return State(
        table.servers,
        table.plain,
        as_runs[0],
        table.strict,
        np.zeros(room if table.plain else room + 1 + count),
        np.zeros(room, np.int32),
        np.zeros(count, np.int64),
        plan,
    )


@compiled
def put(state, W):
    if not state.plain:
        _kinds_put(state, W)
    elif state.as_runs:
        state.size[0] = _runs_put(state.values, state.counts, W)
    else:
        state.size[0] = 0
        _dense_put(state.values, W)


@compiled
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of the block; returns the block's clock after them."""
    if not state.plain:
        return _kinds_advance(state, block, begin, end, now)
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
        _kinds_rebase(state, now)
    elif state.size[0] > 0:
        state.size[0] = _runs_rebase(state.values, state.counts, state.size[0], now)
    else:
        _dense_rebase(state.values, state.servers, now)


@compiled
def lower(state):
    if not state.plain:
        return _kinds_lower(state)
    if state.size[0] > 0:
        return _runs_lower(state.values, state.size[0])
    return _dense_lower(state.values, state.servers)


@compiled
def look(state, need, now, wait, loss):
    """Wait and HOL loss that an arrival of each need would meet, in the plain model (see kinds.look for the others)."""
    if state.size[0] > 0:
        _runs_look(state.values, state.counts, state.size[0], need, now, wait, loss)
    else:
        _dense_look(state.values, need, now, wait, loss)


@compiled
def same(state, other):
    """Whether two states of the same form are equal."""
    if not state.plain:
        return _kinds_same(state, other)
    if state.size[0] > 0:
        return _runs_same(state.values, state.counts, state.size[0], other.values, other.counts, other.size[0])
    return _dense_same(state.values, other.values, state.servers)


@compiled
def get(state, W):
    if not state.plain:
        _kinds_get(state, W)
    elif state.size[0] > 0:
        _runs_get(state.values, state.counts, state.size[0], W)
    else:
        _dense_get(state.values, W)
