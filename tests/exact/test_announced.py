"""Announced maintenance against plain Python, job by job: pools and nodes, under every policy that looks ahead.

In the book nobody may start who would at any time of its believed run need more than there will be, beside all that are
believed to run, or have a reservation, then. What is there is counted anew for every question.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_nodes import BOOK_ON_NODES, NodeCluster, layout_of, random_layout, some_jobs
from test_policies_by_the_book import Cluster, fcfs, first_fit

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.kernels.events.changes import ServerChange
from loynes.kernels.events.engine import run_classes, run_jobs
from loynes.kernels.events.policies import policies
from loynes.kernels.events.policies.easy import easy as kernel_easy
from loynes.kernels.events.policies.easy_sjbf import easy_sjbf as kernel_easy_sjbf
from loynes.kernels.events.policies.fcfs import fcfs as kernel_fcfs
from loynes.kernels.events.policies.first_fit import first_fit as kernel_first_fit
from loynes.kernels.events.policies.register import _made

# From when to when so many servers of every kind, or these nodes, are away; and whether this is known.
Away = tuple[float, float, Any, bool]


class KnowingCluster(Cluster):
    """A pool whose servers are away at times, as it is known beforehand; or not."""

    def __init__(self, units: np.ndarray, jobs: list[tuple[float, np.ndarray, float, float]], away: list[Away]) -> None:
        super().__init__(units, jobs)
        known = [one for one in away if one[3]]
        self.coming = [(since, lost) for since, _, lost, _ in known] + [(until, -lost) for _, until, lost, _ in known]
        self.surprised = False

    def units_at(self, time: float) -> np.ndarray:
        return np.maximum(self.units - sum(lost for when, lost in self.coming if when <= time), 0)

    def has_room(self, i: int, begin: float, others: dict[int, float]) -> bool:
        """From then until the believed end, beside others who begin, or began, at these times."""
        busy = [(since, since + self.guess(j), self.need(j)) for j, since in others.items() if j != i]
        times = [begin, *(time for time, _ in self.coming), *(since for since, _, _ in busy)]
        return all(
            (self.need(i) + sum(need for since, end, need in busy if since <= t < end) <= self.units_at(t)).all()
            for t in times
            if t == begin or begin < t < begin + self.guess(i)
        )

    def fits(self, i: int) -> bool:
        return super().fits(i) and self.has_room(i, self.now, self.running)

    def moments(self, others: dict[int, float]) -> list[float]:
        """Now, and all times at which there may be more than before."""
        times = [*(time for time, _ in self.coming), *(since + self.guess(j) for j, since in others.items())]
        return sorted({self.now, *(time for time in times if time > self.now)})

    def change(self, lost: np.ndarray, known: bool) -> None:
        self.units = self.units - lost
        if known:
            self.coming = [one for k, one in enumerate(self.coming) if k != self._place(lost)]
        self.surprised |= not known

    def _place(self, lost: np.ndarray) -> int:
        return next(k for k, (time, one) in enumerate(self.coming) if time <= self.now and (one == lost).all())


def easy(cluster: KnowingCluster, option: int, shortest_first: bool = False) -> None:
    """Whoever fits behind the head may start unless the head's start, were it alone then, becomes any later."""
    fcfs(cluster, option)

    def shadow(head: int) -> float:
        return next((t for t in cluster.moments(cluster.running) if cluster.has_room(head, t, cluster.running)), np.inf)

    head, *others = cluster.line or [-1]
    for i in sorted(others, key=cluster.guess) if shortest_first else others:
        if cluster.fits(i):
            before, line = shadow(head), list(cluster.line)
            cluster.start(i)
            if cluster.now + cluster.guess(i) > before and shadow(head) > before:
                cluster.line = line
                del cluster.running[i]


def conservative(cluster: KnowingCluster, option: int) -> None:
    """Reservations move forward when a job ends, and are made again after what was not known beforehand."""
    ended, cluster.ended = cluster.ended, False
    if cluster.surprised:
        cluster.reserved, cluster.surprised = {}, False
    place = 0
    for i in list(cluster.line):
        if option and place >= option:
            break
        before = cluster.reserved.get(i, np.inf)
        if ended or before == np.inf:
            others = cluster.running | cluster.reserved
            cluster.reserved[i] = next((t for t in cluster.moments(others) if cluster.has_room(i, t, others)), np.inf)
            assert cluster.reserved[i] <= before
        if cluster.reserved[i] <= cluster.now and Cluster.fits(cluster, i):
            del cluster.reserved[i]
            cluster.start(i)
            continue
        place += 1
        if cluster.reserved[i] == np.inf:
            del cluster.reserved[i]


def any_of_four(floor, option):
    """One loop to compile for four policies."""
    if option == 0:
        kernel_fcfs(floor, option)
    elif option == 1:
        kernel_first_fit(floor, option)
    elif option == 2:
        kernel_easy(floor, option)
    else:
        kernel_easy_sjbf(floor, option)


FOUR = [fcfs, first_fit, easy, partial(easy, shortest_first=True)]


def looking_ahead(name: str, option: int) -> tuple[Any, Callable[..., None]]:
    """A policy, and its rule in the book."""
    if name == "conservative":
        return policies()[name], conservative
    return _made("any-of-four", any_of_four, by_class=True, promises=True, seeks=True), FOUR[option]


def changes_of(away: list[Away], kinds: int, nodes: bool, at_once: bool) -> tuple[ServerChange, ...]:
    """As a scenario has them: at one time, what comes back comes first."""
    found, at_once = [], at_once and all(known for *_, known in away)  # nobody is there when it is known
    for since, until, what, known in away:
        for time, sign in ((since, 1), (until, -1)):
            lost = (0,) * kinds if nodes else tuple((sign * what).tolist())
            gone, back = ((what, ()) if sign > 0 else ((), what)) if nodes else ((), ())
            found.append((time, sign, ServerChange(time, lost, at_once, 0, gone, back, known)))
    return tuple(change for *_, change in sorted(found, key=lambda one: one[:2]))


def later(moves: list[tuple[float, Callable[[], None]]]) -> list[tuple[float, Callable[[float], None]]]:
    """What happens at time 0 has happened; all that happens at one time happens before anybody is asked."""
    for time, move in moves:
        if time == 0:
            move()

    def do_all(time: float) -> Callable[[float], None]:
        return lambda now: [move() for when, move in moves if when == time] and None

    return [(time, do_all(time)) for time in sorted({time for time, _ in moves if time > 0})]


def check_pool(name: str, units: np.ndarray, rows: np.ndarray, need: np.ndarray, away: list[Away], option: int) -> None:
    """Every job's end, for jobs that arrive, take and are believed to take so long."""
    arrival, service, guess = rows.T
    policy, rule = looking_ahead(name, option)
    times, _ = run_jobs(
        units, arrival, need, service, policy, option, guess, lost=changes_of(away, len(units), False, option % 2 == 1)
    )
    jobs = list(zip(arrival.tolist(), need, service.tolist(), guess.tolist(), strict=True))
    cluster = KnowingCluster(units, jobs, away)
    moves = [(since, partial(cluster.change, lost, known)) for since, _, lost, known in away]
    moves += [(until, partial(cluster.change, -lost, known)) for _, until, lost, known in away]
    ends = cluster.run(rule, option, len(jobs), later(moves))
    np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9)


JOBS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 7), st.integers(0, 5), st.integers(1, 6), st.integers(0, 3)),
    min_size=2,
    max_size=14,
)
AWAY = st.lists(
    st.tuples(
        st.integers(0, 15), st.integers(1, 12), st.integers(1, 3), st.integers(0, 1),
        st.sampled_from([True] * 4 + [False]),
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip


@pytest.mark.parametrize("name", ["conservative", "another"])
@given(servers=st.integers(6, 9), kinds=st.integers(1, 2), jobs=JOBS, away=AWAY, option=st.integers(0, 3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_pools(name: str, servers: int, kinds: int, jobs: list[Any], away: list[Any], option: int) -> None:
    """In whole numbers, so that losses, returns, ends, arrivals and beliefs coincide; some losses are sudden."""
    columns = np.array(jobs)
    rows = np.stack([np.cumsum(columns[:, 0]), columns[:, 1], columns[:, 1] + columns[:, 2]], axis=1).astype(float)
    units, need = np.array([servers, 3])[:kinds], columns[:, 3 : 3 + kinds]
    losses = [
        (float(since), float(since + length), np.array([min(count, servers // len(away)), more])[:kinds], known)
        for since, length, count, more, known in away
    ]
    check_pool(name, units, rows, need, losses, option)


@pytest.mark.parametrize("name", ["conservative", "another"])
def test_pools_in_continuous_time(name: str) -> None:
    """Longer lines, and three windows that overlap."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        arrival, _, service, guess = some_jobs(rng, 1, 60, False)
        begins = ((3.0, 2), (8.5, 3), (11.0, 1))
        away = [(since, since + float(rng.uniform(2, 9)), np.array([n]), True) for since, n in begins]
        rows, need = np.stack([arrival, service, guess], axis=1), rng.integers(1, 9, (60, 1))
        check_pool(name, np.array([8]), rows, need, away, seed % 4)


class KnowingNodes(NodeCluster):
    """Nodes that are away for a time; those of which it was known are counted on, but for that time."""

    known_away = frozenset[int]()

    def free_units(self, gone: Callable[[int], bool] | None = None) -> np.ndarray:
        """With `gone` what is expected to be free, and else what is."""
        if gone is None:
            return super().free_units()
        there = self.away
        self.away = there - self.known_away
        free = super().free_units(gone)
        self.away = there
        return free

    def go(self, node: int, sign: int, known: bool) -> None:
        self.away = self.away | {node} if sign > 0 else self.away - {node}
        if known:
            self.known_away = self.known_away | {node} if sign > 0 else self.known_away - {node}


@pytest.mark.parametrize("name", ["fcfs", "easy", "easy-sjbf", "conservative"])
@given(seed=st.integers(0, 2**32), kinds=st.integers(1, 2), whole=st.booleans())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_nodes(name: str, seed: int, kinds: int, whole: bool) -> None:
    """Gangs, partitions and all placements, around windows of single nodes."""
    rng, count = np.random.default_rng(seed), 25
    layout, policy = random_layout(rng, kinds, 4), policies()[name]
    demand = layout.tasks[:, None] * layout.task_need
    arrival, job_class, service, guess = some_jobs(rng, 4, count, whole)
    away: list[Away] = []
    for node in rng.permutation(len(layout.capacity))[: rng.integers(1, 3)].tolist():
        drawn = rng.integers if whole else rng.uniform
        since, length = drawn(0, 15), drawn(1, 12)
        away.append((float(since), float(since + length), (node,), True))
    option = int(rng.integers(0, 4))
    times, _ = run_classes(
        layout.capacity.sum(axis=0), arrival, job_class, demand, service, guess, policy, option, None, layout,
        lost=changes_of(away, kinds, True, seed % 2 == 0),
    )  # fmt: skip
    jobs = list(zip(arrival, demand[job_class], service.tolist(), guess.tolist(), strict=True))
    cluster = KnowingNodes(layout, job_class, jobs)
    cluster.windows = [(since, until, who[0]) for since, until, who, _ in away]
    moves = [(since, partial(cluster.go, who[0], 1, known)) for since, _, who, known in away]
    moves += [(until, partial(cluster.go, who[0], -1, known)) for _, until, who, known in away]
    ends = cluster.run(BOOK_ON_NODES[name], option, count, later(moves))
    np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["easy", "easy-sjbf"])
def test_a_job_comes_at_the_moment_at_which_a_node_comes_back(name: str) -> None:
    """The job first in line is to start at 10 on both nodes. Who comes at 10 comes before the node does, and still
    nobody may pass who would delay the first."""
    layout, window = layout_of([[1], [1]], [2, 1], [[1], [1]]), [(2.0, 10.0, (0,), True)]
    arrival, service = np.array([3.0, 4.0, 10.0]), np.array([5.0, 20.0, 1.0])
    times, _ = run_classes(
        np.array([2]), arrival, np.array([0, 1, 1]), np.array([[2], [1]]), service, service, policies()[name], 1, None,
        layout, lost=changes_of(window, 1, True, True),
    )  # fmt: skip
    assert (arrival + times[:, 0]).tolist() == [10.0, 15.0, 15.0]


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_a_pool_in_a_replay(policy: str) -> None:
    """One of two servers is away from 10 to 20: the third job would need both, and waits; the last is short enough."""
    jobs = {"submit": [0.0, 0.0, 1.0, 1.0], "need": [1, 1, 1, 1], "service": [15.0, 8.0, 12.0, 1.5]}
    with pytest.warns(LoynesWarning, match="more than 2"):
        known = loynes.replay(jobs, servers=2, policy=policy, outages="from=10s, until=20s, lost=1, announced=true")
    assert known.each["wait"].tolist() == [0.0, 0.0, 14.0, 7.0]
    with pytest.raises(UsageError, match="policy 'server-filling': it may stop jobs at any time"):
        loynes.replay(jobs, servers=2, policy="server-filling", outages="from=10s, until=20s, lost=1, announced=true")


def test_a_pool_in_a_scenario() -> None:
    """As many servers idle on time as are lost, where it is announced; else they are lost when their jobs end."""
    service = {"law": "exponential", "mean": 1}
    classes = [{"need": n, "probability": 0.5, "service": service} for n in (1, 3)]
    busy = {}
    for announced in (True, False):
        away = {"from": 20, "until": 25, "lost": 5, "announced": announced}
        model = {"servers": 8, "classes": classes, "scenario": [away]}
        found = loynes.simulate(model, policy="conservative", rate=3.0, horizon=30, at=[19.9, 20.001, 24.9])
        busy[announced] = [one.busy_servers.estimate for one in found.moments]
    assert busy[True][1] <= 3 < busy[False][1]
    assert busy[True][0] < busy[False][0]
