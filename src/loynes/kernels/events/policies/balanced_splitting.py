"""Balanced splitting (Anselmi and Doncel 2024): most servers belong to a class each, the rest help out.

Every class has servers of its own, in proportion to the work it brings, as many as a whole number of its jobs need. The
servers that are left over help all classes. A job runs on its class's own servers if there is room; otherwise it joins
the line of the helpers, first come, first served; when a job ends on its class's own servers, the first of that class
in the line takes its place. Small jobs do not wait for big ones, as long as they find room among their own.
"""

from typing import NamedTuple

import numpy as np

from loynes.arrays import Ints
from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.mix import Mix
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import (
    class_of,
    classes,
    first_in_line,
    first_of_class,
    fits,
    jobs_running,
    need,
    note,
    running_job,
    set_note,
)

# Where a job runs, as its note says.
OWN = 1


class Parts(NamedTuple):
    """Servers by whom they are for."""

    own: Ints  # [class], jobs that its own servers hold
    helpers: int
    running: Ints  # [class], jobs on its own servers; counted anew at every event


def parts_of(mix: Mix) -> Parts:
    """Servers in proportion to the work of every class; helpers are at least as many as the largest job needs."""
    servers, needs = int(mix.units[0]), mix.demand[:, 0]
    work = mix.rate * mix.service * needs
    share = work / work.sum() if work.sum() > 0 else np.full(len(needs), 1.0 / len(needs))
    own = np.zeros(len(needs), np.int64)
    for shared in (servers, servers - int(needs.max())):
        # A share that is a whole number but for rounding is one.
        own = np.floor(shared * share / needs + 1e-9).astype(np.int64)
        if servers - own @ needs >= needs.max():
            break
    return Parts(own, int(servers - own @ needs), np.zeros(len(needs), np.int64))


@policy(
    "balanced-splitting",
    rank=14,
    by_class=True,
    identical_servers_only=True,
    prepare=parts_of,
    caveat="computed for this mix: another mix needs other parts; may carry less than strict order",
    summary="servers of its own for every class, in proportion to its work; who finds none free waits for the others, "
    "first come, first served",
    reference="Anselmi and Doncel 2024, arXiv 2409.18557",
)
def balanced_splitting(floor, parts):
    running = parts.running
    running[:] = 0
    helping = 0
    for i in range(jobs_running(floor)):
        slot = running_job(floor, i)
        if note(floor, slot) == OWN:
            running[class_of(floor, slot)] += 1
        else:
            helping += need(floor, slot, 0)
    for c in range(classes(floor)):
        slot = first_of_class(floor, c)
        while slot != NOBODY and running[c] < parts.own[c] and fits(floor, slot):
            set_note(floor, slot, OWN)
            start(floor, slot)
            running[c] += 1
            slot = first_of_class(floor, c)
    slot = first_in_line(floor)
    while slot != NOBODY and need(floor, slot, 0) <= parts.helpers - helping and fits(floor, slot):
        helping += need(floor, slot, 0)
        start(floor, slot)
        slot = first_in_line(floor)
