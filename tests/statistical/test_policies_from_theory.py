"""Policies from theory against theory: divisor filling, Markovian service rates, balanced splitting."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve
from scipy.stats import binom

import loynes
from loynes.estimate import half_width
from loynes.execution.context import Context
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.engine import run_replicas
from loynes.kernels.events.loop import ENDED, WAIT
from loynes.kernels.events.policies.msr import Turns
from loynes.kernels.events.replica import ReplicaRecord
from loynes.kernels.events.schedules import best_schedules, schedules_for, single_schedule
from loynes.questions.answering.advising import falls_behind
from loynes.questions.answering.events import event_task
from loynes.questions.answering.orders import order_of
from support import SURE


def cluster(servers: int, *classes: tuple[int, float, float]) -> loynes.Model:
    """Exponential services; a class is its need, probability and mean service."""
    rows = [{"need": n, "probability": p, "service": {"law": "exponential", "mean": m}} for n, p, m in classes]
    return loynes.load({"servers": servers, "classes": rows})


def mean_waits(records: list[ReplicaRecord]) -> np.ndarray:
    sums = np.array([one.observations.sums.sum(axis=0) for one in records])
    return sums[:, WAIT] / sums[:, ENDED]


# Needs that divide six, and are no powers of two.
DIVISORS = cluster(6, (2, 0.5, 1.0), (3, 0.4, 1.0), (6, 0.1, 1.0))
# One or all of 32 servers, a mix of the kind that papers on Markovian service rates study; and the five classes.
ONE_OR_ALL = cluster(32, (1, 0.9, 1.0), (32, 0.1, 1.0))


def test_divisor_filling_wastes_nothing() -> None:
    """Work W, in time of all servers, obeys E[W] (1 - rho) = rate E[S^2] / 2 + E[(1 - B) W], B the share that is busy.

    Servers idle only while fewer than six jobs are there, each of which has at most one unit of work left on average;
    and 1 - B is 1 - rho on average: E[W] is at least that of one server as fast as six, and at most five more. Server
    filling, whose promise is for powers of two, leaves more work on the same jobs.
    """
    rho, jobs = 0.95, 40_000
    rate = rho * DIVISORS.ideal
    needs = np.array([c.need for c in DIVISORS.classes])
    squares = 2.0 * float(np.array([c.probability for c in DIVISORS.classes]) @ needs**2) / 36.0
    least = rate * squares / 2.0 / (1.0 - rho)
    work = {}
    for policy in ("divisor-filling", "server-filling"):
        events = event_task(
            DIVISORS, rate, order_of(policy, {}), seed=3, replicas=np.arange(24), horizon=jobs / rate,
            at=np.linspace(0.25, 1.0, 400) * jobs / rate, to_the_end=False,
        )  # fmt: skip
        work[policy] = np.array([one.moments[:, 4].mean() / 6.0 for one in run_replicas(events, CpuEngine(1))])
    width = half_width(work["divisor-filling"], SURE)
    assert width < 0.5 * least
    assert least - width < work["divisor-filling"].mean() < least + 5.0 + width
    more = work["server-filling"] - work["divisor-filling"]
    assert more.mean() > half_width(more, SURE)


def drained_after(before: np.ndarray, after: np.ndarray, service: np.ndarray) -> float:
    """How long it takes on average until no more exponential jobs of any class run than afterwards."""

    def not_yet(t: float) -> float:
        return 1.0 - float(np.prod(binom.cdf(np.minimum(after, before), before, np.exp(-t / service))))

    return float(quad(not_yet, 0.0, 60.0 * service.max(), limit=500)[0])


@pytest.mark.parametrize("model", [ONE_OR_ALL, loynes.load("five-class-exponential")], ids=["one-or-all", "five"])
def test_msr_carries_95_percent_of_the_ideal(model: loynes.Model) -> None:
    """With jobs of all classes always in line, more of each end in a cycle than come: so no line is always there.

    In its own time a schedule ends jobs of a class at exactly its number over the mean service; what ends while jobs of
    the schedule before run to their end is not even counted.
    """
    rate = 0.95 * model.ideal
    service = np.array([c.service.mean for c in model.classes])
    events = event_task(model, rate, order_of("msr", {}), seed=1, replicas=np.arange(1))
    turns = events.given(0)
    assert isinstance(turns, Turns)
    order = [*range(len(turns.mean)), 0]
    changing = sum(drained_after(turns.jobs[a], turns.jobs[b], service) for a, b in pairwise(order))
    ended = turns.mean @ turns.jobs / service
    came = rate * np.array([c.probability for c in model.classes]) * (turns.mean.sum() + changing)
    assert (ended > came).all()
    assert (turns.jobs @ np.array([c.need for c in model.classes]) <= model.servers).all()


def test_first_come_first_served_does_not() -> None:
    for model in (ONE_OR_ALL, loynes.load("five-class-exponential")):
        assert loynes.stability(model, precision=0.1).threshold.high < 0.9 * model.ideal


def msr_chain(model: loynes.Model, rate: float, jobs: list[list[int]], mean: list[float], most: int) -> float:
    """The mean wait of the chain (line and running jobs of two classes, schedule, whether it is still to settle), with
    lines no longer than `most`: from its rules, and Little's law."""
    needs = [c.need for c in model.classes]
    arrivals = [rate * c.probability for c in model.classes]
    ends = [1.0 / c.service.mean for c in model.classes]
    State = tuple[int, int, int, int, int, bool]

    def settled(a: int, b: int, x: int, y: int, at: int, changing: bool) -> State:
        line, running = [a, b], [x, y]
        for c in (0, 1):
            used = running[0] * needs[0] + running[1] * needs[1]
            more = max(min(jobs[at][c] - running[c], line[c], (model.servers - used) // needs[c]), 0)
            line[c] -= more
            running[c] += more
        return *line, *running, at, changing and any(r > j for r, j in zip(running, jobs[at], strict=True))  # type: ignore[return-value]

    first = settled(0, 0, 0, 0, 0, True)
    number, todo, moves = {first: 0}, [first], []
    while todo:
        state = todo.pop()
        a, b, x, y, at, changing = state
        after = [
            (arrivals[0], settled(min(a + 1, most), b, x, y, at, changing)),
            (arrivals[1], settled(a, min(b + 1, most), x, y, at, changing)),
        ]
        after += [(x * ends[0], settled(a, b, x - 1, y, at, changing))] if x else []
        after += [(y * ends[1], settled(a, b, x, y - 1, at, changing))] if y else []
        after += [] if changing else [(1.0 / mean[at], settled(a, b, x, y, (at + 1) % len(mean), True))]
        for speed, other in after:
            if other not in number:
                number[other] = len(number)
                todo.append(other)
            moves.append((number[state], number[other], speed))
    rows, columns, speeds = (np.array(column) for column in zip(*moves, strict=True))
    size = len(number)
    chain = sp.coo_matrix((speeds, (rows, columns)), (size, size)).tocsr()
    chain = (chain - sp.diags(np.asarray(chain.sum(axis=1)).ravel())).T.tocsc()
    # All in proportion to the first state: its equation is one that the others give.
    stationary = np.append(1.0, spsolve(chain[1:, 1:], -chain[1:, 0].toarray().ravel()))
    stationary /= stationary.sum()
    line = np.array([state[0] + state[1] for state in number])
    long = np.array([max(state[0], state[1]) >= most - 1 for state in number])
    assert stationary[long].sum() < 1e-6
    return float(stationary @ line) / rate


def test_msr_against_its_chain() -> None:
    """Three servers, jobs that need 1 or 3, a cycle of 4: the waits of the exact chain."""
    model, cycle = cluster(3, (1, 0.7, 1.0), (3, 0.3, 0.8)), 4.0
    rate = 0.3 * model.ideal
    events = event_task(
        model, rate, order_of("msr", {"cycle": cycle}), seed=5, replicas=np.arange(32), burn_in=2_000,
        jobs_observed=30_000,
    )  # fmt: skip
    turns = events.given(0)
    exact = msr_chain(model, rate, turns.jobs.tolist(), turns.mean.tolist(), 45)
    waits = mean_waits(run_replicas(events, CpuEngine(1)))
    width = half_width(waits, SURE)
    assert width < 0.05 * exact
    assert abs(waits.mean() - exact) < width


def test_schedules() -> None:
    """The factor by which rates can grow, where it is known."""
    one = np.array([[1], [4]])
    found = best_schedules(np.array([4]), one, np.array([2.0, 0.5]))
    # Jobs that need one or all: half of the time each, and both get all they offer.
    assert found.growth == pytest.approx(1.0)
    assert sorted(map(tuple, found.jobs.tolist())) == [(0, 1), (4, 0)]
    assert found.share.tolist() == pytest.approx([0.5, 0.5])
    # Needs 2 and 3 of five: one of each, or an idle server.
    both = best_schedules(np.array([5]), np.array([[2], [3]]), np.array([1.0, 1.0]))
    assert both.jobs.tolist() == [[1, 1]]
    assert both.growth == pytest.approx(1.0)
    # Only jobs that need 3: two servers of five are of no use.
    assert best_schedules(np.array([5]), np.array([[3]]), np.array([1.0])).growth == pytest.approx(1.0)
    # The example of the authors' program, three resources: as much as if jobs could be cut in pieces.
    units, demand = np.array([197, 373, 103]), np.array([[7, 5, 17], [3, 13, 5], [7, 17, 3]])
    offered = np.array([1.0, 2.0, 3.0])
    example = best_schedules(units, demand, offered)
    assert example.growth == pytest.approx(float((units / (offered @ demand)).min()))
    assert (example.jobs @ demand <= units).all()
    assert (example.share @ example.jobs >= example.growth * offered * (1 - 1e-9)).all()
    # Ten classes of Google's Borg, cpu and memory in thousandths of all, and what the authors' own solver carried of
    # them (github.com/jcpwfloi/msr-borg, borg/popularstats.csv and analyze.ipynb).
    units = np.array([1000, 1000])
    demand = np.array([[1, 6], [2, 2], [2, 3], [2, 6], [3, 2], [3, 6], [4, 6], [5, 6], [7, 6], [16, 12]])
    rates = [1.459398, 5.914069, 1.703932, 3.331355, 1.213829, 2.326225, 1.743009, 1.369771, 5.105129, 1.556253]
    theirs = [11.2217, 45.4747, 13.1019, 25.6156, 9.33342, 17.8869, 13.4024, 10.5325, 39.2545, 11.9664]
    borg = best_schedules(units, demand, np.array(rates))
    assert min(there / rate for there, rate in zip(theirs, rates, strict=True)) < borg.growth * (1 + 1e-5)
    assert borg.growth == pytest.approx(float((units / (np.array(rates) @ demand)).min()), rel=1e-3)
    # A class that offers nothing is served, too.
    assert (best_schedules(np.array([4]), one, np.array([1.0, 0.0])).jobs.max(axis=0) >= 1).all()
    alone = single_schedule(np.array([1000]), np.array([[1], [2]]), np.array([3.0, 1.0]))
    assert alone is not None
    assert alone.jobs.tolist() == [[600, 200]]
    assert len(schedules_for(np.array([1000]), np.array([[1], [2]]), np.array([540.0, 180.0]), np.ones(2)).share) == 1
    assert single_schedule(np.array([4]), one, np.array([1.0, 1.0])) is None


def test_balanced_splitting_is_queues_of_their_own() -> None:
    """All of one class: its servers and the helpers are one queue, M/M/c."""
    model = cluster(6, (2, 1.0, 1.0))
    rate = 0.8 * model.ideal
    events = event_task(
        model, rate, order_of("balanced-splitting", {}), seed=2, replicas=np.arange(24), burn_in=2_000,
        jobs_observed=60_000,
    )  # fmt: skip
    waits = mean_waits(run_replicas(events, CpuEngine(1)))
    servers, load = 3, rate
    idle = sum(load**n / math.factorial(n) for n in range(servers))
    last = load**servers / math.factorial(servers) / (1.0 - load / servers)
    exact = last / (idle + last) / (servers - load)
    width = half_width(waits, SURE)
    assert width < 0.1 * exact
    assert abs(waits.mean() - exact) < width


def smallest_first_limit(servers: int, big: float) -> float:
    """What least-servers-first carries of jobs that need one server or, a share of them, all; services of mean 1.

    Small jobs always go first, so a big one starts when nobody is left. With big ones always waiting, a cycle is a big
    job and then the time until the small ones are gone that have come in the meantime, a geometric number, and during
    that; from n to n - 1 it takes h(n) = (1 + small rate * h(n + 1)) / min(n, servers) in M/M/servers. The limit is the
    rate at which as many big jobs come as there are cycles.
    """

    def cycle(rate: float) -> float:
        small, most = rate * (1.0 - big), 2000
        if small >= servers:
            return math.inf
        step = [1.0 / (servers - small)]
        for n in range(most - 1, 0, -1):
            step.append((1.0 + small * step[-1]) / min(n, servers))
        until_gone = np.cumsum(step[::-1])
        chance = small / (small + 1.0)
        return 1.0 + float((1.0 - chance) * chance ** np.arange(1, most + 1) @ until_gone)

    return float(brentq(lambda rate: rate * big * cycle(rate) - 1.0, 1e-6, (1.0 - 1e-9) * servers / (1.0 - big)))


@pytest.mark.parametrize(("servers", "big"), [(4, 0.2), (3, 0.3)])
@pytest.mark.parametrize("on_nodes", [False, True])
def test_stability_is_judged_from_a_long_line_too(servers: int, big: float, on_nodes: bool) -> None:
    """2% beyond a limit that is known a policy falls behind, 3% below it does not; on nodes as on servers."""
    limit = smallest_first_limit(servers, big)
    small: dict[str, Any] = {"need": {"unit": 1}} if on_nodes else {"need": 1}
    large: dict[str, Any] = {"need": {"unit": 1}, "tasks": servers} if on_nodes else {"need": servers}
    there = {"nodes": [{"count": servers, "has": {"unit": 1}}]} if on_nodes else {"servers": servers}
    service = {"law": "exponential", "mean": 1.0}
    classes = [small | {"probability": 1.0 - big, "service": service}, large | {"probability": big, "service": service}]
    model, order = loynes.load(there | {"classes": classes}), order_of("least-servers-first", {})
    found = [
        falls_behind(model, order, share * limit, jobs=20_000, replicas=16, seed=1, context=Context("cpu"))
        for share in (0.97, 1.02)
    ]
    assert found == [False, True]


def test_of_a_single_job_nothing_is_seen() -> None:
    """No time passes while it is observed."""
    order = order_of("fcfs", {})
    assert not falls_behind(cluster(4, (1, 1.0, 1.0)), order, 2.0, jobs=1, replicas=4, seed=1, context=Context("cpu"))


def test_advice_says_who_falls_behind() -> None:
    model, limit = cluster(4, (1, 0.8, 1.0), (4, 0.2, 1.0)), smallest_first_limit(4, 0.2)
    advice = loynes.advise(model, rate=1.015 * limit, policies=("least-servers-first",), jobs=20_000, replicas=16)
    beyond = next(one for one in advice.choices if one.policy == "least-servers-first")
    assert beyond.state == "unstable"
    assert "unstable here" in beyond.caveat
