"""First fit: whoever fits starts, in order of arrival. Big jobs can be passed for ever."""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import inlined
from loynes.kernels.events.view import any_idle, came_before, classes, first_fitting_of_class, first_of_class


@inlined
def first_that_fits(floor):
    """The job that came first of those in line that fit, or NOBODY."""
    best = NOBODY
    for c in range(classes(floor)):
        slot = first_of_class(floor, c)
        if slot != NOBODY and (best == NOBODY or came_before(floor, slot, best)):
            slot = first_fitting_of_class(floor, c)
            if slot != NOBODY and (best == NOBODY or came_before(floor, slot, best)):
                best = slot
    return best


@policy(
    "first-fit",
    rank=2,
    by_class=True,
    caveat="big jobs may starve",
    summary="whoever fits, in order of arrival; big jobs may starve",
)
def first_fit(floor, option):
    while any_idle(floor):
        best = first_that_fits(floor)
        if best == NOBODY:
            return
        start(floor, best)
