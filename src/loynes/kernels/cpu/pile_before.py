"""Blocks of jobs of the past, piled up, and the time in which they arrived: given where the arrival process ends."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block
from loynes.kernels.cpu.state import advance, get, lower, new_state, put
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


@prepares
def pile_before(table, forms, seed, stream, first_replica, length, places, height, time, jobs, flag=NO_FLAG):
    """Jobs -length .. -1 of replicas whose arrival process stands at places[r] at job 0: the height of their pile,
    started flat, the time they took to arrive, until job 0, and how many there were of each class."""
    rooms = new_block(table, flag), new_state(table, forms), np.empty(table.servers)
    _pile_before(typed(table), *rooms, seed, stream, first_replica, length, places, height, time, jobs)


@compiled
def _pile_before(table, block, state, H, seed, stream, first_replica, length, places, height, time, jobs):
    for r in range(places.size):
        replica = first_replica + r
        trail = extend_trail(table, seed, stream, replica, length, block, new_trail(places[r]))
        H[:] = 0.0
        put(state, H)
        base, passed = 0.0, 0.0
        jobs[r] = 0
        for first in range(-length, 0, BLOCK):
            if block.flag[0]:
                return
            draw_block(table, seed, stream, replica, first, block, trail_at(trail, first))
            passed += block.gap.sum()
            for i in range(BLOCK):
                jobs[r, block.job_class[i]] += 1
            block.gap[:] = 0.0
            advance(state, block, FIRST, LAST, 0.0)
            base += lower(state)
        get(state, H)
        height[r], time[r] = base + H.max(), passed
