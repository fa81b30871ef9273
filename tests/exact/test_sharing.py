"""Priorities and quotas: closed forms, and job by job against plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_nodes import BOOK_ON_NODES, NodeCluster, layout_of, random_layout, some_jobs

from loynes.kernels.events.engine import run_classes
from loynes.kernels.events.layout import NEVER, RESUME, Layout, Rules
from loynes.kernels.events.policies import policies


def rules_of(priority: list[int], preemption: int = NEVER, kinds: int = 1) -> Rules:
    """Priorities only."""
    none = np.zeros((0, kinds), np.int64)
    return Rules(np.array(priority), preemption, np.full(len(priority), -1), none, np.zeros(0, np.int64), none)


class RuledCluster(NodeCluster):
    """The line is that of jobs that their quotas do not hold back, in order of priority."""

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
    count, policy = 30, policies()[name]
    layout = random_layout(rng, kinds, 4)
    for pooled in (False, True):
        demand = layout.tasks[:, None] * layout.task_need
        if pooled:
            layout = layout_of(layout.capacity.sum(axis=0, keepdims=True), [1] * 4, demand)
        rules = random_rules(rng, layout, preemption)
        arrival, job_class, service, guess = some_jobs(rng, 4, count, whole)
        option, units = int(rng.integers(1, 5)), layout.capacity.sum(axis=0)
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


@pytest.mark.parametrize("name", ["fcfs", "first-fit", "most-servers-first", "least-servers-first", "smash"])
def test_other_policies_by_the_book(name: str) -> None:
    rng = np.random.default_rng(3)
    for line in range(8):
        check_by_the_book(name, rng, 1 + line % 2, line % 4 < 2, NEVER)
