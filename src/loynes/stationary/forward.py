"""Forward chains: burn in, then observe for as long as it takes.

Started empty, the workload only grows in law towards the stationary one, so whatever bias is left after the burn-in is
downward. Replicas are independent, so their averages give ordinary intervals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loynes.execution.deadline import Stopped
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.controls import NO_CONTROLS, AnyControls, columns
from loynes.kernels.engine import Array, Engine, Forward, ForwardState, Ints, whole_blocks
from loynes.kernels.tally import Tally, columns_of, new_tally, tally_columns


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
        replicas: Ints,
        rows: int,
        workload: Array | None = None,
        position: int = 0,
        places: Ints | None = None,
        controls: AnyControls = NO_CONTROLS,
        engine: Engine,
    ) -> None:
        self.replicas = len(replicas)
        self.position = position  # jobs each replica has seen
        self.stride = engine.look_every(table)  # how many jobs apart observed arrivals are
        self._engine = engine
        self._task = Forward(table, seed, STREAM_STATIONARY, replicas, needs, replicas % rows, True, controls)
        self._state = ForwardState(
            np.zeros((self.replicas, table.servers)) if workload is None else workload.copy(),
            start_places(table.arrivals, seed, STREAM_STATIONARY, replicas) if places is None else places,
            new_tally(
                rows,
                tally_columns(table, needs),
                unit,
                len(table.units),
                bool(needs.phase_weight.size),
                columns(controls),
            ),
        )

    @property
    def jobs(self) -> int:
        return self.replicas * self.position

    @property
    def workload(self) -> Array:
        """The present workload vectors, one row a replica."""
        return self._state.workload

    @property
    def places(self) -> Ints:
        """Where the arrival process of each replica stands."""
        return self._state.places

    @property
    def tally(self) -> Tally:
        """Of waits."""
        return columns_of(self._state.tally, slice(0, len(self._task.needs.need)))

    @property
    def responses(self) -> Tally | None:
        """Of the responses of the observed jobs themselves, where their services hang together with their waits."""
        waits, columns = len(self._task.needs.need), tally_columns(self._task.table, self._task.needs)
        return None if columns == waits else columns_of(self._state.tally, slice(waits, columns))

    def skip(self, jobs: int) -> None:
        """Run every replica `jobs` further (rounded up to blocks) without observing."""
        self._run(jobs, False, self._engine)

    def observe(self, jobs: int) -> None:
        """Run every replica `jobs` further (rounded up to blocks) and add what arrivals see to the tally."""
        self._run(jobs, True, self._engine)

    def run_by(self, engine: Engine) -> None:
        """From now on by another engine."""
        self._engine = engine

    def catch_up(self, position: int, engine: Engine) -> None:
        """Observe up to there, by another engine: where others are already, when the work was stopped."""
        if self.position < position:
            self._run(position - self.position, True, engine)

    def _run(self, jobs: int, observe: bool, engine: Engine) -> None:
        end = self.position + whole_blocks(jobs)
        try:
            engine.run(replace(self._task, observe=observe), self._state, self.position, end)
        except Stopped as stopped:
            self.position = stopped.at
            raise
        self.position = end
