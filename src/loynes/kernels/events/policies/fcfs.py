"""First come, first served: nobody starts before the job ahead of it."""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import first_in_line, fits


@policy(
    "fcfs",
    rank=1,
    caveat="a big job at the head of the line idles servers",
    summary="the head of the line, when it fits",
)
def fcfs(floor, option):
    while first_in_line(floor) != NOBODY and fits(floor, first_in_line(floor)):
        start(floor, first_in_line(floor))
