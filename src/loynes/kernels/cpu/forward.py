"""Forward chains: replicas of the recurrence over a range of jobs, observed as they go."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.state import advance, get, look, new_state, put, rebase
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BIN_OFFSET, BIN_SHIFT, BINS

_SHIFT, _OFFSET = np.int64(BIN_SHIFT), np.int64(BIN_OFFSET)


@compiled
def forward(table, needs, as_runs, stride, seed, stream, first_replica, begin, end, observe, W, tally):
    """Jobs begin .. end-1 (multiples of BLOCK) of replicas first_replica + r, r < len(W); W and tally are updated.

    Row r depends on nothing but (table, seed, stream, first_replica + r) and the jobs so far: not on how work is cut.
    """
    block = new_block()
    state = new_state(table.servers, as_runs)
    wait, loss = np.empty(needs.need.size), np.empty(needs.need.size)
    for r in range(W.shape[0]):
        put(state, W[r], as_runs)
        for first in range(begin, end, BLOCK):
            draw_block(table, seed, stream, first_replica + r, first, block)
            now = 0.0
            if observe:
                for j in range(0, BLOCK, stride):
                    look(state, needs.need, now, wait, loss)
                    _note(tally, r, needs.weight, wait, loss)
                    now = advance(state, block, j, j + stride, now)
            else:
                now = advance(state, block, 0, BLOCK, now)
            rebase(state, now)
        get(state, W[r])


@compiled
def _note(tally, r, weight, wait, loss):
    """Add one observed arrival to row r; its class is averaged over, not drawn."""
    total, square, none, bins = tally.wait[r], tally.square[r], tally.none[r], tally.bins[r]
    expected_loss = 0.0
    for k in range(wait.size):
        w = wait[k]
        total[k] += w
        square[k] += w * w
        none[k] += np.int64(w == 0.0)
        place = (np.float64(w * tally.per_unit).view(np.int64) >> _SHIFT) - _OFFSET
        bins[k, min(max(place, 0), BINS - 1)] += np.uint32(1)
        expected_loss += weight[k] * loss[k]
    tally.loss[r] += expected_loss
    tally.looks[r] += 1
