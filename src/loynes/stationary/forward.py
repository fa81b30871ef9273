"""Forward chains: burn in, then observe for as long as it takes.

Started empty, the workload only grows in law towards the stationary one, so whatever bias is left after the burn-in is
downward. Replicas are independent, so their averages give ordinary intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.backends import backend as choose
from loynes.kernels.reference import whole_blocks
from loynes.kernels.tally import new_tally

REPLICAS = 32


class Chains:
    """Independent chains that can always be run further; memory does not depend on how far.

    They start empty, or with given workloads before job `position` (the sandwich's, once burned in). Replicas add to
    the rows of one tally: each to its own, or, where there are more of them than rows, a group to each.
    """

    def __init__(
        self,
        table: JobTable,
        needs: Needs,
        unit: float,
        *,
        seed: int,
        replicas: int | NDArray[np.int64] = REPLICAS,
        rows: int | None = None,
        workload: NDArray[np.float64] | None = None,
        position: int = 0,
        places: NDArray[np.int64] | None = None,
        backend: str = "auto",
        workers: int | None = None,
    ) -> None:
        self.table = table
        self.needs = needs
        self._numbers = np.arange(replicas) if isinstance(replicas, int) else replicas
        self.replicas = len(self._numbers)
        self.position = position  # jobs each replica has seen
        self._engine = choose(backend)
        rows = self._engine.groups_of(self.replicas) if rows is None else rows
        self._rows = self._numbers % rows
        self.tally = new_tally(rows, len(needs.need), unit, len(table.units), bool(needs.phase_weight.size))
        self._seed = seed
        # Where the arrival process of each replica stands.
        self._places = (
            start_places(table.arrivals, seed, STREAM_STATIONARY, self._numbers) if places is None else places
        )
        self._workers = workers
        start = np.zeros((self.replicas, table.servers)) if workload is None else workload
        self._workload = self._engine.hold(start)

    @property
    def jobs(self) -> int:
        return self.replicas * self.position

    @property
    def workload(self) -> np.ndarray:
        """The present workload vectors, one row a replica."""
        return np.asarray(self._engine.fetch(self._workload))

    @property
    def stride(self) -> int:
        """How many jobs apart observed arrivals are."""
        return int(self._engine.look_every(self.table))

    def skip(self, jobs: int, done: Callable[[], None] | None = None) -> None:
        """Run every replica `jobs` further (rounded up to blocks) without observing."""
        self._run(jobs, False, done)

    def observe(self, jobs: int, done: Callable[[], None] | None = None) -> None:
        """Run every replica `jobs` further (rounded up to blocks) and add what arrivals see to the tally."""
        self._run(jobs, True, done)

    def _run(self, jobs: int, observe: bool, done: Callable[[], None] | None) -> None:
        end = self.position + whole_blocks(jobs)
        self._engine.run_forward(
            self.table,
            self.needs,
            self._seed,
            STREAM_STATIONARY,
            self._numbers,
            self._rows,
            self.position,
            end,
            observe,
            self._workload,
            self.tally,
            done,
            self._workers,
            self._places,
        )
        self.position = end
