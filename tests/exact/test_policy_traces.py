"""Every policy on a few jobs worked out by hand, which no other policy serves in that order.

A trace is a list of jobs (arrival, need, service) on a few servers, and when each starts. A job that is stopped and
goes on later counts as started when it would have had to start to end when it does, had it run through. Every policy
gets the trace's option, be it a window, a threshold, or nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.policies import Policy, policies


@dataclass(frozen=True)
class Trace:
    servers: int
    option: int
    jobs: list[tuple[float, int, float]]
    starts: list[float]


TRACES = {
    # A runs 0-4 and leaves four servers. B (5) waits for it, C (1) and D (1) behind B although they would fit, and E
    # (5) for B.
    "fcfs": Trace(8, 2, [(0, 4, 4), (1, 5, 1), (2, 1, 1), (2.5, 1, 20), (3, 5, 1)], [0, 4, 4, 4, 5]),
    # A takes all until 4. Then B (3), not C (4), and D (1), which lasts until 8. At 7 B ends: three idle, C does not
    # fit, E (2) does, until 9.5. Only then are all four free for C.
    "first-fit": Trace(4, 1, [(0, 4, 4), (1, 3, 3), (2, 4, 1), (2.5, 1, 4), (3, 2, 2.5)], [0, 4, 9.5, 4, 7]),
    # A leaves two. B (3) is reserved at 4, and leaves one over then. D (1), at 3, lasts until 9 and takes that one; it
    # delays C, which has no reservation. E, at 3.5, would delay B. At 4 B, 4-6. From 6 on C is reserved at 9, and E,
    # which lasts 6, would delay it. F (2) just ends at 9, and leaves no room for G, which is shorter, but came later.
    # At 9 C, at 10 E and G.
    "easy": Trace(
        4, 1, [(0, 2, 4), (1, 3, 2), (2, 4, 1), (3, 1, 6), (3.5, 1, 6), (3.75, 2, 3), (3.75, 2, 2)],
        [0, 4, 9, 3, 10, 6, 10],
    ),
    # A (3) runs 0-10, X (1) 0-3. B (4) is reserved at 10. At 3 one idles: D (lasts 2) before C (lasts 5), which came
    # first, follows at 5 and just ends at 10. E (lasts 6) would delay B, which is longer still; it runs when B has.
    "easy-sjbf": Trace(
        4, 1, [(0, 3, 10), (0, 1, 3), (1, 4, 7), (2, 1, 5), (2.5, 1, 2), (2.75, 1, 6)], [0, 0, 10, 5, 3, 17]
    ),
    # The same A, B and C as in "easy". B is reserved for 4-6, C for 6-7. D (1 for 6) would delay C wherever it starts
    # before 7. E (1 for 2), at 3.5, ends at 5.5, and B leaves one server: it passes all three.
    "conservative": Trace(4, 9, [(0, 2, 4), (1, 3, 2), (2, 4, 1), (3, 1, 6), (3.5, 1, 2)], [0, 4, 6, 7, 3.5]),
    # At 4 D (3), and B (1), the first of two equals; C when D ends at 6. E (4) waits from 6.5 on while two idle, and F
    # (1) takes one of them at 7. All are free when B ends at 12.
    "most-servers-first": Trace(
        4, 1, [(0, 4, 4), (1, 1, 8), (2, 1, 2), (3, 3, 2), (6.5, 4, 1), (7, 1, 1)], [0, 4, 6, 4, 12, 7]
    ),
    # At 4 C (1), then D (2), the first of two equals; one is left. D ends at 6: E (2) before B (3), which waits for 7.
    "least-servers-first": Trace(
        4, 1, [(0, 4, 4), (1, 3, 2), (2, 1, 8), (3, 2, 2), (3.5, 2, 1)], [0, 7, 4, 4, 6]
    ),
    # At 4 D (lasts 1), then E (2), on three servers. D ends at 5: of B (lasts 5, needs 3) and C (lasts 3, needs 2) only
    # C fits the two that idle. It ends at 8, and B starts.
    "shortest-first": Trace(4, 1, [(0, 4, 4), (1, 3, 5), (2, 2, 3), (3, 1, 1), (3.5, 2, 2)], [0, 8, 5, 4, 4]),
    # A window of two. A leaves one server. B (3) does not fit, C (1) does, at 1.5. From 2 on the window holds B and D:
    # E (1), at 3, is not looked at. At 4 all are free: D (4), which needs more than B. At 5 B, and then E.
    "smash": Trace(4, 2, [(0, 3, 4), (1, 3, 3), (1.5, 1, 1), (2, 4, 1), (3, 1, 2)], [0, 5, 1.5, 4, 5]),
    # Five servers, of which two are to idle. A (3) runs 0-2. B (3) waits while two idle, but its size runs: the floor
    # is not drained, and C (1) starts at 1, until 7. B runs 2-4. D (5) waits from 3 on, but one idles only: E (1) at
    # 3.5. At 4 B ends, three idle, and the floor is drained: F (1), at 4.2, has to wait for D, 7-8.
    "quick-swap": Trace(
        5, 2, [(0, 3, 2), (0.5, 3, 2), (1, 1, 6), (3, 5, 1), (3.5, 1, 1), (4.2, 1, 1)], [0, 2, 1, 7, 3.5, 8]
    ),
    # A (1) and B (2) run. At 2 A, B and C (4) are the shortest beginning that fills four servers; C needs most, the
    # others are stopped. At 3 A, B and D (1) just fill them, and E (4) is not looked at. At 4 B and D end; of A and E E
    # is served, 4-5, and A, which has 1 left to get, ends at 6: 2 later than if it had not waited. At 10 F (3) and G
    # (2) are enough to fill four servers, and F needs more; H (2), which would just fill them with G, is not looked at.
    "server-filling": Trace(
        4, 1, [(0, 1, 4), (1, 2, 2), (2, 4, 1), (2.5, 1, 1), (2.75, 4, 1), (10, 3, 1), (10, 2, 1), (10, 2, 1)],
        [2, 2, 2, 3, 4, 10, 11, 11],
    ),
    # A leaves one server. C passes B (4), which has waited 1, less than 2; D does not, as B has waited 2.5 by then.
    "first-fit-ageing": Trace(4, 2, [(0, 3, 4), (1, 4, 1), (2, 1, 1), (3.5, 1, 0.25)], [0, 4, 2, 5]),
    # Of A (3), B (2) and C (2) none fill six servers; A and B need most. At 3, with D (2), B, C and D do: A, which has
    # 1 left to get, is stopped. At 4 B ends; of A, C and D, A and C need most. They end at 5, and D goes on.
    "divisor-filling": Trace(6, 1, [(0, 3, 4), (1, 2, 3), (2, 2, 2), (3, 2, 2)], [1, 1, 3, 4]),
    # As much work in jobs that need 3 as in those that need 1: one of each at a time is the best there is on four
    # servers, and the only schedule. B waits for A, and D for C.
    "msr": Trace(4, 1, [(0, 1, 2), (0.5, 1, 2), (1, 3, 2), (1.5, 3, 2)], [0, 2, 1, 3]),
    # 14 parts of the time are for jobs that need 1, 4 for those that need 4 (four of the former run at once): 14/9 and
    # 4/9 of a cycle of 2, the latter first. The times drawn are 3.058, 0.165 and 0.116 times the mean. A starts at
    # once, as nobody else is there. At 2.859 it is the turn of small jobs, at 3.115 that of a big one: A runs to its
    # end, and B, C and D wait although they fit. At 4.5 E; at 4.552 its time is over, at 5.5 it ends.
    "msr-backfill": Trace(
        4, 2, [(1.5, 1, 3), (3.5, 1, 2), (3.5, 1, 2), (4, 1, 3), (4, 4, 1), (4.5, 1, 4)], [1.5, 5.5, 5.5, 5.5, 4.5, 5.5]
    ),
    # Half of the work needs 1, half 2. With two servers aside for the largest job, two are of the first class, and two
    # of the second. A (2) runs on its own, B on the two that help; C waits for A while two idle, which D and E take.
    "balanced-splitting": Trace(
        6, 1, [(0, 2, 4), (0.1, 2, 4), (0.2, 2, 4), (1, 1, 12), (1.5, 1, 12)], [0, 0.1, 4, 1, 1.5]
    ),
}  # fmt: skip


def starts(policy: Policy, trace: Trace) -> list[float]:
    arrival, need, service = (np.array(column, np.float64) for column in zip(*trace.jobs, strict=True))
    units, needs = np.array([trace.servers]), need.astype(np.int64)[:, None]
    times, _ = run_jobs(units, arrival, needs, service, policy, trace.option)
    np.testing.assert_allclose(times[:, 1] - times[:, 0], service)
    return [round(start, 9) for start in (arrival + times[:, 0]).tolist()]


def test_every_policy_has_a_trace() -> None:
    assert set(TRACES) >= {name for name, policy in policies().items() if not policy.digest}


@pytest.mark.parametrize("name", list(TRACES))
def test_a_trace_is_that_of_one_policy(name: str) -> None:
    trace = TRACES[name]
    assert starts(policies()[name], trace) == trace.starts
    others = [other for other in policies() if other != name and starts(policies()[other], trace) == trace.starts]
    assert others == []


def test_options_matter() -> None:
    """The traces' own policies with another number serve them in another order."""
    for name, option in (("smash", 1), ("smash", 3), ("quick-swap", 1), ("quick-swap", 4), ("conservative", 2)):
        trace = TRACES[name]
        assert starts(policies()[name], Trace(trace.servers, option, trace.jobs, [])) != trace.starts


def test_a_depth_of_one_is_first_come_first_served() -> None:
    rng = np.random.default_rng(5)
    arrival, service = np.cumsum(rng.exponential(1.0, 300)), rng.exponential(2.0, 300)
    need, guess = rng.integers(1, 9, (300, 1)), service * rng.uniform(1.0, 9.0, 300)
    by_turns, _ = run_jobs(np.array([12]), arrival, need, service, "fcfs")
    times, _ = run_jobs(np.array([12]), arrival, need, service, "conservative", 1, guess)
    np.testing.assert_allclose(times, by_turns, atol=1e-9)
