"""Nodes: the same as a pool where they must be, and job by job as plain Python places tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_policies_by_the_book import BOOK, Cluster, fcfs

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.changes import Changes, ServerChange
from loynes.kernels.events.engine import Events, run_classes, run_replicas
from loynes.kernels.events.layout import FIRST_FIT, PACK, SPREAD, Layout
from loynes.kernels.events.loop import KINDS
from loynes.kernels.events.policies import policies
from loynes.kernels.events.replica import jobs_before


def layout_of(capacity: Any, tasks: Any, task_need: Any, placement: int = PACK, **others: Any) -> Layout:
    """Nodes of one group, no limits, unless said."""
    capacity, need = np.array(capacity), np.array(task_need)
    facts = {
        "group": np.zeros(len(capacity), np.int64),
        "per_node": np.zeros(len(need), np.int64),
        "allowed": np.ones((len(need), 1), np.int64),
    } | others
    return Layout(capacity, facts["group"], np.array(tasks), need, facts["per_node"], facts["allowed"], placement)


def some_jobs(rng: np.random.Generator, classes: int, count: int, whole: bool) -> tuple[np.ndarray, ...]:
    """Arrivals, classes, services and guesses; in whole numbers events coincide."""
    job_class = rng.integers(0, classes, count)
    if whole:
        arrival, service = np.cumsum(rng.integers(0, 3, count)).astype(float), rng.integers(1, 6, count).astype(float)
        return arrival, job_class, service, service + rng.integers(0, 4, count)
    service = rng.exponential(1.5, count)
    return np.cumsum(rng.exponential(1.0, count)), job_class, service, service * rng.choice([1.0, 1.0, 2.0], count)


@pytest.mark.parametrize("name", list(policies()))
def test_one_node_is_a_pool_and_nodes_of_one_server_are_servers(name: str) -> None:
    """Waits, responses and sums over time, to the last bit; then nothing idles for want of servers together."""
    policy, rng = policies()[name], np.random.default_rng(1)
    for kinds in (1,) if policy.identical_servers_only else (1, 2):
        for line in range(8):
            units = rng.integers(3, 12, kinds)
            demand = np.stack([rng.integers(kinds == 1, n + 1, 5) for n in units], axis=1)
            demand[demand.sum(axis=1) == 0, 0] = 1
            arrival, job_class, service, guess = some_jobs(rng, 5, 150, line % 2 == 0)
            given = (units, arrival, job_class, demand, service, guess, policy, int(rng.integers(1, 5)))
            edges = np.array([0.0, arrival[-1]])
            times, sums = run_classes(*given, edges)
            layouts = [layout_of([units], [1] * 5, demand, line % 3)]
            # Which servers a job will have is part of its reservation on nodes, but not in a pool.
            if kinds == 1 and not policy.timetable:
                layouts.append(layout_of(np.ones((units[0], 1)), demand[:, 0], np.ones((5, 1)), line % 3))
            for layout in layouts:
                on_nodes, over_time = run_classes(*given, edges, layout)
                np.testing.assert_array_equal(on_nodes, times)
                np.testing.assert_array_equal(over_time[:, : KINDS + 2 * kinds], sums)
                assert (over_time[:, KINDS + 2 * kinds :] == 0).all()


# Policies that the book has and that are computed from nothing else.
PLAIN = ("fcfs", "first-fit", "most-servers-first", "quick-swap", "server-filling")


class Placed(dict[int, float]):
    """Running jobs, since when; whoever is entered is placed."""

    def __init__(self, cluster: NodeCluster) -> None:
        super().__init__()
        self.cluster = cluster

    def __setitem__(self, i: int, since: float) -> None:
        nodes = self.cluster.nodes_for(i, self.cluster.free_units())
        assert nodes is not None
        self.cluster.where[i] = nodes
        super().__setitem__(i, since)


class NodeCluster(Cluster):
    """Tasks one after the other, each on the best node there is; what is free is counted anew every time."""

    plans_anew = False

    def __init__(self, layout: Layout, classes: np.ndarray, jobs: list[tuple[float, np.ndarray, float, float]]) -> None:
        super().__init__(layout.capacity.sum(axis=0), jobs)
        self.layout, self.classes = layout, classes
        self.where = dict[int, list[int]]()
        self.running = Placed(self)
        self.away, self.planned = set[int](), dict[int, list[int]]()
        self.windows = list[tuple[float, float, int]]()  # from when to when a node will be away

    def free_units(self, gone: Callable[[int], bool] = lambda i: False) -> np.ndarray:
        """Free units by node, with some running jobs taken to have gone."""
        free = self.layout.capacity.copy()
        for i in self.running:
            if not gone(i):
                for node in self.where[i]:
                    free[node] -= self.layout.task_need[self.classes[i]]
        free[list(self.away)] = 0
        return free

    @property
    def free(self) -> np.ndarray:
        return self.free_units().sum(axis=0)

    def nodes_for(self, i: int, free: np.ndarray, since: float | None = None) -> list[int] | None:
        """Where the tasks of a job go that starts now, or then; or None."""
        layout, c, free = self.layout, self.classes[i], free.copy()
        begin = self.now if since is None else since
        for leaves, returns, node in self.windows:
            if begin < returns and begin + self.guess(i) > leaves:
                free[node] = 0
        need, chosen = layout.task_need[c], list[int]()
        main = int(np.argmax(need / layout.capacity.sum(axis=0)))
        for _ in range(layout.tasks[c]):
            able = [
                n
                for n in range(len(free))
                if (need <= free[n]).all()
                and layout.allowed[c, layout.group[n]]
                and not (layout.per_node[c] and chosen.count(n) >= layout.per_node[c])
            ]
            if not able:
                return None
            keys = {PACK: lambda n: free[n, main], SPREAD: lambda n: -free[n, main], FIRST_FIT: lambda n: n}
            chosen.append(min(able, key=keys[layout.placement]))
            free[chosen[-1]] -= need
        return chosen

    def enter(self, i: int) -> None:
        self.line = sorted([*self.line, i])

    def start_on(self, i: int, nodes: list[int]) -> None:
        """On nodes that were chosen before."""
        self.line.remove(i)
        self.where[i] = nodes
        dict.__setitem__(self.running, i, self.now)

    def may_hold(self, i: int) -> bool:
        return True

    def priority(self, i: int) -> int:
        return 0

    def fits(self, i: int) -> bool:
        return self.nodes_for(i, self.free_units()) is not None

    def could_fit(self, i: int) -> bool:
        empty = self.layout.capacity.copy()
        empty[list(self.away)] = 0
        return self.nodes_for(i, empty) is not None


def easy_on_nodes(cluster: NodeCluster, option: int, shortest_first: bool = False) -> None:
    """Who behind the head could start, on the nodes that it would have, without the head's start being any later?"""
    fcfs(cluster, option)

    def shadow(head: int) -> float:
        ends = {i: max(since + cluster.guess(i), cluster.now) for i, since in cluster.running.items()}
        returns = [time for _, time, _ in cluster.windows if cluster.now <= time < np.inf]
        for end in sorted([*ends.values(), *returns]):
            if cluster.nodes_for(head, cluster.free_units(lambda i, end=end: ends[i] <= end), end) is not None:
                return end
        return np.inf

    head, *others = cluster.line or [-1]
    for i in sorted(others, key=lambda i: (-cluster.priority(i), cluster.guess(i))) if shortest_first else others:
        if cluster.fits(i):
            before = shadow(head)
            cluster.start(i)
            if cluster.now + cluster.guess(i) > before and (shadow(head) > before or not cluster.may_hold(head)):
                del cluster.running[i]
                cluster.enter(i)


def conservative_on_nodes(cluster: NodeCluster, option: int) -> None:
    """Reservations with their nodes: moved forward whenever a job ends; where there are rules made again every time."""
    again, cluster.ended = cluster.ended, False
    if cluster.plans_anew:
        cluster.reserved, cluster.planned = {}, {}

    def earliest(i: int) -> tuple[float, list[int]]:
        others = {j: time for j, time in (cluster.running | cluster.reserved).items() if j != i}
        ends = {j: time + cluster.guess(j) for j, time in others.items()}
        returns = [time for _, time, _ in cluster.windows if time < np.inf]
        times = sorted({t for t in (*others.values(), *ends.values(), *returns) if t > cluster.now} | {cluster.now})
        for begin in times:
            least = cluster.layout.capacity.copy()
            for time in [t for t in times if t == begin or begin < t < begin + cluster.guess(i)]:
                free = cluster.layout.capacity.copy()
                for j in others:
                    if others[j] <= time < ends[j]:
                        for node in cluster.where[j] if j in cluster.running else cluster.planned[j]:
                            free[node] -= cluster.layout.task_need[cluster.classes[j]]
                least = np.minimum(least, free)
            nodes = cluster.nodes_for(i, least, begin)
            if nodes is not None:
                return begin, nodes
        raise AssertionError

    place = 0
    for i in list(cluster.line):
        if option and place >= option:
            break
        if not cluster.may_hold(i):
            continue
        if again or i not in cluster.reserved:
            begin, nodes = earliest(i)
            if begin < cluster.reserved.get(i, np.inf):
                cluster.reserved[i], cluster.planned[i] = begin, nodes
        if cluster.reserved[i] <= cluster.now and not cluster.away & {*cluster.planned[i]}:
            del cluster.reserved[i]
            cluster.start_on(i, cluster.planned.pop(i))
        else:
            place += 1


BOOK_ON_NODES: dict[str, Callable[..., None]] = {name: rule for name, rule in BOOK.items() if name in PLAIN} | {
    "easy": easy_on_nodes,
    "easy-sjbf": partial(easy_on_nodes, shortest_first=True),
    "conservative": conservative_on_nodes,
}


def random_layout(rng: np.random.Generator, kinds: int, classes: int) -> Layout:
    """Up to five nodes in two groups, and jobs of up to four tasks that fit, the first class on either group only."""
    count = int(rng.integers(2, 6))
    group = (np.arange(count) >= count // 2).astype(np.int64)
    capacity = np.stack([rng.integers(3, 7, kinds), rng.integers(3, 7, kinds)])[group]
    need = np.stack([rng.integers(kinds == 1, 4, kinds) for _ in range(classes)])
    need[need.sum(axis=1) == 0, 0] = 1
    allowed = np.ones((classes, 2), np.int64)
    for c in range(classes // 2):
        allowed[c, rng.integers(0, 2)] = 0
    most = np.array([(capacity[:, n > 0] // n[n > 0]).min(axis=1) for n in need])
    per_node = rng.integers(0, 3, classes)
    most = np.where(per_node[:, None] > 0, np.minimum(most, per_node[:, None]), most) * allowed[:, group]
    tasks = np.minimum(rng.integers(1, 5, classes), most.sum(axis=1))
    return Layout(capacity, group, tasks, need, per_node, allowed, int(rng.integers(0, 3)))


def check_by_the_book(name: str, rng: np.random.Generator, kinds: int, whole: bool, count: int = 30) -> None:
    layout, policy = random_layout(rng, kinds, 4), policies()[name]
    demand = layout.tasks[:, None] * layout.task_need
    arrival, job_class, service, guess = some_jobs(rng, 4, count, whole)
    option = int(rng.integers(1, 5))
    times, _ = run_classes(
        layout.capacity.sum(axis=0), arrival, job_class, demand, service, guess, policy, option, None, layout
    )
    jobs = list(zip(arrival, demand[job_class], service.tolist(), guess.tolist(), strict=True))
    ends = NodeCluster(layout, job_class, jobs).run(BOOK_ON_NODES[name], option, count)
    np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9)


@given(seed=st.integers(0, 2**32), kinds=st.integers(1, 2), whole=st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_packing_by_the_book(seed: int, kinds: int, whole: bool) -> None:
    """All placements, partitions that overlap, gangs and limits by node, under backfilling."""
    check_by_the_book("easy", np.random.default_rng(seed), kinds, whole)


@pytest.mark.parametrize("name", list(BOOK_ON_NODES))
def test_every_policy_on_nodes(name: str) -> None:
    rng = np.random.default_rng(2)
    for line in range(8):
        kinds = 1 if policies()[name].identical_servers_only else 1 + line // 2 % 2
        check_by_the_book(name, rng, kinds, line % 2 == 0)


def some_cluster(seed: int, name: str, changes: Changes, count: int) -> tuple[NodeCluster, np.ndarray, np.ndarray]:
    """Four nodes of four servers: the plain cluster, when jobs come, and when the engine says that they end."""
    law = {"law": "exponential", "mean": 1}
    classes = [{"need": n, "probability": p, "service": law} for n, p in ((1, 0.5), (2, 0.3), (6, 0.2))]
    table = job_table(loynes.load({"servers": 16, "classes": classes}), 4.0)
    layout = layout_of([[4]] * 4, [1, 1, 2], [[1], [2], [3]])
    events = Events(
        table, seed, STREAM_STATIONARY, np.arange(1), policies()[name], 1, 1.5, jobs_observed=count, each=True,
        changes=changes, layout=layout,
    )  # fmt: skip
    (record,) = run_replicas(events, CpuEngine(1))
    arriving = jobs_before(events, 0, 60.0)
    demand = (layout.tasks[:, None] * layout.task_need)[arriving.job_class]
    jobs = list(zip(arriving.arrival, demand, arriving.service.tolist(), arriving.guess.tolist(), strict=True))
    ends = arriving.arrival[:count] + record.observations.jobs[:count, 1]
    return NodeCluster(layout, arriving.job_class, jobs), arriving.arrival[:count], ends


def test_a_node_fails_with_all_it_has_and_another_is_drained() -> None:
    """Job by job: those on the node that fails begin anew, those on the one that is drained end; both come back."""
    moves = ((3.0, True, (1,), ()), (5.0, False, (2,), ()), (9.0, True, (), (1,)), (20.0, True, (), (2,)))
    changes = Changes(of_servers=tuple(ServerChange(t, (0,), once, n, *who) for n, (t, once, *who) in enumerate(moves)))
    for seed in range(1, 7):
        cluster, _, ends = some_cluster(seed, "easy", changes, 120)

        def lose(at_once: bool, lost: tuple[int, ...], back: tuple[int, ...], cluster: NodeCluster = cluster) -> None:
            cluster.away = (cluster.away | set(lost)) - set(back)
            for i in list(cluster.running):
                if at_once and cluster.away & set(cluster.where[i]):
                    del cluster.running[i]
                    cluster.enter(i)

        happen = [(time, lambda now, rest=rest: lose(*rest)) for time, *rest in moves]
        np.testing.assert_allclose(cluster.run(easy_on_nodes, 1, 120, happen), ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["fcfs", "easy"])
def test_announced_maintenance(name: str) -> None:
    """Nobody is on a node when it goes; whoever would be waits or runs elsewhere, and short jobs go before."""
    windows = [(4.0, 9.0, 1), (4.0, 9.0, 2), (6.0, 12.0, 3), (20.0, 24.0, 1)]
    changes = [(begin, (node,), ()) for begin, _, node in windows] + [(end, (), (node,)) for _, end, node in windows]
    announced = tuple(
        ServerChange(time, (0,), True, n, *who, announced=True) for n, (time, *who) in enumerate(sorted(changes))
    )
    for seed in range(1, 9):
        cluster, arrival, ends = some_cluster(seed, name, Changes(of_servers=announced), 120)
        cluster.windows = windows
        happen = [(change.time, lambda now: None) for change in announced]
        rule = BOOK_ON_NODES[name]
        np.testing.assert_allclose(cluster.run(rule, 1, 120, happen), ends, rtol=0, atol=1e-9)
        assert (ends > arrival).all()


@pytest.mark.parametrize("name", ["easy", "easy-sjbf"])
def test_who_would_delay_the_head_does_not_pass_when_a_node_comes_back(name: str) -> None:
    """One of two nodes is away from 12 to 20; the job on the other ends as that one comes back. The head of the line
    needs both: it has them then, and not after the job of an hour that is behind it."""
    layout = layout_of([[1], [1]], [1, 2], [[1], [1]], FIRST_FIT)
    away = tuple(ServerChange(time, (0,), False, 0, *who, True) for time, *who in ((12.0, (1,), ()), (20.0, (), (1,))))
    arrival, service = np.array([0.0, 15.0, 16.0]), np.array([20.0, 5.0, 3600.0])
    given = (np.array([2]), arrival, np.array([0, 1, 0]), np.array([[1], [2]]), service, service, policies()[name])
    times, _ = run_classes(*given, 1, None, layout, lost=away)
    assert (arrival + times[:, 0]).tolist() == [0.0, 20.0, 25.0]


def test_disjoint_partitions_are_clusters_of_their_own() -> None:
    """Two partitions, each with its own classes, against either alone: bit by bit, as nobody blocks the other."""
    rng = np.random.default_rng(4)
    group = np.array([0, 0, 1, 1, 1])
    capacity, allowed = np.array([[4], [4], [3], [3], [3]]), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    layout = layout_of(capacity, [1, 2, 1, 3], [[2], [3], [1], [2]], group=group, allowed=allowed)
    demand = layout.tasks[:, None] * layout.task_need
    arrival, job_class, service, guess = some_jobs(rng, 4, 400, False)
    policy = policies()["first-fit"]
    times, _ = run_classes(capacity.sum(axis=0), arrival, job_class, demand, service, guess, policy, 1, None, layout)
    for part in (0, 1):
        who, own = job_class // 2 == part, slice(2 * part, 2 * part + 2)
        alone = layout_of(capacity[group == part], layout.tasks[own], layout.task_need[own])
        given = (arrival[who], job_class[who] - 2 * part, demand[own], service[who], guess[who], policy, 1, None, alone)
        own_times, _ = run_classes(alone.capacity.sum(axis=0), *given)
        np.testing.assert_array_equal(times[who], own_times)


def test_fragmentation() -> None:
    """Two nodes of two, a job of one on each by spreading: one that needs two together waits while two idle."""
    layout = layout_of([[2], [2]], [1, 1], [[1], [2]], SPREAD)
    arrival, service = np.array([0.0, 0.0, 1.0]), np.array([3.0, 5.0, 1.0])
    given = (np.array([4]), arrival, np.array([0, 0, 1]), np.array([[1], [2]]), service, service, policies()["fcfs"])
    times, sums = run_classes(*given, 1, np.array([0.0, 10.0]), layout)
    assert times[:, 0].tolist() == [0, 0, 2]
    assert sums[0].tolist() == [10.0, 2.0, 11.0, 10.0, 4.0, 4.0]
    packed, sums = run_classes(*given, 1, np.array([0.0, 10.0]), layout._replace(placement=PACK))
    assert packed[:, 0].tolist() == [0, 0, 0]
    assert sums[0, KINDS + 1 :].tolist() == [0.0, 0.0]
