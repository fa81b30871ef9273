"""Long lines, in blocks, and the reservation that is kept from event to event: job by job as plain Python does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_policies_by_the_book import BOOK, Cluster, easy

from loynes.kernels.events.blocks import LONG
from loynes.kernels.events.changes import ServerChange
from loynes.kernels.events.engine import run_classes, run_jobs
from loynes.kernels.events.policies import policies

# Those that seek who may start in the whole line.
SEEKING = [name for name, policy in policies().items() if policy.seeks]


def some_line(rng: np.random.Generator, count: int, kinds: int, whole: bool, load: float) -> tuple[np.ndarray, ...]:
    """Servers, and jobs of which many need little and some nearly all; in whole numbers ends and guesses coincide."""
    units = rng.integers(8, 30, kinds)
    need = np.stack([np.floor(np.exp(rng.uniform(0, np.log(n + 1), count))).astype(int) for n in units], axis=1)
    service = rng.integers(1, 9, count).astype(float) if whole else rng.exponential(4.0, count)
    guess = service + rng.integers(0, 6, count) * rng.integers(0, 2, count)
    gap = (need * service[:, None]).mean(axis=0).max() / (load * units.min())
    arrival = np.cumsum(rng.exponential(gap, count))
    return units, np.floor(arrival) if whole else arrival, need, service, guess


@pytest.mark.parametrize("name", SEEKING)
@pytest.mark.parametrize("kinds", [1, 2])
def test_a_long_line_by_the_book(name: str, kinds: int) -> None:
    """Of 170 jobs more than are walked along wait at once; at the end they are few again."""
    rng = np.random.default_rng(3)
    for line in range(4):
        units, arrival, need, service, guess = some_line(rng, 170, kinds, line % 2 == 0, 6.0)
        times, _ = run_jobs(units, arrival, need, service, name, guess=guess)
        starts = arrival + times[:, 0]
        assert max(np.sum((arrival <= now) & (starts > now)) for now in arrival) > LONG
        jobs = list(zip(arrival, need, service.tolist(), guess.tolist(), strict=True))
        ends = Cluster(units, jobs).run(BOOK[name], 1, len(jobs))
        np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9, err_msg=f"line {line}")


@pytest.mark.parametrize("whole", [True, False])
def test_blocks_find_whom_a_walk_finds(whole: bool) -> None:
    """The same policy, with a line that is only walked along, to the last bit: thousands of jobs, more than there are
    seats, and servers that are lost at once, so that jobs come back into the middle of the line."""
    rng = np.random.default_rng(5)
    units, arrival, need, service, guess = some_line(rng, 4000, 1, whole, 1.5)
    demand, job_class = np.unique(need, axis=0, return_inverse=True)
    half = int(units[0]) // 2
    lost = tuple(
        ServerChange(float(time), (half if i % 2 == 0 else -half,), i % 4 == 0, i)
        for i, time in enumerate(np.linspace(arrival[200], arrival[-1], 12))
    )
    seeks = policies()["easy"]
    found, walked = (
        run_classes(units, arrival, job_class.ravel(), demand, service, guess, policy, lost=lost)[0]
        for policy in (seeks, replace(seeks, seeks=False))
    )
    np.testing.assert_array_equal(found, walked)


SMALL_JOBS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 6), st.integers(0, 9)), min_size=3, max_size=16
)


@given(servers=st.integers(6, 8), rows=SMALL_JOBS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_promise_is_kept_by_the_book(servers: int, rows: list[tuple[int, int, int, int]]) -> None:
    """Ends before, at and after the reservation, several in one second; the book works it out anew each time."""
    gap, service, need, more = (np.array(column) for column in zip(*rows, strict=True))
    arrival, service, guess = np.cumsum(gap).astype(float), service.astype(float), (service + more).astype(float)
    times, _ = run_jobs(np.array([servers]), arrival, need[:, None], service, "easy", guess=guess)
    jobs = [(arrival[i], need[i : i + 1], service[i], guess[i]) for i in range(len(rows))]
    ends = Cluster(np.array([servers]), jobs).run(easy, 1, len(rows))
    assert (arrival + times[:, 1]).tolist() == ends
