"""Running jobs one after the other, by the ends that the scheduler believes in: a heap of their own."""

from loynes.kernels.events.floor import RUNNING
from loynes.kernels.events.uncounted import inlined, uncounted


@inlined
def expect_ends(floor):
    """List all running jobs; how many there are."""
    now, size = floor.clock[0], floor.counts[RUNNING]
    for i in range(size):
        slot = floor.jobs[i].heap
        floor.jobs[i].ending = slot
        floor.jobs[i].believed = max(floor.jobs[slot].started + floor.jobs[slot].guess, now)
    make_heap(floor, size)
    return size


@uncounted
def make_heap(floor, size):
    """Put the first `size` of a list in order, so that the earliest is at place 0."""
    for at in range((size >> 1) - 1, -1, -1):
        _sink(floor, floor.jobs[at].ending, floor.jobs[at].believed, at, size)


@uncounted
def enter(floor, size, ending, believed):
    """Put another into a list of that size; how many there are now."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if floor.jobs[parent].believed <= believed:
            break
        floor.jobs[at].ending = floor.jobs[parent].ending
        floor.jobs[at].believed = floor.jobs[parent].believed
        at = parent
    floor.jobs[at].ending = ending
    floor.jobs[at].believed = believed
    return size + 1


@inlined
def drop_first(floor, size):
    """Take the earliest, at place 0, off a list of that size; how many are left."""
    last = size - 1
    if last > 0:
        _sink(floor, floor.jobs[last].ending, floor.jobs[last].believed, 0, last)
    return last


@inlined
def _sink(floor, slot, believed, at, size):
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and floor.jobs[child + 1].believed < floor.jobs[child].believed:
            child += 1
        if floor.jobs[child].believed >= believed:
            break
        floor.jobs[at].ending = floor.jobs[child].ending
        floor.jobs[at].believed = floor.jobs[child].believed
        at = child
    floor.jobs[at].ending = slot
    floor.jobs[at].believed = believed
