"""Server filling (Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022), preemptive, for needs that are powers of two.

Take the shortest beginning of all jobs, in order of arrival, that together need at least all servers; of these the
largest needs are served first. If the needs are powers of two, and so is the number of servers, all servers are busy
whenever the jobs present need as many: no rate below the ideal is too much.
"""

from loynes.kernels.events.ends import drop_first, make_heap
from loynes.kernels.events.floor import NOBODY, run, stop
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import inlined, uncounted
from loynes.kernels.events.view import could_fit, first_in_line, fits, jobs_running, next_in_line, running_job

SERVED, LEFT_OUT = 1, 0
# More than there are places in line; times a number of servers it is still a whole number in double precision.
ORDERS = 2.0**32


def needs_no_powers(needs: list[int], servers: int) -> tuple[str, ...]:
    """What server filling promises only for powers of two."""
    if servers & (servers - 1) == 0 and not any(need & (need - 1) for need in needs):
        return ()
    return (
        "server-filling leaves no server idle while there is work if the number of servers and all needs are powers "
        "of two, which they are not",
    )


@policy(
    "server-filling",
    rank=10,
    keeps_place=True,
    identical_servers_only=True,
    check=needs_no_powers,
    caveat="needs preemption that costs nothing: jobs are stopped and go on later",
    summary="preemptive: the largest of the shortest beginning of the line that fills all servers",
    reference="Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022",
)
def server_filling(floor, option):
    serve_marked(floor, _choose(floor))


@inlined
def serve_marked(floor, size):
    """Stop running jobs that are left out, then run those of the first `size` in line that are to be served."""
    stopped = 0
    for i in range(jobs_running(floor)):  # listed first: the heap becomes another with each that is stopped
        slot = running_job(floor, i)
        if floor.jobs[slot].marked == LEFT_OUT and floor.jobs[slot].number != NOBODY:
            floor.jobs[stopped].ending = slot
            stopped += 1
    for i in range(stopped):
        stop(floor, floor.jobs[i].ending)
    slot = first_in_line(floor)
    for _ in range(size):
        if floor.jobs[slot].marked == SERVED and floor.jobs[slot].place == NOBODY and fits(floor, slot):
            run(floor, slot)
        slot = next_in_line(floor, slot)


@uncounted
def _choose(floor):
    """Mark whom to serve of the shortest beginning of the line that fills all servers; how many jobs that is.

    They are taken from a heap, the largest first and of equals the earliest. Where servers were lost, those that need
    more than there are belong to the beginning, but fill nothing.
    """
    for i in range(jobs_running(floor)):
        floor.jobs[running_job(floor, i)].marked = LEFT_OUT
    servers, wanted, size, listed = floor.units[0], 0, 0, 0
    slot = first_in_line(floor)
    while slot != NOBODY and wanted < servers:
        floor.jobs[slot].marked = LEFT_OUT
        if could_fit(floor, slot):
            wanted += floor.need[slot, 0]
            floor.jobs[listed].ending = slot
            floor.jobs[listed].believed = ORDERS * (servers - floor.need[slot, 0]) + size
            listed += 1
        size += 1
        slot = next_in_line(floor, slot)
    make_heap(floor, listed)
    left = servers
    while listed > 0 and left > 0:
        slot = floor.jobs[0].ending
        if floor.need[slot, 0] <= left:
            floor.jobs[slot].marked = SERVED
            left -= floor.need[slot, 0]
        listed = drop_first(floor, listed)
    return size
