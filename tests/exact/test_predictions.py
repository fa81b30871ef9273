"""Predicted run times and their corrections, against their rules in plain Python, job by job.

The scheduler here looks at all jobs anew at every event; nothing is shared with the engine but the rules of the
policies in `test_policies_by_the_book`, which are told what is believed at that moment.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_policies_by_the_book import Cluster, conservative, easy, easy_sjbf, shortest_first

from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.predictions import CORRECTIONS, Beliefs

MORE = [60.0 * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)]
BOOK = {"easy": easy, "easy-sjbf": easy_sjbf, "shortest-first": shortest_first, "conservative": conservative}


def believed(first: float, age: float, limit: float, correction: str) -> float:
    """What is believed of a job that has run for a time."""
    if correction == "floor" or age < first:
        return first
    if correction == "requested":
        return limit
    longer = [first * 2.0**k for k in range(1, 60)] if correction == "doubling" else [first + x for x in MORE]
    return min(next((one for one in longer if one > age), limit), limit)


class Predicting(Cluster):
    """A cluster that remembers run times of users, as jobs end."""

    def __init__(self, units, jobs, user, limit, correction) -> None:
        super().__init__(units, jobs)
        self.user, self.limit, self.correction = user, limit, correction
        self.seen: dict[int, list[float]] = {}
        self.first: dict[int, float] = {}
        self.believed: dict[int, float] = {}

    def guess(self, i: int) -> float:
        age = self.now - self.running[i] if i in self.running else -1.0
        return believed(self.first[i], age, self.limit[i], self.correction)

    def notice(self) -> None:
        for i in self.ended_now:
            self.seen.setdefault(self.user[i], []).append(self.jobs[i][2])
        for i in self.line:
            if i not in self.first:
                last = self.seen.get(self.user[i], [])[-2:]
                self.first[i] = min(sum(last) / 2, self.limit[i]) if len(last) == 2 else self.limit[i]
        # Where a belief has changed, conservative backfilling makes all reservations again.
        believed = {i: self.guess(i) for i in self.running}
        if any(believed[i] != before for i, before in self.believed.items() if i in believed):
            self.reserved = {}
        self.believed = believed


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", list(BOOK))
def test_by_the_book(name: str, correction: str) -> None:
    """Run times from seconds to hours, of five users, so that predictions are often far too short."""
    rng = np.random.default_rng(3)

    def schedule(cluster: Cluster, option: int) -> None:
        assert isinstance(cluster, Predicting)
        cluster.notice()
        BOOK[name](cluster, option)
        cluster.believed = {i: cluster.guess(i) for i in cluster.running}

    if (name, correction) == ("conservative", "floor"):
        return  # who is believed to end at any moment has room in the timetable that it does not leave
    for _ in range(8):
        count, units = 60, rng.integers(3, 8, 1)
        need = rng.integers(1, units[0] + 1, (count, 1))
        # Whole seconds, and even ones of services: means of two are exact, and no two jobs end in different orders.
        service = 2.0 * np.round(np.exp(rng.uniform(0, 9, count)))
        arrival = np.cumsum(np.round(rng.exponential(2000.0, count)))
        limit = np.maximum(service, np.round(np.exp(rng.uniform(3, 10, count))))
        user = rng.integers(0, 5, count)
        beliefs = Beliefs(user, limit, CORRECTIONS.index(correction))
        times, _ = run_jobs(units, arrival, need, service, name, guess=limit, beliefs=beliefs)
        jobs = list(zip(arrival, need, service.tolist(), limit.tolist(), strict=True))
        ends = Predicting(units, jobs, user.tolist(), limit.tolist(), correction).run(schedule, 0, count)
        np.testing.assert_array_equal(arrival + times[:, 1], ends)


def test_same_user_same_times_are_predicted_exactly() -> None:
    """One user whose jobs all take the same: after two have ended, predictions are true, whatever was requested."""
    rng = np.random.default_rng(4)
    arrival = np.append([0.0, 0.0], 1000.0 + np.cumsum(rng.exponential(20.0, 300)))
    need, service = rng.integers(1, 9, (302, 1)), np.full(302, 100.0)
    limit = service * rng.uniform(1.0, 50.0, 302)
    beliefs = Beliefs(np.zeros(302, np.int64), limit)
    for name in ("easy", "conservative"):
        predicted, _ = run_jobs(np.array([16]), arrival, need, service, name, guess=limit, beliefs=beliefs)
        exact, _ = run_jobs(np.array([16]), arrival, need, service, name)
        requested, _ = run_jobs(np.array([16]), arrival, need, service, name, guess=limit)
        np.testing.assert_array_equal(predicted, exact)
        assert (requested != exact).any()
