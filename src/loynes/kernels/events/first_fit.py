"""First fit: whoever fits starts, in order of arrival. Big jobs can be passed for ever."""

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits


@compiled
def first_fit(floor, option):
    slot = floor.counts[HEAD]
    while slot != NOBODY and floor.free.max() > 0:
        behind = floor.jobs[slot].after
        if fits(floor, slot):
            begin(floor, slot)
        slot = behind
