"""Smash (Olliaro, Ajmone Marsan, Balsamo and Marin): the largest that fits of the first few in line.

Of the first `window` jobs in line, those that fit at once: the one that needs most servers starts, of equals the first.
Where there are priorities, it is one of those with the highest. The window then holds the next in line, too. A window
of one is first come, first served; one that holds the whole line is most servers first.
"""

from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.view import first_in_line, fits, higher, needed, next_in_line


@policy(
    "smash",
    rank=8,
    option=Option("window", default=10, help="how many jobs from the head of the line are looked at"),
    caveat="the window has to be chosen; within it big jobs go first",
    summary="the largest that fits of the first `--window` in line; 1 is `fcfs`",
    reference="Olliaro, Ajmone Marsan, Balsamo and Marin",
)
def smash(floor, option):
    while True:
        best, most, place = NOBODY, 0, 0
        slot = first_in_line(floor)
        while slot != NOBODY and place < option:
            if best != NOBODY and higher(floor, best, slot) > 0:
                break
            need = needed(floor, slot)
            if need > most and fits(floor, slot):
                best, most = slot, need
            slot = next_in_line(floor, slot)
            place += 1
        if best == NOBODY:
            return
        start(floor, best)
