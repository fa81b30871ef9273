"""The jobs of a snapshot on nodes: which tasks each is made of, and on which nodes those of running jobs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.errors import UsageError
from loynes.kernels.events.forecast import JobClasses, Later
from loynes.questions.answering.log_nodes import NODE, LogNodes, TaskClasses, task_classes
from loynes.traces.snapshot import Note, Snapshot

NO_PARTITION = ""


class NoRoomError(UsageError):
    """Running jobs cannot all be put on the nodes there are."""


def classes_on(nodes: LogNodes, snapshot: Snapshot, later: Later | None) -> TaskClasses:
    """What the jobs of a snapshot are on nodes, and those that may come later, in this order."""
    need = snapshot.need(nodes.kinds)
    asked = snapshot.demand[NODE]
    queue = snapshot.labels.get("queue", np.full(len(need), NO_PARTITION))
    if later is not None:
        # Columns of their needs: those of the nodes, and how many nodes they had.
        need, asked = np.concatenate([need, later.need[:, :-1]]), np.concatenate([asked, later.need[:, -1]])
        queue = np.concatenate([queue, np.full(len(later.need), NO_PARTITION)])
    return task_classes(asked, queue, need, nodes)


def fitting_on(nodes: LogNodes, snapshot: Snapshot) -> Snapshot:
    """Without the waiting jobs that fit no nodes; a running one that does not is refused."""
    found = classes_on(nodes, snapshot, None)
    misfits = np.flatnonzero(~found.fits[found.job_class])
    running = [snapshot.ids[i] for i in misfits if i < snapshot.running]
    if running:
        raise UsageError(f"nodes: job {running[0]} runs, but would not fit on these nodes; say what there is")
    tasks, asked = found.layout.tasks[found.job_class], snapshot.demand[NODE]
    cut = [
        Note(snapshot.ids[i], f"asks for {asked[i]} nodes, which are too small or too few: taken as {tasks[i]} tasks")
        for i in np.flatnonzero((asked > 0) & (tasks != asked) & found.fits[found.job_class])
    ]
    snapshot = replace(snapshot, assumed=(*snapshot.assumed, *cut))
    return snapshot.without({int(i): "its tasks fit on no nodes" for i in misfits}) if len(misfits) else snapshot


def on_nodes(nodes: LogNodes, snapshot: Snapshot, later: Later | None) -> tuple[JobClasses, Later | None]:
    """The classes of all jobs and the nodes of running ones; and those later jobs that fit.

    In a replay it is known which nodes these are. A listing names the nodes of a running job, but not which of the
    nodes there are these are: names are given to nodes that are large enough for what runs on them, the fullest first.
    Jobs whose nodes are not listed are put beside them, largest tasks first, each task on the fullest node that has
    room.
    """
    found = classes_on(nodes, snapshot, later)
    count = len(snapshot.ids)
    if later is not None:
        fits = found.fits[found.job_class[count:]]
        later = _some(later, fits)
        found = classes_on(nodes, snapshot, later)
    for i in np.flatnonzero(~found.fits[found.job_class[:count]]):
        raise UsageError(f"nodes: the tasks of {snapshot.ids[i]} fit on no nodes")
    first, node = _Placing(found, snapshot).places()
    return JobClasses(found.demand, found.job_class[:count], found.job_class[count:], found.layout, first, node), later


def _some(later: Later, kept: NDArray[np.bool_]) -> Later:
    before = np.concatenate([[0], np.cumsum(kept)])
    return later._replace(
        submit=later.submit[kept], need=later.need[kept], service=later.service[kept], limit=later.limit[kept],
        first=before[later.first].astype(np.int64),
    )  # fmt: skip


class _Placing:
    """Running jobs' tasks, put on nodes one after the other."""

    def __init__(self, classes: TaskClasses, snapshot: Snapshot) -> None:
        self._layout, self._class, self._snapshot = classes.layout, classes.job_class, snapshot
        self._free = classes.layout.capacity.copy()
        self._unnamed = np.ones(len(self._free), bool)
        self._places: list[list[int]] = [[] for _ in range(snapshot.running)]

    def places(self) -> tuple[Ints, Ints]:
        """Where the tasks of each job begin in the list of all tasks' nodes, and that list."""
        tasks = self._layout.tasks[self._class]
        listed = self._snapshot.hosts or ((),) * self._snapshot.running
        known = [i for i, nodes in enumerate(self._snapshot.places) if len(nodes) == tasks[i]]
        named = [i for i, hosts in enumerate(listed) if len(hosts) == tasks[i] and i not in known]
        others = sorted(set(range(len(listed))) - {*known, *named}, key=lambda i: -int(self._task(i).max()))
        for i in known:
            self._places[i] = list(self._snapshot.places[i])
            np.subtract.at(self._free, self._places[i], self._task(i))
        self._put_named(named, listed)
        for i in others:
            self._put(i)
        first = np.cumsum([0, *map(len, self._places)]).astype(np.int64)
        return first, np.array([node for own in self._places for node in own], np.int64)

    def _task(self, i: int) -> Ints:
        return np.asarray(self._layout.task_need[self._class[i]])

    def _put_named(self, jobs: list[int], listed: Sequence[Sequence[str]]) -> None:
        on: dict[str, list[int]] = {}
        for i in jobs:
            for host in listed[i]:
                on.setdefault(host, []).append(i)
        held = {host: sum((self._task(i) for i in own), np.zeros_like(self._free[0])) for host, own in on.items()}
        capacity, group = self._layout.capacity, self._layout.group
        for host, use in sorted(held.items(), key=lambda item: -int(item[1].max())):
            allowed = np.all([self._layout.allowed[self._class[i]][group] > 0 for i in on[host]], axis=0)
            room = np.flatnonzero(self._unnamed & allowed & np.all(capacity >= use, axis=1))
            if not len(room):
                raise NoRoomError(f"nodes: no node is left that is as large as what runs on {host}; say what there is")
            # The smallest of those that are large enough.
            node = int(room[np.argmin(capacity[room].sum(axis=1))])
            self._unnamed[node] = False
            self._free[node] -= use
            for i in on[host]:
                self._places[i].append(node)

    def _put(self, i: int) -> None:
        c = self._class[i]
        need, layout = self._task(i), self._layout
        most = int(layout.per_node[c]) or int(layout.tasks[c])
        for _ in range(int(layout.tasks[c])):
            here = np.bincount(np.array(self._places[i], np.int64), minlength=len(self._free))
            room = (layout.allowed[c][layout.group] > 0) & (here < most) & np.all(self._free >= need, axis=1)
            if not room.any():
                raise NoRoomError(
                    f"nodes: job {self._snapshot.ids[i]} runs, but there is no room for it beside the other running "
                    "jobs; say what there is, or list the nodes they are on"
                )
            best = np.flatnonzero(room)
            node = int(best[np.argmin(self._free[best].sum(axis=1))])
            self._free[node] -= need
            self._places[i].append(node)
