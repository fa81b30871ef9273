"""Backward samples: the workload at time 0 of a system started empty ever further back (the paper's Algorithm 1)."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block
from loynes.kernels.cpu.state import advance, get, new_state, put, rebase
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


@prepares
def backward(
    table, forms, seed, stream, first_replica, initial, confirmations, longest, places, W, length, doublings,
    flag=NO_FLAG,
):  # fmt: skip
    """One sample a row of W: double n from `initial` until M_n = M_2n, all of it, `confirmations` times in a row.

    length[r] is the last, longest n, doublings[r] how often n was doubled; a sample that has not settled by n =
    `longest` keeps length 0 and the last workload. `initial` is a multiple of BLOCK. places[r] is where the arrival
    process stands at job 0; its past follows from there.
    """
    rooms = new_block(table, flag), new_state(table, forms), np.empty(table.servers)
    pasts = initial, confirmations, longest
    _backward(typed(table), *rooms, seed, stream, first_replica, *pasts, places, W, length, doublings)


@compiled
def _backward(
    table,
    block,
    state,
    before,
    seed,
    stream,
    first_replica,
    initial,
    confirmations,
    longest,
    places,
    W,
    length,
    doublings,
):
    for r in range(W.shape[0]):
        trail = new_trail(places[r])
        trail = _from_empty(table, seed, stream, first_replica + r, initial, block, state, trail, W[r])
        n = initial
        agreed = 0
        length[r] = 0
        doublings[r] = 0
        while n < longest and not block.flag[0]:
            before[:] = W[r]
            n *= 2
            trail = _from_empty(table, seed, stream, first_replica + r, n, block, state, trail, W[r])
            doublings[r] += 1
            agreed = agreed + 1 if np.array_equal(before, W[r]) else 0
            if agreed == confirmations:
                length[r] = n
                break


@compiled
def _from_empty(table, seed, stream, replica, n, block, state, trail, W):
    """M_n: empty before job -n, then jobs -n .. -1. Returns the trail, which may have grown."""
    W[:] = 0.0
    put(state, W)
    trail = extend_trail(table, seed, stream, replica, n, block, trail)
    for first in range(-n, 0, BLOCK):
        if block.flag[0]:
            break
        draw_block(table, seed, stream, replica, first, block, trail_at(trail, first))
        rebase(state, advance(state, block, FIRST, LAST, 0.0))
    get(state, W)
    return trail
