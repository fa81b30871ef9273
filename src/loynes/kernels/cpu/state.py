"""One state, four forms: everything above this file is written once and works on dense vectors, run lists, run lists in
two layers, and on one of the first two for each of several kinds of servers. A state's type says its form, and kernels
are compiled for the one they get."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable
from loynes.kernels.cpu import dense, kinds, layers, runs
from loynes.kernels.cpu.layers import Layers, new_layers
from loynes.kernels.cpu.memory import aligned
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.shape import LAYERED, RUNS

Array = NDArray[np.float64]

_dense_put, _dense_advance, _dense_rebase = dense.put, dense.advance, dense.rebase
_dense_lower, _dense_look, _dense_get = dense.lower, dense.look, dense.get
_dense_same, _runs_same = dense.same, runs.same
_runs_put, _runs_advance, _runs_rebase = runs.put, runs.advance, runs.rebase
_runs_lower, _runs_look, _runs_get = runs.lower, runs.look, runs.get
_kinds_put, _kinds_advance, _kinds_rebase, _kinds_lower = kinds.put, kinds.advance, kinds.rebase, kinds.lower
_kinds_same, _kinds_get, _kinds_look = kinds.same, kinds.get, kinds.look
_take_lost, _unpack = kinds.take_lost, kinds.unpack
_layers_put, _layers_advance, _layers_rebase = layers.put, layers.advance, layers.rebase
_layers_lower, _layers_look, _layers_get = layers.lower, layers.look, layers.get
_layers_same = layers.same


class Dense(NamedTuple):
    """The vector of s servers, and room for the shifted read."""

    servers: int
    values: Array


class Runs(NamedTuple):
    """A list of runs: size[0] of them."""

    values: Array
    counts: NDArray[np.int32]
    size: NDArray[np.int64]


class Kinds(NamedTuple):
    """A vector or list a kind. Few arrays, because each costs a little at every call: the rest is packed in `plan`."""

    strict: bool
    values: Array
    counts: NDArray[np.int32]
    size: NDArray[np.int64]  # [kind]
    plan: NDArray[np.int64]


def new_state(table: JobTable, forms: NDArray[np.int64]) -> Dense | Runs | Layers | Kinds:
    """Room for a workload, in the form that is asked for kind by kind."""
    if table.plain and forms[0] == LAYERED:
        return new_layers(table.servers)
    # A run has at least one server, so there are at most s; one more while a job is inserted; a window to read past.
    room = sum(kinds.room(int(s), bool(form)) for s, form in zip(table.units, forms, strict=True))
    if not table.plain:
        count = len(table.units)
        values, counts = np.zeros(room + 1 + count), np.zeros(room, np.int32)
        return Kinds(table.strict, values, counts, np.zeros(count, np.int64), kinds.new_plan(table, forms == RUNS))
    if forms[0]:
        return Runs(np.zeros(room), np.zeros(room, np.int32), np.zeros(1, np.int64))
    return Dense(table.servers, aligned(room))


# What can be done with a state; the functions below have the forms.


@chosen_by_type
def put(state, W):
    """Take over a workload vector."""


@chosen_by_type
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of the block; returns the block's clock after them."""


@chosen_by_type
def rebase(state, now):
    """End of a block: workloads seen from `now`."""


@chosen_by_type
def lower(state):
    """End of a block of a pile: count from the bottom, which is returned."""


@chosen_by_type
def look(state, block, j, needs, now, wait, loss):
    """Wait and HOL loss that an arrival of each need would meet in the place of job j of the block."""


@chosen_by_type
def same(state, other):
    """Whether two states of the same form are equal."""


@chosen_by_type
def get(state, W):
    """Write the workload vector out."""


@chosen_by_type
def add_lost(state, loss, stride, observe):
    """Where the order is not strict, every job's own HOL loss was summed, while the rest is a sum over looks, one in
    `stride` jobs: add it, if it is observed, and start again at 0."""


@put.variant(Dense)
def _put_dense(state, W):
    _dense_put(state.values, W)


@put.variant(Runs)
def _put_runs(state, W):
    state.size[0] = _runs_put(state.values, state.counts, W)


@put.variant(Layers)
def _put_layers(state, W):
    _layers_put(state, W)


@put.variant(Kinds)
def _put_kinds(state, W):
    _kinds_put(state, W)


@advance.variant(Dense)
def _advance_dense(state, block, begin, end, now):
    return _dense_advance(state.values, state.servers, block.need, block.service, block.gap, begin, end, now)


@advance.variant(Runs)
def _advance_runs(state, block, begin, end, now):
    size, now = _runs_advance(
        state.values, state.counts, state.size[0], block.need, block.service, block.gap, begin, end, now
    )
    state.size[0] = size
    return now


@advance.variant(Layers)
def _advance_layers(state, block, begin, end, now):
    return _layers_advance(state, block.need, block.service, block.gap, begin, end, now)


@advance.variant(Kinds)
def _advance_kinds(state, block, begin, end, now):
    return _kinds_advance(state, block, begin, end, now)


@rebase.variant(Dense)
def _rebase_dense(state, now):
    _dense_rebase(state.values, state.servers, now)


@rebase.variant(Runs)
def _rebase_runs(state, now):
    state.size[0] = _runs_rebase(state.values, state.counts, state.size[0], now)


@rebase.variant(Layers)
def _rebase_layers(state, now):
    _layers_rebase(state, now)


@rebase.variant(Kinds)
def _rebase_kinds(state, now):
    _kinds_rebase(state, now)


@lower.variant(Dense)
def _lower_dense(state):
    return _dense_lower(state.values, state.servers)


@lower.variant(Runs)
def _lower_runs(state):
    return _runs_lower(state.values, state.size[0])


@lower.variant(Layers)
def _lower_layers(state):
    return _layers_lower(state)


@lower.variant(Kinds)
def _lower_kinds(state):
    return _kinds_lower(state)


@look.variant(Dense)
def _look_dense(state, block, j, needs, now, wait, loss):
    _dense_look(state.values, needs.need, now, wait, loss)


@look.variant(Runs)
def _look_runs(state, block, j, needs, now, wait, loss):
    _runs_look(state.values, state.counts, state.size[0], needs.need, now, wait, loss)


@look.variant(Layers)
def _look_layers(state, block, j, needs, now, wait, loss):
    _layers_look(state, needs.need, now, wait, loss)


@look.variant(Kinds)
def _look_kinds(state, block, j, needs, now, wait, loss):
    _kinds_look(state, block, j, needs, now, wait, loss)


@same.variant(Dense)
def _same_dense(state, other):
    return _dense_same(state.values, other.values, state.servers)


@same.variant(Runs)
def _same_runs(state, other):
    return _runs_same(state.values, state.counts, state.size[0], other.values, other.counts, other.size[0])


@same.variant(Layers)
def _same_layers(state, other):
    return _layers_same(state, other)


@same.variant(Kinds)
def _same_kinds(state, other):
    return _kinds_same(state, other)


@get.variant(Dense)
def _get_dense(state, W):
    _dense_get(state.values, W)


@get.variant(Runs)
def _get_runs(state, W):
    _runs_get(state.values, state.counts, state.size[0], W)


@get.variant(Layers)
def _get_layers(state, W):
    _layers_get(state, W)


@get.variant(Kinds)
def _get_kinds(state, W):
    _kinds_get(state, W)


@add_lost.variant(Dense, Runs, Layers)
def _no_lost(state, loss, stride, observe):
    pass


@add_lost.variant(Kinds)
def _add_lost_kinds(state, loss, stride, observe):
    if not state.strict:
        lost = _take_lost(state, _unpack(state.plan))
        if observe:
            loss[:] += lost / stride
