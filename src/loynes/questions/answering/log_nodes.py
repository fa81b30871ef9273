"""Recorded jobs on nodes: how many tasks each is, what one of them takes, and which nodes it may run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.errors import UsageError
from loynes.kernels.events.layout import PLACEMENTS, Layout
from loynes.model import Nodes, load
from loynes.model.nodes import PLACEMENT, entry_names
from loynes.model.sizes import Size
from loynes.questions.asking.logs import LogOnCluster
from loynes.traces.trace import Trace
from loynes.traces.units import resource_named

# Memory of logs is in MiB.
MEBIBYTE = 2**20
# The column of logs that says how many nodes a job had, and the label that says which.
NODE, PARTITION = "node", "partition"


@dataclass(frozen=True)
class LogNodes:
    """Nodes for recorded jobs: entries, each with so many that are alike, in the units of logs."""

    entries: tuple[Nodes, ...]
    placement: str = PLACEMENT

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the resources, as logs have them."""
        return tuple(dict.fromkeys(resource_named(kind) for one in self.entries for kind in one.has))

    @property
    def has(self) -> Ints:
        """[entry, kind], units of a node."""
        rows = [{resource_named(kind): in_log_units(n) for kind, n in one.has.items()} for one in self.entries]
        return np.array([[row.get(kind, 0) for kind in self.kinds] for row in rows], np.int64)

    @property
    def counts(self) -> Ints:
        return np.array([one.count for one in self.entries], np.int64)

    @property
    def units(self) -> dict[str, int]:
        """What there is of every resource, on all nodes."""
        return dict(zip(self.kinds, (self.counts @ self.has).tolist(), strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """What the entries are called."""
        return entry_names(self.entries)

    def with_count(self, entry: int, count: int) -> LogNodes:
        """With so many nodes of an entry."""
        one = self.entries[entry].model_copy(update={"count": count})
        return replace(self, entries=(*self.entries[:entry], one, *self.entries[entry + 1 :]))

    @property
    def details(self) -> dict[str, object]:
        return {"nodes": [one.text for one in self.entries], "placement": self.placement}


@dataclass(frozen=True)
class PlacedJobs:
    """Recorded jobs as classes of tasks; those of a class with 0 tasks fit on no nodes."""

    job_class: Ints
    asked: Ints  # [class, kind], as the log says
    each: Ints  # [class, kind], of one task
    tasks: Ints  # [class]
    per_node: Ints  # [class]
    allowed: Ints  # [class, entry], 1 where jobs of the class may run
    assumption: str  # how many tasks a job is, in words

    @property
    def demand(self) -> Ints:
        """[class, kind], of all tasks."""
        return np.ascontiguousarray(self.each * np.maximum(self.tasks, 1)[:, None])

    def layout(self, nodes: LogNodes, classes: Ints) -> Layout:
        """The nodes, and the tasks of these of the classes."""
        return Layout(
            capacity=np.repeat(nodes.has, nodes.counts, axis=0),
            group=np.repeat(np.arange(len(nodes.counts)), nodes.counts),
            tasks=np.maximum(self.tasks, 1)[classes],
            task_need=np.ascontiguousarray(self.each[classes]),
            per_node=np.ascontiguousarray(self.per_node[classes]),
            allowed=np.ascontiguousarray(self.allowed[classes]),
            placement=PLACEMENTS.index(nodes.placement),
        )


def in_log_units(amount: int) -> int:
    """A number stays; of a size whole MiB, as logs have memory."""
    return int(amount) // MEBIBYTE if isinstance(amount, Size) else int(amount)


def asked_nodes(question: LogOnCluster) -> LogNodes | None:
    """The nodes that a question asks for; of several numbers of them, the first."""
    count = question.nodes[0] if isinstance(question.nodes, tuple) else question.nodes
    return nodes_of(count, question.has, question.nodes_of, question.placement)


def nodes_of(count: int | None, has: dict[str, int], file: str | None, placement: str | None) -> LogNodes | None:
    """So many alike, or those of a model file; None where none are asked for."""
    if file is not None:
        if count is not None or has:
            raise UsageError("nodes-of: say it, or nodes and has, not both")
        model = load(file)
        if model.nodes is None:
            raise UsageError(f"nodes-of {file}: the model has no [[nodes]]")
        return LogNodes(model.nodes, placement or model.placement or PLACEMENT)
    if (count is None) != (not has):
        raise UsageError("nodes: say how many, and what each has: --nodes 16 --has cpu=64,gpu=4")
    if count is None:
        if placement is not None:
            raise UsageError(f"placement {placement!r}: means something only with nodes")
        return None
    return LogNodes((Nodes(count=count, has=has),), placement or PLACEMENT)


def placed(jobs: Trace, nodes: LogNodes) -> PlacedJobs:
    """The tasks that jobs are.

    A log that says on how many nodes a job ran makes it so many tasks, each on a node of its own; else, and where there
    are not so many nodes, a job is as few tasks as fit. A task takes its part of every resource, rounded up.
    """
    counted = NODE in jobs.demand and bool(np.any(jobs.demand[NODE] > 0))
    asked = jobs.demand[NODE] if counted else np.zeros(jobs.jobs, np.int64)
    words = "a task for every node that the log says a job had" if counted else "as few tasks for a job as fit on nodes"
    need = np.array([jobs.demand[kind] for kind in nodes.kinds]).reshape(len(nodes.kinds), -1).T
    return _placed(asked, jobs.labels.get(PARTITION), need, nodes, words)


@dataclass(frozen=True, eq=False)
class TaskClasses:
    """Jobs as tasks on nodes: those that are alike are a class."""

    job_class: Ints  # [job]
    fits: NDArray[np.bool_]  # [class], whether such a job fits empty nodes
    demand: Ints  # [class, kind], of all tasks
    layout: Layout


def task_classes(asked: Ints, partition: NDArray[Any] | None, need: Ints, nodes: LogNodes) -> TaskClasses:
    """Of jobs that asked for so many nodes (0 where they do not say), in these partitions, with needs [job, kind]."""
    found = _placed(asked, partition, need, nodes, "")
    layout = found.layout(nodes, np.arange(len(found.tasks)))
    return TaskClasses(found.job_class, found.tasks > 0, found.demand, layout)


def _placed(asked: Ints, partition: NDArray[Any] | None, need: Ints, nodes: LogNodes, assumption: str) -> PlacedJobs:
    where, allowed = _allowed(partition, len(asked), nodes)
    rows, job_class = np.unique(np.column_stack([asked, where, need]), axis=0, return_inverse=True)
    found = [_tasks(row[2:], int(row[0]), nodes, allowed[int(row[1])]) for row in rows]
    tasks, apart = np.array(found, np.int64).reshape(-1, 2).T
    return PlacedJobs(
        job_class=job_class.ravel(),
        asked=rows[:, 2:],
        each=-(-rows[:, 2:] // np.maximum(tasks, 1)[:, None]),
        tasks=tasks,
        per_node=apart,
        allowed=allowed[rows[:, 1]].astype(np.int64),
        assumption=assumption,
    )


def all_fit(placed: PlacedJobs, nodes: LogNodes, counts: Sequence[int]) -> bool:
    """Whether so many nodes of every entry take all these jobs, with as many tasks as here."""
    fits = np.flatnonzero(placed.tasks > 0)
    on_one = [_on_one_node(placed.each[c], nodes, placed.allowed[c]) for c in fits]
    most = np.where(placed.per_node > 0, placed.per_node, placed.tasks)[fits]
    room = (np.minimum(on_one, most[:, None]) * np.array(counts)).sum(axis=1)
    return bool(np.all(room >= placed.tasks[fits]))


def count_needed(placed: PlacedJobs, nodes: LogNodes, entry: int) -> int:
    """The least number of nodes of an entry that takes all these jobs, with as many tasks as here."""
    counts = nodes.counts.tolist()
    low, high = 0, counts[entry]
    while high - low > 1:
        middle = (low + high) // 2
        fits = all_fit(placed, nodes, [*counts[:entry], middle, *counts[entry + 1 :]])
        low, high = (low, middle) if fits else (middle, high)
    return int(high)


def _allowed(partition: NDArray[Any] | None, jobs: int, nodes: LogNodes) -> tuple[Ints, Ints]:
    """Of every job a row of [row, entry]: 1 where it may run. A partition of the log has the nodes of that name."""
    everywhere = np.ones((1, len(nodes.entries)), np.int64)
    known = list(dict.fromkeys(name for one in nodes.entries for name in one.partition or ()))
    if partition is None or not known:
        return np.zeros(jobs, np.int64), everywhere
    rows = [[int(name in (one.partition or ())) for one in nodes.entries] for name in known]
    place = {name: row + 1 for row, name in enumerate(known)}
    values, code = np.unique(partition, return_inverse=True)
    of_value = np.array([place.get(str(value), 0) for value in values], np.int64)
    return of_value[code.ravel()], np.concatenate([everywhere, np.array(rows, np.int64)])


def _tasks(need: Ints, asked: int, nodes: LogNodes, allowed: Ints) -> tuple[int, int]:
    """How many tasks a job is, 0 where it fits nowhere; and 1 if no two of them may be on one node.

    As the log says, or else as few as fit.
    """
    if asked and _room(need, asked, nodes, allowed, 1):
        return asked, 1
    used, has = need > 0, nodes.has[allowed > 0]
    if not len(has) or not has[:, used].any(axis=0).all():
        return 0, 0
    # No task is larger than the largest node has of everything; one more task at a time from there on.
    fewest = int(np.max(-(-need[used] // np.maximum(has[:, used].max(axis=0), 1))))
    most = int(nodes.counts[allowed > 0].sum() * max(int(has.max()), 1))
    for tasks in range(max(fewest, 1), min(int(need.max()), most) + 1):
        if _room(need, tasks, nodes, allowed, 0):
            return tasks, 0
    return 0, 0


def _room(need: Ints, tasks: int, nodes: LogNodes, allowed: Ints, per_node: int) -> bool:
    """Whether so many equal tasks fit on empty nodes."""
    on_one = _on_one_node(-(-need // tasks), nodes, allowed)
    return int((np.minimum(on_one, per_node or tasks) * nodes.counts).sum()) >= tasks


def _on_one_node(each: Ints, nodes: LogNodes, allowed: Ints) -> Ints:
    """[entry], how many such tasks an empty node takes."""
    used = each > 0
    return np.asarray((nodes.has[:, used] // each[used]).min(axis=1) * (allowed > 0))
