"""Forward chains: replicas of the recurrence over a range of jobs, observed as they go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block, phase_of
from loynes.kernels.cpu.memory import copy_row
from loynes.kernels.cpu.state import add_lost, advance, get, look, new_state, put, rebase
from loynes.kernels.cpu.variants import PlainTable, SimpleTable, chosen_by_type, typed
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BIN_OFFSET, BIN_SHIFT, BINS, Tally

_SHIFT, _OFFSET = np.int64(BIN_SHIFT), np.int64(BIN_OFFSET)


@prepares
def forward(table, needs, as_runs, stride, seed, stream, replicas, rows, begin, end, observe, W, places, tally):
    """Jobs begin .. end-1 (multiples of BLOCK) of the replicas whose workloads are the rows of W, with the arrival
    process at places[r]; updates these and the tally, each replica in a tally row of its own.

    Row r depends on nothing but (table, seed, stream, replicas[r]) and the jobs so far: not on how work is cut.
    """
    rooms = new_block(table), new_state(table, as_runs)
    scratch = _one_row(tally), np.empty(needs.need.size), np.zeros(needs.need.size * table.units.size)
    numbers = stride, seed, stream, replicas, rows, begin, end, observe
    _forward(typed(table), needs, *rooms, *scratch, *numbers, W, places, tally)


@compiled
def _forward(
    table,
    needs,
    block,
    state,
    own,
    wait,
    loss,
    stride,
    seed,
    stream,
    replicas,
    rows,
    begin,
    end,
    observe,
    W,
    places,
    tally,
):
    for r in range(W.shape[0]):
        put(state, W[r])
        x = places[r]
        row = _take_row(tally, rows[r], own)
        for first in range(begin, end, BLOCK):
            x = draw_block(table, seed, stream, replicas[r], first, block, x)
            now = 0.0
            if observe:
                for j in range(0, BLOCK, stride):
                    look(state, block, j, needs, now, wait, loss)
                    note(table, row, needs, block, j, wait, loss)
                    now = advance(state, block, j, j + stride, now)
            else:
                now = advance(state, block, FIRST, LAST, now)
            rebase(state, now)
        add_lost(state, row.loss, stride, observe)
        _copy_sums(own, FIRST, tally, rows[r])
        places[r] = x
        get(state, W[r])


@chosen_by_type
def note(table, row, needs, block, j, wait, loss):
    """Add one observed arrival, in the place of job j of the block."""


class Row(NamedTuple):
    """One replica's tally on its own: rows of the whole share cache lines, which cores would pull from each other."""

    per_unit: float
    wait: np.ndarray
    square: np.ndarray
    none: np.ndarray
    loss: np.ndarray
    looks: np.ndarray
    bins: np.ndarray


def _one_row(tally: Tally) -> Tally:
    """Room for the sums of one replica."""
    wait, square, none, loss = (np.zeros((1, *array.shape[1:]), array.dtype) for array in tally[2:-1])
    return Tally(tally.per_unit, np.zeros(1, np.int64), wait, square, none, loss, tally.bins[:0])


@compiled
def _take_row(tally, r, own):
    _copy_sums(tally, r, own, FIRST)
    return Row(tally.per_unit, own.wait[0], own.square[0], own.none[0], own.loss[0], own.looks, tally.bins[r])


@compiled
def _copy_sums(source, i, target, k):
    target.looks[k] = source.looks[i]
    copy_row(source.wait, i, target.wait, k)
    copy_row(source.square, i, target.square, k)
    copy_row(source.none, i, target.none, k)
    copy_row(source.loss, i, target.loss, k)


@compiled
def _note(row, weight, wait, loss):
    """Add one observed arrival; its class is averaged over, not drawn."""
    kinds = row.loss.size
    expected = 0.0
    for k in range(wait.size):
        w = wait[k]
        row.wait[k] += w
        row.square[k] += w * w
        row.none[k] += np.int64(w == 0.0)
        place = (np.float64(w * row.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
        row.bins[k, min(max(place, 0), BINS - 1)] += np.uint32(1)
        expected += weight[k] * loss[k * kinds]
    row.loss[0] += expected
    for t in range(1, kinds):
        for k in range(wait.size):
            row.loss[t] += weight[k] * loss[k * kinds + t]
    row.looks[0] += 1


@compiled
def _note_by_phase(row, weight, phase_weight, wait, loss):
    """The same where classes depend on the arrival process: what a class sees counts as much as it is likelier here."""
    kinds = row.loss.size
    for k in range(wait.size):
        w, more = wait[k], phase_weight[k]
        row.wait[k] += more * w
        row.square[k] += more * w * w
        if w == 0.0:
            row.none[k] += more
        place = (np.float64(w * row.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
        row.bins[k, min(max(place, 0), BINS - 1)] += more
        for t in range(kinds):
            row.loss[t] += weight[k] * more * loss[k * kinds + t]
    row.looks[0] += 1


@compiled
def _note_response(row, needs, own, wait, service):
    """The response of the job itself, in the columns after those of waits: in sessions the two hang together."""
    k = needs.of_class[own]
    response, more = wait[k] + service, needs.phase_weight[own, k]
    column = wait.size + k
    row.wait[column] += more * response
    row.square[column] += more * response * response
    place = (np.float64(response * row.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
    row.bins[column, min(max(place, 0), BINS - 1)] += more


@note.variant(SimpleTable, PlainTable)
def _note_plain(table, row, needs, block, j, wait, loss):
    _note(row, needs.weight, wait, loss)


@note.variant(JobTable)
def _note_any(table, row, needs, block, j, wait, loss):
    if needs.phase_weight.size > 0:
        phase = phase_of(table.arrivals, block, j)
        _note_by_phase(row, needs.weight, needs.phase_weight[phase], wait, loss)
        if table.arrivals.repeat >= 0:
            _note_response(row, needs, block.job_class[j], wait, block.service[j])
    else:
        _note(row, needs.weight, wait, loss)
