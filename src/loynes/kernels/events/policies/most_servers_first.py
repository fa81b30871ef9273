"""Most servers first: of the jobs that fit the one that needs most servers, and of equals the first.

Where there are priorities, it is one of those with the highest.
Beloglazov and Buyya 2010; Maguluri, Srikant and Ying 2012. With several kinds of servers, those of all kinds count.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import came_before, classes, first_fitting_of_class, higher, needed


@uncounted
def _largest(floor):
    """The job in line that needs most of those that fit, and of equals the first."""
    best, most = NOBODY, 0
    for c in range(classes(floor)):
        slot = first_fitting_of_class(floor, c)
        if slot != NOBODY:
            need, level = needed(floor, slot), 0 if best == NOBODY else higher(floor, slot, best)
            first = best != NOBODY and need == most and came_before(floor, slot, best)
            if best == NOBODY or level > 0 or (level == 0 and (need > most or first)):
                best, most = slot, need
    return best


@policy(
    "most-servers-first",
    rank=5,
    by_class=True,
    caveat="small jobs may starve, and big ones wait until by chance enough servers are free",
    summary="of those that fit, the one that needs most",
    reference="Maguluri, Srikant and Ying 2012",
)
def most_servers_first(floor, option):
    while True:
        best = _largest(floor)
        if best == NOBODY:
            return
        start(floor, best)
