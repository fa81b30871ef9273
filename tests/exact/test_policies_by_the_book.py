"""Every policy against its rule in a few lines of plain Python, on random lines with ties and two kinds of servers.

The line here is a list, servers are counted anew at every event, and nothing is shared with the engine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loynes.kernels.events import engine
from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.policies import policies


class Cluster:
    """Servers by kind, jobs by number; each is to come, in line, running, or gone."""

    def __init__(self, units: np.ndarray, jobs: list[tuple[float, np.ndarray, float, float]]) -> None:
        self.units, self.jobs = units, jobs
        self.line: list[int] = []
        self.left = [service for _, _, service, _ in jobs]
        self.running: dict[int, float] = {}  # since when
        self.now, self.draining = 0.0, False

    def need(self, i: int) -> np.ndarray:
        return self.jobs[i][1]

    def size(self, i: int) -> int:
        return int(self.need(i).sum())

    def guess(self, i: int) -> float:
        return self.jobs[i][3]

    @property
    def free(self) -> np.ndarray:
        return self.units - sum((self.need(i) for i in self.running), np.zeros_like(self.units))

    def fits(self, i: int) -> bool:
        return bool((self.need(i) <= self.free).all())

    def start(self, i: int) -> None:
        assert self.fits(i)
        self.line.remove(i)
        self.running[i] = self.now

    def stop(self, i: int) -> None:
        self.left[i] -= self.now - self.running.pop(i)

    def run(self, schedule: Callable[[Cluster, int], None], option: int) -> list[float]:
        """When each job ends."""
        ends, coming = [np.nan] * len(self.jobs), list(range(len(self.jobs)))
        while coming or self.running:
            end, who = min(((since + self.left[i], i) for i, since in self.running.items()), default=(np.inf, -1))
            if who >= 0 and (not coming or end <= self.jobs[coming[0]][0]):
                self.now = end
                for i in [i for i, since in self.running.items() if since + self.left[i] <= end]:
                    ends[i] = end
                    del self.running[i]
                    self.line = [j for j in self.line if j != i]
            else:
                self.now = self.jobs[coming[0]][0]
                self.line.append(coming.pop(0))
            schedule(self, option)
        return ends


def best(cluster: Cluster, among: list[int], key: Callable[[int], float]) -> int | None:
    """The first of those that fit with the smallest key."""
    fitting = [i for i in among if cluster.fits(i)]
    return min(fitting, key=key) if fitting else None


def again(choose: Callable[[Cluster, int], int | None]) -> Callable[[Cluster, int], None]:
    """Start whom a rule chooses until it chooses nobody."""

    def schedule(cluster: Cluster, option: int) -> None:
        while (chosen := choose(cluster, option)) is not None:
            cluster.start(chosen)

    return schedule


def fewest(cluster: Cluster, option: int) -> int | None:
    smallest = min(cluster.line, key=cluster.size, default=None)
    return smallest if smallest is not None and cluster.fits(smallest) else None


fcfs = again(lambda c, _: best(c, c.line[:1], lambda i: i))
first_fit = again(lambda c, _: best(c, c.line, lambda i: i))
most_servers_first = again(lambda c, _: best(c, c.line, lambda i: -c.size(i)))
smash = again(lambda c, window: best(c, c.line[:window], lambda i: -c.size(i)))
shortest_first = again(lambda c, _: best(c, c.line, c.guess))
least_servers_first = again(fewest)


def easy(cluster: Cluster, option: int) -> None:
    """Who behind the head could start without the head's start, by the believed ends, being any later?"""
    fcfs(cluster, option)

    def shadow() -> float:
        free = cluster.free.copy()
        for i in sorted(cluster.running, key=lambda i: max(cluster.running[i] + cluster.guess(i), cluster.now)):
            free += cluster.need(i)
            if (cluster.need(cluster.line[0]) <= free).all():
                return max(cluster.running[i] + cluster.guess(i), cluster.now)
        return np.inf

    for i in cluster.line[1:]:
        if cluster.fits(i):
            before, line = shadow(), list(cluster.line)
            cluster.start(i)
            if shadow() > before:
                cluster.line = line
                del cluster.running[i]


def quick_swap(cluster: Cluster, threshold: int) -> None:
    def big() -> int | None:
        return min(cluster.line, key=lambda i: -cluster.size(i), default=None)

    target = big()
    if cluster.draining and target is not None and not cluster.fits(target):
        return
    most_servers_first(cluster, threshold)
    target = big()
    cluster.draining = False
    if target is not None:
        lacking = cluster.need(target) > cluster.free
        alike = any((cluster.need(i) == cluster.need(target)).all() for i in cluster.running)
        cluster.draining = bool((cluster.free[lacking] >= threshold).all()) and not alike


def server_filling(cluster: Cluster, option: int) -> None:
    """The line is that of all jobs here: whoever runs has kept its place."""
    for i in list(cluster.running):
        cluster.stop(i)
    cluster.line = sorted(set(cluster.line))
    total, beginning = 0, []
    for i in cluster.line:
        if total >= cluster.units[0]:
            break
        beginning.append(i)
        total += cluster.size(i)
    for i in sorted(beginning, key=lambda i: (-cluster.size(i), i)):
        if cluster.fits(i):
            cluster.running[i] = cluster.now


BOOK: dict[str, Callable[[Cluster, int], None]] = {
    "fcfs": fcfs,
    "first-fit": first_fit,
    "easy": easy,
    "most-servers-first": most_servers_first,
    "least-servers-first": least_servers_first,
    "shortest-first": shortest_first,
    "smash": smash,
    "quick-swap": quick_swap,
    "server-filling": server_filling,
}


def test_every_policy_is_in_the_book() -> None:
    """Conservative backfilling is in test_policies.py, as its rule depends on more than the state of the cluster."""
    assert {*BOOK, "conservative"} >= {name for name, policy in policies().items() if not policy.digest}


@pytest.mark.parametrize("name", list(BOOK))
@pytest.mark.parametrize("kinds", [1, 2])
def test_by_the_book(name: str, kinds: int) -> None:
    """Lines of 40 jobs, half of them with times in whole numbers, so that events and guesses coincide."""
    policy = policies()[name]
    if policy.identical_servers_only and kinds > 1:
        return
    rng = np.random.default_rng(7)
    for line in range(40):
        count, units = 40, rng.integers(3, 8, kinds)
        need = np.stack([rng.integers(0 if kinds > 1 else 1, n + 1, count) for n in units], axis=1)
        need[need.sum(axis=1) == 0, 0] = 1
        if line % 2:
            arrival = np.cumsum(rng.integers(0, 3, count)).astype(float)
            service, guess = rng.integers(1, 5, count).astype(float), rng.integers(1, 7, count).astype(float)
        else:
            arrival, service = np.cumsum(rng.exponential(1.0, count)), rng.exponential(1.5, count)
            guess = service * rng.choice([1.0, 1.0, 2.0], count)
        guess, option = np.maximum(guess, service), int(rng.integers(1, 5))
        times, _ = run_jobs(units, arrival, need, service, policy, option, guess)
        jobs = list(zip(arrival, need, service.tolist(), guess.tolist(), strict=True))
        ends = Cluster(units, jobs).run(BOOK[name], option)
        np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9, err_msg=f"line {line}")


@pytest.mark.parametrize("name", list(policies()))
def test_however_many_slots(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many jobs at once as a floor has slots, the last of them used: the same waits as with many to spare."""
    rng = np.random.default_rng(9)
    count, units = engine.CAPACITY, np.array([8])
    need, service = np.sort(rng.integers(1, 9, (count, 1)), axis=0), rng.exponential(1.0, count)
    waits = []
    for capacity in (count, 4 * count):
        monkeypatch.setattr(engine, "CAPACITY", capacity)
        waits.append(run_jobs(units, np.zeros(count), need, service, name, 2)[0])
    np.testing.assert_array_equal(*waits)
