"""Most servers first with quick swap (Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg and Grosof 2025, MSFQ).

Most servers first serves small jobs until by chance so few are left that a big one fits, which may take ages. With
quick swap the floor is drained for the big one as soon as small ones no longer keep all servers busy: nobody starts
until the largest job in line fits; then most servers first goes on. Draining begins when, after most servers first has
started whom it can,

- a job waits, the largest in line (of those that fit on an empty floor),
- none that needs the same runs: where one does, jobs of that size are being served already, and the next follows it,
- and of every kind of servers it lacks, at least `threshold` idle.

On k servers with jobs that need one or all, which the authors analyse, this is their policy with threshold
l = k - `threshold` (small jobs that run when the floor is drained): 1, their l = k - 1, drains earliest, and k is most
servers first. With more sizes the authors' simulator drains for the largest class of the model only; here, as in their
adaptive variant, for the largest in line.
"""

from loynes.kernels.events.floor import NOBODY
from loynes.kernels.events.policies.most_servers_first import largest, most_servers_first
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import fits, idle, jobs_running, kinds, need, remember, remembered, running_job


@policy(
    "quick-swap",
    rank=9,
    by_class=True,
    option=Option("threshold", default=1, help="how many servers idle when the floor is drained for the largest job"),
    summary="most servers first; but once the largest in line waits, none of its size runs and `--threshold` servers "
    "idle, nobody starts until it fits",
    reference="Chen et al. 2025, arXiv 2509.01893",
)
def quick_swap(floor, option):
    big = largest(floor, False)
    if remembered(floor) and big != NOBODY and not fits(floor, big):
        return
    most_servers_first(floor, option)
    big = largest(floor, False)
    remember(floor, big != NOBODY and _enough_idle(floor, big, option) and not _same_runs(floor, big))


@uncounted
def _enough_idle(floor, slot, threshold):
    """Whether of every kind of which a job lacks servers so many idle."""
    enough = True
    for kind in range(kinds(floor)):
        enough &= idle(floor, kind) >= min(threshold, need(floor, slot, kind))
    return enough


@uncounted
def _same_runs(floor, slot):
    """Whether a job runs that needs the same."""
    for i in range(jobs_running(floor)):
        same = True
        for kind in range(kinds(floor)):
            same &= need(floor, running_job(floor, i), kind) == need(floor, slot, kind)
        if same:
            return True
    return False
