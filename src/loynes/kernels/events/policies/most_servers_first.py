"""Most servers first: of the jobs that fit the one that needs most servers, and of equals the first.

Beloglazov and Buyya 2010; Maguluri, Srikant and Ying 2012. With several kinds of servers, those of all kinds count.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import came_before, classes, first_of_class, fits, needed


@uncounted
def _largest(floor):
    """The job in line that needs most of those that fit, and of equals the first."""
    best, most = NOBODY, 0
    for c in range(classes(floor)):
        slot = first_of_class(floor, c)
        if slot != NOBODY and fits(floor, slot):
            need = needed(floor, slot)
            if best == NOBODY or need > most or (need == most and came_before(floor, slot, best)):
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
