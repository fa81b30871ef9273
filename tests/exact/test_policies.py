"""The event-driven engine: job by job the recurrence's waits under fcfs, and hand-worked traces of every policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable, job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.events.changes import Changes, ServerChange
from loynes.kernels.events.engine import Events, run_jobs, run_replicas
from loynes.kernels.events.floor import HEAD, LINED, NOBODY, Floor, admit, interrupt, new_floor, start
from loynes.kernels.events.loop import KINDS, WAITING, draw
from loynes.kernels.events.policies import find_policy, policies
from loynes.kernels.events.replica import ReplicaRecord
from loynes.kernels.reference import BLOCK
from loynes.stationary.backward import backward_samples


def jobs_of(model: loynes.Model, rate: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals, needs by kind and services of replica 0."""
    table = job_table(model, rate)
    gap, job_class, service = np.empty(count), np.empty(count, np.int64), np.empty(count)
    draw(table, np.uint64(3), 0, 0, 0, count, 0, gap, job_class, service)
    return np.concatenate([[0.0], np.cumsum(gap)[:-1]]), np.asarray(table.demand)[job_class], service


def simulate(
    table: JobTable, replicas: Iterable[int], policy: str = "fcfs", *, seed: int = 1, **options: Any
) -> list[ReplicaRecord]:
    """Replicas of these numbers under a policy, event by event; every job's wait is kept."""
    who = (table, seed, STREAM_STATIONARY, np.array([*replicas]))
    return run_replicas(Events(*who, find_policy(policy), each=True, **options), CpuEngine())


@pytest.mark.parametrize("name", loynes.builtin_names())
def test_fcfs_is_the_recurrence(name: str) -> None:
    """Every job's wait, on all built-in models, to 1e-9 of the largest."""
    model = loynes.load(name)
    rate, count = 0.8 * model.ideal, 64 * BLOCK
    arrival, need, service = jobs_of(model, rate, count)
    if len(model.kinds) == 1:
        expected = run_replay(model.servers, need[:, 0], service, arrival).wait
    else:
        expected = np.array(strict(np.array(model.units), arrival, need, service))
    (found,) = simulate(job_table(model, rate), [0], seed=3, jobs_observed=count)
    assert np.abs(found.observations.jobs[:, 0] - expected).max() <= 1e-9 * expected.max()


def strict(units: np.ndarray, arrival: np.ndarray, need: np.ndarray, service: np.ndarray) -> list[float]:
    """Strict order with several kinds of servers, by the book: method.md's section 7."""
    W = [np.zeros(n) for n in units]
    waits, before = [], 0.0
    for t, a, s in zip(arrival, need, service, strict=True):
        start = max([t, before, *(W[k][n - 1] for k, n in enumerate(a) if n)])
        for k, n in enumerate(a):
            W[k][:n] = start + s
            W[k].sort()
        before = start
        waits.append(start - t)
    return waits


def test_fcfs_with_several_kinds() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        units = rng.integers(3, 9, 2)
        arrival = np.cumsum(rng.exponential(1.0, 200))
        need = np.stack([rng.integers(0, n + 1, 200) for n in units], axis=1)
        need[need.sum(axis=1) == 0, 0] = 1
        service = rng.exponential(1.0, 200)
        found = run_jobs(units, arrival, need, service, "fcfs")[0][:, 0]
        assert np.allclose(found, strict(units, arrival, need, service), rtol=1e-9, atol=1e-9)


# Four servers; jobs are (arrival, need, service). Worked by hand.
LINE = [(0.0, 3, 4.0), (1.0, 2, 3.0), (1.5, 1, 1.0), (2.0, 1, 9.0), (2.5, 4, 1.0)]
STARTS: dict[str, list[float]] = {
    # A runs 0-4 on three. B (2) waits for it; C and D behind it; E (4) when all are free.
    "fcfs": [0, 4, 4, 4, 13],
    # C takes the free one at 1.5, D at 2.5 when C ends, B at 4, E when D ends at 11.5.
    "first-fit": [0, 4, 1.5, 2.5, 11.5],
    # B is reserved at 4. C ends before; D, at 2.5, needs one of the two that B leaves over.
    "easy": [0, 4, 1.5, 2.5, 11.5],
    # E is reserved behind D's end in any case: the same.
    "conservative": [0, 4, 1.5, 2.5, 11.5],
    # At 1.5 only C fits, at 2.5 D; at 4 three are free: B.
    "most-servers-first": [0, 4, 1.5, 2.5, 11.5],
    # Least needs first, nobody passes a smaller one: C at 1.5; at 2.5 D; at 4 B; then E.
    "least-servers-first": [0, 4, 1.5, 2.5, 11.5],
    "shortest-first": [0, 4, 1.5, 2.5, 11.5],
    # The window holds B and C only until B starts: at 1.5 C; at 2.5 B and D: D.
    "smash": [0, 4, 1.5, 2.5, 11.5],
    # At 2.5 D takes the server of C: none idles. At 4 A ends, B starts, one idles: the floor is drained for E.
    "quick-swap": [0, 4, 1.5, 2.5, 11.5],
}


@pytest.mark.parametrize("policy", list(STARTS))
def test_a_line_worked_by_hand(policy: str) -> None:
    arrival, need, service = (np.array(column) for column in zip(*LINE, strict=True))
    found, _ = run_jobs(np.array([4]), arrival, need[:, None], service, policy, option={"smash": 2}.get(policy))
    assert (found[:, 0] + arrival).tolist() == STARTS[policy]
    assert np.allclose(found[:, 1] - found[:, 0], service)


def test_what_sets_policies_apart() -> None:
    """Small lines on which they differ, worked by hand; waits are given."""
    four = np.array([4])

    def waits(policy: str, jobs: list[tuple[float, int, float]], inflation: float = 1.0) -> list[float]:
        arrival, need, service = (np.array(column) for column in zip(*jobs, strict=True))
        found, _ = run_jobs(four, arrival, need[:, None], service, policy, guess=inflation * service)
        return [round(wait, 9) for wait in found[:, 0].tolist()]

    # A job that would delay the head: first fit lets it pass, easy and conservative do not.
    delaying = [(0.0, 3, 2.0), (0.5, 4, 1.0), (1.0, 1, 5.0)]
    assert waits("first-fit", delaying) == [0, 5.5, 0]
    assert waits("easy", delaying) == waits("conservative", delaying) == [0, 1.5, 2]
    # A reservation behind the head: D does not delay B, but C, which only conservative protects.
    behind = [(0.0, 2, 2.0), (0.1, 3, 2.0), (0.2, 4, 1.0), (0.3, 1, 6.0)]
    assert waits("easy", behind) == [0, 1.9, 6.1, 0]
    assert waits("conservative", behind) == [0, 1.9, 3.8, 4.7]
    # By guesses twice too long the head's reservation is at 2, and C seems to end at 1.9: it passes, and delays it.
    guessed = [(0.0, 3, 1.0), (0.1, 4, 1.0), (0.2, 1, 0.85)]
    assert waits("easy", guessed) == [0, 0.9, 1.8]
    assert waits("easy", guessed, inflation=2.0) == [0, 0.95, 0]
    # At 1 most servers first takes D, and so does shortest first; least servers first B and C.
    busy = [(0.0, 4, 1.0), (0.1, 1, 2.0), (0.2, 3, 5.0), (0.3, 4, 0.5)]
    assert waits("most-servers-first", busy) == waits("shortest-first", busy) == [0, 1.4, 1.3, 0.7]
    assert waits("least-servers-first", busy) == [0, 0.9, 0.8, 5.7]
    # Server filling stops a small job for a big one: of A (1) and B (4), which fill the servers, B is served.
    stopped = [(0.0, 1, 2.0), (1.0, 4, 1.0)]
    assert waits("server-filling", stopped) == [1, 0]


@pytest.mark.parametrize(
    "arrivals",
    [
        {"process": "poisson"},
        {"process": "renewal", "gap": {"law": "erlang", "phases": 2, "mean": 1.0}},
        {"process": "mmpp", "generator": [[-0.1, 0.1], [0.2, -0.2]], "rates": [1.0, 4.0]},
        {"process": "batch", "size": {"law": "empirical", "values": [1, 2, 4]}},
    ],
    ids=lambda given: str(given["process"]),
)
def test_a_stationary_start_is_the_sample_s(arrivals: dict[str, Any]) -> None:
    """The jobs of a sample's past leave its workload, whatever modulates arrivals: job 0 waits what it says."""
    service = {"law": "exponential", "mean": 1}
    classes = [{"need": need, "probability": p, "service": service} for need, p in ((1, 0.7), (3, 0.2), (8, 0.1))]
    model = loynes.load({"servers": 8, "arrivals": arrivals, "classes": classes})
    table = job_table(model, 0.6 * loynes.stability(model, precision=0.05).threshold.estimate)
    (samples,) = backward_samples(table, 20, seed=5, engine=CpuEngine())
    found = simulate(table, range(20), seed=5, jobs_observed=64, history=samples.length)
    job_class, gap, unused = np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK)
    at = start_places(table.arrivals, 5, 0, np.arange(20))
    for r, one in enumerate(found):
        draw(table, np.uint64(5), 0, r, 0, BLOCK, int(at[r]), gap, job_class, unused)
        seen = samples.workload[r, table.demand[job_class[0], 0] - 1]
        later = gap[0] if arrivals["process"] == "poisson" else 0.0
        assert one.observations.jobs[0, 0] == pytest.approx(max(seen - later, 0.0), rel=1e-9, abs=1e-9)
        again = simulate(table, [r], seed=5, jobs_observed=64, workload=samples.workload[r : r + 1])
        assert np.allclose(again[0].observations.jobs[:64, 0], one.observations.jobs[:64, 0], rtol=1e-9, atol=1e-9)


def reserving(units: np.ndarray, jobs: list[tuple[float, np.ndarray, float, float]]) -> list[float]:
    """Conservative backfilling by the book: when a job ends early, the others' reservations are moved forward, one
    after the other, while all the rest stay where they are; starts of jobs."""
    starts: dict[int, float] = {}
    reserved: dict[int, float] = {}
    events = [(arrival, 1, i) for i, (arrival, _, _, _) in enumerate(jobs)]

    def earliest(i: int, now: float) -> float:
        _, need, _, guess = jobs[i]
        taken = [(t, t + jobs[j][3], jobs[j][1]) for j, t in starts.items() if t + jobs[j][2] > now]
        taken += [(t, t + jobs[j][3], jobs[j][1]) for j, t in reserved.items() if j != i]
        for t in sorted({now} | {end for _, end, _ in taken if end > now}):
            edges = [t, *(begin for begin, _, _ in taken if t < begin < t + guess)]
            used = [sum((n for begin, end, n in taken if begin <= x < end), np.zeros_like(units)) for x in edges]
            if all((u + need <= units).all() for u in used):
                return t
        raise AssertionError

    while events:
        now, arrives, who = min(events)
        events.remove((now, arrives, who))
        if arrives:
            reserved[who] = earliest(who, now)
        elif jobs[who][3] > jobs[who][2]:
            for i in sorted(reserved):
                reserved[i] = earliest(i, now)
                if reserved[i] == now:  # it runs from now on, for all who come after it
                    starts[i] = reserved.pop(i)
                    events.append((now + jobs[i][2], 0, i))
        for i in [i for i in sorted(reserved) if reserved[i] <= now]:
            starts[i] = now
            del reserved[i]
            events.append((now + jobs[i][2], 0, i))
    return [starts[i] for i in range(len(jobs))]


@pytest.mark.parametrize("inflation", [1.0, 1.7])
def test_conservative_by_the_book(inflation: float) -> None:
    """Random lines on two kinds of servers, with true run times and with guesses that are too long."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        units = rng.integers(3, 7, 2)
        arrival, service = np.cumsum(rng.exponential(0.7, 60)), rng.exponential(1.0, 60)
        need = np.stack([rng.integers(0, n + 1, 60) for n in units], axis=1)
        need[need.sum(axis=1) == 0, 0] = 1
        found, _ = run_jobs(units, arrival, need, service, "conservative", guess=inflation * service)
        jobs = list(zip(arrival, need, service, inflation * service, strict=True))
        assert np.allclose(found[:, 0] + arrival, reserving(units, jobs))


def changed(policy: str, *changes: ServerChange, **options: Any) -> np.ndarray:
    """Waits of four jobs that need 2 of 4 servers for 3 each and come at 0, 1, 2, 3, while servers come and go."""
    model = loynes.load(
        {
            "servers": 4,
            "arrivals": {"process": "renewal", "gap": {"law": "deterministic", "value": 1}},
            "classes": [{"need": 2, "probability": 1, "service": {"law": "deterministic", "value": 3}}],
        }
    )
    (found,) = simulate(
        job_table(model, 1.0), [0], policy, jobs_observed=4, changes=Changes(of_servers=changes),
        service=np.array([3.0]), residual=np.array([1.5]), **options,
    )  # fmt: skip
    return found.observations.jobs[:4, 0]


def test_servers_come_and_go() -> None:
    """Worked by hand, under every policy: all jobs are alike, so the order of arrival is that of all but one."""
    for policy in policies():
        # Two run at a time: A 0-3, B 1-4, C 3-6, D 4-7.
        assert changed(policy).tolist() == [0, 0, 1, 1]
        # From 2.5 on one at a time, and A may end: B ends at 4, C 4-7; back at 5: D 5-8.
        gone, back = ServerChange(2.5, (2,), False, 0), ServerChange(5.0, (-2,), False, 1)
        # Where jobs may be stopped, B is at once, until A has ended: B 3-4.5, C 4.5-7.5, D 5-8.
        drained = [0, 0.5, 2.5, 2] if policies()[policy].keeps_place else [0, 0, 2, 2]
        assert changed(policy, gone, back).tolist() == drained
        # All four fail at 2.5: A and B begin again at 3 with two servers back, one after the other.
        failed, repaired = ServerChange(2.5, (4,), True, 0), ServerChange(3.0, (-2,), False, 1)
        assert changed(policy, failed, repaired).tolist() == [3, 5, 7, 9]
    # Two random servers fail at 1.5 for ever: both of A, both of B, or one of each. Whoever was hit begins again.
    waits = {tuple(changed("fcfs", ServerChange(1.5, (2,), True, 0), seed=seed).tolist()) for seed in range(60)}
    assert waits == {(4, 0, 5, 7), (0, 2, 4, 6), (1.5, 3.5, 5.5, 7.5)}


def test_arrivals_follow_the_rate() -> None:
    """Twice as fast from 10 to 20, nobody from 20 to 25, then as before."""
    changes = Changes((0.0, 10.0, 20.0, 25.0), (1.0, 2.0, 0.0, 1.0))
    own = np.array([0.0, 9.0, 10.0, 12.0, 29.0, 30.0, 31.0])
    assert changes.real(own).tolist() == [0.0, 9.0, 10.0, 11.0, 19.5, 25.0, 26.0]


@pytest.mark.parametrize("policy", list(policies()))
def test_a_long_line(policy: str) -> None:
    """More jobs at once than there is room for at first, guesses far too long: all end, on the servers there are."""
    rng = np.random.default_rng(6)
    count = 1500
    arrival, service = np.repeat([0.0, 50.0], count // 2), rng.exponential(1.0, count)
    need = rng.integers(1, 9, (count, 1))
    guess = service * np.maximum(rng.uniform(0.5, 5.0, count), 1.0)  # some are right
    found, sums = run_jobs(np.array([8]), arrival, need, service, policy, 3, guess, np.array([0.0, 40.0, 1e6]))
    assert np.isfinite(found).all()
    assert np.allclose(found[:, 1] - found[:, 0], service)
    assert sums[:, KINDS].sum() == pytest.approx((need[:, 0] * service).sum())
    assert sums[0, KINDS] <= 8 * 40.0 * (1 + 1e-9)
    assert sums[:, WAITING].sum() == pytest.approx(found[:, 0].sum())


def test_all_jobs_end_and_no_server_is_lost() -> None:
    """On random lines, under every policy: services are had in full, and never more servers than there are."""
    rng = np.random.default_rng(5)
    for policy in policies():
        for _ in range(5):
            arrival, service = np.cumsum(rng.exponential(0.6, 300)), rng.exponential(1.0, 300)
            need = 2 ** rng.integers(0, 4, (300, 1))
            found, _ = run_jobs(np.array([8]), arrival, need, service, policy, option=3)
            assert np.isfinite(found).all()
            assert (found[:, 0] >= 0).all()
            assert np.allclose(found[:, 1] - found[:, 0], service)
            if not policies()[policy].keeps_place:
                begin, end = arrival + found[:, 0], arrival + found[:, 1]
                used = [need[(begin <= t) & (t < end - 1e-9), 0].sum() for t in begin]
                assert max(used) <= 8


def in_line(floor: Floor, first: int, name: str) -> list[int]:
    """The numbers of jobs, each next to the one before by a link of this name."""
    found, slot = [], first
    while slot != NOBODY:
        found.append(int(floor.jobs[slot]["number"]))
        slot = int(floor.jobs[slot][name])
    return found


def test_interrupted_jobs_are_in_their_places_again() -> None:
    """Of five jobs, three of them of one class: the first, one between and the last run, and lose their servers."""
    floor = new_floor(8, np.array([4]), classes=2)
    demand = np.ones((2, 1), np.int64)
    slots = [int(admit(floor, demand, c, 1.0, 1.0, n, -1)) for n, c in enumerate((0, 0, 1, 0, 1))]
    for n in (0, 3, 4):
        start(floor, slots[n])
    assert in_line(floor, floor.counts[HEAD], "after") == [1, 2]
    for n in (4, 3, 0):
        interrupt(floor, slots[n], False)
    assert in_line(floor, floor.counts[HEAD], "after") == [0, 1, 2, 3, 4]
    assert floor.counts[LINED] == 5
    assert [in_line(floor, first, "next_alike") for first in floor.alike[:, 0]] == [[0, 1, 3], [2, 4]]
    assert [in_line(floor, last, "last_alike") for last in floor.alike[:, 1]] == [[3, 1, 0], [4, 2]]
    assert floor.free.tolist() == [4]
