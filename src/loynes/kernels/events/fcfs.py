"""First come, first served: nobody starts before the job ahead of it."""

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits


@compiled
def fcfs(floor, option):
    while floor.counts[HEAD] != NOBODY and fits(floor, floor.counts[HEAD]):
        begin(floor, floor.counts[HEAD])
