"""Quick swap (Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg, Grosof 2025): most servers first, soon switched.

Most servers first serves small jobs until so few are left that a big one fits, which may take long. Here, once a job of
the largest need waits, none of them runs and at least a threshold of servers idles, nobody else starts until it fits.
"""

from loynes.kernels.events.by_need import largest, most_servers_first
from loynes.kernels.events.floor import DRAINING, NOBODY, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def quick_swap(floor, option):
    if floor.counts[DRAINING] == 0:
        most_servers_first(floor, option)
    big = largest(floor, False)
    if big == NOBODY:
        floor.counts[DRAINING] = 0
        return
    if fits(floor, big):
        floor.counts[DRAINING] = 0
        most_servers_first(floor, option)
    elif floor.free[0] >= option:
        floor.counts[DRAINING] = 1
