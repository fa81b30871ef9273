"""One state, two forms: everything above this file is written once and works on the dense vector and the run list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.kernels.cpu import dense, runs
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.runs import WINDOW

_dense_put, _dense_advance, _dense_rebase = dense.put, dense.advance, dense.rebase
_dense_lower, _dense_look, _dense_get = dense.lower, dense.look, dense.get
_dense_same, _runs_same = dense.same, runs.same
_runs_put, _runs_advance, _runs_rebase = runs.put, runs.advance, runs.rebase
_runs_lower, _runs_look, _runs_get = runs.lower, runs.look, runs.get


class State(NamedTuple):
    """A workload vector of s servers; `size` is the number of runs, 0 for the dense form."""

    servers: int
    values: np.ndarray
    counts: np.ndarray
    size: np.ndarray


@compiled
def new_state(s, as_runs):
    # A run has at least one server, so there are at most s; one more while a job is inserted; a window to read past.
    return State(s, np.empty(s + 1 + WINDOW if as_runs else 2 * s), np.zeros(s + 1, np.int32), np.zeros(1, np.int64))


@compiled
def put(state, W, as_runs):
    if as_runs:
        state.size[0] = _runs_put(state.values, state.counts, W)
    else:
        state.size[0] = 0
        _dense_put(state.values, W)


@compiled
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of the block; returns the block's clock after them."""
    if state.size[0] > 0:
        size, now = _runs_advance(
            state.values, state.counts, state.size[0], block.need, block.service, block.gap, begin, end, now
        )
        state.size[0] = size
        return now
    return _dense_advance(state.values, state.servers, block.need, block.service, block.gap, begin, end, now)


@compiled
def rebase(state, now):
    if state.size[0] > 0:
        state.size[0] = _runs_rebase(state.values, state.counts, state.size[0], now)
    else:
        _dense_rebase(state.values, state.servers, now)


@compiled
def lower(state):
    if state.size[0] > 0:
        return _runs_lower(state.values, state.size[0])
    return _dense_lower(state.values, state.servers)


@compiled
def look(state, need, now, wait, loss):
    if state.size[0] > 0:
        _runs_look(state.values, state.counts, state.size[0], need, now, wait, loss)
    else:
        _dense_look(state.values, need, now, wait, loss)


@compiled
def same(state, other):
    """Whether two states of the same form are equal."""
    if state.size[0] > 0:
        return _runs_same(state.values, state.counts, state.size[0], other.values, other.counts, other.size[0])
    return _dense_same(state.values, other.values, state.servers)


@compiled
def get(state, W):
    if state.size[0] > 0:
        _runs_get(state.values, state.counts, state.size[0], W)
    else:
        _dense_get(state.values, W)
