"""The pile under random assignment: each job takes servers drawn at random, whatever their heights."""

from __future__ import annotations

import numpy as np

from loynes.inputs.philox import ASSIGNMENT, GROUP_SHIFT
from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block
from loynes.kernels.cpu.philox import words
from loynes.kernels.cpu.pile import copy_counts, count, one_row
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK

_32, _2, _3 = np.uint64(32), np.int64(2), np.int64(3)


@prepares
def random_pile(table, blockers, seed, stream, first_replica, begin, end, H, places, heap, flag=NO_FLAG):
    """As `pile`, but rows of H are not sorted: who is where is part of the state. Every job's own loss is summed."""
    near, far = np.empty((4, BLOCK), np.uint64), np.empty((4, 1), np.uint64)
    rooms = new_block(table, flag), one_row(heap), near, far
    _random_pile(typed(table), blockers, *rooms, seed, stream, first_replica, begin, end, H, places, heap)


@compiled
def _random_pile(table, blockers, block, own, near, far, seed, stream, first_replica, begin, end, H, places, heap):
    s = table.servers
    for r in range(H.shape[0]):
        heights, x = H[r].copy(), places[r]
        copy_counts(heap, r, own, FIRST)
        base, loss = heap.base[r], heap.loss[r, 0]
        for first in range(begin, end, BLOCK):
            if block.flag[0]:
                return
            x = draw_block(table, seed, stream, first_replica + r, first, block, x)
            words(seed, stream | ASSIGNMENT, first_replica + r, first, near[0], near[1], near[2], near[3])
            for j in range(BLOCK):
                a = block.need[j]
                moved = min(a, s - a)
                for i in range(moved):
                    if i < 4:
                        word = near[i, j]
                    else:
                        if i & _3 == 0:
                            kind = stream | ASSIGNMENT | ((i >> _2) << GROUP_SHIFT)
                            words(seed, kind, first_replica + r, first + j, far[0], far[1], far[2], far[3])
                        word = far[i & _3, 0]
                    pick = i + np.int64((word * np.uint64(s - i)) >> _32)
                    heights[i], heights[pick] = heights[pick], heights[i]
                # The servers moved to the front are the job's, or, if it needs more than half, the others.
                its = heights[:a] if moved == a else heights[moved:]
                start = its.max()
                loss += np.sum(start - its)
                its[:] = start + block.service[j]
            bottom = heights.min()
            heights -= bottom
            base += bottom
            count(blockers, block, LAST, own)
        own.loss[0, 0] = loss
        heap.base[r] = base
        copy_counts(own, FIRST, heap, r)
        H[r] = heights
        places[r] = x
