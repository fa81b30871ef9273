"""The pile: the saturated system, whose growth a job is 1 / threshold."""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import FIRST, LAST, draw_block, new_block, phase_of
from loynes.kernels.cpu.state import add_lost, advance, get, look, lower, new_state, put
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


def pile(table, needs, blockers, as_runs, stride, seed, stream, first_replica, begin, end, H, places, heap):
    """Pile jobs begin .. end-1 (multiples of BLOCK) of replicas first_replica + r on the heights heap.base[r] + H[r].

    H[r, 0] = 0 at every block's end, so that heights keep their precision however high the pile is. Gathered beside it:
    the expected HOL loss of every stride-th job, and what control variates need (see `count`).
    """
    rooms = new_block(table), new_state(table, as_runs)
    scratch = np.empty(needs.need.size), np.zeros(needs.need.size * table.units.size)
    numbers = stride, seed, stream, first_replica, begin, end
    _pile(typed(table), needs, blockers, *rooms, *scratch, *numbers, H, places, heap)


@compiled
def _pile(
    table,
    needs,
    blockers,
    block,
    state,
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
        # On their own while this replica runs: rows of the whole share cache lines with other cores' rows.
        jobs, service, blocked, longest = take_counts(heap, r)
        base, loss = heap.base[r], heap.loss[r].copy()
        for first in range(begin, end, BLOCK):
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
            count(blockers, block, LAST, jobs, service, blocked, longest)
        add_lost(state, loss, stride, True)
        heap.base[r], heap.loss[r] = base, loss
        places[r] = x
        give_counts(heap, r, jobs, service, blocked, longest)
        get(state, H[r])


def regenerate(table, blockers, as_runs, seed, stream, first_replica, begin, H, heap):
    """Pile on from job `begin` (a multiple of BLOCK) up to and with the first job that needs all servers."""
    rooms = new_block(table), new_state(table, as_runs)
    _regenerate(typed(table), blockers, *rooms, seed, stream, first_replica, begin, H, heap)


@compiled
def _regenerate(table, blockers, block, state, seed, stream, first_replica, begin, H, heap):
    for r in range(H.shape[0]):
        put(state, H[r])
        jobs, service, blocked, longest = take_counts(heap, r)
        first = begin
        last = BLOCK
        while last == BLOCK:
            draw_block(table, seed, stream, first_replica + r, first, block, FIRST)
            last = 0
            while last < BLOCK and block.need[last] < table.servers:
                last += 1
            end = min(last + 1, BLOCK)
            advance(state, block, FIRST, end, 0.0)
            heap.base[r] += lower(state)
            count(blockers, block, end, jobs, service, blocked, longest)
            first += BLOCK
        give_counts(heap, r, jobs, service, blocked, longest)
        get(state, H[r])


@compiled
def count(blockers, block, end, jobs, service, blocked, longest):
    """Jobs and services by class; and for each blocker, how long a service it would have to wait for."""
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


@compiled
def take_counts(heap, r):
    return heap.jobs[r].copy(), heap.service[r].copy(), heap.blocked[r].copy(), heap.longest[r].copy()


@compiled
def give_counts(heap, r, jobs, service, blocked, longest):
    heap.jobs[r], heap.service[r], heap.blocked[r], heap.longest[r] = jobs, service, blocked, longest
