"""The pile: the saturated system, whose growth a job is 1 / threshold."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.state import advance, get, look, lower, new_state, put
from loynes.kernels.reference import BLOCK


@compiled
def pile(table, needs, as_runs, stride, seed, stream, first_replica, begin, end, H, heap):
    """Pile jobs begin .. end-1 (multiples of BLOCK) of replicas first_replica + r on the heights heap.base[r] + H[r].

    H[r, 0] = 0 at every block's end, so that heights keep their precision however high the pile is. Gathered beside it:
    the expected HOL loss of every stride-th job, and per class the jobs and the sum of their services.
    """
    block = new_block()
    state = new_state(table.servers, as_runs)
    wait_k, loss_k = np.empty(needs.need.size), np.empty(needs.need.size)
    for r in range(H.shape[0]):
        put(state, H[r], as_runs)
        # On their own while this replica runs: rows of the whole share cache lines with other cores' rows.
        jobs, service, base, loss = heap.jobs[r].copy(), heap.service[r].copy(), heap.base[r], heap.loss[r]
        for first in range(begin, end, BLOCK):
            draw_block(table, seed, stream, first_replica + r, first, block)
            for j in range(0, BLOCK, stride):
                look(state, needs.need, 0.0, wait_k, loss_k)
                for k in range(needs.need.size):
                    loss += needs.weight[k] * loss_k[k]
                advance(state, block, j, j + stride, 0.0)
            base += lower(state)
            for j in range(BLOCK):
                c = block.job_class[j]
                jobs[c] += 1
                service[c] += block.service[j]
        heap.jobs[r], heap.service[r], heap.base[r], heap.loss[r] = jobs, service, base, loss
        get(state, H[r])
