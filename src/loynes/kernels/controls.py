"""Sums along chains whose expectations are known: what their averages are regressed on.

Jobs are taken a stretch at a time, from one observed arrival to the next. Let y be the wait that the observed arrival
expects (its class averaged over), and x the surplus of the stretch: the work that its jobs bring, each service times
the weight of its class, less the time that passes, less what that is on average. y depends on jobs before the stretch
only, x on those in it: where jobs are independent of those before, y x has expectation 0, whatever state the chain was
started in. The expectations of x^2 and of squares of services are the laws'.
"""

from __future__ import annotations

from typing import NamedTuple

from loynes.arrays import Array, Ints

# Columns of the sums: over stretches, of x, of y x and of x^2; from SERVICES on over jobs, of weight x service^2, a
# column for each group of classes.
SURPLUS, SEEN, SQUARE, SERVICES = range(4)


class Controls(NamedTuple):
    """What to add up, as kernels know it."""

    weight: Array  # [class]
    group: Ints  # [class], to whose column the squares of its services are added
    groups: int
    passing: float  # what time counts that passes: 1, or 0 where gaps depend on those before
    expected: float  # of the surplus of a stretch


class NoControls(NamedTuple):
    """Nothing: kernels are compiled without."""

    groups: int = 0


AnyControls = Controls | NoControls

NO_CONTROLS = NoControls()


def columns(controls: AnyControls) -> int:
    """How many sums there are."""
    return SERVICES + controls.groups if isinstance(controls, Controls) else 0
