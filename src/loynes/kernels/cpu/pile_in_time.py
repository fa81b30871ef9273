"""Jobs that come within some time from the beginning of a cycle on, piled up."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.state import advance, get, lower, new_state, put
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


@prepares
def pile_in_time(table, forms, seed, stream, first_replica, span, height, jobs, flag=NO_FLAG):
    """The height of the pile, started flat, of all jobs that come in less than `span` from place 0 on,
    and how many of each class there are.

    Job 0 of a replica stands for that place and is no job of the pile.
    """
    rooms = new_block(table, flag), new_state(table, forms), np.empty(table.servers)
    _pile_in_time(typed(table), *rooms, seed, stream, first_replica, span, height, jobs)


@compiled
def _pile_in_time(table, block, state, H, seed, stream, first_replica, span, height, jobs):
    for r in range(height.size):
        H[:] = 0.0
        put(state, H)
        base, when, x, first, inside = 0.0, 0.0, 0, 0, True
        jobs[r] = 0
        while inside and not block.flag[0]:
            x = draw_block(table, seed, stream, first_replica + r, first, block, x)
            end = 0
            while end < BLOCK and inside:
                inside = when < span
                if inside:
                    when += block.gap[end]
                    end += 1
            block.gap[:] = 0.0
            begin = 1 if first == 0 else 0
            advance(state, block, begin, end, 0.0)
            base += lower(state)
            for i in range(begin, end):
                jobs[r, block.job_class[i]] += 1
            first += BLOCK
        get(state, H)
        height[r] = base + H.max()
