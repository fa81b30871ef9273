"""Quick swap (Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg, Grosof 2025): most servers first, soon switched.

Most servers first serves small jobs until so few are left that a big one fits, which may take long. Here, once a job of
the largest need waits, none of them runs and at least a threshold of servers idles, nobody else starts until it fits.
"""

from loynes.kernels.events.by_need import most_servers_first
from loynes.kernels.events.floor import DRAINING, HEAD, NOBODY, could_fit, fits, taken_by
from loynes.kernels.events.uncounted import uncounted


@uncounted
def quick_swap(floor, option):
    if floor.counts[DRAINING] == 0:
        most_servers_first(floor, option)
    big = _largest(floor)
    if big == NOBODY:
        floor.counts[DRAINING] = 0
        return
    if fits(floor, big):
        floor.counts[DRAINING] = 0
        most_servers_first(floor, option)
    elif floor.free[0] >= option:
        floor.counts[DRAINING] = 1


@uncounted
def _largest(floor):
    """The first in line of those that need most, or nobody."""
    best, most = NOBODY, 0
    slot = floor.counts[HEAD]
    while slot != NOBODY:
        need = taken_by(floor, slot)
        if need > most and could_fit(floor, slot):
            best, most = slot, need
        slot = floor.jobs[slot].after
    return best
