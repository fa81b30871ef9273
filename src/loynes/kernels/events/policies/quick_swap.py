"""Most servers first with quick swap (Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg and Grosof 2025, MSFQ).

Most servers first serves small jobs until by chance so few are left that a big one fits, which may take ages. With
quick swap the floor is drained for a big one once small ones no longer keep all servers busy: nobody starts until it
fits; then most servers first goes on. Big are the jobs of the largest class there is, be one of them in line or not,
and small all others. The rules are those of the authors' simulator (mjqm-simulator, `QuickSwap`):

- Servers are said to have idled once a small job has ended, nobody in line fits, none but small jobs run, and at least
  `threshold` servers idle (of every kind that big jobs need; or as many as these need). That holds until a drain ends.
- The floor is drained from then on if a big job waits at that time; else from the arrival of a big job on at which none
  of its class runs and one of the smallest class does.
- The drain ends when, at the end of a small job, a big one fits.

On k servers with jobs that need one or all, which the authors analyse, this is their policy with threshold
l = k - `threshold` (small jobs that run when the floor is drained): 1, their l = k - 1, drains earliest, and k is most
servers first. Where so many servers are lost that no big job would fit on an empty floor, none is drained for.
"""

from loynes.kernels.events.floor import NOBODY
from loynes.kernels.events.policies.most_servers_first import most_servers_first
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import (
    classes,
    could_fit,
    first_of_class,
    fits,
    idle,
    is_largest,
    is_smallest,
    jobs_running,
    kinds,
    last_in_line,
    note,
    remember,
    remembered,
    running_job,
    set_note,
)

# What is remembered: one of these, and beside it how many big jobs run.
SERVING, IDLED, DRAINING, STAGES = range(4)
SEEN = 1


@policy(
    "quick-swap",
    rank=9,
    by_class=True,
    option=Option("threshold", default=1, help="how many servers idle before the floor is drained for a largest job"),
    priorities=False,
    caveat="servers idle while the floor is drained for a big job",
    summary="most servers first; but once `--threshold` servers have idled, a job of the largest class waits and none "
    "of these runs, nobody starts until it fits",
    reference="Chen et al. 2025, arXiv 2509.01893",
)
def quick_swap(floor, option):
    stage, before = remembered(floor) % STAGES, remembered(floor) // STAGES
    big, running = _big(floor), _running(floor, True)
    arrived = _just_arrived(floor)
    if stage == DRAINING and (big == NOBODY or (fits(floor, big) and not arrived)):
        stage = SERVING
    elif stage == IDLED and arrived and big != NOBODY and is_largest(floor, last_in_line(floor)) and running == 0:
        stage = DRAINING if _running(floor, False) > 0 else IDLED
    if stage == DRAINING:
        remember(floor, STAGES * running + stage)
        return
    most_servers_first(floor, option)
    big, after = _big(floor), _running(floor, True)
    if stage == SERVING and not arrived and running == before and after == 0 and _enough_idle(floor, option):
        stage = IDLED if big == NOBODY else DRAINING
    remember(floor, STAGES * after + stage)


@uncounted
def _just_arrived(floor):
    """Whether the last event was an arrival: then the last in line has not been seen before."""
    last = last_in_line(floor)
    if last == NOBODY or note(floor, last) == SEEN:
        return False
    set_note(floor, last, SEEN)
    return True


@uncounted
def _big(floor):
    """A job in line of the largest class, if it would fit on an empty floor, or NOBODY."""
    for c in range(classes(floor)):
        slot = first_of_class(floor, c)
        if slot != NOBODY and is_largest(floor, slot) and could_fit(floor, slot):
            return slot
    return NOBODY


@uncounted
def _enough_idle(floor, threshold):
    """Whether of every kind of servers so many idle, or as many as a big job needs."""
    enough = True
    for kind in range(kinds(floor)):
        enough &= idle(floor, kind) >= min(threshold, floor.extreme[1, kind])
    return enough


@uncounted
def _running(floor, big):
    """How many jobs of the largest class run, or else of the smallest."""
    count = 0
    for i in range(jobs_running(floor)):
        slot = running_job(floor, i)
        count += is_largest(floor, slot) if big else is_smallest(floor, slot)
    return count
