"""First fit: whoever fits starts, in order of arrival. Big jobs can be passed for ever."""

from loynes.kernels.events.floor import HEAD, NOBODY, any_free, begin, fits
from loynes.kernels.events.uncounted import uncounted


@uncounted
def first_fit(floor, option):
    slot = floor.counts[HEAD]
    while slot != NOBODY and any_free(floor):
        behind = floor.jobs[slot].after
        if fits(floor, slot):
            begin(floor, slot)
        slot = behind
