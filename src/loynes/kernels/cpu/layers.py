"""Very many runs in two lists: a long old one, from which jobs only take, and a short fresh one, into which they put.

A run list (runs.py) moves half of itself for every job, and passes over all of itself at every block's end. Here a job
moves part of the fresh list, and what a block's end takes off the old list is noted and made up for later: only its
last runs, those of the servers that are free first, are kept ready. Before the list runs out of them, more are made
ready, by the same subtractions in the same order, so that the bits stay those of the other forms. When the fresh list
is full it is merged into the old one. With both as long as the root of the servers, a job costs in proportion to that.

Subtracting is monotone, so what is not ready is never below what is: a run that is ready and above 0 at a block's end
tells that none of the others has become idle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.kernels.cpu import runs
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.memory import move
from loynes.kernels.reference import BLOCK

# The lists' sizes: of the old one, how many of it are not ready, how many subtractions these have still to see, and of
# the fresh one.
OLD, STALE, LATE, FRESH = range(4)
# So many subtractions are noted at most.
MOST_LATE = 256
# The fresh list is full, and as many old runs are made ready at a time, at so many times the root of the servers.
# Measured from 10,000 to 1,000,000 servers: 1 to 4 are alike.
ROOTS = 2.0

_put, _rebase, _clear, _find, _halve = runs.put, runs.rebase, runs.clear, runs._find, runs._halve
_same, _get = runs.same, runs.get


class Layers(NamedTuple):
    """An old list of runs and a fresh one, both descending."""

    width: int  # how many runs are made ready at a time; the fresh list is full when it has more
    values: Array
    counts: NDArray[np.int32]
    fresh: Array
    fresh_counts: NDArray[np.int32]
    shift: Array  # what the old runs that are not ready have still to be lowered by, in this order
    sizes: Ints


def new_layers(servers: int) -> Layers:
    """Room for a workload."""
    width = math.ceil(ROOTS * math.sqrt(servers))
    old, fresh = servers + 1 + runs.WINDOW, width + BLOCK + 1 + runs.WINDOW
    return Layers(
        width, np.zeros(old), np.zeros(old, np.int32), np.zeros(fresh), np.zeros(fresh, np.int32),
        np.zeros(MOST_LATE), np.zeros(4, np.int64),
    )  # fmt: skip


@compiled
def put(layers, W):
    """Take over a workload vector."""
    layers.fresh[:] = 0.0
    layers.sizes[FRESH] = 0
    _begin_anew(layers, _put(layers.values, layers.counts, W))


@compiled
def _begin_anew(layers, old):
    """All of the old list is ready: from now on only its last runs are."""
    layers.sizes[OLD] = old
    layers.sizes[STALE] = max(0, old - layers.width)
    layers.sizes[LATE] = 0


@compiled
def _make_ready(layers):
    """Make some more old runs ready, as there are any; returns how many are not."""
    values, shift, stale = layers.values, layers.shift, layers.sizes[STALE]
    first = max(np.int64(0), stale - layers.width)
    part = values[first:stale]
    for k in range(layers.sizes[LATE]):
        for i in range(part.size):
            part[i] -= shift[k]
    layers.sizes[STALE] = first
    return first


@compiled
def _merge(layers, fresh):
    """The first so many fresh runs into the old list, all of which is ready afterwards; returns its size."""
    values, counts, old = layers.values, layers.counts, layers.sizes[OLD]
    while layers.sizes[STALE] > 0:
        _make_ready(layers)
    end = old
    for k in range(fresh - 1, -1, -1):
        place = _halve(values, np.int64(0), end, layers.fresh[k], np.int64(0))[0]
        move(values, place + k + 1, place, end - place)
        move(counts, place + k + 1, place, end - place)
        values[place + k] = layers.fresh[k]
        counts[place + k] = layers.fresh_counts[k]
        end = place
    return old + fresh


@compiled
def _settle(layers):
    """All in the old list, and ready; returns its size."""
    old = _merge(layers, layers.sizes[FRESH])
    _clear(layers.fresh, 0, layers.sizes[FRESH])
    layers.sizes[FRESH] = 0
    _begin_anew(layers, old)
    layers.sizes[STALE] = 0
    return old


@compiled
def _end_block(layers):
    """Merge if the fresh list is full, or no more subtractions can be noted. Idle servers stay in the fresh list."""
    new = layers.sizes[FRESH]
    if new > layers.width or layers.sizes[LATE] == layers.shift.size:
        idle = new > 0 and layers.fresh[new - 1] == 0.0
        kept = new - np.int64(idle)
        _begin_anew(layers, _merge(layers, kept))
        if idle:
            layers.fresh_counts[0] = layers.fresh_counts[kept]
        _clear(layers.fresh, 0, new)
        layers.sizes[FRESH] = new - kept


@compiled
def advance(layers, need, service, gap, begin, end, now):
    """Jobs begin .. end-1 of a block whose clock stands at `now`; returns the clock."""
    values, counts, fresh, fresh_counts = layers.values, layers.counts, layers.fresh, layers.fresh_counts
    old, stale, new = layers.sizes[OLD], layers.sizes[STALE], layers.sizes[FRESH]
    for j in range(begin, end):
        short = need[j]
        while True:
            if old == stale and stale > 0:
                stale = _make_ready(layers)
            if old > 0 and (new == 0 or values[np.uint64(old - 1)] < fresh[np.uint64(new - 1)]):
                old -= 1
                last = values[np.uint64(old)]
                short -= counts[np.uint64(old)]
                if short < 0:
                    counts[np.uint64(old)] = -short
                    old += 1
            else:
                new -= 1
                last = fresh[np.uint64(new)]
                short -= fresh_counts[np.uint64(new)]
                if short < 0:
                    fresh_counts[np.uint64(new)] = -short
                    new += 1
            if short <= 0:
                break
        v = max(now, last) + service[j]
        place = _find(fresh, np.int64(0), new, v)
        move(fresh, place + 1, place, new - place)
        move(fresh_counts, place + 1, place, new - place)
        fresh[np.uint64(place)] = v
        fresh_counts[np.uint64(place)] = need[j]
        new += 1
        now += gap[j]
    layers.sizes[OLD], layers.sizes[FRESH] = old, new
    return now


@compiled
def _lower_old(layers, by):
    """Take `by` off the old list, at once from what is ready."""
    sizes = layers.sizes
    layers.shift[sizes[LATE]] = by
    sizes[LATE] += 1
    ready = layers.values[sizes[STALE] : sizes[OLD]]
    for i in range(ready.size):
        ready[i] -= by


@compiled
def rebase(layers, now):
    """End of a block: workloads seen from `now`; all idle servers become one run, of the fresh list."""
    values, fresh, sizes = layers.values, layers.fresh, layers.sizes
    new = _rebase(fresh, layers.fresh_counts, sizes[FRESH], now)
    _lower_old(layers, now)
    old, stale, idle = sizes[OLD], sizes[STALE], np.int64(0)
    while old > 0:
        if old == stale:
            stale = _make_ready(layers)
        if values[old - 1] > 0.0:
            break
        old -= 1
        idle += layers.counts[old]
    if idle > 0:
        if new > 0 and fresh[new - 1] == 0.0:
            layers.fresh_counts[new - 1] += idle
        else:
            layers.fresh_counts[new] = idle
            new += 1
    sizes[OLD], sizes[FRESH] = old, new
    _end_block(layers)


@compiled
def _least(layers):
    old, new, least = layers.sizes[OLD], layers.sizes[FRESH], np.inf
    if old > 0:
        if old == layers.sizes[STALE]:
            _make_ready(layers)
        least = layers.values[old - 1]
    if new > 0:
        least = min(least, layers.fresh[new - 1])
    return least


@compiled
def _most(layers):
    most = 0.0
    if layers.sizes[OLD] > 0:
        most = layers.values[0]
        if layers.sizes[STALE] > 0:
            for k in range(layers.sizes[LATE]):
                most -= layers.shift[k]
    if layers.sizes[FRESH] > 0:
        most = max(most, layers.fresh[0])
    return most


@compiled
def lower(layers):
    """End of a block of a pile: count from the bottom, which is returned."""
    new, bottom = layers.sizes[FRESH], _least(layers)
    for i in range(new):
        layers.fresh[i] -= bottom
    _clear(layers.fresh, new, new)
    _lower_old(layers, bottom)
    _end_block(layers)
    return bottom


@compiled
def look(layers, need, now, wait, loss):
    """Wait and HOL loss that an arrival of each need (ascending) would meet now; level by level, as in runs.py."""
    values, counts, fresh, fresh_counts = layers.values, layers.counts, layers.fresh, layers.fresh_counts
    old, stale, new = layers.sizes[OLD], layers.sizes[STALE], layers.sizes[FRESH]
    level, passed, lost = now, np.int64(0), 0.0
    for k in range(need.size):
        while passed < need[k]:
            if old == stale and stale > 0:
                stale = _make_ready(layers)
            if old > 0 and (new == 0 or values[np.uint64(old - 1)] < fresh[np.uint64(new - 1)]):
                old -= 1
                above, more = max(now, values[np.uint64(old)]), counts[np.uint64(old)]
            else:
                new -= 1
                above, more = max(now, fresh[np.uint64(new)]), fresh_counts[np.uint64(new)]
            lost += passed * (above - level)
            level = above
            passed += more
        wait[k] = level - now
        loss[k] = lost


@compiled
def same(layers, others):
    """Whether two stand for the same vector. What is least in them, and what is most, mostly says no at once."""
    if _least(layers) != _least(others) or _most(layers) != _most(others):
        return False
    size, other_size = _settle(layers), _settle(others)
    return _same(layers.values, layers.counts, size, others.values, others.counts, other_size)


@compiled
def get(layers, W):
    """Write the workload vector out, ascending."""
    _get(layers.values, layers.counts, _settle(layers), W)
