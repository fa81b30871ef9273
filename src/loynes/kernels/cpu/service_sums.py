"""Sums over the services of jobs, without running them: what mean waits are regressed on."""

from __future__ import annotations

from loynes.kernels.cpu.compiled import compiled, prepares
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.variants import typed
from loynes.kernels.reference import BLOCK


@prepares
def service_sums(table, weight, group, seed, stream, replicas, begin, end, places, sums):
    """Jobs begin .. end-1 (multiples of BLOCK) of replicas: adds their services, each times the weight of its class, to
    the first column of `sums`, and the squares, times the same, to that of the class's group; updates the places of the
    arrival process."""
    _service_sums(typed(table), new_block(table), weight, group, seed, stream, replicas, begin, end, places, sums)


@compiled
def _service_sums(table, block, weight, group, seed, stream, replicas, begin, end, places, sums):
    for r in range(replicas.size):
        x = places[r]
        for first in range(begin, end, BLOCK):
            x = draw_block(table, seed, stream, replicas[r], first, block, x)
            for j in range(BLOCK):
                work = weight[block.job_class[j]] * block.service[j]
                sums[r, 0] += work
                sums[r, 1 + group[block.job_class[j]]] += work * block.service[j]
        places[r] = x
