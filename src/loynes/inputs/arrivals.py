"""Arrivals as arrays, and the walk of a phase from job to job: the reference for every backend's gaps.

A place x says where the arrival process stands at a job: x = phase + phases r, with r more jobs of its batch to come.
Places at jobs 0, 1, 2, ... follow from the one at job 0, each by the words of the job before it; places at jobs -1, -2,
... too, by the process reversed in time, each by its job's words. So the past never changes however far one goes back.

**Forwards.** The phase moves at rates d0[i, j] without an arrival and d1[i, j] with one. A stay in phase i lasts
Exp(v_i), v_i = -d0[i, i], and ends with a jump: to j without an arrival with probability P0[i, j] = d0[i, j] / v_i, or
with one, P1[i, j] = d1[i, j] / v_i. From the phase just after job n, stays are added up to the gap until a jump brings
job n + 1.

**Backwards.** Let nu be the law of the phase between two jumps in the long run: nu = nu (P0 + P1), in terms of the
phase at a random time nu_i ~ pi_i v_i (`modulation.visits`). By Bayes the jump into j came from i, with mark m = 0 or
1, with probability nu_i Pm[i, j] / nu_j; a stationary Markov chain seen backwards is Markov again, and stays, given the
phases, are exponential in either direction. So from the phase j just after job n + 1:
1. the jump into j was an arrival: it came from i with probability ~ nu_i P1[i, j];
2. stay in i for Exp(v_i), and add that to the gap;
3. the stay in i began with a jump from h without an arrival, with probability nu_h P0[h, i] / nu_i: go on at 2. with h
   for i; or with an arrival, from anywhere, with probability sum_h nu_h P1[h, i] / nu_i: that was job n, and i is the
   phase just after it. Where that arrival came from is left to step 1. of the next job back.
These are the rows of moves in `_modulated`. With the phase at job 0 drawn as arrivals leave it, ~ pi d1
(`modulation.at_arrivals`), and past and future independent given it, jobs of all indices are one stationary process.

**Batches.** At a job of a batch of size S the number r of those still to come has P(r) = P(S > r) / E[S]. Forwards r
falls to 0, then a gap and a new batch follow. Backwards the job before is of the same batch, with r + 1 still to come,
with probability P(S > r + 1) / P(S > r); else it was the last of its batch: r = 0, and the gap lies between.

**Cycles.** A process that is Poisson but for a rate that repeats has as its phase the slot of the cycle, and as r the
time since that began (inputs/periodic.py). **Sessions** are like batches, with gaps between their jobs, and a place
that also tells how many of a session's jobs came before (inputs/sessions.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.inputs.elementary import log
from loynes.inputs.periodic import ahead, behind, cycle_of, start_units
from loynes.inputs.philox import GROUP_SHIFT, long_uniform, short_uniform, words
from loynes.inputs.sessions import joined, met_sizes, repeat_cut, split, start_positions
from loynes.model import modulation
from loynes.model.arrivals import Batch, Periodic, Process, Recorded, Renewal, Sessions
from loynes.model.cluster import Model
from loynes.model.laws.law import Law
from loynes.model.streams import Chain

# Processes, as kernels know them.
POISSON, RENEWAL, MODULATED, RECORDED, PERIODIC = range(5)
# Added to a stream's number: the words that move the phase of arrivals, one group a move, the group's number above it.
MOVES = 0x40000000

_ONE = 2.0**32


class ArrivalTable(NamedTuple):
    """Arrays and scalars only, and few arrays, as each costs a little at every call inside a kernel (see `Parts`)."""

    process: int
    phases: int
    moves: int  # how many there are
    sizes: int  # of batches or sessions: the largest, 0 where jobs come one by one
    mixed: int  # classes, where they depend on the phase, else 0
    repeat: int  # of sessions: the cut below which a job's service is that of the first; -1 where there are none
    # Mean stay in each phase; recorded gaps; for a renewal, what its law's gaps are times; `periodic.cycle_of` a cycle.
    # Of sessions, what their own gaps are times comes after that.
    time: Array
    row: Ints  # where rows of moves begin, [3 phases + 1]; then where each move leads
    cut: NDArray[np.uint64]  # all cuts, one after the other


class Parts(NamedTuple):
    """What the arrays hold. Rows of moves: from phase i; into phase i (backward); into i with an arrival."""

    first: Ints  # where rows begin
    to: Ints  # 2 phase, and 1 if that is (or was) an arrival
    move: NDArray[np.uint64]  # moves are drawn when the word is below; cumulative in a row
    size: NDArray[np.uint64]  # batches: P(size <= r + 1)
    more: NDArray[np.uint64]  # P(size > r + 1 | size > r): whether the job before was of the same batch
    mix: NDArray[np.uint64]  # [phase, class], empty where classes do not depend on it
    start: NDArray[np.uint64]  # the phase at job 0
    start_more: NDArray[np.uint64]  # r at job 0


def parts_of(table: ArrivalTable) -> Parts:
    m, more = table.phases, table.sizes
    before = table.moves + 2 * more + m * table.mixed
    ends = np.cumsum([table.moves, more, more, m * table.mixed, len(table.cut) - before - more])
    move, size, same, mix, start, start_more = np.split(table.cut, ends)
    mix = mix.reshape(m if table.mixed else 0, table.mixed)
    return Parts(table.row[: 3 * m + 1], table.row[3 * m + 1 :], move, size, same, mix, start, start_more)


def _packed(process: int, phases: int, time: Array, parts: Parts) -> ArrivalTable:
    return ArrivalTable(
        process,
        phases,
        len(parts.move),
        len(parts.size),
        parts.mix.shape[1],
        -1,
        time,
        np.concatenate([parts.first, parts.to]),
        np.concatenate([parts.move, parts.size, parts.more, parts.mix.ravel(), parts.start, parts.start_more]),
    )


_NONE, _NO_CUTS = np.zeros(0, np.int64), np.zeros(0, np.uint64)
_NOTHING = Parts(_NONE, _NONE, _NO_CUTS, _NO_CUTS, _NO_CUTS, np.zeros((0, 0), np.uint64), _NO_CUTS, _NO_CUTS)


def no_arrivals() -> ArrivalTable:
    """Of the saturated system, and of Poisson arrivals, which need no table."""
    return _packed(POISSON, 1, np.zeros(0), _NOTHING)


def arrival_table(model: Model, rate: float | None) -> tuple[ArrivalTable, tuple[Law, ...]]:
    """The arrays of a model's arrivals at a rate, and the laws that gaps are drawn by: a renewal's, a session's.

    None for the saturated system: without gaps, the phase matters only for the classes it brings. In which order slots
    of a cycle bring them depends on how many jobs come in each: it is that of the model's own rate.
    """
    process: Process = model.arrivals
    chain = model.chain
    if isinstance(process, Periodic):
        if rate is None and process.mix is None:
            return no_arrivals(), ()
        return _periodic(process, process.jobs_rate or process.own_rate if rate is None else rate), ()
    if isinstance(process, Sessions):
        if rate is None and not model.alike:
            return no_arrivals(), ()
        return _sessions(chain, process, 0.0 if rate is None else process.own_rate / rate)
    if rate is None:
        return (no_arrivals() if chain is None or chain.mix is None else _modulated(chain, 0.0, process)), ()
    size = process.mean_size if isinstance(process, Batch) else 1.0
    if chain is not None:
        return _modulated(chain, modulation.rate_of(chain.d0, chain.d1) * size / rate, process), ()
    inner = process.of if isinstance(process, Batch) else process
    if isinstance(inner, Recorded):
        gaps = np.array(inner.gaps)
        table = no_arrivals()._replace(process=RECORDED, phases=len(gaps), time=gaps / (gaps.mean() * rate))
        return table, ()
    if isinstance(inner, Renewal):
        parts = _with_batches(_NOTHING, process)
        return _packed(RENEWAL, 1, np.array([size / (rate * inner.gap.mean)]), parts), (inner.gap,)
    if isinstance(process, Batch):
        return _modulated(_ALONE, size / rate, process), ()
    return no_arrivals(), ()


# Poisson, but for batches or sessions: a phase that is always the same.
_ALONE = Chain(np.array([[-1.0]]), np.array([[1.0]]))


def _modulated(chain: Chain, stretch: float, process: Process) -> ArrivalTable:
    d0, d1 = chain.d0, chain.d1
    phases = len(d0)
    leaving = -np.diag(d0)
    jump_0, jump_1 = (d0 + np.diag(leaving)) / leaving[:, None], d1 / leaving[:, None]
    visits = modulation.visits(d0, d1)
    rows: list[tuple[Ints, Array]] = []
    everywhere = np.arange(phases)
    for i in range(phases):
        rows.append((np.concatenate([2 * everywhere, 2 * everywhere + 1]), np.concatenate([jump_0[i], jump_1[i]])))
    for i in range(phases):  # step 3: how a stay in i began, from another phase or with an arrival
        came = visits * jump_0[:, i]
        rows.append((np.append(2 * everywhere, 2 * i + 1), np.append(came, visits @ jump_1[:, i])))
    for i in range(phases):  # step 1: from where an arrival brought the phase to i
        rows.append((2 * everywhere, visits * jump_1[:, i]))
    first, cut, to = [0], [], []
    for where, likely in rows:
        likely = np.where(likely > 1e-15 * max(likely.sum(), 1e-300), likely, 0.0)
        kept = np.flatnonzero(likely) if likely.any() else np.array([0])
        cut.append(cuts_of(likely[kept] if likely.any() else np.ones(1)))
        to.append(where[kept])
        first.append(first[-1] + len(kept))
    mix = np.zeros((0, 0), np.uint64) if chain.mix is None else np.array([cuts_of(row) for row in chain.mix])
    parts = _NOTHING._replace(
        first=np.array(first, np.int64),
        to=np.concatenate(to).astype(np.int64),
        move=np.concatenate(cut),
        mix=mix,
        start=cuts_of(modulation.at_arrivals(d0, d1)),
    )
    return _packed(MODULATED, phases, stretch / leaving, _with_batches(parts, process))


def _periodic(process: Periodic, rate: float) -> ArrivalTable:
    cycle = cycle_of(process, rate)
    slots = len(process.rates)
    mix = np.zeros((0, 0), np.uint64) if process.mix is None else np.array([cuts_of(np.array(p)) for p in process.mix])
    return _packed(PERIODIC, slots, cycle, _NOTHING._replace(mix=mix, start=cuts_of(cycle[:slots])))


def _sessions(chain: Chain | None, process: Sessions, stretch: float) -> tuple[ArrivalTable, tuple[Law, ...]]:
    """Sessions whose times are those of the file times `stretch`."""
    of, rate = process.of, process.of.jobs_rate
    assert rate is not None
    if isinstance(of, Renewal):
        table = _packed(RENEWAL, 1, np.array([stretch / (rate * of.gap.mean)]), _with_batches(_NOTHING, process))
        laws: tuple[Law, ...] = (of.gap, process.gap)
    else:
        chain, laws = chain or _ALONE, (process.gap,)
        table = _modulated(chain, modulation.rate_of(chain.d0, chain.d1) / rate * stretch, process)
    return table._replace(time=np.append(table.time, stretch), repeat=repeat_cut(process)), laws


def _with_batches(parts: Parts, process: Process) -> Parts:
    if isinstance(process, Sessions):
        none = np.zeros(len(process.sizes), np.uint64)
        return parts._replace(size=cuts_of(process.sizes), more=none, start_more=cuts_of(met_sizes(process)))
    if not isinstance(process, Batch):
        return parts
    sizes = process.sizes
    beyond = np.cumsum(sizes[::-1])[::-1]  # P(size > r)
    more = np.append(beyond[1:], 0.0) / beyond
    return parts._replace(size=cuts_of(sizes), more=np.round(more * _ONE).astype(np.uint64), start_more=cuts_of(beyond))


def cuts_of(likely: Array) -> NDArray[np.uint64]:
    """32-bit cuts: entry k is drawn when cut[k-1] <= word < cut[k]."""
    cumulative = np.cumsum(likely)
    return np.asarray(np.round(cumulative / cumulative[-1] * _ONE).astype(np.uint64))


def mean_size(table: ArrivalTable) -> float:
    """Jobs of a batch, or of a session."""
    likely = np.diff(parts_of(table).size.astype(np.float64), prepend=0.0) / _ONE
    return float(likely @ np.arange(1.0, len(likely) + 1.0))


def start_places(table: ArrivalTable, seed: int, stream: int, replicas: Ints) -> Ints:
    """Where the arrival process stands at job 0 of each replica: in its stationary law, as jobs find it."""
    parts = parts_of(table)
    if table.process == POISSON or (table.process == RENEWAL and not table.sizes):
        return np.zeros(len(replicas), np.int64)
    # The largest index is nobody's job.
    index = np.full(len(replicas), np.iinfo(np.int64).max)
    word_0, word_1, word_2, _ = words(seed, stream | MOVES, replicas, index)
    if table.process == RECORDED:
        return ((word_0 * np.uint64(table.phases)) >> np.uint64(32)).astype(np.int64)
    if table.process == PERIODIC:
        return np.asarray(
            np.searchsorted(parts.start, word_0, side="right") + table.phases * start_units(word_1, word_2), np.int64
        )
    phase = np.searchsorted(parts.start, word_0, side="right") if table.process == MODULATED else 0
    more = np.searchsorted(parts.start_more, word_1, side="right") if table.sizes else 0
    if table.repeat >= 0:
        more = start_positions(np.asarray(more, np.int64) + 1, word_2, table.sizes)
    return np.asarray(phase + table.phases * np.asarray(more, np.int64), np.int64) * np.ones(len(replicas), np.int64)


class Walk(NamedTuple):
    """One entry a job: the place of the arrival process at it, and the gap until the next; uniforms of renewal gaps."""

    place: Ints
    gap: Array


def walk(
    table: ArrivalTable,
    seed: int,
    stream: int,
    replica: int,
    begin: int,
    end: int,
    renewal_gap: Array | None,
    session_gap: Array | None = None,
) -> Walk:
    """Jobs begin .. end-1 of a replica, begin <= 0 <= end, job by job; gaps that laws draw have been drawn already."""
    place, gap = np.empty(end - begin, np.int64), np.empty(end - begin)
    start = int(start_places(table, seed, stream, np.array([replica]))[0])
    step = _Step(table, seed, stream, replica)

    def drawn(n: int) -> tuple[float | None, float | None]:
        renewal, session = (None if gaps is None else float(gaps[n - begin]) for gaps in (renewal_gap, session_gap))
        return renewal, session

    x = start
    for n in range(end):
        place[n - begin] = x
        gap[n - begin], x = step.forward(n, x, *drawn(n))
    x = start
    for n in range(-1, begin - 1, -1):
        gap[n - begin], x = step.backward(n, x, *drawn(n))
        place[n - begin] = x
    return Walk(place, gap)


class _Step:
    """The gap after a job and where that leads, from the place before it or after it."""

    def __init__(self, table: ArrivalTable, seed: int, stream: int, replica: int) -> None:
        self.table, self.seed, self.stream, self.replica = table, seed, stream, replica
        self.parts = parts_of(table)

    def _words(self, n: int, move: int) -> list[int]:
        group = self.stream | MOVES | move << GROUP_SHIFT
        return [int(word[0]) for word in words(self.seed, group, self.replica, np.array([n]))]

    def _pick(self, row: int, word: int) -> int:
        t = self.parts
        begin, end = t.first[row], t.first[row + 1]
        return int(t.to[begin + np.searchsorted(t.move[begin:end], np.uint64(word), side="right")])

    def _stay(self, phase: int, word: int) -> float:
        return float(-log(short_uniform(np.array([word], np.uint64)))[0] * self.table.time[phase])

    def _energy(self, n: int) -> float:
        high, low, _, _ = self._words(n, 0)
        return float(-log(long_uniform(np.array([high], np.uint64), np.array([low], np.uint64)))[0])

    def forward(self, n: int, x: int, renewal_gap: float | None, session_gap: float | None) -> tuple[float, int]:
        t = self.table
        if t.process == RECORDED:
            return float(t.time[x]), (x + 1) % t.phases
        if t.process == PERIODIC:
            return ahead(t.time, t.phases, x, self._energy(n))
        if session_gap is not None:
            phase, before, more = split(x, t.phases, t.sizes)
            if more:
                return session_gap, joined(phase, before + 1, more - 1, t.phases, t.sizes)
            gap, phase = self._to_next(n, phase, renewal_gap)
            return gap, joined(phase, 0, self._size(n), t.phases, t.sizes)
        phase, more = x % t.phases, x // t.phases
        if more:
            return 0.0, x - t.phases
        gap, phase = self._to_next(n, phase, renewal_gap)
        return gap, phase + t.phases * (self._size(n) if t.sizes else 0)

    def backward(self, n: int, x: int, renewal_gap: float | None, session_gap: float | None) -> tuple[float, int]:
        t = self.table
        if t.process == RECORDED:
            before = (x - 1) % t.phases
            return float(t.time[before]), before
        if t.process == PERIODIC:
            return behind(t.time, t.phases, x, self._energy(n))
        if session_gap is not None:
            phase, before, more = split(x, t.phases, t.sizes)
            if before:
                return session_gap, joined(phase, before - 1, more + 1, t.phases, t.sizes)
            gap, phase = self._to_last(n, phase, renewal_gap)
            return gap, joined(phase, self._size(n), 0, t.phases, t.sizes)
        phase, more = x % t.phases, x // t.phases
        if t.sizes and self._words(n, 0)[2] < self.parts.more[more]:
            return 0.0, x + t.phases
        return self._to_last(n, phase, renewal_gap)

    def _size(self, n: int) -> int:
        """One less than the size of a batch or session."""
        return int(np.searchsorted(self.parts.size, np.uint64(self._words(n, 0)[2]), side="right"))

    def _to_next(self, n: int, phase: int, renewal_gap: float | None) -> tuple[float, int]:
        if renewal_gap is not None:
            return renewal_gap, phase
        gap, move, arrived = 0.0, 0, 0
        while not arrived:
            pick, stay, _, _ = self._words(n, move)
            gap += self._stay(phase, stay)
            to = self._pick(phase, pick)
            phase, arrived, move = to >> 1, to & 1, move + 1
        return gap, phase

    def _to_last(self, n: int, phase: int, renewal_gap: float | None) -> tuple[float, int]:
        if renewal_gap is not None:
            return renewal_gap, phase
        t = self.table
        phase = self._pick(2 * t.phases + phase, self._words(n, 0)[3]) >> 1
        gap, move = 0.0, 0
        while True:
            pick, stay, _, _ = self._words(n, move)
            gap += self._stay(phase, stay)
            to = self._pick(t.phases + phase, pick)
            if to & 1:
                return gap, phase
            phase, move = to >> 1, move + 1
