"""Jobs as a pure function of (seed, stream, replica, index), in NumPy: the reference for every backend's draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.inputs import tables
from loynes.inputs.arrivals import MOVES, POISSON, RENEWAL, parts_of, start_places, walk
from loynes.inputs.elementary import exp, log
from loynes.inputs.philox import ASSIGNMENT, GROUP_SHIFT, long_uniform, short_uniform, words
from loynes.inputs.sessions import jobs_before
from loynes.inputs.tables import JobTable

SMALLEST = 2.0**-53
LARGEST = 1.0 - 2.0**-53


class Jobs(NamedTuple):
    """One entry a job: its class, need, service, and the gap until the next arrival."""

    job_class: Ints
    need: Ints
    service: Array
    gap: Array


def draw(table: JobTable, seed: int, stream: int, replica: int, index: Ints) -> Jobs:
    """The jobs at the given indices: word 0 picks the class, word 1 the gap, words 2 and 3 the service.

    Gaps that are not those of Poisson arrivals have words of their own (see inputs/arrivals.py).
    """
    place = np.zeros(len(index), np.int64)
    if table.arrivals.process == POISSON:
        gap = -log(short_uniform(words(seed, stream, replica, index)[1])) * table.gap_mean
    else:
        place, gap = _walked(table, seed, stream, replica, index)
    job_class, service = classes_and_services(table, seed, stream, replica, index, place)
    return Jobs(job_class, table.need[job_class], service, gap)


def classes_and_services(
    table: JobTable, seed: int, stream: int, replica: int | Ints, index: Ints, place: Ints
) -> tuple[Ints, Array]:
    """Classes and services of the jobs at the given indices, where arrivals stand at these places."""
    t = table.arrivals
    word_0, word_1, word_2, word_3 = words(seed, stream, replica, index)
    if t.repeat >= 0:
        before = jobs_before(place, t.phases, t.sizes)
        word_0, _, first_2, first_3 = words(seed, stream, replica, index - before)
        again = (before > 0) & (word_1 < np.uint64(t.repeat))
        word_2, word_3 = np.where(again, first_2, word_2), np.where(again, first_3, word_3)
    job_class = np.searchsorted(table.class_cut, word_0, side="right")
    if t.mixed:
        cuts = parts_of(t).mix[place % t.phases]
        job_class = np.sum(word_0[:, None] >= cuts[:, :-1], axis=1)
    return job_class, services(table, job_class, long_uniform(word_2, word_3))


def first_jobs(table: JobTable, seed: int, stream: int, replicas: Ints) -> tuple[Ints, Array]:
    """Class and service of job 0 of each replica."""
    places = start_places(table.arrivals, seed, stream, replicas)
    return classes_and_services(table, seed, stream, replicas, np.zeros(len(replicas), np.int64), places)


def _walked(table: JobTable, seed: int, stream: int, replica: int, index: Ints) -> tuple[Ints, Array]:
    """Places and gaps of arrivals that are not Poisson."""
    begin, end = min(0, int(index.min())), max(0, int(index.max()) + 1)
    t, renewal_gap, session_gap = table.arrivals, None, None
    word_0, word_1, _, _ = words(seed, stream | MOVES, replica, np.arange(begin, end))
    law, u = np.full(end - begin, len(table.need)), long_uniform(word_0, word_1)
    if t.process == RENEWAL:
        renewal_gap = services(table, law, u) * t.time[0]
    if t.repeat >= 0:
        # A job has a gap of the one kind or of the other: the same words serve for both.
        session_gap = services(table, law + (t.process == RENEWAL), u) * t.time[t.phases]
    walked = walk(t, seed, stream, replica, begin, end, renewal_gap, session_gap)
    gap = np.zeros(len(walked.gap)) if table.gap_mean == 0.0 else walked.gap
    return walked.place[index - begin], gap[index - begin]


def places(words_of_job: NDArray[np.uint64], count: int, servers: int) -> Ints:
    """A uniformly random set of `count` places among so many servers, ascending, from one word each.

    The i-th place is drawn among the servers - i that are left, as word x range / 2^32, and moved past those drawn.
    """
    chosen: list[int] = []
    for i in range(count):
        place = int(words_of_job[i]) * (servers - i) >> 32
        for taken in chosen:  # ascending
            place += place >= taken
        chosen.append(place)
        chosen.sort()
    return np.array(chosen, dtype=np.int64)


def assignment_words(seed: int, stream: int, replica: int, index: int, count: int) -> NDArray[np.uint64]:
    """The words that a job's specific servers are drawn from, the first kind's first."""
    groups = [stream | ASSIGNMENT | g << GROUP_SHIFT for g in range(-(-count // 4))]
    parts = [np.ravel(words(seed, group, replica, np.array([index]))) for group in groups]
    return np.concatenate(parts)[:count] if parts else np.empty(0, np.uint64)


def picks(seed: int, stream: int, replica: int, index: int, count: int, servers: int) -> Ints:
    """Random assignment's choices for one job: move server picks[i] >= i to place i, for i = 0, 1, ... in turn.

    A place is drawn as word x range / 2^32, which is uniform to 2^-32 of a server.
    """
    word = assignment_words(seed, stream, replica, index, count)
    place = np.arange(count, dtype=np.int64)
    return place + ((word * (servers - place).astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def services(table: JobTable, job_class: Ints, u: Array) -> Array:
    """Services of jobs of the given classes from one uniform each."""
    if table.simple:
        return np.asarray(table.p[job_class] * -log(u))
    branch = table.first[job_class]
    last = table.first[job_class + 1] - 1
    for _ in range(int(np.max(np.diff(table.first), initial=1)) - 1):
        following = np.minimum(branch + 1, last)
        branch = np.where(u >= table.low[following], following, branch)
    return branch_values(table, branch, u)


def branch_values(table: JobTable, branch: Ints, u: Array) -> Array:
    """What branches make of uniforms that fall into them."""
    u = np.minimum(np.maximum((u - table.low[branch]) * table.stretch[branch], SMALLEST), LARGEST)
    p, q, r, recipe = table.p[branch], table.q[branch], table.r[branch], table.recipe[branch]
    energy = -log(u)
    cut = np.where(recipe == tables.BOUNDED_PARETO, 1.0 - r * u, 1.0)
    value = np.select(
        [recipe == kind for kind in range(8)],
        [
            p * energy,
            p * exp(q * energy),
            p * exp(q * -log(cut)),
            p,
            p + q * u,
            p * exp(q * log(energy)),
            exp(_interpolate(table, r, -energy - log(1.0 - u))),
            _on_pieces(table, branch, u),
        ],
    )
    return np.asarray(value + table.add[branch])


def _on_pieces(table: JobTable, branch: Ints, u: Array) -> Array:
    """Straight lines between the nodes of a branch's law; 0 for branches of other recipes."""
    value = np.zeros(u.shape)
    for b in np.unique(branch[table.recipe[branch] == tables.PIECES]):
        here = branch == b
        nodes = table.pieces[int(table.p[b]) : int(table.p[b] + table.q[b])]
        start, base, slope = nodes[np.searchsorted(nodes[:, 0], u[here], side="right") - 1].T
        value[here] = base + slope * (u[here] - start)
    return value


def _interpolate(table: JobTable, number: Array, logit: Array) -> Array:
    """Cubic Hermite interpolation in the tabulated log-quantiles."""
    if table.grid.shape[0] == 0:
        return logit
    place = (logit + tables.TABLE_EDGE) * (1.0 / tables.TABLE_STEP)
    cell = place.astype(np.int64)
    f = place - cell
    which = np.minimum(number, table.grid.shape[0] - 1).astype(np.int64)
    y0, d0 = table.grid[which, cell, 0], table.grid[which, cell, 1]
    y1, d1 = table.grid[which, cell + 1, 0], table.grid[which, cell + 1, 1]
    rise = y1 - y0
    value: Array = y0 + f * (d0 + f * ((3.0 * rise - (2.0 * d0 + d1)) + f * ((d0 + d1) - 2.0 * rise)))
    return value
