"""Nonpreemptive Markovian service rates with backfilling (Chen, Grosof and Berg 2025).

As `msr`, but while a schedule has its time, whoever else fits starts, too, in order of arrival. When the next schedule
is to follow, these run to their end like all others.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.first_fit import first_that_fits
from loynes.kernels.events.policies.msr import CYCLE, take_turns, turns_of
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.view import any_idle


@policy(
    "msr-backfill",
    rank=13,
    by_class=True,
    asks_again=True,
    priorities=False,
    prepare=turns_of,
    option=CYCLE,
    caveat="computed for this mix: another mix needs another cycle; no theory covers the backfilling",
    summary="as msr; then whoever else fits, in order of arrival, unless schedules change",
    reference="Chen, Grosof and Berg 2025, arXiv 2412.08915 (nMSR with backfilling)",
)
def msr_backfill(floor, turns):
    if take_turns(floor, turns):
        while any_idle(floor):
            best = first_that_fits(floor)
            if best == NOBODY:
                return
            start(floor, best)
