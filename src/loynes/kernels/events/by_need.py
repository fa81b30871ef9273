"""Most or least servers first, and smash, which looks only at the first few in line.

Most servers first (Beloglazov and Buyya 2010; Maguluri, Srikant and Ying 2012): of those that fit, the one that needs
most, and of equals the first. Smash with a window w (Olliaro, Ajmone Marsan, Balsamo and Marin) does so among the first
w in line; a window of one is first come, first served. Least servers first is the opposite of the first, and lets
nobody pass a smaller job.
"""

from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.events.floor import HEAD, NOBODY, begin, fits


@compiled
def most_servers_first(floor, option):
    _largest(floor, floor.need.shape[0])


@compiled
def smash(floor, option):
    _largest(floor, option)


@compiled
def _largest(floor, window):
    while True:
        best, most, seen = NOBODY, 0, 0
        slot = floor.counts[HEAD]
        while slot != NOBODY and seen < window:
            need = floor.need[slot].sum()
            if need > most and fits(floor, slot):
                best, most = slot, need
            slot = floor.jobs[slot].after
            seen += 1
        if best == NOBODY:
            return
        begin(floor, best)


@compiled
def least_servers_first(floor, option):
    while True:
        best, least = NOBODY, floor.units.sum() + 1
        slot = floor.counts[HEAD]
        while slot != NOBODY:
            need = floor.need[slot].sum()
            if need < least:
                best, least = slot, need
            slot = floor.jobs[slot].after
        if best == NOBODY or not fits(floor, best):
            return
        begin(floor, best)
