"""Several kinds of servers, and servers that a job insists on: one ordered vector a kind, each dense or a run list.

A job starts when every kind has enough for it, and its servers of all kinds become free together. Under strict order
what it leaves is free no sooner than it starts: `floor`, the last start, is kept beside the vectors, and an entry below
it stands for it; entries are raised at a block's end. Only v = start + service is ever computed, the rest moves, so
both forms and the reference agree bit for bit.
"""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu import dense, runs
from loynes.kernels.cpu.compiled import compiled

_dense_put, _dense_get, _dense_same = dense.put, dense.get, dense.same
_runs_put, _runs_get, _runs_same, _runs_insert = runs.put, runs.get, runs.same, runs.insert
_1 = np.uint64(1)
_32 = np.uint64(32)


@compiled
def put(state, W):
    """Take over a workload: the kinds' vectors one after the other."""
    first = 0
    state.floor[0] = 0.0
    for t in range(state.units.size):
        w = W[first : first + state.units[t]]
        values, counts = _room(state, t)
        if state.as_runs[t]:
            state.size[t] = _runs_put(values, counts, w)
        else:
            _dense_put(values, w)
        first += state.units[t]


@compiled
def _room(state, t):
    begin, end = state.begin[t], state.begin[t + 1]
    return state.values[begin:end], state.counts[begin:end]


@compiled
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of a block whose clock stands at `now`; returns the clock."""
    kinds = state.units.size
    floor = state.floor[0]
    for j in range(begin, end):
        c = block.job_class[j]
        start = max(now, floor)
        before = start
        word = 0
        for t in range(kinds):
            a, b = state.demand[c, t], state.specific[c, t]
            if a + b > 0:
                start = max(start, _latest(state, t, a, b, block.assignment[j], word))
                word += b
        v = start + block.service[j]
        word = 0
        for t in range(kinds):
            a, b = state.demand[c, t], state.specific[c, t]
            if a + b > 0:
                if not state.strict:
                    state.lost[t] += _lost(state, t, a, b, block.assignment[j], word, before, start)
                _take(state, t, a, b, block.assignment[j], word, v)
                word += b
        if state.strict:
            floor = start
        now += block.gap[j]
    state.floor[0] = floor
    return now


@compiled
def _latest(state, t, a, b, words, word):
    """When the last of the servers of a kind that a job takes is free.

    Its own b servers are random places; the a others are the least loaded ones left. The latest of all is its own
    latest, unless others are taken from beyond it: then those fill the places up to a + b.
    """
    values, counts = _room(state, t)
    if state.as_runs[t]:
        place = state.size[t] - 1
        passed = np.int64(counts[place])
        while passed < a:
            place -= 1
            passed += counts[place]
        return values[place]
    last = a + b - 1
    if b > 0:
        _places(state.chosen, words, word, b, state.units[t])
        last = max(last, state.chosen[b - 1])
    return values[last]


@compiled
def _places(chosen, words, word, count, servers):
    """A uniformly random set of places, ascending; as `loynes.inputs.jobs.places`."""
    for i in range(count):
        place = np.int64((words[word + i] * np.uint64(servers - i)) >> _32)
        for taken in range(i):
            if place >= chosen[taken]:
                place += 1
        at = i
        while at > 0 and chosen[at - 1] > place:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = place


@compiled
def _take(state, t, a, b, words, word, v):
    """Give a job its servers of a kind until v."""
    values, counts = _room(state, t)
    s = state.units[t]
    if state.as_runs[t]:
        state.size[t] = _runs_insert(values, counts, state.size[t], a, v)
    elif b == 0:
        shift = np.uint64(a)
        for i in range(np.uint64(s)):
            values[i] = min(values[i + shift], max(v, values[i]))
    else:
        _places(state.chosen, words, word, b, s)
        _remove(values, s, a, b, state.chosen)
        i = s - a - b
        while i > 0 and values[i - 1] > v:
            values[i - 1 + a + b] = values[i - 1]
            i -= 1
        values[i : i + a + b] = v


@compiled
def _remove(values, s, a, b, chosen):
    """Close the gaps that a job's own b servers and the a least loaded others leave."""
    kept = 0
    own = 0
    for i in range(s):
        if own < b and chosen[own] == i:
            own += 1
        elif a > 0:
            a -= 1
        else:
            values[kept] = values[i]
            kept += 1


@compiled
def _lost(state, t, a, b, words, word, before, start):
    """For how long the servers of a kind that a job takes idle for its sake."""
    values, counts = _room(state, t)
    lost = 0.0
    if state.as_runs[t]:
        place = state.size[t]
        short = a
        while short > 0:
            place -= 1
            units = min(short, np.int64(counts[place]))
            lost += units * (start - max(before, values[place]))
            short -= units
        return lost
    if b > 0:
        _places(state.chosen, words, word, b, state.units[t])
    own = 0
    others = 0
    i = 0
    while own < b or others < a:
        if own < b and state.chosen[own] == i:
            own += 1
            lost += start - max(before, values[i])
        elif others < a:
            others += 1
            lost += start - max(before, values[i])
        i += 1
    return lost


@compiled
def rebase(state, now):
    """End of a block: workloads seen from `now`."""
    _shift(state, now, True)


@compiled
def lower(state):
    """End of a block of a pile: count from the bottom, which is returned."""
    bottom = np.inf
    for t in range(state.units.size):
        values, _ = _room(state, t)
        least = values[state.size[t] - 1] if state.as_runs[t] else values[0]
        bottom = min(bottom, max(state.floor[0], least))
    _shift(state, bottom, False)
    return bottom


@compiled
def _shift(state, by, clip):
    floor = state.floor[0]
    for t in range(state.units.size):
        values, counts = _room(state, t)
        if state.as_runs[t]:
            state.size[t] = _shift_runs(values, counts, state.size[t], floor, by, clip)
        else:
            for i in range(state.units[t]):
                left = max(floor, values[i]) - by
                values[i] = max(0.0, left) if clip else left
    state.floor[0] = 0.0


@compiled
def _shift_runs(values, counts, size, floor, by, clip):
    """Raise to the floor, count from `by`; runs that become equal at the bottom are one."""
    least = max(0.0, floor - by) if clip else floor - by
    kept = 0
    low = 0
    for i in range(size):
        left = max(floor, values[i]) - by
        if clip:
            left = max(0.0, left)
        if left > least:
            values[kept] = left
            counts[kept] = counts[i]
            kept += 1
        else:
            low += counts[i]
    values[kept:] = 0.0
    if low > 0:
        values[kept] = least
        counts[kept] = low
        kept += 1
    return kept


@compiled
def look(state, needs, words, now, wait, loss):
    """Wait, and under strict order HOL loss by kind, that an arrival of each need would meet now."""
    free = max(now, state.floor[0])
    for k in range(wait.size):
        start = free
        word = 0
        for t in range(state.units.size):
            a, b = needs.demand[k, t], needs.specific[k, t]
            if a + b > 0:
                start = max(start, _latest(state, t, a, b, words, word))
                word += b
        wait[k] = start - now
        if state.strict:
            for t in range(state.units.size):
                loss[k, t] = _blocked(state, t, free, start)


@compiled
def _blocked(state, t, free, start):
    """How long the servers of a kind idle until `start`, together."""
    values, counts = _room(state, t)
    lost = 0.0
    if state.as_runs[t]:
        place = state.size[t] - 1
        while place >= 0 and values[place] < start:
            lost += counts[place] * (start - max(free, values[place]))
            place -= 1
    else:
        i = 0
        while i < state.units[t] and values[i] < start:
            lost += start - max(free, values[i])
            i += 1
    return lost


@compiled
def same(state, other):
    for t in range(state.units.size):
        values, counts = _room(state, t)
        others, other_counts = _room(other, t)
        if state.as_runs[t]:
            if not _runs_same(values, counts, state.size[t], others, other_counts, other.size[t]):
                return False
        elif not _dense_same(values, others, state.units[t]):
            return False
    return True


@compiled
def get(state, W):
    first = 0
    for t in range(state.units.size):
        w = W[first : first + state.units[t]]
        values, counts = _room(state, t)
        if state.as_runs[t]:
            _runs_get(values, counts, state.size[t], w)
        else:
            _dense_get(values, w)
        first += state.units[t]
