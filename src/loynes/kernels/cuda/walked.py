"""Arrivals that are not Poisson, as the GPU's kernels are compiled for them, and what they read of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.inputs.arrivals import MODULATED, MOVES, PERIODIC, POISSON, RECORDED, RENEWAL
from loynes.inputs.periodic import UNITS
from loynes.inputs.philox import GROUP_SHIFT
from loynes.inputs.tables import JobTable

# What the sources share with Python.
SHARED: dict[str, int | float] = {
    "POISSON": POISSON,
    "RENEWAL": RENEWAL,
    "MODULATED": MODULATED,
    "RECORDED": RECORDED,
    "PERIODIC": PERIODIC,
    "MOVES": MOVES,
    "GROUP_SHIFT": GROUP_SHIFT,
    "CYCLE_UNITS": float(UNITS),
}

# The structs of walked.cuh and weighing.cuh.
ARRIVALS = np.dtype(
    [(name, "i8") for name in ("phases", "moves", "sizes", "mixed", "repeat")]
    + [(name, "u8") for name in ("time", "row", "cut")]
)
WALKED = np.dtype(
    [(name, "u8") for name in ("gap", "told", "replica")] + [(name, "i8") for name in ("begin", "by_row", "by_job")]
)
WEIGHING = np.dtype(
    [(name, "u8") for name in ("more", "counted", "first", "of_class")]
    + [(name, "i4") for name in ("columns", "all", "looked")],
    align=True,
)


@dataclass(frozen=True)
class Arriving:
    """What of the arrivals is fixed when a kernel is compiled."""

    process: int
    batches: bool
    sessions: bool
    mixed: bool  # classes depend on the phase
    weighed: bool  # what classes see counts by the phase, or by the job's own class
    laws: int  # of services, and after them of gaps

    @classmethod
    def of(cls, table: JobTable) -> Arriving:
        t = table.arrivals
        sessions = t.repeat >= 0
        alike = sessions and (len(table.need) > 1 or t.repeat > 0)
        batches = t.sizes > 0 and not sessions
        return cls(t.process, batches, sessions, t.mixed > 0, t.mixed > 0 or alike, len(table.first) - 1)

    @property
    def walked(self) -> bool:
        """Whether the process has a memory: gaps of a renewal process are drawn like those of Poisson arrivals."""
        return self.process not in (POISSON, RENEWAL) or self.batches or self.sessions

    @property
    def told(self) -> bool:
        """Whether a job's place says something of it."""
        return self.mixed or self.sessions

    def constants(self) -> dict[str, int]:
        flags = ("batches", "sessions", "mixed", "weighed", "walked", "told")
        return {"PROCESS": self.process, "LAWS": self.laws} | {name.upper(): int(getattr(self, name)) for name in flags}


def arrival_bytes(table: JobTable, time: int, row: int, cut: int) -> bytes:
    """The struct Arrivals of walked.cuh; its arrays are on the device, at these addresses."""
    t = table.arrivals
    return np.array((t.phases, t.moves, t.sizes, t.mixed, t.repeat, time, row, cut), ARRIVALS).tobytes()
