"""When waiting jobs start, first come, first served, given the jobs that run: one pile on their remaining times.

Nobody starts before the job ahead, so servers that become free are handed out in order, and the ends of the jobs that
run are the whole state: a job takes the earliest ends until enough servers are free. Each job enters the calendar of
ends and leaves it once. The starts are those of the recurrence with all gaps 0, to the last bit: both take maxima and
add a run time to a start.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from loynes.kernels.cpu.calendar import emptied, held_by_first, inlined, next_read, put, without_first
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.philox import words
from loynes.kernels.reference import BLOCK

uncounted = partial(compiled, counted=False)

_20, _12 = np.uint64(20), np.uint64(12)


@compiled
def draw_times(laws, seed, stream, draw, word, times):
    """What is left of every job's run time, in one draw: from its law, given that it exceeds what it has run."""
    points = laws.quantiles.shape[1] - 1
    for first in range(0, times.size, BLOCK):
        words(seed, stream, draw, first, word[0], word[1], word[2], word[3])
        some = slice(first, min(first + BLOCK, times.size))
        time, law, passed, limit = times[some], laws.law[some], laws.passed[some], laws.limit[some]
        # Three loops, of which the first and the last are vectorised.
        for i in range(time.size):
            time[i] = passed[i] + _uniform(word, i) * (1.0 - passed[i])
        for i in range(time.size):
            at = time[i] * points
            k = min(np.int64(at), points - 1)
            low, high = laws.quantiles[law[i], k], laws.quantiles[law[i], k + 1]
            time[i] = low + (at - k) * (high - low)
        for i in range(time.size):
            total = min(time[i] * laws.scale[first + i], limit[i])
            # Longer than any of its like: somewhere between now and its limit.
            beyond = _uniform(word, i) * (limit[i] - laws.elapsed[first + i])
            time[i] = max(beyond if passed[i] >= 1.0 else total - laws.elapsed[first + i], 0.0)


@inlined
def _uniform(word, i):
    return (np.float64((word[0, i] << _20) | (word[1, i] >> _12)) + 0.5) * 2.0**-52


@uncounted
def starts_in_turn(laws, need, units, running, seed, stream, draws, word, times, calendar, free, starts, edges, level):
    """Starts of the waiting jobs, a row of `starts` for each of the draws; the first `running` jobs run.

    level[draw, cell] is how many units of the first kind are busy at each of the edges (ascending, evenly spaced).
    """
    jobs, cells = times.size, edges.size
    several = units.size > 1
    step = edges[1] - edges[0] if cells > 1 else 1.0
    # Jobs that take their whole limits start before the last edge, so no others end, and are waited for, after it.
    scale = calendar.first.size / edges[cells - 1] if cells > 1 else 1.0
    for row in range(draws.size):
        draw_times(laws, seed, stream, draws[row], word, times)
        for k in range(units.size):
            free[k] = units[k]
        room = units[0]  # what is free of the first kind, in a register
        reading = emptied(calendar)
        clock, cell = 0.0, 0
        for j in range(jobs):
            while j >= running and not (need[j, 0] <= room and (not several or _fits(need, free, j))):
                reading = next_read(calendar, reading, need)
                clock, done = calendar.ends[reading.start], calendar.who[reading.start]
                ended = _cell(clock, step, cells)
                while cell < ended:
                    level[row, cell] = units[0] - room
                    cell += 1
                room += held_by_first(calendar, reading, need)
                if several:
                    _free(need, free, done, 1)
                reading = without_first(calendar, reading)
            if j >= running:
                starts[row, j - running] = clock
            room -= need[j, 0]
            if several:
                _free(need, free, j, -1)
            reading = put(calendar, reading, scale, clock + times[j], j, need[j, 0])
        _count_rest(calendar.end, need, clock, step, cell, level[row])


@inlined
def _fits(need, free, job):
    """Whether there is enough of all kinds but the first."""
    enough = True
    for k in range(1, free.size):
        enough &= need[job, k] <= free[k]
    return enough


@inlined
def _free(need, free, job, sign):
    for k in range(1, free.size):
        free[k] += sign * need[job, k]


@inlined
def _cell(time, step, cells):
    """The first of the edges at or after a time; none is `cells`."""
    return np.int64(min(np.ceil(time / step), np.float64(cells)))


@inlined
def _count_rest(ends, need, clock, step, begin, level):
    """How many are busy at the edges from `begin` on, when the last job has started: who ends later, until then."""
    cells = level.size
    if begin == cells:
        return
    for j in range(ends.size):
        if ends[j] > clock:
            level[begin] += need[j, 0]
            end = _cell(ends[j], step, cells)
            if end < cells:
                level[end] -= need[j, 0]
    for cell in range(begin + 1, cells):
        level[cell] += level[cell - 1]
