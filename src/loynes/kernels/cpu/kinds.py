"""Several kinds of servers, and servers that a job insists on: one ordered vector a kind, each dense or a run list.

A job starts when every kind has enough for it, and its servers of all kinds become free together. Under strict order
what it leaves is free no sooner than it starts: `floor`, the last start, is kept beside the vectors, and an entry below
it stands for it; entries are raised at a block's end. Only v = start + service is ever computed, the rest moves, so
both forms and the reference agree bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable
from loynes.kernels.cpu import dense, runs
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.dense import registers
from loynes.kernels.cpu.memory import clamp
from loynes.kernels.cpu.runs import WINDOW

_dense_put, _dense_get, _dense_same = dense.put, dense.get, dense.same
_runs_put, _runs_get, _runs_same, _runs_insert = runs.put, runs.get, runs.same, runs.insert
_32 = np.uint64(32)


class Plan(NamedTuple):
    """What a state's integers say."""

    units: np.ndarray  # [kind]
    begin: np.ndarray  # [kind + 1], where a kind's entries lie
    as_runs: np.ndarray  # [kind]
    demand: np.ndarray  # [class, kind]
    specific: np.ndarray  # [class, kind]
    chosen: np.ndarray  # scratch: places of specific servers


def room(servers: int, as_runs: bool) -> int:
    """Entries that a kind takes: both read past their ends."""
    return servers + 1 + WINDOW if as_runs else dense.room(servers)


def new_plan(table: JobTable, as_runs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The integers: kinds, classes, and then the fields of Plan."""
    rooms = [room(int(units), bool(form)) for units, form in zip(table.units, as_runs, strict=True)]
    most = max(1, int(table.specific.max()))
    parts = ([len(table.units), len(table.need)], table.units, np.cumsum([0, *rooms]), as_runs, table.demand.ravel(),
             table.specific.ravel(), np.zeros(most))  # fmt: skip
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


@compiled
def unpack(packed):
    kinds, classes = packed[0], packed[1]
    at = 2
    units = packed[at : at + kinds]
    at += kinds
    begin = packed[at : at + kinds + 1]
    at += kinds + 1
    as_runs = packed[at : at + kinds]
    at += kinds
    demand = packed[at : at + classes * kinds].reshape(classes, kinds)
    at += classes * kinds
    specific = packed[at : at + classes * kinds].reshape(classes, kinds)
    at += classes * kinds
    return Plan(units, begin, as_runs, demand, specific, packed[at:])


@compiled
def put(state, W):
    """Take over a workload: the kinds' vectors one after the other."""
    plan = unpack(state.plan)
    first = 0
    sums(state, plan)[0] = 0.0
    for t in range(plan.units.size):
        w = W[first : first + plan.units[t]]
        values, counts = _entries(state, plan, t)
        if plan.as_runs[t]:
            state.size[t] = _runs_put(values, counts, w)
        else:
            _dense_put(values, w)
        first += plan.units[t]


@compiled
def sums(state, plan):
    """Behind the entries: the last start, and HOL losses by kind of all jobs served, where the order is not strict."""
    return state.values[plan.begin[plan.units.size] :]


@compiled
def take_lost(state, plan):
    """The losses so far, which start again at 0."""
    lost = sums(state, plan)[1:].copy()
    sums(state, plan)[1:] = 0.0
    return lost


@compiled
def _entries(state, plan, t):
    begin, end = plan.begin[t], plan.begin[t + 1]
    return state.values[begin:end], state.counts[begin:end]


@compiled
def advance(state, block, begin, end, now):
    """Jobs begin .. end-1 of a block whose clock stands at `now`; returns the clock."""
    plan = unpack(state.plan)
    units, first, as_runs, demand, specific, chosen = plan
    values, counts, size = state.values, state.counts, state.size
    extra = sums(state, plan)
    strict, words = state.strict, block.assignment
    kinds = units.size
    floor = extra[0]
    for j in range(begin, end):
        c = block.job_class[j]
        before = max(now, floor)
        start = before
        word = 0
        for t in range(kinds):
            a, b = demand[c, t], specific[c, t]
            if b > 0:
                start = max(start, values[first[t] + _last(chosen, words, j, word, a, b, units[t])])
                word += b
            elif a > 0:
                start = max(start, values[_place(counts, first[t], size[t], a, as_runs[t])])
        v = start + block.service[j]
        word = 0
        for t in range(kinds):
            a, b = demand[c, t], specific[c, t]
            if a + b == 0:
                continue
            if b > 0:
                _places(chosen, words, j, word, b, units[t])
                word += b
            if not strict:
                extra[1 + t] += _lost(values, counts, first[t], size[t], a, b, chosen, as_runs[t], before, start)
            if as_runs[t]:
                size[t] = _runs_insert(values, counts, first[t], size[t], a, v)
            elif b == 0:
                clamp(values, first[t], a, v, registers(units[t]))
            else:
                _exchange(values, first[t], units[t], a, b, chosen, v)
        if strict:
            floor = start
        now += block.gap[j]
    extra[0] = floor
    return now


@compiled
def _place(counts, begin, size, a, as_runs):
    """Where the a-th least loaded server of a kind lies."""
    if not as_runs:
        return begin + a - 1
    place = begin + size - 1
    passed = np.int64(counts[np.uint64(place)])
    while passed < a:
        place -= 1
        passed += counts[np.uint64(place)]
    return place


@compiled
def _last(chosen, words, j, word, a, b, servers):
    """The last place of a dense vector that a job with specific servers takes.

    Its b specific servers are at random places; the a others are the least loaded ones left. The last of all is the
    last specific one, unless others are taken from beyond it: then those fill the places up to a + b.
    """
    _places(chosen, words, j, word, b, servers)
    return max(a + b - 1, chosen[b - 1])


@compiled
def _places(chosen, words, j, word, count, servers):
    """A uniformly random set of places, ascending; as `loynes.inputs.jobs.places`."""
    for i in range(count):
        place = np.int64((words[j, word + i] * np.uint64(servers - i)) >> _32)
        for taken in range(i):
            if place >= chosen[taken]:
                place += 1
        at = i
        while at > 0 and chosen[at - 1] > place:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = place


@compiled
def _exchange(values, begin, servers, a, b, chosen, v):
    """Give a job its b specific servers and the a least loaded others until v: close the gaps, insert."""
    kept = 0
    passed = 0
    others = a
    for i in range(servers):
        if passed < b and chosen[passed] == i:
            passed += 1
        elif others > 0:
            others -= 1
        else:
            values[begin + kept] = values[begin + i]
            kept += 1
    while kept > 0 and values[begin + kept - 1] > v:
        values[begin + kept - 1 + a + b] = values[begin + kept - 1]
        kept -= 1
    for i in range(begin + kept, begin + kept + a + b):
        values[i] = v


@compiled
def _lost(values, counts, begin, size, a, b, chosen, as_runs, before, start):
    """For how long the servers of a kind that a job takes idle for its sake."""
    lost = 0.0
    if as_runs:
        place = begin + size
        short = a
        while short > 0:
            place -= 1
            units = min(short, np.int64(counts[place]))
            lost += units * (start - max(before, values[place]))
            short -= units
        return lost
    passed = 0
    others = 0
    i = 0
    while passed < b or others < a:
        if passed < b and chosen[passed] == i:
            passed += 1
            lost += start - max(before, values[begin + i])
        elif others < a:
            others += 1
            lost += start - max(before, values[begin + i])
        i += 1
    return lost


@compiled
def rebase(state, now):
    """End of a block: workloads seen from `now`."""
    _shift(state, now, True)


@compiled
def lower(state):
    """End of a block of a pile: count from the bottom, which is returned."""
    plan = unpack(state.plan)
    bottom = np.inf
    for t in range(plan.units.size):
        values, _ = _entries(state, plan, t)
        least = values[state.size[t] - 1] if plan.as_runs[t] else values[0]
        bottom = min(bottom, max(sums(state, plan)[0], least))
    _shift(state, bottom, False)
    return bottom


@compiled
def _shift(state, by, clip):
    plan = unpack(state.plan)
    floor = sums(state, plan)[0]
    for t in range(plan.units.size):
        values, counts = _entries(state, plan, t)
        if plan.as_runs[t]:
            state.size[t] = _shift_runs(values, counts, state.size[t], floor, by, clip)
        else:
            for i in range(plan.units[t]):
                left = max(floor, values[i]) - by
                values[i] = max(0.0, left) if clip else left
    sums(state, plan)[0] = 0.0


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
def look(state, block, j, needs, now, wait, loss):
    """Wait, and under strict order HOL loss by kind, that an arrival of each need would meet in the place of job j."""
    plan = unpack(state.plan)
    units, first, as_runs, _, _, chosen = plan
    values, counts, size = state.values, state.counts, state.size
    kinds = units.size
    free = max(now, sums(state, plan)[0])
    for k in range(wait.size):
        start = free
        word = 0
        for t in range(kinds):
            a, b = needs.demand[k, t], needs.specific[k, t]
            if b > 0:
                start = max(start, values[first[t] + _last(chosen, block.assignment, j, word, a, b, units[t])])
                word += b
            elif a > 0:
                start = max(start, values[_place(counts, first[t], size[t], a, as_runs[t])])
        wait[k] = start - now
        if state.strict:
            for t in range(kinds):
                loss[k * kinds + t] = _blocked(values, counts, first[t], size[t], units[t], as_runs[t], free, start)


@compiled
def _blocked(values, counts, begin, size, units, as_runs, free, start):
    """How long the servers of a kind idle until `start`, together."""
    lost = 0.0
    if start > free:
        if as_runs:
            place = begin + size - 1
            while place >= begin and values[place] < start:
                lost += counts[place] * (start - max(free, values[place]))
                place -= 1
        else:
            i = begin
            while i < begin + units and values[i] < start:
                lost += start - max(free, values[i])
                i += 1
    return lost


@compiled
def same(state, other):
    plan = unpack(state.plan)
    for t in range(plan.units.size):
        values, counts = _entries(state, plan, t)
        others, other_counts = _entries(other, plan, t)
        if plan.as_runs[t]:
            if not _runs_same(values, counts, state.size[t], others, other_counts, other.size[t]):
                return False
        elif not _dense_same(values, others, plan.units[t]):
            return False
    return True


@compiled
def get(state, W):
    plan = unpack(state.plan)
    first = 0
    for t in range(plan.units.size):
        w = W[first : first + plan.units[t]]
        values, counts = _entries(state, plan, t)
        if plan.as_runs[t]:
            _runs_get(values, counts, state.size[t], w)
        else:
            _dense_get(values, w)
        first += plan.units[t]
