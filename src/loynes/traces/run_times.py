"""How long jobs run, of what they may: laws of run time / limit, learnt from a log, for jobs that are like each other.

Jobs are grouped from coarse to fine: all; those whose limit is of a like size, within a factor of four; those of a like
limit; those of a user; those of a user with that limit; the same with a like need. A fine group has few jobs, so its
law is mixed with that of the coarser one,

    F_l = (n F + k_l F_(l-1)) / (n + k_l),          n the jobs of the group, F their empirical law,

which is the predictive law of a Dirichlet process whose base is the coarser law. How much weight k_l the coarser law
has is learnt, too: it is the k under which every job of the history is likeliest given all others (empirical Bayes, by
leaving one out).

Which jobs a history may use is subtle. Those that ended before the snapshot are too short on average, as long ones
still run. A job whose limit has passed since it started has ended whatever its run time was, so jobs are taken that
started at least their limit before: of these none is missing for being long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.snapshot import Snapshot
from loynes.traces.trace import Trace

# Points of a law's quantile function, values at which laws are mixed (of all jobs, and besides of those of each size of
# limits, so that rare long jobs have values of their own), and cells by which weights are learnt.
POINTS = 512
VALUES = 256
VALUES_OF_SIZE = 64
CELLS = 16
# Weights that are tried.
WEIGHTS = np.append(2.0 ** np.arange(-2, 15), 2.0**40)  # the last one lets a level say nothing
# The last so many jobs of a history are learnt from.
MOST_JOBS = 200_000
# Below so many jobs there is nothing to learn.
LEAST_JOBS = 20


class RunTimeLaws(NamedTuple):
    """The run times of a snapshot's jobs: each has a law, a scale, and what it has run already."""

    quantiles: Array  # [law, POINTS + 1], of run time / scale, ascending
    law: Ints  # [job]
    scale: Array  # [job], seconds
    elapsed: Array  # [job]
    passed: Array  # [job], probability that a job of its law has ended by its elapsed time; 1 where none ran longer
    limit: Array  # [job]


@dataclass(frozen=True)
class History:
    """What was learnt: levels, how much weight the coarser law has at each, and of how many jobs."""

    jobs: int
    levels: tuple[str, ...]
    weights: tuple[float, ...]
    relative: bool  # whether laws are of run time / limit, or, where the log has no limits, of run time
    _values: Array = field(repr=False, default_factory=lambda: np.empty(0))
    _codes: tuple[dict[tuple[object, ...], int], ...] = field(repr=False, default=())
    _counts: tuple[Ints, ...] = field(repr=False, default=())
    _laws: tuple[Array, ...] = field(repr=False, default=())  # [group, value], cumulative

    def laws_of(self, snapshot: Snapshot, kinds: tuple[str, ...]) -> RunTimeLaws:
        """The laws of a snapshot's jobs."""
        need = snapshot.need(kinds)[:, 0]
        keys = _keys(self.levels, self.relative, snapshot.limit, need, snapshot.labels)
        groups = np.array(
            [[code.get(key, -1) for key in column] for code, column in zip(self._codes, keys, strict=True)]
        ).T
        distinct, law = np.unique(groups, axis=0, return_inverse=True)
        below = self._laws[0][np.zeros(len(distinct), np.int64)]
        for level in range(1, len(self.levels)):
            group = distinct[:, level]
            count = np.where(group >= 0, self._counts[level][group], 0)[:, None]
            k = self.weights[level]
            below = (count * self._laws[level][group] + k * below) / (count + k)
        scale = snapshot.limit if self.relative else np.ones(len(snapshot.ids))
        return _placed(self._values, below, law.ravel(), scale, snapshot)


def no_history(snapshot: Snapshot) -> RunTimeLaws:
    """Without a history: run times are uniform between 0 and the limit."""
    values = np.linspace(0.0, 1.0, POINTS)
    law = np.zeros(len(snapshot.ids), np.int64)
    return _placed(values, values[None, :], law, snapshot.limit, snapshot)


def full_limits(snapshot: Snapshot) -> RunTimeLaws:
    """Every job takes its whole limit: what schedulers assume who know no better."""
    quantiles = np.ones((1, POINTS + 1))
    law, count = np.zeros(len(snapshot.ids), np.int64), len(snapshot.ids)
    return RunTimeLaws(quantiles, law, snapshot.limit, snapshot.elapsed, np.zeros(count), snapshot.limit)


def _placed(values: Array, cumulative: Array, law: Ints, scale: Array, snapshot: Snapshot) -> RunTimeLaws:
    """Laws as quantile functions, and where in its law each job stands."""
    quantiles = np.array([_inverse(values, one) for one in cumulative])
    at = snapshot.elapsed / scale
    passed = np.array([np.interp(x, *_steps(quantiles[i])) if x > 0 else 0.0 for x, i in zip(at, law, strict=True)])
    passed[at >= quantiles[law, -1]] = 1.0
    return RunTimeLaws(quantiles, law, scale, snapshot.elapsed, passed, snapshot.limit)


def _inverse(values: Array, cumulative: Array) -> Array:
    """Values of a law at the probabilities 0, 1 / POINTS, ..., 1, straight between the values it is known at.

    What lies between two values of the grid is taken to be spread evenly there; where the law is flat, the quantile
    function jumps, and begins again at the flat part's end.
    """
    ends, places = np.concatenate([[0.0], cumulative]), np.concatenate([[0.0], values])
    share = np.linspace(0.0, 1.0, POINTS + 1)
    last = int(np.searchsorted(ends, ends[-1]))  # the first value by which all have ended
    right = np.minimum(np.searchsorted(ends, share * ends[-1], side="right"), last)
    left = right - 1
    part = (share * ends[-1] - ends[left]) / (ends[right] - ends[left])
    return np.asarray(places[left] + part * (places[right] - places[left]))


def _steps(quantiles: Array) -> tuple[Array, Array]:
    """Values and probabilities of a quantile function; at a value that many have, the last of its probabilities."""
    last = np.append(np.diff(quantiles) > 0, True)
    return quantiles[last], np.linspace(0.0, 1.0, len(quantiles))[last]


def learn(trace: Trace, start: Array, until: float, kinds: tuple[str, ...] = ()) -> History | None:
    """The laws of a log's jobs as they can be known at a time, in the log's seconds; None where too few are.

    `start` says when each job started.
    """
    limit = trace.requested
    relative = limit is not None
    bound = np.full(trace.jobs, np.nan) if limit is None else limit
    if not relative:
        bound = np.full(trace.jobs, float(trace.service.max()))
    # A job that outlived its limit is known once it has ended.
    known = np.isfinite(bound) & (start + np.fmax(bound, trace.service) <= until)
    rows = np.flatnonzero(known)[-MOST_JOBS:]
    if len(rows) < LEAST_JOBS:
        return None
    ratio = np.minimum(trace.service[rows] / bound[rows], 1.0) if relative else trace.service[rows]
    labels = {name: np.asarray(values[rows]).astype(np.str_) for name, values in trace.labels.items() if name in _USED}
    need = (trace.demand[kinds[0]] if kinds and kinds[0] in trace.demand else trace.need)[rows]
    levels = _levels(relative, labels)
    keys = _keys(levels, relative, bound[rows], need, labels)
    values = _grid(ratio, keys[1])
    codes, counts, laws, groups = [], [], [], []
    for column in keys:
        code: dict[tuple[object, ...], int] = {}
        group = np.array([code.setdefault(key, len(code)) for key in column])
        codes.append(code)
        groups.append(group)
        counts.append(np.bincount(group))
        laws.append(_cumulative(group, len(code), ratio, values))
    weights = _learn_weights(groups, counts, ratio)
    return History(len(rows), levels, weights, relative, values, tuple(codes), tuple(counts), tuple(laws))


_USED = ("user", "queue")


def _levels(relative: bool, labels: dict[str, NDArray[np.str_]]) -> tuple[str, ...]:
    """Names of the levels, from coarse to fine, that a log tells enough for."""
    size = "limit" if relative else "need"
    # Long limits are rare, and jobs that have them are the ones that others wait for: what is known of nearly as long
    # ones says more of them than what is known of all.
    levels = ["all", "wide limit", size] if relative else ["all", size]
    if "user" in labels:
        levels += ["user", f"user, {size}"] + (["user, limit, need"] if relative else [])
    elif "queue" in labels:
        levels += ["queue", f"queue, {size}"]
    elif relative:
        levels += ["limit, need"]
    return tuple(levels)


def _keys(
    levels: tuple[str, ...], relative: bool, limit: Array, need: Ints, labels: dict[str, NDArray[np.str_]]
) -> list[list[tuple[object, ...]]]:
    """The group of every job, level by level."""
    none = np.full(len(need), "", np.str_)
    columns: dict[str, list[object]] = {
        "wide limit": np.rint(0.5 * np.log2(np.maximum(limit, 1.0))).astype(np.int64).tolist(),
        "limit": np.rint(4.0 * np.log2(np.maximum(limit, 1.0))).astype(np.int64).tolist(),
        "need": np.rint(np.log2(np.maximum(need, 1))).astype(np.int64).tolist(),
        "user": labels.get("user", none).tolist(),
        "queue": labels.get("queue", none).tolist(),
    }
    found: list[list[tuple[object, ...]]] = []
    for level in levels:
        parts = [columns[name] for name in level.split(", ")] if level != "all" else []
        found.append(list(zip(*parts, strict=True)) if parts else [()] * len(need))
    return found


def _grid(ratio: Array, sizes: list[tuple[object, ...]]) -> Array:
    """Values that jobs had: quantiles of all, and of those of each size."""
    size = np.unique(np.array(sizes)[:, 0], return_inverse=True)[1]
    parts = [_quantiles_of(ratio, VALUES)]
    parts += [_quantiles_of(ratio[size == one], VALUES_OF_SIZE) for one in range(size.max() + 1)]
    return np.unique(np.concatenate(parts))


def _quantiles_of(ratio: Array, count: int) -> Array:
    return np.asarray(np.quantile(ratio, np.linspace(0.0, 1.0, count), method="inverted_cdf"))


def _cumulative(group: Ints, groups: int, ratio: Array, values: Array) -> Array:
    """[group, value]: the share of a group's jobs up to each value."""
    place = np.minimum(np.searchsorted(values, ratio), len(values) - 1)
    counted = np.bincount(group * len(values) + place, minlength=groups * len(values)).reshape(groups, len(values))
    total = np.cumsum(counted, axis=1)
    return np.asarray(total / total[:, -1:])


def _learn_weights(groups: list[Ints], counts: list[Ints], ratio: Array) -> tuple[float, ...]:
    """At every level the weight of the coarser law under which the jobs are likeliest, each given all others."""
    edges = np.unique(np.quantile(ratio, np.linspace(0.0, 1.0, CELLS + 1)[1:-1]))
    cell = np.searchsorted(edges, ratio)
    cells, jobs = len(edges) + 1, len(ratio)
    own = np.eye(cells)[cell]
    total = np.bincount(cell, minlength=cells)
    below = (total - own + 1.0 / cells) / jobs
    weights = [0.0]
    for group, count in zip(groups[1:], counts[1:], strict=True):
        counted = np.bincount(group * cells + cell, minlength=len(count) * cells).reshape(len(count), cells)
        others, size = counted[group] - own, (count[group] - 1.0)[:, None]
        here, coarse = others[np.arange(jobs), cell], below[np.arange(jobs), cell]
        likely = [np.log((here + k * coarse) / (size[:, 0] + k)).sum() for k in WEIGHTS]
        k = float(WEIGHTS[int(np.argmax(likely))])
        weights.append(k)
        below = (others + k * below) / (size + k)
    return tuple(weights)


def remaining(laws: RunTimeLaws, share: float | Array) -> Array:
    """The time that is left to every job with such a probability, by its law given what it has run.

    `share` is one probability, or one for each job.
    """
    points = laws.quantiles.shape[1] - 1
    at = (laws.passed + share * (1.0 - laws.passed)) * points
    low = np.minimum(at.astype(np.int64), points - 1)
    below, above = laws.quantiles[laws.law, low], laws.quantiles[laws.law, low + 1]
    total = np.minimum((below + (at - low) * (above - below)) * laws.scale, laws.limit)
    left = np.maximum(total - laws.elapsed, 0.0)
    beyond = share * np.maximum(laws.limit - laws.elapsed, 0.0)
    return np.asarray(np.where(laws.passed >= 1.0, beyond, left))
