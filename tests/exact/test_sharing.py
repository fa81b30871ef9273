"""Priorities and quotas: closed forms, and job by job against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_nodes import BOOK_ON_NODES, NodeCluster, layout_of, random_layout, some_jobs
from test_policies_by_the_book import again, best

import loynes
from loynes.errors import UsageError
from loynes.estimate import Estimate, mean_of
from loynes.kernels.events.engine import run_classes
from loynes.kernels.events.layout import NEVER, RESTART, RESUME, Layout, Rules
from loynes.kernels.events.policies import policies
from loynes.kernels.events.policies.easy import easy
from loynes.kernels.events.policies.easy_sjbf import easy_sjbf
from loynes.kernels.events.policies.fcfs import fcfs
from loynes.kernels.events.policies.least_servers_first import least_servers_first
from loynes.kernels.events.policies.most_servers_first import most_servers_first
from loynes.kernels.events.policies.register import _made
from loynes.kernels.events.policies.shortest_first import shortest_first
from loynes.kernels.events.policies.smash import smash
from loynes.questions.answering.advising import orders_for
from support import SURE, assert_holds


def rules_of(priority: list[int], preemption: int = NEVER, kinds: int = 1) -> Rules:
    """Priorities only."""
    none = np.zeros((0, kinds), np.int64)
    return Rules(np.array(priority), preemption, np.full(len(priority), -1), none, np.zeros(0, np.int64), none)


class RuledCluster(NodeCluster):
    """The line is that of jobs that their quotas do not hold back, in order of priority."""

    plans_anew = True

    def __init__(self, rules: Rules, layout: Layout, classes: np.ndarray, jobs: list) -> None:
        self.rules, self.waiting, self.shorter = rules, list[int](), dict[int, float]()
        super().__init__(layout, classes, jobs)

    def priority(self, i: int) -> int:
        return int(self.rules.priority[self.classes[i]])

    @property
    def line(self) -> list[int]:
        return [i for i in sorted(self.waiting, key=lambda i: (-self.priority(i), i)) if self.may_hold(i)]

    @line.setter
    def line(self, jobs: list[int]) -> None:
        assert not jobs

    def enter(self, i: int) -> None:
        self.waiting.append(i)

    def forget(self, i: int) -> None:
        pass

    def start(self, i: int) -> None:
        assert self.fits(i)
        self.waiting.remove(i)
        self.running[i] = self.now

    def start_on(self, i: int, nodes: list[int]) -> None:
        self.waiting.remove(i)
        self.where[i] = nodes
        dict.__setitem__(self.running, i, self.now)

    def guess(self, i: int) -> float:
        return super().guess(i) - self.shorter.get(i, 0.0)

    def fits(self, i: int) -> bool:
        return self.may_hold(i) and super().fits(i)

    def may_hold(self, i: int) -> bool:
        """A holder's jobs, its quota, and what it may borrow of the quotas of its cohort."""
        rules, holder = self.rules, int(self.rules.holder[self.classes[i]])
        if holder < 0:
            return True

        def held(holders: list[int]) -> np.ndarray:
            who = [j for j in self.running if rules.holder[self.classes[j]] in holders]
            return sum((self.need(j) for j in who), np.zeros_like(self.units)) + self.need(i)

        together = [h for h in range(len(rules.quota)) if rules.cohort[h] == rules.cohort[holder] >= 0]
        for k in np.flatnonzero((rules.quota[holder] >= 0) & (self.need(i) > 0)):
            quota, borrow = rules.quota[holder, k], rules.borrow[holder, k]
            if not together and held([holder])[k] > quota:
                return False
            if together and borrow >= 0 and held([holder])[k] > quota + borrow:
                return False
            limited = [h for h in together if rules.quota[h, k] >= 0]
            if together and held(limited)[k] > rules.quota[limited, k].sum():
                return False
        return True

    def preempts(self) -> bool:
        """Whether the first in line starts in the place of others."""
        if not self.line or self.fits(self.line[0]):
            return False
        head, chosen = self.line[0], list[int]()

        def way(gone: list[int]) -> bool:
            return self.nodes_for(head, self.free_units(lambda i: i in gone)) is not None

        lower = [i for i in self.running if self.priority(i) < self.priority(head)]
        for i in sorted(lower, key=lambda i: (self.priority(i), -self.running[i], -i)):
            if not way(chosen):
                chosen.append(i)
        if not way(chosen):
            return False
        for i in reversed(list(chosen)):
            if way([j for j in chosen if j != i]):
                chosen.remove(i)
        for i in chosen:
            if self.rules.preemption == RESUME:
                self.shorter[i] = self.shorter.get(i, 0.0) + self.now - self.running[i]
                self.stop(i)
            else:
                del self.running[i]
            self.enter(i)
        self.start(head)
        return True


def with_preemption(rule: Callable[..., None]) -> Callable[..., None]:
    def schedule(cluster: RuledCluster, option: int) -> None:
        rule(cluster, option)
        while cluster.rules.preemption != NEVER and cluster.preempts():
            rule(cluster, option)

    return schedule


def led(key: Callable[[RuledCluster, int], float], window: bool = False) -> Callable[..., None]:
    """Whoever fits of the highest priority, of these the one with the smallest key."""
    return again(
        lambda c, option: best(c, c.line[: option if window else None], lambda i: (-c.priority(i), key(c, i)))  # type: ignore[arg-type, return-value, attr-defined]
    )


def smallest(cluster: RuledCluster, option: int) -> int | None:
    first = min(cluster.line, key=lambda i: (-cluster.priority(i), cluster.size(i)), default=None)
    return first if first is not None and cluster.fits(first) else None


def easy_or_fcfs(floor, option):
    """One loop to compile for two policies: with jobs that are interrupted it takes half a minute on nodes."""
    if option > 0:
        easy(floor, option)
    else:
        fcfs(floor, option)


INTERRUPTING = _made("easy-or-fcfs", easy_or_fcfs, promises=True, seeks=True)


def any_of_five(floor, option):
    """One loop to compile for five policies: which of them, and its own number."""
    which, number = option % 5, option // 5
    if which == 0:
        easy_sjbf(floor, number)
    elif which == 1:
        most_servers_first(floor, number)
    elif which == 2:
        least_servers_first(floor, number)
    elif which == 3:
        shortest_first(floor, number)
    else:
        smash(floor, number)


LED: list[Callable[..., None]] = [
    BOOK_ON_NODES["easy-sjbf"],
    led(lambda c, i: -c.size(i)),
    again(smallest),  # type: ignore[arg-type]
    led(lambda c, i: c.guess(i)),
    led(lambda c, i: -c.size(i), window=True),
]


def random_rules(rng: np.random.Generator, layout: Layout, preemption: int) -> Rules:
    """Four classes, three holders of which two may share a cohort, none below any need of its own."""
    demand, kinds = layout.tasks[:, None] * layout.task_need, layout.capacity.shape[1]
    holder = np.array([0, 1, 2, -1])
    quota = demand[:3] + rng.integers(0, 6, (3, kinds))
    quota[rng.random((3, kinds)) < 0.2] = -1
    borrow = rng.integers(-1, 4, (3, kinds))
    cohort = np.array([0, 0, -1]) if rng.random() < 0.7 else np.full(3, -1)
    return Rules(rng.integers(0, 3, 4), preemption, holder, quota, cohort, borrow)


def check_by_the_book(name: str, rng: np.random.Generator, kinds: int, whole: bool, preemption: int) -> None:
    """On nodes, and on a pool, which is one node."""
    count, policy = 30, policies()[name] if preemption == NEVER else INTERRUPTING
    layout = random_layout(rng, kinds, 4)
    for pooled in (False, True):
        demand = layout.tasks[:, None] * layout.task_need
        if pooled:
            layout = layout_of(layout.capacity.sum(axis=0, keepdims=True), [1] * 4, demand)
        rules = random_rules(rng, layout, preemption)
        arrival, job_class, service, guess = some_jobs(rng, 4, count, whole)
        option, units = int(rng.integers(1, 5)), layout.capacity.sum(axis=0)
        option = 0 if preemption != NEVER and name == "fcfs" else option
        times, _ = run_classes(
            units, arrival, job_class, demand, service, guess, policy, option, None, None if pooled else layout, rules
        )
        jobs = list(zip(arrival, demand[job_class], service.tolist(), guess.tolist(), strict=True))
        ends = RuledCluster(rules, layout, job_class, jobs).run(with_preemption(BOOK_ON_NODES[name]), option, count)
        np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9)


@given(seed=st.integers(0, 2**32), kinds=st.integers(1, 2), whole=st.booleans(), preemption=st.integers(NEVER, RESUME))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_easy_by_the_book(seed: int, kinds: int, whole: bool, preemption: int) -> None:
    check_by_the_book("easy", np.random.default_rng(seed), kinds, whole, preemption)


@pytest.mark.parametrize("name", ["fcfs", "first-fit", "conservative"])
def test_other_policies_by_the_book(name: str) -> None:
    rng = np.random.default_rng(3)
    for line in range(8):
        check_by_the_book(name, rng, 1 + line % 2, line % 4 < 2, NEVER if name != "fcfs" else line % 3)


def test_priorities_lead() -> None:
    """They go before what a policy chooses by: needs, believed times, a window of the line. In a pool, with quotas."""
    rng, policy = np.random.default_rng(6), _made("any-of-five", any_of_five, by_class=True, promises=True, seeks=True)
    for line in range(60):
        layout = random_layout(rng, 1 + line % 2, 4)
        demand = layout.tasks[:, None] * layout.task_need
        pool = layout_of(layout.capacity.sum(axis=0, keepdims=True), [1] * 4, demand)
        rules = random_rules(rng, pool, NEVER)
        arrival, job_class, service, guess = some_jobs(rng, 4, 30, line % 4 < 2)
        given = (pool.capacity[0], arrival, job_class, demand, service, guess, policy)
        which, window = line % len(LED), 1 + line % 3
        times, _ = run_classes(*given, which + len(LED) * window, None, None, rules)
        jobs = list(zip(arrival, demand[job_class], service.tolist(), guess.tolist(), strict=True))
        ends = RuledCluster(rules, pool, job_class, jobs).run(LED[which], window, 30)
        np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9)


def mean_times(servers: int, rates: list[float], means: list[float], preemption: int, column: int) -> list[Estimate]:
    """Of classes of one-server jobs, the first of which goes first, the mean wait (column 0) or response (1)."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng([seed, preemption])
        arrival = np.cumsum(rng.exponential(1 / sum(rates), 40_000))
        job_class = rng.choice(len(rates), len(arrival), p=np.array(rates) / sum(rates))
        service, need = rng.exponential(np.array(means)[job_class]), np.ones((len(rates), 1), np.int64)
        rules = rules_of([*range(len(rates), 0, -1)], preemption)
        given = (np.array([servers]), arrival, job_class, need, service, service, policies()["fcfs"])
        times, _ = run_classes(*given, 1, None, None, rules)
        late = np.arange(len(arrival)) >= 4_000
        found.append([times[late & (job_class == c), column].mean() for c in range(len(rates))])
    return [mean_of(np.array(values), SURE) for values in zip(*found, strict=True)]


def test_two_priorities_on_three_servers() -> None:
    """M/M/3, nobody is stopped (Cobham 1954): W_k = C / (c mu (1 - s_(k-1)) (1 - s_k)) where C is Erlang's."""
    rates, servers = [0.9, 1.2], 3
    load = sum(rates)
    idle = [load**n / math.factorial(n) for n in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    busy, first, both = last / (sum(idle) + last), rates[0] / servers, load / servers
    exact = [busy / servers / (1 - first), busy / servers / ((1 - first) * (1 - both))]
    for wait, estimate in zip(exact, mean_times(servers, rates, [1.0, 1.0], NEVER, 0), strict=True):
        assert_holds(wait, estimate, 0.08)


def test_two_priorities_that_stop_each_other() -> None:
    """M/G/1, preemptive resume: T_k = (b_k (1 - s_k) + sum_(i <= k) rate_i E S_i^2 / 2) / ((1 - s_(k-1)) (1 - s_k))."""
    rates, means, before, second = [0.6, 0.3], [0.5, 1.5], 0.0, 0.0
    for k, estimate in enumerate(mean_times(1, rates, means, RESUME, 1)):
        after = before + rates[k] * means[k]
        second += rates[k] * means[k] ** 2
        assert_holds((means[k] * (1 - after) + second) / ((1 - before) * (1 - after)), estimate, 0.08)
        before = after


def test_policies_that_cannot_have_rules() -> None:
    one = np.ones((1, 1), np.int64)
    quota = Rules(np.zeros(1, np.int64), NEVER, np.zeros(1, np.int64), one, np.full(1, -1), -one)
    given = (np.ones(1, np.int64), np.zeros(1), np.zeros(1, np.int64), one, np.ones(1), np.ones(1))
    with pytest.raises(UsageError, match="knows no quotas"):
        run_classes(*given, policies()["server-filling"], 1, None, None, quota)
    with pytest.raises(UsageError, match="go on where they were"):
        run_classes(*given, policies()["divisor-filling"], 1, None, None, rules_of([0], RESTART))
    assert not {"server-filling", "divisor-filling"} & {one.policy for one in orders_for((), {}, 1.0, 1, restarts=True)}
    with pytest.raises(UsageError, match="go on where they were"):
        orders_for(("divisor-filling",), {}, 1.0, 1, restarts=True)


@pytest.mark.parametrize("name", ["quick-swap", "msr", "msr-backfill"])
def test_policies_that_know_no_priorities(name: str) -> None:
    """The same line wherever they are asked for; where all classes have one priority there is nothing to know."""
    service = {"law": "exponential", "mean": 1}
    classes = [{"need": n, "probability": 0.5, "priority": n, "service": service} for n in (1, 2)]
    model = {"servers": 4, "classes": classes}
    on_nodes = {"nodes": [{"count": 2, "has": {"cpu": 2}}], "classes": [one | {"need": {"cpu": 1}} for one in classes]}
    for one in (model, on_nodes):
        options = {"policy": name, "load": 0.5, "jobs": 1000}
        for ask in (
            lambda one=one, options=options: loynes.simulate(one, **options),
            lambda one=one: loynes.evaluate(one, rate=0.5, policy=name),
            lambda one=one: loynes.compare_policies(one, ("fcfs", name), loads=(0.5,)),
            lambda one=one: loynes.advise(one, policies=(name,), load=0.5),
        ):
            with pytest.raises(UsageError, match=f"'{name}': it chooses by needs alone, and knows no priorities"):
                ask()
    equal = model | {"classes": [one | {"priority": 3} for one in classes]}
    assert loynes.simulate(equal, policy=name, load=0.5, jobs=1000).jobs
    assert name not in {one.policy for one in orders_for((), {}, 1.0, 1, priorities=True)}
