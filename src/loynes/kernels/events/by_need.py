"""Most or least servers first, and smash, which looks only at the first few in line.

Most servers first (Beloglazov and Buyya 2010; Maguluri, Srikant and Ying 2012): of those that fit, the one that needs
most, and of equals the first. Smash with a window w (Olliaro, Ajmone Marsan, Balsamo and Marin) does so among the first
w in line; a window of one is first come, first served. Least servers first is the opposite of the first, and lets
nobody pass a smaller job.
"""

from loynes.kernels.events.floor import HEAD, NOBODY, begin, could_fit, fits, taken_by
from loynes.kernels.events.uncounted import uncounted


@uncounted
def most_servers_first(floor, option):
    while True:
        best = largest(floor, True)
        if best == NOBODY:
            return
        begin(floor, best)


@uncounted
def largest(floor, now):
    """The job in line that needs most of those that fit, now or on an empty floor; of equals the first."""
    best = NOBODY
    for c in range(floor.alike.shape[0]):  # of a class, only the first in line matters
        slot = floor.alike[c, 0]
        if slot != NOBODY and (fits(floor, slot) if now else could_fit(floor, slot)):
            more = 1 if best == NOBODY else taken_by(floor, slot) - taken_by(floor, best)
            if more > 0 or (more == 0 and floor.jobs[slot].number < floor.jobs[best].number):
                best = slot
    return best


@uncounted
def smash(floor, option):
    while True:
        best, most, seen = NOBODY, 0, 0
        slot = floor.counts[HEAD]
        while slot != NOBODY and seen < option:
            need = taken_by(floor, slot)
            if need > most and fits(floor, slot):
                best, most = slot, need
            slot = floor.jobs[slot].after
            seen += 1
        if best == NOBODY:
            return
        begin(floor, best)


@uncounted
def least_servers_first(floor, option):
    while True:
        best = NOBODY
        for c in range(floor.alike.shape[0]):
            slot = floor.alike[c, 0]
            if slot != NOBODY:
                less = 1 if best == NOBODY else taken_by(floor, best) - taken_by(floor, slot)
                if less > 0 or (less == 0 and floor.jobs[slot].number < floor.jobs[best].number):
                    best = slot
        if best == NOBODY or not fits(floor, best):
            return
        begin(floor, best)
