"""Announced losses of servers of a pool: what will be left for others at each of them, as far as it is believed.

A pool does not say which of its servers go. So a job may start if at every time until its believed end there will be
as many servers as it and all that are believed to run then need. What running jobs take only becomes less with time,
until others start: it is enough to ask when servers are lost, and of what they take then. Without announced losses,
the empty tuple, nothing of this is compiled. Of nodes it is known which are away (see nodes.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.uncounted import uncounted


class Maintenance(NamedTuple):
    """All announced losses, in order of time; what comes back is lost below 0."""

    time: Array  # [loss]
    lost: Ints  # [loss, kind]
    left: Ints  # [loss, kind]: of those to come, what will be free from then on, but for jobs that start from now on
    happened: Ints  # [1], how many of them have
    until: Array  # [slot], when a running job is believed to end


def new_maintenance(losses: list[tuple[float, tuple[int, ...]]], slots: int) -> Maintenance:
    """None of these has happened, and nobody runs."""
    lost = np.array([counts for _, counts in losses], np.int64)
    return Maintenance(
        np.array([time for time, _ in losses]), lost, np.zeros_like(lost), np.zeros(1, np.int64), np.zeros(slots)
    )


def more_until(maintenance: Any, slots: int) -> Any:
    """The same with room for so many jobs."""
    if maintenance == ():
        return maintenance
    until = np.zeros(slots)
    until[: len(maintenance.until)] = maintenance.until
    return maintenance._replace(until=until)


def recount(maintenance: Maintenance, units: Ints, need: Ints, until: Array) -> None:
    """What will be left of so many units, where jobs run that need these, [job, kind], until then."""
    times, first = maintenance.time, int(maintenance.happened[0])
    gone = np.cumsum(maintenance.lost[first:], axis=0)
    for i in range(first, len(times)):
        # All that is lost and comes back at one time does so at once.
        together = int(np.searchsorted(times, times[i], side="right")) - 1 - first
        maintenance.left[i] = units - gone[together] - need[until > times[i]].sum(axis=0)


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def is_announced(maintenance):
    """Whether there are announced losses."""


@is_announced.variant(type(None))
def _is_not(maintenance):
    return False


@is_announced.variant(Maintenance)
def _is(maintenance):
    return True


@_chosen
def expect_use(maintenance, floor, slot):
    """A job starts, or is believed to end at another time than before."""


@expect_use.variant(type(None))
def _expect_nothing(maintenance, floor, slot):
    pass


@expect_use.variant(Maintenance)
def _expect_use(maintenance, floor, slot):
    maintenance.until[slot] = floor.jobs[slot].started + floor.jobs[slot].guess
    use_later(maintenance, floor, slot, 1)


@_chosen
def expect_no_use(maintenance, floor, slot, sign):
    """A running job will not take what it was believed to (sign 1), or will again (-1)."""


@expect_no_use.variant(type(None))
def _drop_nothing(maintenance, floor, slot, sign):
    pass


@expect_no_use.variant(Maintenance)
def _expect_no_use(maintenance, floor, slot, sign):
    use_later(maintenance, floor, slot, -sign)


@uncounted
def use_later(maintenance, floor, slot, sign):
    for i in range(maintenance.happened[0], maintenance.time.size):
        if maintenance.time[i] < maintenance.until[slot]:
            for k in range(floor.free.size):
                maintenance.left[i, k] -= sign * floor.need[slot, k]


@_chosen
def leaves_enough(maintenance, floor, slot):
    """Whether a job that starts now has its servers until its believed end."""


@leaves_enough.variant(type(None))
def _always(maintenance, floor, slot):
    return True


@leaves_enough.variant(Maintenance)
def _leaves_enough(maintenance, floor, slot):
    return enough_later(maintenance, floor, slot, slot, floor.clock[0], floor.clock[0] + floor.jobs[slot].guess)


@_chosen
def leaves_enough_beside(maintenance, floor, head, slot, reserved):
    """Whether the head of the line, from its reserved time on, does, too, if the job starts now."""


@leaves_enough_beside.variant(type(None))
def _beside_always(maintenance, floor, head, slot, reserved):
    return True


@leaves_enough_beside.variant(Maintenance)
def _leaves_enough_beside(maintenance, floor, head, slot, reserved):
    until = min(floor.clock[0] + floor.jobs[slot].guess, reserved + floor.jobs[head].guess)
    return enough_later(maintenance, floor, slot, head, reserved, until)


@uncounted
def enough_later(maintenance, floor, slot, other, since, until):
    """Whether there are servers for a job, and another if it is one, at all losses from then until before then."""
    enough = True
    for i in range(maintenance.happened[0], maintenance.time.size):
        if since <= maintenance.time[i] < until:
            for k in range(floor.free.size):
                need = floor.need[slot, k] + (floor.need[other, k] if other != slot else 0)
                enough &= need <= max(maintenance.left[i, k], 0)
    return enough
