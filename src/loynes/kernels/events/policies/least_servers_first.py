"""Least servers first: the job that needs fewest servers, when it fits; of equals the first.

The opposite of most servers first. Nobody passes a smaller job, not even one that waits for servers of another kind.
Where there are priorities, nobody passes a higher one, either: it is the smallest of those with the highest.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import came_before, classes, first_of_class, fits, higher, needed


@policy(
    "least-servers-first",
    rank=6,
    by_class=True,
    caveat="big jobs may starve",
    summary="the one that needs least, when it fits; big jobs may starve",
)
def least_servers_first(floor, option):
    while True:
        best, least = NOBODY, 0
        for c in range(classes(floor)):
            slot = first_of_class(floor, c)
            if slot != NOBODY:
                need, level = needed(floor, slot), 0 if best == NOBODY else higher(floor, slot, best)
                first = best != NOBODY and need == least and came_before(floor, slot, best)
                if best == NOBODY or level > 0 or (level == 0 and (need < least or first)):
                    best, least = slot, need
        if best == NOBODY or not fits(floor, best):
            return
        start(floor, best)
