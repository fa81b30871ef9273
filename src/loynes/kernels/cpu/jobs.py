"""One block of jobs from random words; bit for bit `loynes.inputs.jobs`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.inputs import tables
from loynes.inputs.arrivals import MOVES, POISSON, RECORDED, RENEWAL
from loynes.inputs.jobs import LARGEST, SMALLEST
from loynes.inputs.philox import ASSIGNMENT, GROUP_SHIFT
from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.arrivals import walk, walk_sessions
from loynes.kernels.cpu.compiled import compiled, inlined
from loynes.kernels.cpu.elementary import exp, log
from loynes.kernels.cpu.philox import words
from loynes.kernels.cpu.threads import NO_FLAG, Flag
from loynes.kernels.cpu.variants import PlainTable, SimpleTable, chosen_by_type, typed
from loynes.kernels.reference import BLOCK

EXPONENTIAL, PARETO, BOUNDED_PARETO = tables.EXPONENTIAL, tables.PARETO, tables.BOUNDED_PARETO
DETERMINISTIC, UNIFORM, WEIBULL, TABLE = tables.DETERMINISTIC, tables.UNIFORM, tables.WEIBULL, tables.TABLE
PIECES = tables.PIECES
EDGE, PER_STEP = tables.TABLE_EDGE, 1.0 / tables.TABLE_STEP
_20, _12 = np.uint64(20), np.uint64(12)
# The jobs of a block, as numbers that are no literals: Numba would compile a function once for each of those.
FIRST, LAST = np.int64(0), np.int64(BLOCK)
# Counting cuts vectorises and wins for few classes; a search wins for many.
FEW_CLASSES = 24


class Block(NamedTuple):
    """Room for one block of jobs: what the step reads, and scratch."""

    need: np.ndarray
    service: np.ndarray
    gap: np.ndarray
    job_class: np.ndarray
    word: np.ndarray
    branch: np.ndarray
    uniform: np.ndarray
    energy: np.ndarray
    second: np.ndarray
    assignment: np.ndarray  # [job, word], what specific servers are drawn from
    place: np.ndarray  # where the arrival process stands at each job, if it has a memory
    move: np.ndarray
    flag: np.ndarray  # looked at once a block: raised, the work is given up


def new_block(table: JobTable, flag: Flag = NO_FLAG) -> Block:
    """Room for a block of a model's jobs."""
    most = int(table.specific.sum(axis=1).max())
    return Block(
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.float64),
        np.empty(BLOCK, np.float64),
        np.empty(BLOCK, np.int64),
        np.empty((4, BLOCK), np.uint64),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.float64),
        np.empty(BLOCK, np.float64),
        np.empty(BLOCK, np.float64),
        np.empty((BLOCK, 4 * ((most + 3) // 4)), np.uint64),
        np.zeros(BLOCK, np.int64),
        np.empty((4, 1), np.uint64),
        flag,
    )


@chosen_by_type
def draw_block(table, seed, stream, replica, first, block, x):
    """Fill the block with jobs first .. first + BLOCK - 1 of a replica.

    x is the place of the arrival process at job `first`, or, in the past (first < 0), at first + BLOCK; returned is
    that at the other end. Poisson arrivals have no memory: theirs stays what it is.
    """
    return _draw_block(typed(table), seed, stream, replica, first, block, x)


@compiled
def _draw_block(table, seed, stream, replica, first, block, x):
    return draw_block(table, seed, stream, replica, first, block, x)


@draw_block.variant(SimpleTable)
def _draw_simple(table, seed, stream, replica, first, block, x):
    _draw_plain_words(table, seed, stream, replica, first, block)
    _serve_exponential(table, block)
    return x


@draw_block.variant(PlainTable)
def _draw_plain(table, seed, stream, replica, first, block, x):
    _draw_plain_words(table, seed, stream, replica, first, block)
    _serve_classes(table, block)
    return x


@inlined
def _draw_plain_words(table, seed, stream, replica, first, block):
    """Gaps, classes and the services' uniforms, of Poisson arrivals."""
    word = block.word
    words(seed, stream, replica, first, word[0], word[1], word[2], word[3])
    _poisson_gaps(table.gap_mean, word[1], block.gap)
    _uniforms(word[2], word[3], block.uniform)
    _pick_classes(table.class_cut, word[0], block.job_class)


@inlined
def _poisson_gaps(mean, word, gap):
    if mean > 0.0:
        for i in range(BLOCK):
            gap[i] = -log((np.float64(np.int64(word[i])) + 0.5) * 2.0**-32) * mean
    else:
        gap[:] = 0.0


@inlined
def _uniforms(high, low, u):
    for i in range(BLOCK):
        u[i] = (np.float64(np.int64((high[i] << _20) | (low[i] >> _12))) + 0.5) * 2.0**-52


@inlined
def _serve_exponential(table, block):
    u, service, need = block.uniform, block.service, block.need
    for i in range(BLOCK):
        service[i] = -log(u[i])
    for i in range(BLOCK):
        c = np.uint64(block.job_class[i])
        need[i] = table.need[c]
        service[i] *= table.p[c]


@compiled
def _serve_classes(table, block):
    for i in range(BLOCK):
        block.need[i] = table.need[block.job_class[i]]
    _serve(table, block, block.service)


@draw_block.variant(JobTable)
def _draw_any(table, seed, stream, replica, first, block, x):
    word = block.word
    word_0, word_1, word_2, word_3 = word[0], word[1], word[2], word[3]
    if table.arrivals.process != POISSON:
        x = _draw_gaps(table, seed, stream, replica, first, block, x)
    words(seed, stream, replica, first, word_0, word_1, word_2, word_3)
    if table.arrivals.process != POISSON:
        if table.gap_mean == 0.0:
            block.gap[:] = 0.0
        if table.arrivals.repeat >= 0:
            _repeat_words(table.arrivals, seed, stream, replica, first, block)
    else:
        _poisson_gaps(table.gap_mean, word_1, block.gap)
    _uniforms(word_2, word_3, block.uniform)
    if table.arrivals.mixed > 0:
        _pick_mixed(table.arrivals, word_0, block)
    else:
        _pick_classes(table.class_cut, word_0, block.job_class)
    if block.assignment.shape[1] > 0:
        # u and the classes are in place: the words themselves are not needed any more.
        for group in range(block.assignment.shape[1] // 4):
            kind = stream | ASSIGNMENT | (group << GROUP_SHIFT)
            words(seed, kind, replica, first, word_0, word_1, word_2, word_3)
            for i in range(BLOCK):
                for w in range(4):
                    block.assignment[i, 4 * group + w] = word[w, i]
    if table.simple:
        _serve_exponential(table, block)
    else:
        _serve_classes(table, block)
    return x


@compiled
def _draw_gaps(table, seed, stream, replica, first, block, x):
    """Gaps, and places, of arrivals that are not Poisson."""
    word, gap, u = block.word, block.gap, block.uniform
    if table.arrivals.process != RECORDED:
        words(seed, stream | MOVES, replica, first, word[0], word[1], word[2], word[3])
    if table.arrivals.process == RENEWAL:
        _uniforms(word[0], word[1], u)
        block.job_class[:] = table.need.size
        _serve(table, block, gap)
        for i in range(BLOCK):
            gap[i] *= table.arrivals.time[0]
    if table.arrivals.repeat >= 0:
        return _draw_sessions(table, seed, stream, replica, first, block, x)
    return walk(table, seed, stream, replica, first, x, word, block.move, block.place, gap)


@compiled
def _draw_sessions(table, seed, stream, replica, first, block, x):
    """The same for sessions, once gaps between them have been drawn. Their own are kept where services will be."""
    t, word, u, within = table.arrivals, block.word, block.uniform, block.service
    _uniforms(word[0], word[1], u)
    block.job_class[:] = table.need.size + np.int64(t.process == RENEWAL)
    _serve(table, block, within)
    for i in range(BLOCK):
        within[i] *= t.time[t.phases]
    return walk_sessions(t, seed, stream, replica, first, x, word, block.move, block.place, block.gap, within)


@compiled
def _repeat_words(t, seed, stream, replica, first, block):
    """Give jobs of a session the word that picked the first one's class and, if they repeat it, those of its service.

    The first of a session may lie before the block.
    """
    word, move = block.word, block.move
    repeat = np.uint64(t.repeat)
    picked, high, low = word[0, 0], word[2, 0], word[3, 0]
    before = block.place[0] // t.phases % t.sizes
    if before > 0:
        words(seed, stream, replica, first - before, move[0], move[1], move[2], move[3])
        picked, high, low = move[0, 0], move[2, 0], move[3, 0]
    for i in range(BLOCK):
        if block.place[i] // t.phases % t.sizes == 0:
            picked, high, low = word[0, i], word[2, i], word[3, i]
        else:
            word[0, i] = picked
            if word[1, i] < repeat:
                word[2, i], word[3, i] = high, low


@compiled
def phase_of(t, block, j):
    """What weighs classes at a job: the phase of its arrival, in sessions its own class."""
    return block.job_class[j] if t.repeat >= 0 else block.place[j] % t.phases


@compiled
def _pick_mixed(t, word, block):
    """Classes that depend on the phase."""
    for i in range(BLOCK):
        first = t.moves + 2 * t.sizes + (block.place[i] % t.phases) * t.mixed
        block.job_class[i] = np.searchsorted(t.cut[first : first + t.mixed], word[i], side="right")


@inlined
def _pick_classes(cut, word, job_class):
    if cut.size <= FEW_CLASSES:
        job_class[:] = 0
        for c in range(cut.size - 1):
            threshold = cut[c]
            for i in range(BLOCK):
                job_class[i] += np.int64(word[i] >= threshold)
    else:
        for i in range(BLOCK):
            job_class[i] = _beyond(cut, word[i])


@inlined
def _beyond(cut, word):
    """How many of the cuts, which rise, are at most the word: np.searchsorted from the right, which takes Numba a fifth
    of a second to compile."""
    low, high = 0, cut.size
    while low < high:
        middle = (low + high) >> 1
        if word < cut[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _serve(table, block, service):
    """Services of any law: passes over the block, so that logs and exponentials are taken many at a time."""
    u, energy, second, branches = block.uniform, block.energy, block.second, block.branch
    for i in range(BLOCK):
        c = block.job_class[i]
        branch = table.first[c]
        last = table.first[c + 1] - 1
        while branch < last and u[i] >= table.low[branch + 1]:
            branch += 1
        u[i] = min(max((u[i] - table.low[branch]) * table.stretch[branch], SMALLEST), LARGEST)
        branches[i] = branch
    for i in range(BLOCK):
        energy[i] = -log(u[i])
    curved = False
    for i in range(BLOCK):
        second[i] = _second_argument(table, branches[i], u[i], energy[i])
        curved |= table.recipe[branches[i]] != EXPONENTIAL
    if curved:
        for i in range(BLOCK):
            second[i] = -log(second[i])
        for i in range(BLOCK):
            service[i] = _exponent(table, branches[i], energy[i], second[i])
        for i in range(BLOCK):
            service[i] = exp(service[i])
    for i in range(BLOCK):
        service[i] = _finish(table, branches[i], u[i], energy[i], service[i]) + table.add[branches[i]]


# A recipe in three parts; together they are the formulas listed in inputs/tables.py.


@compiled
def _second_argument(table, branch, u, energy):
    """What a recipe takes a second logarithm of."""
    recipe = table.recipe[branch]
    if recipe == BOUNDED_PARETO:
        return 1.0 - table.r[branch] * u
    if recipe == TABLE:
        return 1.0 - u
    if recipe == WEIBULL:
        return energy
    return 1.0


@compiled
def _exponent(table, branch, energy, second):
    """What a recipe takes the exponential of; energy = -ln u, second = -ln of the above."""
    recipe = table.recipe[branch]
    if recipe == PARETO:
        return table.q[branch] * energy
    if recipe == BOUNDED_PARETO:
        return table.q[branch] * second
    if recipe == WEIBULL:
        return table.q[branch] * -second
    if recipe == TABLE:
        place = (-energy + second + EDGE) * PER_STEP
        cell = np.int64(place)
        f = place - np.float64(cell)
        grid = table.grid[np.int64(table.r[branch])]
        y0, d0, y1, d1 = grid[cell, 0], grid[cell, 1], grid[cell + 1, 0], grid[cell + 1, 1]
        rise = y1 - y0
        return y0 + f * (d0 + f * ((3.0 * rise - (2.0 * d0 + d1)) + f * ((d0 + d1) - 2.0 * rise)))
    return 0.0


@compiled
def _finish(table, branch, u, energy, power):
    recipe = table.recipe[branch]
    if recipe == EXPONENTIAL:
        return table.p[branch] * energy
    if recipe == TABLE:
        return power
    if recipe == DETERMINISTIC:
        return table.p[branch]
    if recipe == UNIFORM:
        return table.p[branch] + table.q[branch] * u
    if recipe == PIECES:
        return _on_pieces(table.pieces, np.int64(table.p[branch]), np.int64(table.q[branch]), u)
    return table.p[branch] * power


@compiled
def _on_pieces(pieces, first, count, u):
    """A straight line from the last of the nodes that is not above u."""
    low, width = first, count
    while width > 1:
        half = width >> 1
        if u >= pieces[low + half, 0]:
            low += half
            width -= half
        else:
            width = half
    return pieces[low, 1] + pieces[low, 2] * (u - pieces[low, 0])
