"""Gaps of arrivals that are not Poisson, a block at a time; bit for bit `loynes.inputs.arrivals`."""

from __future__ import annotations

import numpy as np

from loynes.inputs.arrivals import MODULATED, MOVES, PERIODIC, RECORDED
from loynes.inputs.philox import GROUP_SHIFT
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.elementary import log
from loynes.kernels.cpu.periodic import ahead, behind
from loynes.kernels.cpu.philox import words
from loynes.kernels.reference import BLOCK

_20, _12 = np.uint64(20), np.uint64(12)


@compiled
def walk(table, seed, stream, replica, first, x, word, move, place, gap):
    """Places and gaps of jobs first .. first + BLOCK - 1, from the place x at job `first` to that at first + BLOCK; or,
    for jobs in the past (first < 0), the other way round. Returns the place at the other end.

    `gap` holds a renewal's gaps already. word is [4, BLOCK], the jobs' own words for this; move [4, 1] is scratch.
    """
    t = table.arrivals
    m = t.phases
    if t.process == PERIODIC:
        return _round_the_cycle(t, first, x, word, place, gap)
    if first >= 0:
        for i in range(BLOCK):
            place[i] = x
            if t.process == RECORDED:
                gap[i] = t.time[x]
                x = x + 1 if x + 1 < m else 0
            elif x >= m:
                gap[i] = 0.0
                x -= m
            else:
                if t.process == MODULATED:
                    gap[i], x = _to_next(t, seed, stream, replica, first + i, x, word[0, i], word[1, i], move)
                if t.sizes > 0:
                    x += m * np.searchsorted(t.cut[t.moves : t.moves + t.sizes], word[2, i], side="right")
        return x
    for i in range(BLOCK - 1, -1, -1):
        if t.process == RECORDED:
            x = x - 1 if x > 0 else m - 1
            gap[i] = t.time[x]
        elif t.sizes > 0 and word[2, i] < t.cut[t.moves + t.sizes + x // m]:
            gap[i] = 0.0
            x += m
        else:
            x %= m
            if t.process == MODULATED:
                gap[i], x = _to_last(t, seed, stream, replica, first + i, x, word[0, i], word[1, i], word[3, i], move)
        place[i] = x
    return x


@compiled
def _round_the_cycle(t, first, x, word, place, gap):
    """The same for a rate that repeats: words 0 and 1 give how many expected jobs apart two jobs are."""
    if first >= 0:
        for i in range(BLOCK):
            place[i] = x
            gap[i], x = ahead(t, x, _energy(word[0, i], word[1, i]))
    else:
        for i in range(BLOCK - 1, -1, -1):
            gap[i], x = behind(t, x, _energy(word[0, i], word[1, i]))
            place[i] = x
    return x


@compiled
def walk_sessions(t, seed, stream, replica, first, x, word, move, place, gap, within):
    """The same for sessions, whose own gaps are `within`: a place is phase + phases (jobs before + sizes to come)."""
    m, sizes, size = t.phases, t.sizes, t.cut[t.moves : t.moves + t.sizes]
    if first >= 0:
        for i in range(BLOCK):
            place[i] = x
            phase, position = x % m, x // m
            if position >= sizes:
                gap[i] = within[i]
                x = phase + m * (position + 1 - sizes)
            else:
                if t.process == MODULATED:
                    gap[i], phase = _to_next(t, seed, stream, replica, first + i, phase, word[0, i], word[1, i], move)
                x = phase + m * sizes * np.searchsorted(size, word[2, i], side="right")
        return x
    for i in range(BLOCK - 1, -1, -1):
        phase, position = x % m, x // m
        if position % sizes > 0:
            gap[i] = within[i]
            x = phase + m * (position - 1 + sizes)
        else:
            if t.process == MODULATED:
                gap[i], phase = _to_last(
                    t, seed, stream, replica, first + i, phase, word[0, i], word[1, i], word[3, i], move
                )
            x = phase + m * np.searchsorted(size, word[2, i], side="right")
        place[i] = x
    return x


@compiled
def _energy(high, low):
    return -log((np.float64(np.int64((high << _20) | (low >> _12))) + 0.5) * 2.0**-52)


@compiled
def _to_next(t, seed, stream, replica, n, phase, pick, stay, move):
    """The gap after job n, which left the phase here, and the phase just after the next arrival."""
    gap = 0.0
    moves = 0
    while True:
        gap += -log((np.float64(np.int64(stay)) + 0.5) * 2.0**-32) * t.time[phase]
        to = _pick(t, phase, pick)
        phase = to >> 1
        if to & 1:
            return gap, phase
        moves += 1
        pick, stay = _words(seed, stream, replica, n, moves, move)


@compiled
def _to_last(t, seed, stream, replica, n, phase, pick, stay, entry, move):
    """The same from the other side: the gap after job n, and the phase just after it, from that after job n + 1."""
    phase = _pick(t, 2 * t.phases + phase, entry) >> 1
    gap = 0.0
    moves = 0
    while True:
        gap += -log((np.float64(np.int64(stay)) + 0.5) * 2.0**-32) * t.time[phase]
        to = _pick(t, t.phases + phase, pick)
        if to & 1:
            return gap, phase
        phase = to >> 1
        moves += 1
        pick, stay = _words(seed, stream, replica, n, moves, move)


@compiled
def _pick(t, row, word):
    k = t.row[row]
    while word >= t.cut[k]:
        k += 1
    return t.row[3 * t.phases + 1 + k]


@compiled
def _words(seed, stream, replica, n, moves, move):
    words(seed, stream | MOVES | (moves << GROUP_SHIFT), replica, n, move[0], move[1], move[2], move[3])
    return move[0, 0], move[1, 0]


@compiled
def has_memory(t):
    """Whether places change from job to job."""
    return t.process == MODULATED or t.process == RECORDED or t.process == PERIODIC or t.sizes > 0


@compiled
def step_back(table, seed, stream, replica, first, x, block):
    """The place before a block of the past, from that after it: what `draw_block` finds, without the jobs."""
    t = table.arrivals
    if t.process == RECORDED:
        return (x - BLOCK) % t.phases
    if not has_memory(t):
        return x
    word = block.word
    words(seed, stream | MOVES, replica, first, word[0], word[1], word[2], word[3])
    if t.repeat >= 0:
        return walk_sessions(
            t, seed, stream, replica, first, x, word, block.move, block.place, block.gap, block.service
        )
    return walk(table, seed, stream, replica, first, x, word, block.move, block.place, block.gap)
