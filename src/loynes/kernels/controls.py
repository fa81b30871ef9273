"""Sums along chains whose expectations are known: what their averages are regressed on.

Jobs are taken a stretch at a time, from one observed arrival to the next. Let y be the wait that the observed arrival
expects (its class averaged over), w the work that the jobs of the stretch bring, each service times the weight of its
class, and t the time until the next observed arrival; both less what they are expected to be. y depends on jobs before
the stretch only, w and t on those in it: where jobs are independent of those before, y w, y t and the like have
expectation 0, whatever state the chain was started in.
"""

from __future__ import annotations

from typing import NamedTuple

from loynes.arrays import Array, Ints

# Columns of the sums: over stretches, of these products; from SQUARES on over jobs, of weight x service^2, a column for
# each group of classes.
WORK, TIME, SEEN_WORK, SEEN_TIME, FAR_WORK, FAR_TIME, WORK_WORK, TIME_TIME, WORK_TIME, SQUARES = range(10)


class Controls(NamedTuple):
    """What to add up, as kernels know it."""

    weight: Array  # [class]
    group: Ints  # [class], whose column of squares its services add to
    groups: int
    work: float  # expected in a stretch
    time: float


class NoControls(NamedTuple):
    """Nothing: kernels are compiled without."""

    groups: int = 0


AnyControls = Controls | NoControls

NO_CONTROLS = NoControls()


def columns(controls: AnyControls) -> int:
    """How many sums there are."""
    return SQUARES + controls.groups if isinstance(controls, Controls) else 0
