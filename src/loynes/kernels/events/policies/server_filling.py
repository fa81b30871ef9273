"""Server filling (Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022), preemptive, for needs that are powers of two.

Take the shortest beginning of all jobs, in order of arrival, that together need at least all servers; of these the
largest needs are served first. If the needs are powers of two, and so is the number of servers, all servers are busy
whenever the jobs present need as many: no rate below the ideal is too much.
"""

from loynes.kernels.events.floor import NOBODY, run, stop
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import could_fit, first_in_line, fits, jobs_running, next_in_line, running_job

SERVED, LEFT_OUT = 1, 0


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
    summary="preemptive: the largest of the shortest beginning of the line that fills all servers",
    reference="Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022",
)
def server_filling(floor, option):
    servers, wanted, size = floor.units[0], 0, 0
    slot = first_in_line(floor)
    while slot != NOBODY and wanted < servers:
        if could_fit(floor, slot):
            wanted += floor.need[slot, 0]
        size += 1
        slot = next_in_line(floor, slot)
    for i in range(jobs_running(floor)):
        floor.jobs[running_job(floor, i)].marked = LEFT_OUT
    _choose(floor, size)
    i = 0
    while i < jobs_running(floor):  # first off, then on
        slot = running_job(floor, i)
        if floor.jobs[slot].marked == LEFT_OUT and floor.jobs[slot].number != NOBODY:
            stop(floor, slot)
            i = 0  # the heap is another
        else:
            i += 1
    slot = first_in_line(floor)
    for _ in range(size):
        if floor.jobs[slot].marked == SERVED and floor.jobs[slot].place == NOBODY and fits(floor, slot):
            run(floor, slot)
        slot = next_in_line(floor, slot)


@uncounted
def _choose(floor, size):
    """Mark whom to serve of so many in line: the largest first, of equals the earliest; a pass for every need.

    Where servers were lost, those that need more than there are keep their marks: who runs has been marked as left out,
    and nobody else of them fits.
    """
    left, bound = floor.units[0], floor.units[0] + 1
    while bound > 0:
        largest, slot = 0, first_in_line(floor)
        for _ in range(size):
            need = floor.need[slot, 0]
            if largest < need < bound:
                largest = need
            slot = next_in_line(floor, slot)
        slot = first_in_line(floor)
        for _ in range(size):
            if floor.need[slot, 0] == largest:
                floor.jobs[slot].marked = SERVED if largest <= left else LEFT_OUT
                if largest <= left:
                    left -= largest
            slot = next_in_line(floor, slot)
        bound = largest
