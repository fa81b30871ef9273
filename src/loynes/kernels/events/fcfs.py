"""First come, first served: nobody starts before the job ahead of it."""

from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits
from loynes.kernels.events.uncounted import inlined


@inlined
def fcfs(floor, option):
    while floor.counts[HEAD] != NOBODY and fits(floor, floor.counts[HEAD]):
        begin(floor, floor.counts[HEAD])
