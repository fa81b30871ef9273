"""Most or least servers first, and smash, which looks only at the first few in line.

Most servers first (Beloglazov and Buyya 2010; Maguluri, Srikant and Ying 2012): of those that fit, the one that needs
most, and of equals the first. Smash with a window w (Olliaro, Ajmone Marsan, Balsamo and Marin) does so among the first
w in line; a window of one is first come, first served. Least servers first is the opposite of the first, and lets
nobody pass a smaller job.
"""

from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits, taken_by
from loynes.kernels.events.uncounted import uncounted


@uncounted
def most_servers_first(floor, option):
    _largest(floor, floor.need.shape[0])


@uncounted
def smash(floor, option):
    _largest(floor, option)


@uncounted
def _largest(floor, window):
    while True:
        best, most, seen = NOBODY, 0, 0
        slot = floor.counts[HEAD]
        while slot != NOBODY and seen < window:
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
        best, least = NOBODY, 2**62
        slot = floor.counts[HEAD]
        while slot != NOBODY:
            need = taken_by(floor, slot)
            if need < least:
                best, least = slot, need
            slot = floor.jobs[slot].after
        if best == NOBODY or not fits(floor, best):
            return
        begin(floor, best)
