"""Shortest first: of those that fit, the one with the least work, as far as the scheduler knows."""

import numpy as np

from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def shortest_first(floor, option):
    while True:
        best, least = NOBODY, np.inf
        slot = floor.counts[HEAD]
        while slot != NOBODY:
            if floor.jobs[slot].guess < least and fits(floor, slot):
                best, least = slot, floor.jobs[slot].guess
            slot = floor.jobs[slot].after
        if best == NOBODY:
            return
        begin(floor, best)
