"""Server filling (Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022), preemptive, for needs that are powers of two.

Take the shortest beginning of all jobs, in order of arrival, that together need at least all servers; of these the
largest needs are served first. If the needs are powers of two, and so is the number of servers, all servers are busy
whenever the jobs present need as many: no rate below the ideal is too much.
"""

from loynes.kernels.events.floor import HEAD, NOBODY, RUNNING, could_fit, fits, run, stop
from loynes.kernels.events.uncounted import uncounted

SERVED, LEFT_OUT = 1, 0


@uncounted
def server_filling(floor, option):
    servers, wanted, size = floor.units[0], 0, 0
    slot = floor.counts[HEAD]
    while slot != NOBODY and wanted < servers:
        if could_fit(floor, slot):
            wanted += floor.need[slot, 0]
        size += 1
        slot = floor.jobs[slot].after
    for i in range(floor.counts[RUNNING]):
        floor.jobs[floor.jobs[i].heap].marked = LEFT_OUT
    _choose(floor, size)
    i = 0
    while i < floor.counts[RUNNING]:  # first off, then on
        slot = floor.jobs[i].heap
        if floor.jobs[slot].marked == LEFT_OUT and floor.jobs[slot].number != NOBODY:
            stop(floor, slot)
            i = 0  # the heap is another
        else:
            i += 1
    slot = floor.counts[HEAD]
    for _ in range(size):
        if floor.jobs[slot].marked == SERVED and floor.jobs[slot].place == NOBODY and fits(floor, slot):
            run(floor, slot)
        slot = floor.jobs[slot].after


@uncounted
def _choose(floor, size):
    """Mark whom to serve of so many in line: the largest first, of equals the earliest; a pass for every need."""
    left, bound = floor.units[0], floor.units[0] + 1
    while bound > 0:
        largest, slot = 0, floor.counts[HEAD]
        for _ in range(size):
            need = floor.need[slot, 0]
            if largest < need < bound:
                largest = need
            slot = floor.jobs[slot].after
        slot = floor.counts[HEAD]
        for _ in range(size):
            if floor.need[slot, 0] == largest:
                floor.jobs[slot].marked = SERVED if largest <= left else LEFT_OUT
                if largest <= left:
                    left -= largest
            elif floor.need[slot, 0] > floor.units[0]:
                floor.jobs[slot].marked = LEFT_OUT  # servers were lost
            slot = floor.jobs[slot].after
        bound = largest
