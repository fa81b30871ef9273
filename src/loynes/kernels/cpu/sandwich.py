"""Two chains driven by the same jobs, one from below and one from above: once equal, they are one."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block
from loynes.kernels.cpu.memory import copy_row
from loynes.kernels.cpu.state import advance, get, new_state, put, rebase, same
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK

NOW = np.int64(0)


@prepares
def sandwich(table, forms, seed, stream, first_replica, begin, end, low, high, places, met, flag=NO_FLAG):
    """Jobs begin .. end-1 (multiples of BLOCK) for the pairs of rows low[r] <= high[r] of replicas first_replica + r.

    met[r] is the number of jobs after which the two were first seen equal (at a block's end), -1 if not yet.
    """
    rooms = new_block(table, flag), new_state(table, forms), new_state(table, forms)
    _sandwich(typed(table), *rooms, seed, stream, first_replica, begin, end, low, high, places, met)


@compiled
def _sandwich(table, block, lower, upper, seed, stream, first_replica, begin, end, low, high, places, met):
    for r in range(low.shape[0]):
        put(lower, low[r])
        put(upper, high[r])
        apart = met[r] < 0
        trail = places[r : r + 1]
        at, places[r] = _together(table, seed, stream, first_replica + r, begin, end, block, trail, lower, upper, apart)
        get(lower, low[r])
        if apart and at <= end:
            met[r] = at
        if met[r] < 0:
            get(upper, high[r])
        else:
            copy_row(low, r, high, r)


@prepares
def perfect(
    table, forms, seed, stream, first_replica, initial, longest, ceiling, rise, places, W, length, doublings,
    flag=NO_FLAG,
):  # fmt: skip
    """One sample a row of W: double n from `initial` until chains begun n jobs ago at 0 and at a ceiling meet by now.

    The ceiling starts at `ceiling` and grows by `rise` with every doubling. length[r] is the n that sufficed, 0 if none
    up to `longest` did.
    """
    rooms = new_block(table, flag), new_state(table, forms), new_state(table, forms)
    pasts = initial, longest, ceiling, rise
    _perfect(typed(table), *rooms, seed, stream, first_replica, *pasts, places, W, length, doublings)


@compiled
def _perfect(
    table,
    block,
    lower,
    upper,
    seed,
    stream,
    first_replica,
    initial,
    longest,
    ceiling,
    rise,
    places,
    W,
    length,
    doublings,
):
    for r in range(W.shape[0]):
        n = initial
        trail = new_trail(places[r])
        length[r] = 0
        doublings[r] = 0
        while n <= longest and not block.flag[0]:
            W[r] = 0.0
            put(lower, W[r])
            W[r] = ceiling + rise * doublings[r]
            put(upper, W[r])
            trail = extend_trail(table, seed, stream, first_replica + r, n, block, trail)
            at, _ = _together(table, seed, stream, first_replica + r, -n, NOW, block, trail, lower, upper, True)
            if at <= 0:
                length[r] = n
                break
            n *= 2
            doublings[r] += 1
        get(lower, W[r])


@compiled
def _together(table, seed, stream, replica, begin, end, block, trail, lower, upper, apart):
    """Jobs begin .. end-1 through the lower state, and through the upper one while they are apart.

    Returns the index of the job before which the two were first seen equal, or end + 1, and the arrival process's place
    at the end; the trail has its place at `begin`, or its past.
    """
    at = end + 1
    x = trail[0]
    for first in range(begin, end, BLOCK):
        if block.flag[0]:
            break
        if first < 0:
            draw_block(table, seed, stream, replica, first, block, trail_at(trail, first))
        else:
            x = draw_block(table, seed, stream, replica, first, block, x)
        rebase(lower, advance(lower, block, FIRST, LAST, 0.0))
        if apart:
            rebase(upper, advance(upper, block, FIRST, LAST, 0.0))
            if same(lower, upper):
                apart = False
                at = first + BLOCK
    return at, x
