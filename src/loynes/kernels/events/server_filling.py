"""Server filling (Grosof, Scully, Harchol-Balter and Scheller-Wolf 2022), preemptive, for needs that are powers of two.

Take the shortest beginning of all jobs, in order of arrival, that together need at least all servers; of these the
largest needs are served first. If the needs are powers of two, and so is the number of servers, all servers are busy
whenever the jobs present need as many: no rate below the ideal is too much.
"""

import numpy as np

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, NOBODY, fits, run, stop


@compiled
def server_filling(floor, option):
    servers, wanted, size = floor.units[0], 0, 0
    slot = floor.counts[HEAD]
    while slot != NOBODY and wanted < servers:
        wanted += floor.need[slot, 0]
        size += 1
        slot = floor.jobs[slot].after
    chosen = np.empty(size, np.int64)
    needs = np.empty(size, np.int64)
    slot = floor.counts[HEAD]
    for i in range(size):
        chosen[i] = slot
        needs[i] = -floor.need[slot, 0]
        slot = floor.jobs[slot].after
    # Who is to be served: the largest first, of equals the earliest.
    order = np.argsort(needs, kind="mergesort")
    serve = np.zeros(size, np.bool_)
    left = servers
    for i in order:
        if -needs[i] <= left:
            serve[i] = True
            left += needs[i]
    slot = floor.counts[HEAD]
    at = 0
    while slot != NOBODY:  # first off, then on
        if floor.jobs[slot].place != NOBODY and (at >= size or not serve[at]):
            stop(floor, slot)
        slot = floor.jobs[slot].after
        at += 1
        if at > size and floor.free[0] == servers:
            break
    for i in range(size):
        if serve[i] and floor.jobs[chosen[i]].place == NOBODY and fits(floor, chosen[i]):
            run(floor, chosen[i])
