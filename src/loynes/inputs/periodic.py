"""Arrivals whose rate repeats with a cycle: where they stand at a job, and the step from job to job.

A cycle of m equal slots, the rate constant in each, so that slot s expects a_s jobs, its mass, and a cycle A, their
sum. A place is x = s + m r: slot s, and r units of 2^-40 of it since its beginning. Let Lambda(t) be the jobs expected
until time t. The process is Poisson of rate 1 in the time that Lambda tells: job n + 1 comes when Lambda has grown by
an exponential e since job n. So, forwards, whole cycles are taken out of e, A each, then what is left of the slot and
the slots after it, until e ends inside a slot. A Poisson process reversed in time is one again: backwards the same is
done with the slots before, with job n's e for the gap between jobs n and n + 1.

**At job 0.** Begin the cycle at a uniformly random phase, which makes the process stationary with mean rate A / cycle.
By Campbell's formula the phase that jobs find has the law

    P(job finds B)  =  E[jobs in [0, 1) that find B] / E[jobs in [0, 1)]  =  (integral of the rate over B) / A,

B a part of the cycle: slot s with probability a_s / A and, as the rate is constant there, any r alike. By Slivnyak's
theorem (Mecke 1967), given a job at a point, the others are the Poisson process itself: past and future are independent
given the phase at job 0, and each is what the steps above draw. So jobs of all indices are one stationary process.

**On a grid.** A job's r is rounded to the nearest unit within its slot, and the gap is the whole number of units
between two jobs times a unit's length, the same number on every backend. With at most MOST_IN_A_SLOT jobs expected in a
slot a mean gap is at least 4096 units there, and rounding moves a job by less than 1 / 8192 of it, to either side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import ModelError
from loynes.model.arrivals import Periodic

# Units of a slot.
UNITS_SHIFT = 40
UNITS = 1 << UNITS_SHIFT
MOST_IN_A_SLOT = 2.0**28


def cycle_of(process: Periodic, rate: float) -> Array:
    """Masses of the slots at a rate of jobs, their sum, and the length of a unit of time."""
    slot = process.cycle / len(process.rates)
    mass = np.array(process.rates) * (rate / process.own_rate * slot)
    if mass.max() > MOST_IN_A_SLOT:
        raise ModelError(
            f"arrivals.cycle: {mass.max():.3g} jobs are expected in one of its slots, at most {MOST_IN_A_SLOT:.3g} are "
            "told apart; take more slots, or a shorter cycle"
        )
    return np.concatenate([mass, [math.fsum(mass), slot / UNITS]])


def start_units(word_1: NDArray[np.uint64], word_2: NDArray[np.uint64]) -> Ints:
    """Any unit of a slot alike, from 40 random bits."""
    return np.asarray((word_1 << np.uint64(8)) | (word_2 >> np.uint64(24)), np.uint64).astype(np.int64)


def ahead(time: Array, slots: int, x: int, e: float) -> tuple[float, int]:
    """The gap after a job at place x, and the place of the next, e expected jobs later."""
    slot, r = x % slots, x // slots
    e, passed = _without_cycles(time, slots, e)
    start, left = r, float(time[slot]) * (1.0 - r * 2.0**-UNITS_SHIFT)
    while time[slot] == 0.0 or e > left:
        e -= left
        slot = slot + 1 if slot + 1 < slots else 0
        passed += 1.0
        start, left = 0, float(time[slot])
    to = min(start + _units(e, float(time[slot])), UNITS - 1)
    return (passed * UNITS + (to - r)) * float(time[slots + 1]), slot + slots * to


def behind(time: Array, slots: int, x: int, e: float) -> tuple[float, int]:
    """The gap before a job at place x, and the place of the last, e expected jobs earlier."""
    slot, r = x % slots, x // slots
    e, passed = _without_cycles(time, slots, e)
    start, left = r, float(time[slot]) * (r * 2.0**-UNITS_SHIFT)
    while time[slot] == 0.0 or e > left:
        e -= left
        slot = slot - 1 if slot > 0 else slots - 1
        passed += 1.0
        start, left = UNITS, float(time[slot])
    to = min(max(start - _units(e, float(time[slot])), 0), UNITS - 1)
    return (passed * UNITS + (r - to)) * float(time[slots + 1]), slot + slots * to


def _without_cycles(time: Array, slots: int, e: float) -> tuple[float, float]:
    """What is left of e after whole cycles, and their slots."""
    cycles = math.floor(e / float(time[slots]))
    return max(e - float(cycles) * float(time[slots]), 0.0), float(cycles) * slots


def _units(e: float, mass: float) -> int:
    return int(e / mass * UNITS + 0.5)
