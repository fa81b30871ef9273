"""A model file from a log: needs become classes, run times laws, submissions an arrival process."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import TraceError
from loynes.traces.burstiness import Burstiness, burstiness, counts_in
from loynes.traces.trace import Trace

# An empirical law keeps the largest values as they are and averages the rest in groups of equally many.
MOST_VALUES = 1000
LARGEST_KEPT = 200
# Jobs of the overall mix that an hour's own is drawn towards.
SMOOTHED = 20.0
# Of runs of like jobs: gaps within them that there must be, how long one may be, and the shortest gap, in seconds.
LEAST_WITHIN = 50
LONGEST_RUN = 1000
LEAST_GAP = 1e-3
LAWS = ("empirical", "fit", "exponential", "lognormal")


# What is said of a class besides its jobs' probability and run times: its name, and what one of them needs.
Described = Callable[[Ints], tuple[str, dict[str, Any]]]


def class_tables(trace: Trace, most: int, law: str, lengths: int = 1) -> tuple[list[dict[str, Any]], Ints]:
    """Classes, and each job's: one a need while there are at most so many, else neighbouring needs together.

    Needs that are put together become one need that keeps their work: the mean, weighted by run time, rounded. With
    several `lengths`, every need has as many classes, of equally many jobs each, from short to long ones.
    """
    values, code, counts = np.unique(trace.need, return_inverse=True, return_counts=True)

    def described(members: Ints) -> tuple[str, dict[str, Any]]:
        need, service = trace.need[members], trace.service[members]
        one = int(max(1, round(float(need @ service) / float(service.sum()))))
        low, high = int(need.min()), int(need.max())
        return (f"need-{low}" if low == high else f"need-{low}-{high}"), {"need": one}

    return tables_of(trace, _groups(values, counts, most)[code], described, law, lengths)


def tables_of(
    trace: Trace, group: Ints, described: Described, law: str, lengths: int = 1
) -> tuple[list[dict[str, Any]], Ints]:
    """Classes of jobs that are grouped already, and each job's."""
    length = np.zeros(trace.jobs, np.int64)
    if lengths > 1:
        for g in range(int(group.max()) + 1):
            members = np.flatnonzero(group == g)
            cuts = np.quantile(trace.service[members], np.arange(1, lengths) / lengths)
            length[members] = np.searchsorted(cuts, trace.service[members], side="left")
        group = np.unique(lengths * group + length, return_inverse=True)[1].ravel()
    tables = []
    for g in range(int(group.max()) + 1):
        members = np.flatnonzero(group == g)
        name, what = described(members)
        which = f"-length-{length[members[0]] + 1}" if lengths > 1 else ""
        tables.append(
            {"name": name + which}
            | what
            | {"probability": len(members) / trace.jobs, "service": law_table(trace.service[members], law)}
        )
    return tables, group


def _groups(values: Ints, counts: Ints, most: int) -> Ints:
    """Needs to groups: the two neighbours that are closest in ratio, and rarest, are joined until few are left."""
    groups = [[i] for i in range(len(values))]
    while len(groups) > most:
        weight = [counts[g].sum() for g in groups]
        cost = [
            math.log(values[b[-1]] / values[a[0]]) * min(x, y)
            for a, b, x, y in zip(groups, groups[1:], weight, weight[1:], strict=False)
        ]
        k = int(np.argmin(cost))
        groups[k : k + 2] = [groups[k] + groups[k + 1]]
    of = np.empty(len(values), np.int64)
    for g, members in enumerate(groups):
        of[members] = g
    return of


def law_table(values: Array, law: str) -> dict[str, Any]:
    """A law for these times, as a model file has it."""
    mean, cv = float(np.mean(values)), float(np.std(values) / np.mean(values))
    if law == "exponential":
        return {"law": "exponential", "mean": mean}
    if law == "fit":
        return {"law": "fit", "mean": mean, "cv": 0.0 if cv < 0.0317 else min(cv, 1e4)}
    if law == "lognormal":
        return {"law": "lognormal", "mean": mean, "cv": cv} if cv > 0 else {"law": "deterministic", "value": mean}
    kept, weights = _summarised(values)
    if len(kept) == 1:
        return {"law": "deterministic", "value": float(kept[0])}
    return {"law": "empirical", "values": kept.tolist(), "weights": weights.tolist()}


def _summarised(values: Array) -> tuple[Array, Array]:
    """Distinct values and how often each; many of them in groups, whose means keep the mean."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= MOST_VALUES:
        return distinct, np.asarray(counts, np.float64)
    ordered = np.sort(values)
    body, tail = ordered[:-LARGEST_KEPT], ordered[-LARGEST_KEPT:]
    parts = np.array_split(body, MOST_VALUES - LARGEST_KEPT)
    means = np.concatenate([[float(np.mean(part)) for part in parts], tail])
    sizes = np.concatenate([[float(len(part)) for part in parts], np.ones(len(tail))])
    kept, place = np.unique(means, return_inverse=True)
    return kept, np.asarray(np.bincount(place, sizes), np.float64)


def arrival_table_of(trace: Trace, bursts: Burstiness, process: str) -> dict[str, Any]:
    """An arrival process for these submissions, as a model file has it."""
    gaps = np.diff(trace.submit)
    if process == "poisson":
        return {"process": "poisson", "rate": bursts.rate}
    if process == "renewal":
        return {"process": "renewal", "gap": law_table(gaps, "empirical")}
    if process == "batch":
        starts, sizes = batches_of(trace)
        inner = burstiness(starts)
        kind = "renewal" if inner.kind == "batch" else inner.kind
        values, counts = np.unique(sizes, return_counts=True)
        size = {"law": "empirical", "values": values.astype(float).tolist(), "weights": counts.astype(float).tolist()}
        return {"process": "batch", "size": size, "of": arrival_table_of(starts, inner, kind)}
    if process == "trace":
        return {"process": "trace", "gaps": gaps.tolist()}
    return two_phases(trace, bursts)


def batches_of(trace: Trace) -> tuple[Trace, Ints]:
    """Submissions at one instant as one: when they come, and how many jobs each brings."""
    starts, sizes = np.unique(trace.submit, return_counts=True)
    if len(starts) < 3:
        raise TraceError(f"{trace.source}: its jobs come in {len(starts)} batches, too few for a model of them")
    return replace(trace, submit=starts), sizes


def two_phases(trace: Trace, bursts: Burstiness) -> dict[str, Any]:
    """A Poisson process with two rates that alternate, by the rate, the dispersion of counts and their skewness.

    If the rate is a process with mean m, variance v and correlation exp(-r t), the dispersion of counts over t is
    1 + (2 v / (m r)) (1 - (1 - exp(-r t)) / (r t)): v and r are fitted to what was seen. The part of time in the faster
    phase comes from the third cumulant of counts over times short against 1 / r, where the rate hardly changes.
    r is looked for on a grid: a local search (scipy.optimize) may end in another minimum, and change fitted models.
    """
    m, t = bursts.rate, np.array(bursts.scale)
    excess, weight = np.array(bursts.dispersion) - 1.0, np.array(bursts.windows, np.float64)
    best, fitted = math.inf, (0.0, 0.0)
    for r in np.geomspace(0.05 / t[-1], 5.0 / t[0], 400):
        shape = 1.0 - -np.expm1(-r * t) / (r * t)
        # Relative errors of dispersions are about the same at all scales of equally many windows.
        w = weight / np.maximum(np.array(bursts.dispersion), 1.0) ** 2
        size = max(0.0, float((w * shape) @ excess / ((w * shape) @ shape)))
        miss = float(w @ (excess - size * shape) ** 2)
        if miss < best:
            best, fitted = miss, (r, size)
    r, size = fitted
    v = 0.5 * size * m * r
    if not v > 0:
        raise TraceError(f"{trace.source}: its arrivals are not bursty enough for mmpp; take --arrivals renewal")
    fast = _part_fast(trace, m, v, r)
    # Neither rate may be negative.
    fast = min(fast, 0.999 * m * m / (m * m + v))
    high, low = m + math.sqrt(v * (1.0 - fast) / fast), m - math.sqrt(v * fast / (1.0 - fast))
    up, down = r * fast, r * (1.0 - fast)
    return {"process": "mmpp", "generator": [[-down, down], [up, -up]], "rates": [high, max(low, 0.0)]}


def _part_fast(trace: Trace, m: float, v: float, r: float) -> float:
    """The part of time in the faster phase, from the skewness of the rate."""
    counts = counts_in(trace.submit, max(0.3 / r, 4.0 / m))
    width = max(0.3 / r, 4.0 / m)
    mean = float(np.mean(counts))
    second, third = float(np.mean((counts - mean) ** 2)), float(np.mean((counts - mean) ** 3))
    # Factorial cumulants are those of the integral of the rate.
    skewness = (third - 3.0 * second + 2.0 * mean) / width**3 / v**1.5
    return float(min(max(0.5 * (1.0 - skewness / math.sqrt(4.0 + skewness * skewness)), 1e-4), 0.9999))


def cycle_table(trace: Trace, group: Ints) -> dict[str, Any]:
    """Rates by hour of the week, or of the day where a log has less than three weeks, each hour with its own mix.

    An hour's mix is that of the same hour of all days, drawn towards the overall mix as SMOOTHED jobs of it would.
    """
    slots = 168 if trace.span >= 21 * 86400.0 else 24
    hour = (trace.submit // 3600.0).astype(np.int64)
    hours = np.arange(int(trace.span // 3600.0) + 1)
    came, there = (np.bincount(values % slots, minlength=slots) for values in (hour, hours))
    rates = came / np.maximum(there, 1) / 3600.0
    classes = int(group.max()) + 1
    overall = np.bincount(group, minlength=classes) / trace.jobs
    by_hour = np.zeros((24, classes))
    np.add.at(by_hour, (hour % 24, group), 1.0)
    by_hour += SMOOTHED * overall
    mix = by_hour / by_hour.sum(axis=1, keepdims=True)
    return {
        "process": "periodic", "cycle": slots * 3600.0, "rates": rates.tolist(),
        "mix": mix[np.arange(slots) % 24].tolist(),
    }  # fmt: skip


def session_table(trace: Trace, group: Ints, session: Ints) -> dict[str, Any]:
    """Runs of successive jobs of one session and class: how many, how soon after each other, and how much alike.

    A later job of a run repeats the length of the first as often as the logarithms of both are correlated.
    """
    starts = np.ones(trace.jobs, dtype=np.bool_)
    starts[1:] = (np.diff(session) != 0) | (np.diff(group) != 0)
    first = np.flatnonzero(starts)
    sizes = np.diff(np.append(first, trace.jobs))
    gaps = np.diff(trace.submit)
    between, within = gaps[starts[1:]], gaps[~starts[1:]]
    if len(within) < LEAST_WITHIN:
        raise TraceError(f"{trace.source}: hardly any jobs come in sessions")
    values, counts = np.unique(np.minimum(sizes, LONGEST_RUN), return_counts=True)
    length = np.log(trace.service)
    later = np.flatnonzero(~starts)
    repeat = float(np.corrcoef(length[later], length[np.repeat(first, sizes)][later])[0, 1])
    return {
        "process": "sessions",
        "size": {"law": "empirical", "values": values.astype(float).tolist(), "weights": counts.astype(float).tolist()},
        "gap": law_table(np.maximum(within, LEAST_GAP), "empirical"),
        "of": {"process": "renewal", "gap": law_table(np.maximum(between, LEAST_GAP), "empirical")},
        "repeat": min(max(repeat, 0.0), 1.0) if math.isfinite(repeat) else 0.0,
    }


def more_phases(trace: Trace, bursts: Burstiness) -> dict[str, Any]:
    """Four phases: two independent modulations, a faster and a slower one, of the dispersion of counts.

    The dispersion over t is 1 plus a sum of terms as in `two_phases`, one for each modulation, since independent
    modulations of the rate add up. Which rates r, and how large, is a non-negative least squares problem on a grid
    (moment fitting over time scales: Andersen, Nielsen 1998). Each modulation spends half its time in either phase.
    """
    from scipy.optimize import nnls

    m, t = bursts.rate, np.array(bursts.scale)
    grid = np.geomspace(0.05 / t[-1], 5.0 / t[0], 60)
    shapes = 1.0 - -np.expm1(-np.outer(t, grid)) / np.outer(t, grid)
    weight = np.sqrt(np.array(bursts.windows, np.float64)) / np.maximum(np.array(bursts.dispersion), 1.0)
    size, _ = nnls(weight[:, None] * shapes, weight * np.maximum(np.array(bursts.dispersion) - 1.0, 0.0))
    size, rate = _terms(size, grid)
    strong = np.argsort(-size * rate)[:2]
    size, rate = size[strong], rate[strong]
    if len(rate) < 2 or rate.max() < 3.0 * rate.min():
        raise TraceError(f"{trace.source}: its arrivals do not disperse on two scales of time")
    deviation = np.sqrt(0.5 * size * m * rate) / m
    deviation *= min(1.0, 0.98 / float(deviation.sum()))  # no rate below 0
    generators = [0.5 * r * np.array([[-1.0, 1.0], [1.0, -1.0]]) for r in rate]
    generator = np.kron(generators[0], np.eye(2)) + np.kron(np.eye(2), generators[1])
    signs = [np.array([1.0, -1.0])] * 2
    swing = np.kron(deviation[0] * signs[0], np.ones(2)) + np.kron(np.ones(2), deviation[1] * signs[1])
    return {"process": "mmpp", "generator": generator.tolist(), "rates": (m * (1.0 + swing)).tolist()}


def _terms(size: Array, grid: Array) -> tuple[Array, Array]:
    """Sizes and rates of the terms on a grid: a rate between two points of it is found as both of them, and put
    together again so that the dispersion over short times (sum of size x rate) and over long ones (of sizes) stays.
    """
    there = np.flatnonzero(size > 0.0)
    parts = np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if len(there) else []
    sizes = np.array([size[part].sum() for part in parts])
    return sizes, np.array([size[part] @ grid[part] for part in parts]) / sizes
