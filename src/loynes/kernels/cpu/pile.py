"""The pile: the saturated system, whose growth a job is 1 / threshold."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block, phase_of
from loynes.kernels.cpu.memory import copy_row
from loynes.kernels.cpu.state import add_lost, advance, get, look, lower, new_state, put
from loynes.kernels.cpu.threads import NO_FLAG
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import Heap


@prepares
def pile(table, needs, blockers, forms, stride, seed, stream, first_replica, begin, end, H, places, heap, flag=NO_FLAG):
    """Pile jobs begin .. end-1 (multiples of BLOCK) of replicas first_replica + r on the heights heap.base[r] + H[r].

    H[r, 0] = 0 at every block's end, so that heights keep their precision however high the pile is. Gathered beside it:
    the expected HOL loss of every stride-th job, and what control variates need (see `count`).
    """
    rooms = new_block(table, flag), new_state(table, forms)
    scratch = one_row(heap), np.empty(needs.need.size), np.zeros(needs.need.size * table.units.size)
    numbers = stride, seed, stream, first_replica, begin, end
    _pile(typed(table), needs, blockers, *rooms, *scratch, *numbers, H, places, heap)


@compiled
def _pile(
    table,
    needs,
    blockers,
    block,
    state,
    own,
    wait_k,
    loss_k,
    stride,
    seed,
    stream,
    first_replica,
    begin,
    end,
    H,
    places,
    heap,
):
    for r in range(H.shape[0]):
        put(state, H[r])
        x = places[r]
        copy_counts(heap, r, own, FIRST)
        base, loss = heap.base[r], own.loss[0]
        for first in range(begin, end, BLOCK):
            if block.flag[0]:
                return
            x = draw_block(table, seed, stream, first_replica + r, first, block, x)
            for j in range(0, BLOCK, stride):
                look(state, block, j, needs, 0.0, wait_k, loss_k)
                for k in range(needs.need.size):
                    more = 1.0
                    if needs.phase_weight.size > 0:
                        more = needs.phase_weight[phase_of(table.arrivals, block, j), k]
                    for t in range(loss.size):
                        loss[t] += needs.weight[k] * more * loss_k[k * loss.size + t]
                advance(state, block, j, j + stride, 0.0)
            base += lower(state)
            count(blockers, block, LAST, own)
        add_lost(state, loss, stride, True)
        heap.base[r] = base
        places[r] = x
        copy_counts(own, FIRST, heap, r)
        get(state, H[r])


@prepares
def regenerate(table, blockers, forms, seed, stream, first_replica, begin, H, heap, flag=NO_FLAG):
    """Pile on from job `begin` (a multiple of BLOCK) up to and with the first job that needs all servers."""
    rooms = new_block(table, flag), new_state(table, forms), one_row(heap)
    _regenerate(typed(table), blockers, *rooms, seed, stream, first_replica, begin, H, heap)


@compiled
def _regenerate(table, blockers, block, state, own, seed, stream, first_replica, begin, H, heap):
    for r in range(H.shape[0]):
        put(state, H[r])
        copy_counts(heap, r, own, FIRST)
        first = begin
        last = BLOCK
        while last == BLOCK and not block.flag[0]:
            draw_block(table, seed, stream, first_replica + r, first, block, FIRST)
            last = 0
            while last < BLOCK and block.need[last] < table.servers:
                last += 1
            end = min(last + 1, BLOCK)
            advance(state, block, FIRST, end, 0.0)
            heap.base[r] += lower(state)
            count(blockers, block, end, own)
            first += BLOCK
        copy_counts(own, FIRST, heap, r)
        get(state, H[r])


@compiled
def count(blockers, block, end, own):
    """Jobs and services by class; and for each blocker, how long a service it would have to wait for."""
    jobs, service, blocked, longest = own.jobs[0], own.service[0], own.blocked[0], own.longest[0]
    for j in range(end):
        c, sigma = block.job_class[j], block.service[j]
        jobs[c] += 1
        service[c] += sigma
        b = blockers.of_class[c]
        if b >= 0:
            blocked[b] += longest[b]
            longest[b] = 0.0
        for b in range(longest.size):
            longest[b] = max(longest[b], sigma * blockers.waits_for[c, b])


def one_row(heap: Heap) -> Heap:
    """Room for one replica on its own while it runs: rows of the whole share cache lines with other cores' rows."""
    return Heap(*(np.zeros((1, *array.shape[1:]), array.dtype) for array in heap))


@compiled
def copy_counts(source, i, target, k):
    """All of a replica's row but the height."""
    copy_row(source.loss, i, target.loss, k)
    copy_row(source.jobs, i, target.jobs, k)
    copy_row(source.service, i, target.service, k)
    copy_row(source.blocked, i, target.blocked, k)
    copy_row(source.longest, i, target.longest, k)
