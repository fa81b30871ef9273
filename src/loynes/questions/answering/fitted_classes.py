"""Classes of a model for jobs that need resources, or are tasks on nodes: like jobs together, until they are few."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.questions.answering.log_cluster import Cluster, FittingJobs, JobClasses
from loynes.questions.answering.log_nodes import LogNodes
from loynes.traces.modelling import tables_of


def cluster_table(cluster: Cluster) -> dict[str, Any]:
    """What jobs run on, as a model file has it."""
    if cluster.nodes is None:
        return {"resources": dict(cluster.counts)} if cluster.kinds else {"servers": cluster.servers}
    nodes = cluster.nodes
    entries = [
        {"name": name, "count": one.count, "has": {kind: int(n) for kind, n in zip(nodes.kinds, has, strict=True) if n}}
        | ({"partition": list(one.partition)} if one.partition else {})
        for name, one, has in zip(_names(nodes), nodes.entries, nodes.has, strict=True)
    ]
    return {"nodes": entries, "placement": nodes.placement}


def _names(nodes: LogNodes) -> list[str]:
    """What entries are called in a model of the log, where all need a name."""
    return [one.name or f"nodes-{place + 1}" for place, one in enumerate(nodes.entries)]


def classes_on(fits: FittingJobs, most: int, law: str, lengths: int = 1) -> tuple[list[dict[str, Any]], Ints]:
    """Classes, and each job's: one for all that need the same while there are at most so many, else like ones together.

    Only jobs are put together that need the same resources, may run on the same nodes, and whose tasks fit the same
    ones. They become tasks of their mean number, rounded up, which need together what all of them did on average,
    weighted by run time, so that their work is kept but for rounding.
    """
    classes, jobs = fits.classes, fits.jobs
    tasks = np.ones(len(classes.demand), np.int64) if classes.layout is None else classes.layout.tasks
    each = classes.demand if classes.layout is None else classes.layout.task_need
    present, job_class = np.unique(classes.job_class, return_inverse=True)
    tasks, each = tasks[present], each[present]
    kept = _kept_apart(fits, classes, present)
    weight = np.bincount(job_class.ravel()).astype(np.float64)
    group = _groups(kept, np.log(np.column_stack([tasks, np.maximum(each, 1)])), weight, most)
    kinds, named = tuple(fits.cluster.units), dict[str, Ints]()

    def described(members: Ints) -> tuple[str, dict[str, Any]]:
        which, service = job_class.ravel()[members], jobs.service[members]
        share = service / service.sum()
        count = max(1, math.ceil(float(share @ tasks[which]) - 1e-9))
        need = np.rint(share @ (each[which] * tasks[which, None]) / count).astype(int)
        table = {kind: max(int(n), 1) for kind, n, used in zip(kinds, need, each[which[0]] > 0, strict=True) if used}
        name = f"{count}x-" * (count > 1) + "-".join(f"{kind}-{n}" for kind, n in table.items())
        # Different jobs may come out alike: names must differ.
        alike = named.setdefault(name, group[which[:1]])
        name += "" if alike[0] == group[which[0]] else f"-{group[which[0]] + 1}"
        return name, ({"tasks": count} if count > 1 else {}) | {"need": table} | _where(
            fits, classes, present[which[0]]
        )

    return tables_of(jobs, group[job_class.ravel()], described, law, lengths)


def _kept_apart(fits: FittingJobs, classes: JobClasses, present: Ints) -> Ints:
    """A number for every class; those with different numbers are not put together."""
    columns = [classes.demand[present] > 0]
    nodes, layout = fits.cluster.nodes, classes.layout
    if nodes is not None and layout is not None:
        allowed = layout.allowed[present] > 0
        fits_there = np.all(layout.task_need[present][:, None, :] <= nodes.has[None], axis=2)
        columns += [allowed, allowed & fits_there, layout.per_node[present, None] > 0]
    return np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)[1].ravel()


def _where(fits: FittingJobs, classes: JobClasses, one: int) -> dict[str, Any]:
    """On which nodes jobs of a class may run, and how many of their tasks on one."""
    nodes, layout = fits.cluster.nodes, classes.layout
    if nodes is None or layout is None:
        return {}
    found: dict[str, Any] = {"per_node": 1} if layout.per_node[one] and layout.tasks[one] > 1 else {}
    allowed = layout.allowed[one] > 0
    if not allowed.all():
        found["nodes"] = [name for name, may in zip(_names(nodes), allowed, strict=True) if may]
    return found


def _groups(kept: Ints, place: Array, weight: Array, most: int) -> Ints:
    """The group of every class: those that are kept apart, cut in two where that takes most off the spread of places
    (logarithms of needs, weighted by jobs), until there are as many groups as there may be."""
    count = int(kept.max()) + 1
    if count > most:
        raise UsageError(
            f"classes: at least {count} are needed, as jobs that need other resources, or may run on other nodes, are "
            "not put together"
        )
    group = kept.copy()
    cuts = {g: _best_cut(np.flatnonzero(group == g), place, weight) for g in range(count)}
    while count < most:
        g = max(cuts, key=lambda one: cuts[one][0])
        if cuts[g][0] <= 0.0:
            break
        group[cuts[g][1]] = count
        for changed in (g, count):
            cuts[changed] = _best_cut(np.flatnonzero(group == changed), place, weight)
        count += 1
    # In the order of what they need.
    means = [np.average(place[group == g], axis=0, weights=weight[group == g]).sum() for g in range(count)]
    return np.argsort(np.argsort(means))[group]


def _best_cut(members: Ints, place: Array, weight: Array) -> tuple[float, Ints]:
    """How much the spread of members falls if some of them become a group of their own, and which."""
    best, chosen = 0.0, members[:0]
    for column in place[members].T:
        order = np.argsort(column, kind="stable")
        value, mass = column[order], weight[members][order]
        left, total = np.cumsum(mass)[:-1], mass.sum()
        if not len(left):
            continue
        low = np.cumsum(mass * value)[:-1]
        apart = (low / left - (mass @ value - low) / (total - left)) ** 2 * left * (total - left) / total
        apart[np.diff(value) <= 0.0] = 0.0  # those that are alike stay together
        at = int(np.argmax(apart))
        if apart[at] > best + 1e-12:
            best, chosen = float(apart[at]), members[order[at + 1 :]]
    return best, chosen
