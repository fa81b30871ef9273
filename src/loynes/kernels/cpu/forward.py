"""Forward chains: replicas of the recurrence over a range of jobs, observed as they go."""

from __future__ import annotations

import numpy as np

from loynes.inputs.tables import JobTable
from loynes.kernels.controls import NO_CONTROLS
from loynes.kernels.cpu.compiled import compiled, inlined, prepares
from loynes.kernels.cpu.controls import add_jobs, add_stretch, new_surplus
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block, phase_of
from loynes.kernels.cpu.memory import copy_row
from loynes.kernels.cpu.state import add_lost, get, look, put, rebase
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.together import (
    TOGETHER,
    advance_together,
    keep_jobs,
    member,
    new_jobs,
    new_states,
    rows_together,
)
from loynes.kernels.cpu.variants import PlainTable, SimpleTable, chosen_by_type, typed
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BIN_OFFSET, BIN_SHIFT, BINS, Tally

_SHIFT, _OFFSET = np.int64(BIN_SHIFT), np.int64(BIN_OFFSET)


@prepares
def forward(
    table,
    needs,
    forms,
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
    controls=NO_CONTROLS,
    flag=NO_FLAG,
):
    """Jobs begin .. end-1 (multiples of BLOCK) of the replicas whose workloads are the rows of W, with the arrival
    process at places[r]; updates these and the tally, each replica in a tally row of its own, with the sums that
    controls ask for.

    Row r depends on nothing but (table, seed, stream, replicas[r]) and the jobs so far: not on how work is cut.
    """
    rooms = new_block(table, flag), new_jobs(TOGETHER), new_states(table, forms, TOGETHER)
    surplus = new_surplus(stride, TOGETHER)
    scratch = _own_rows(tally), np.empty(needs.need.size), np.zeros(needs.need.size * table.units.size)
    numbers = stride, seed, stream, replicas, rows, begin, end, observe
    _forward(typed(table), needs, controls, *rooms, surplus, *scratch, *numbers, W, places, tally)


@compiled
def _forward(
    table,
    needs,
    controls,
    block,
    jobs,
    states,
    surplus,
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
    together = rows_together(states, table)
    for r in range(0, W.shape[0], together):
        count = min(together, W.shape[0] - r)
        for g in range(count):
            put(member(states, g), W[r + g])
            _copy_sums(tally, rows[r + g], own, g)
        for first in range(begin, end, BLOCK):
            if block.flag[0]:
                return
            for g in range(count):
                places[r + g] = draw_block(table, seed, stream, replicas[r + g], first, block, places[r + g])
                keep_jobs(states, block, jobs, g)
                if observe:
                    add_jobs(controls, block, stride, surplus, own, g)
            if observe:
                for j in range(0, BLOCK, stride):
                    for g in range(count):
                        look(member(states, g), block, j, needs, jobs.now[g], wait, loss)
                        note(table, own, g, tally.bins, rows[r + g], needs, block, j, wait, loss)
                        add_stretch(controls, surplus, j // stride, needs.weight, wait, own, g)
                    advance_together(states, block, jobs, count, j, j + stride)
            else:
                advance_together(states, block, jobs, count, FIRST, LAST)
            for g in range(count):
                rebase(member(states, g), jobs.now[g])
        for g in range(count):
            add_lost(member(states, g), own.loss[g], stride, observe)
            _copy_sums(own, g, tally, rows[r + g])
            get(member(states, g), W[r + g])


@chosen_by_type
def note(table, own, g, bins, row, needs, block, j, wait, loss):
    """Add one observed arrival, in the place of job j of the block, to row g of the sums and that row of all bins."""


def _own_rows(tally: Tally) -> Tally:
    """Sums of replicas while they run: rows of the whole share cache lines, which cores would pull from each other."""
    wait, square, none, loss, sums = (np.zeros((TOGETHER, *array.shape[1:]), array.dtype) for array in tally[2:-1])
    return Tally(tally.per_unit, np.zeros(TOGETHER, np.int64), wait, square, none, loss, sums, tally.bins[:0])


@compiled
def _copy_sums(source, i, target, k):
    target.looks[k] = source.looks[i]
    copy_row(source.wait, i, target.wait, k)
    copy_row(source.square, i, target.square, k)
    copy_row(source.none, i, target.none, k)
    copy_row(source.loss, i, target.loss, k)
    copy_row(source.sums, i, target.sums, k)


@compiled
def _bin(wait):
    """Which bin of the histogram a wait, in units, falls in."""
    place = (np.float64(wait).view(np.int64) >> _SHIFT) - _OFFSET
    return min(max(place, 0), BINS - 1)


@inlined
def _note(own, g, bins, row, weight, wait, loss):
    """Add one observed arrival; its class is averaged over, not drawn."""
    kinds = own.loss.shape[1]
    expected = 0.0
    for k in range(wait.size):
        w = wait[k]
        own.wait[g, k] += w
        own.square[g, k] += w * w
        own.none[g, k] += np.int64(w == 0.0)
        bins[row, k, _bin(w * own.per_unit)] += np.uint32(1)
        expected += weight[k] * loss[k * kinds]
    own.loss[g, 0] += expected
    for t in range(1, kinds):
        for k in range(wait.size):
            own.loss[g, t] += weight[k] * loss[k * kinds + t]
    own.looks[g] += 1


@compiled
def _note_by_phase(own, g, bins, row, weight, phase_weight, wait, loss):
    """The same where classes depend on the arrival process: what a class sees counts as much as it is likelier here."""
    kinds = own.loss.shape[1]
    for k in range(wait.size):
        w, more = wait[k], phase_weight[k]
        own.wait[g, k] += more * w
        own.square[g, k] += more * w * w
        if w == 0.0:
            own.none[g, k] += more
        bins[row, k, _bin(w * own.per_unit)] += more
        for t in range(kinds):
            own.loss[g, t] += weight[k] * more * loss[k * kinds + t]
    own.looks[g] += 1


@compiled
def _note_response(own, g, bins, row, needs, its_class, wait, service):
    """The response of the job itself, in the columns after those of waits: in sessions the two hang together."""
    k = needs.of_class[its_class]
    response, more = wait[k] + service, needs.phase_weight[its_class, k]
    column = wait.size + k
    own.wait[g, column] += more * response
    own.square[g, column] += more * response * response
    bins[row, column, _bin(response * own.per_unit)] += more


@note.variant(SimpleTable, PlainTable)
def _note_plain(table, own, g, bins, row, needs, block, j, wait, loss):
    _note(own, g, bins, row, needs.weight, wait, loss)


@note.variant(JobTable)
def _note_any(table, own, g, bins, row, needs, block, j, wait, loss):
    if needs.phase_weight.size > 0:
        phase = phase_of(table.arrivals, block, j)
        _note_by_phase(own, g, bins, row, needs.weight, needs.phase_weight[phase], wait, loss)
        if table.arrivals.repeat >= 0:
            _note_response(own, g, bins, row, needs, block.job_class[j], wait, block.service[j])
    else:
        _note(own, g, bins, row, needs.weight, wait, loss)
