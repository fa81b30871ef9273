"""Sums over the services of jobs, without running them: what mean waits are regressed on."""

from __future__ import annotations

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.reference import BLOCK


@compiled
def service_sums(table, weight, seed, stream, replicas, begin, end, places, sums):
    """Jobs begin .. end-1 (multiples of BLOCK) of replicas: adds their services, and squares of these, each times the
    weight of its class, to the rows of `sums`; updates the places of the arrival process."""
    block = new_block(table)
    for r in range(replicas.size):
        x = places[r]
        for first in range(begin, end, BLOCK):
            x = draw_block(table, seed, stream, replicas[r], first, block, x)
            one, two = 0.0, 0.0
            for j in range(BLOCK):
                work = weight[block.job_class[j]] * block.service[j]
                one += work
                two += work * block.service[j]
            sums[r, 0] += one
            sums[r, 1] += two
        places[r] = x
