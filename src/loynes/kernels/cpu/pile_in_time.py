"""Jobs that come within some time from the beginning of a cycle on, piled up."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.state import advance, get, lower, new_state, put
from loynes.kernels.reference import BLOCK


@compiled
def pile_in_time(table, as_runs, seed, stream, first_replica, span, height, jobs):
    """The height of the pile, started flat, of all jobs that come in less than `span` from place 0 on, and how many
    there are of each class.

    Job 0 of a replica stands for that place and is no job of the pile.
    """
    block = new_block(table)
    state = new_state(table, as_runs)
    H = np.empty(table.servers)
    for r in range(height.size):
        H[:] = 0.0
        put(state, H)
        base, when, x, first, inside = 0.0, 0.0, 0, 0, True
        jobs[r] = 0
        while inside:
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
