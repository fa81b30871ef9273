"""The floor as a policy reads it: the line, the jobs in it, and the servers that idle.

A job is known by its slot, a number; NOBODY is the slot of no job, and none of these functions may be given it.
"""

from loynes.kernels.events.floor import HEAD, LINED, MEMORY, NOBODY, RUNNING, TAIL
from loynes.kernels.events.placing import can_place, idle_units, losses_are_known, would_fit_empty
from loynes.kernels.events.sharing import above, from_here, goes_before, newest_in_line, unless_held_back, within_quota
from loynes.kernels.events.uncounted import inlined, uncounted


@inlined
def first_in_line(floor):
    """The job that has waited longest, or NOBODY; of those with the highest priority, and not held back by a quota."""
    return from_here(floor.sharing, floor, floor.counts[HEAD])


@inlined
def next_in_line(floor, slot):
    """The job behind another in line, or NOBODY. A job that has been started has none: ask before."""
    return from_here(floor.sharing, floor, floor.jobs[slot].after)


@inlined
def last_in_line(floor):
    """The job that came last of those in line, or NOBODY; where there are priorities, if that is still in line."""
    return newest_in_line(floor.sharing, floor.counts[TAIL])


@inlined
def jobs_in_line(floor):
    """How many there are."""
    return floor.counts[LINED]


@inlined
def classes(floor):
    """How many classes there are, each of jobs that need the same; none unless the policy is `by_class`."""
    return floor.alike.shape[0]


@inlined
def first_of_class(floor, c):
    """The first in line of a class, or NOBODY. All of a class need the same."""
    return unless_held_back(floor.sharing, floor, floor.alike[c, 0])


@inlined
def came_before(floor, slot, other):
    """Whether a job arrived before another, or has a higher priority."""
    return goes_before(floor.sharing, floor, slot, other)


@inlined
def higher(floor, slot, other):
    """Above 0 where a job has a higher priority than another, below 0 where it has a lower one."""
    return above(floor.sharing, floor, slot, other)


@inlined
def believed_time(floor, slot):
    """How long the scheduler believes a job to take in all; never less than it does."""
    return floor.jobs[slot].guess


@inlined
def now(floor):
    """The time."""
    return floor.clock[0]


@inlined
def waited(floor, slot):
    """How long ago a job arrived."""
    return floor.clock[0] - floor.jobs[slot].arrival


@inlined
def class_of(floor, slot):
    """A job's class."""
    return floor.jobs[slot].job_class


@inlined
def kinds(floor):
    """How many kinds of servers there are."""
    return floor.free.size


@inlined
def idle(floor, kind):
    """How many servers of a kind are free; none also where more are still to be lost than idle."""
    return idle_units(floor.nodes, floor, kind)


@inlined
def servers(floor, kind):
    """How many servers of a kind there are now."""
    return floor.units[kind]


@inlined
def need(floor, slot, kind):
    """How many servers of a kind a job needs."""
    return floor.need[slot, kind]


@uncounted
def needed(floor, slot):
    """How many servers a job needs, of all kinds together."""
    total = 0
    for kind in range(floor.free.size):
        total += floor.need[slot, kind]
    return total


@uncounted
def is_smallest(floor, slot):
    """Whether a job needs what that class does that needs least of all there are, of equals the first."""
    same = True
    for kind in range(floor.free.size):
        same &= floor.need[slot, kind] == floor.extreme[0, kind]
    return same


@uncounted
def is_largest(floor, slot):
    """Whether a job needs what that class does that needs most of all there are, of equals the first."""
    same = True
    for kind in range(floor.free.size):
        same &= floor.need[slot, kind] == floor.extreme[1, kind]
    return same


@inlined
def fits(floor, slot):
    """Whether enough servers of every kind are free; where there are nodes, enough together for each of its tasks."""
    return within_quota(floor.sharing, floor, slot) and can_place(floor.nodes, floor, slot)


@inlined
def first_fitting_of_class(floor, c):
    """The first in line of a class that fits, or NOBODY. Only where losses are announced may a later one, that is
    believed to take less time, fit where the first does not."""
    slot = first_of_class(floor, c)
    if slot != NOBODY and not fits(floor, slot):
        slot = _fitting_behind(floor, slot) if losses_are_known(floor.nodes, floor) else NOBODY
    return slot


@uncounted
def _fitting_behind(floor, slot):
    while slot != NOBODY and not fits(floor, slot):
        slot = floor.jobs[slot].next_alike
    return slot


@uncounted
def could_fit(floor, slot):
    """Whether it would on an empty floor: servers may have been lost."""
    return would_fit_empty(floor.nodes, floor, slot)


@inlined
def any_idle(floor):
    """Whether a server of any kind is free."""
    some = False
    for kind in range(floor.free.size):
        some |= idle_units(floor.nodes, floor, kind) > 0
    return some


@inlined
def jobs_running(floor):
    """How many jobs run."""
    return floor.counts[RUNNING]


@inlined
def running_job(floor, i):
    """The i-th running job, in no order that means anything; starting or stopping one changes it."""
    return floor.jobs[i].heap


@inlined
def set_note(floor, slot, value):
    """Keep a whole number with a job; it is 0 when the job arrives."""
    floor.jobs[slot].marked = value


@inlined
def note(floor, slot):
    """The number kept with a job."""
    return floor.jobs[slot].marked


@inlined
def remember(floor, value):
    """Keep a whole number for all later events; it is 0 at first."""
    floor.counts[MEMORY] = value


@inlined
def remembered(floor):
    """The number that was kept."""
    return floor.counts[MEMORY]
