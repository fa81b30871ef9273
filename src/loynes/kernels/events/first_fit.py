"""First fit: whoever fits starts, in order of arrival. Big jobs can be passed for ever."""

from loynes.kernels.events.floor import NOBODY, any_free, begin, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def first_fit(floor, option):
    while any_free(floor):
        best = NOBODY
        for c in range(floor.alike.shape[0]):  # of a class, only the first in line matters
            slot = floor.alike[c, 0]
            first = best == NOBODY or floor.jobs[slot].number < floor.jobs[best].number
            if slot != NOBODY and first and fits(floor, slot):
                best = slot
        if best == NOBODY:
            return
        begin(floor, best)
