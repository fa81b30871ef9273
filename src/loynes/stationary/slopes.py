"""Forward chains that carry the derivatives of their workloads.

A chain from empty that has met the stationary one has its derivatives, too. Where services have no atoms two different
paths have the same length with probability 0, so a workload that is equal is made of the same services and gaps; and
the path of the chain that began later does not go back to before its own beginning.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loynes.execution.deadline import Stopped
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.engine import Engine, Slopes, SlopeState, SlopeSums, whole_blocks


class SlopeChains:
    """Independent chains from empty that can always be run further, as `Chains` can; of the plain model only."""

    def __init__(self, table: JobTable, needs: Needs, *, seed: int, replicas: int, engine: Engine) -> None:
        numbers, kinds, width = np.arange(replicas), len(needs.need), len(table.need) + 1
        self.replicas = replicas
        self.position = 0  # jobs each replica has seen
        self._engine = engine
        self._task = Slopes(table, seed, STREAM_STATIONARY, numbers, needs, True)
        self._state = SlopeState(
            np.zeros((replicas, table.servers)),
            np.zeros((replicas, table.servers, width)),
            start_places(table.arrivals, seed, STREAM_STATIONARY, numbers),
            SlopeSums(np.zeros(replicas), np.zeros((replicas, kinds)), np.zeros((replicas, kinds, width))),
        )

    @property
    def jobs(self) -> int:
        return self.replicas * self.position

    @property
    def sums(self) -> SlopeSums:
        return self._state.sums

    def skip(self, jobs: int) -> None:
        """Run every replica `jobs` further (rounded up to blocks) without observing."""
        self._run(jobs, observe=False)

    def observe(self, jobs: int) -> None:
        """Run every replica `jobs` further (rounded up to blocks) and add what arrivals see to the sums."""
        self._run(jobs, observe=True)

    def _run(self, jobs: int, observe: bool) -> None:
        end = self.position + whole_blocks(jobs)
        try:
            self._engine.run(replace(self._task, observe=observe), self._state, self.position, end)
        except Stopped as stopped:
            self.position = stopped.at
            raise
        self.position = end


def slope_bytes(table: JobTable, replicas: int) -> int:
    """What the workloads of so many chains and their derivatives take."""
    return 8 * replicas * table.servers * (len(table.need) + 2)
