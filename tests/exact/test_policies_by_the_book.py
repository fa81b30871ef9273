"""Every policy against its rule in a few lines of plain Python, on random lines with ties and two kinds of servers.

The line here is a list, servers are counted anew at every event, and nothing is shared with the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loynes
from loynes.inputs.philox import STREAM_POLICY, STREAM_STATIONARY, long_uniform, words
from loynes.inputs.tables import class_probabilities, job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events import replica
from loynes.kernels.events.changes import Changes, ServerChange
from loynes.kernels.events.engine import Events, run_jobs, run_replicas
from loynes.kernels.events.loop import draw
from loynes.kernels.events.mix import Mix, recorded_mix
from loynes.kernels.events.policies import policies
from loynes.kernels.events.schedules import schedules_for


class Cluster:
    """Servers by kind, jobs by number; each is to come, in line, running, or gone.

    To begin with some servers of the first kind are busy until given times, and at others some are lost, or come back,
    each as soon as it idles.
    """

    def __init__(
        self,
        units: np.ndarray,
        jobs: list[tuple[float, np.ndarray, float, float]],
        busy: tuple[float, ...] = (),
        lost: tuple[tuple[float, int], ...] = (),
        mix: Mix | None = None,
    ) -> None:
        self.units, self.jobs, self.busy, self.lost = units, jobs, list(busy), list(lost)
        self.line: list[int] = []
        self.left = [service for _, _, service, _ in jobs]
        self.running: dict[int, float] = {}  # since when
        self.now = 0.0
        # What a policy knows of earlier events: quick swap, and conservative backfilling.
        self.draining = self.idled = self.ended = False
        self.reserved, self.units_before = dict[int, float](), units
        self.event, self.ended_now = "", list[int]()
        # And those that are computed for a mix: what they are told of it, who runs among its own, and schedules.
        self.mix, self.own, self.turns = mix, set[int](), dict[str, Any]()

    def need(self, i: int) -> np.ndarray:
        return self.jobs[i][1]

    def size(self, i: int) -> int:
        return int(self.need(i).sum())

    def guess(self, i: int) -> float:
        return self.jobs[i][3]

    @property
    def free(self) -> np.ndarray:
        used = sum((self.need(i) for i in self.running), np.zeros_like(self.units))
        used[0] += len(self.busy)
        return np.maximum(self.units - used, 0)

    def could_fit(self, i: int) -> bool:
        return bool((self.need(i) <= self.units).all())

    def fits(self, i: int) -> bool:
        return bool((self.need(i) <= self.free).all())

    def start(self, i: int) -> None:
        assert self.fits(i)
        self.line.remove(i)
        self.running[i] = self.now

    def enter(self, i: int) -> None:
        self.line.append(i)

    def forget(self, i: int) -> None:
        self.line = [j for j in self.line if j != i]

    def stop(self, i: int) -> None:
        self.left[i] -= self.now - self.running.pop(i)

    def run(
        self,
        schedule: Callable[..., None],
        option: int,
        observed: int,
        changes: Iterable[tuple[float, Callable[[float], None]]] = (),
    ) -> list[float]:
        """When each of the first jobs ends; at given times something else happens."""
        changes = list(changes)
        ends, coming = [np.nan] * len(self.jobs), list(range(len(self.jobs)))
        while np.isnan(ends[:observed]).any():
            end = min([*self.busy, *(since + self.left[i] for i, since in self.running.items())], default=np.inf)
            arrival = self.jobs[coming[0]][0] if coming else np.inf
            self.event, self.ended_now = "end", []
            planned = min((time for time in self.reserved.values() if time > self.now), default=np.inf)
            if self.lost and self.lost[0][0] < min(end, arrival, planned):
                self.now, gone = self.lost.pop(0)
                self.units = self.units - gone
            elif changes and changes[0][0] < min(end, arrival, planned):
                self.now, happen = changes.pop(0)
                happen(self.now)
            elif planned < min(end, arrival):
                self.now = planned
            elif end <= arrival:
                self.now = end
                self.busy = [time for time in self.busy if time > end]
                self.ended = True
                for i in [i for i, since in self.running.items() if since + self.left[i] <= end]:
                    ends[i] = end
                    self.ended_now.append(i)
                    del self.running[i]
                    self.forget(i)
            else:
                self.now, self.event = self.jobs[coming[0]][0], "arrival"
                self.enter(coming.pop(0))
            schedule(self, option)
        return ends[:observed]


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
first_fit = again(lambda c, _: best(c, c.line, lambda i: 0))
most_servers_first = again(lambda c, _: best(c, c.line, lambda i: -c.size(i)))
smash = again(lambda c, window: best(c, c.line[:window], lambda i: -c.size(i)))
shortest_first = again(lambda c, _: best(c, c.line, c.guess))
least_servers_first = again(fewest)


def easy(cluster: Cluster, option: int, shortest_first: bool = False) -> None:
    """Who behind the head could start without the head's start, by the believed ends, being any later?"""
    fcfs(cluster, option)

    def shadow() -> float:
        one = np.eye(1, len(cluster.units), dtype=int)[0]
        ends = [(max(since + cluster.guess(i), cluster.now), cluster.need(i)) for i, since in cluster.running.items()]
        ends += [(end, one) for end in cluster.busy]
        used = sum(need for _, need in ends)
        for end, _ in sorted(ends, key=lambda pair: pair[0]):
            free = cluster.units - used + sum(need for other, need in ends if other <= end)
            if (cluster.need(cluster.line[0]) <= np.maximum(free, 0)).all():
                return end
        return np.inf

    for i in sorted(cluster.line[1:], key=cluster.guess) if shortest_first else cluster.line[1:]:
        if cluster.fits(i):
            before, line = shadow(), list(cluster.line)
            cluster.start(i)
            if shadow() > before:
                cluster.line = line
                del cluster.running[i]


def easy_sjbf(cluster: Cluster, option: int) -> None:
    easy(cluster, option, shortest_first=True)


def conservative(cluster: Cluster, option: int) -> None:
    """Reservations are moved forward whenever a job ends, and made again where servers were lost or came back."""
    changed = (cluster.units != cluster.units_before).any()
    ended = cluster.ended
    cluster.units_before, cluster.ended = cluster.units, False
    if changed:
        cluster.reserved = {}

    def earliest(i: int) -> float:
        """When there is room for as long as a job is believed to take, beside all others that run or are reserved."""
        others = {j: time for j, time in (cluster.running | cluster.reserved).items() if j != i}
        begin = np.array([*others.values(), *([-np.inf] * len(cluster.busy))])
        end = np.array([*(time + cluster.guess(j) for j, time in others.items()), *cluster.busy])
        ones = [np.eye(1, len(cluster.units), dtype=int)[0]] * len(cluster.busy)
        need = np.array([*(cluster.need(j) for j in others), *ones]).reshape(-1, len(cluster.units))
        times = np.unique([cluster.now, *begin[begin > cluster.now], *end[end > cluster.now]])
        taken = ((begin <= times[:, None]) & (times[:, None] < end)) @ need
        room = (np.maximum(cluster.units - taken, 0) >= cluster.need(i)).all(axis=1)
        for first in np.flatnonzero(room):
            if room[first:][times[first:] < times[first] + cluster.guess(i)].all():
                return float(times[first])
        return np.inf

    for i in list(cluster.line):
        if option and sum(j < i for j in cluster.line) >= option:
            break  # only the first so many of those that are still in line have a reservation
        before = cluster.reserved.get(i, np.inf)
        if ended or before == np.inf:
            cluster.reserved[i] = earliest(i)
            assert cluster.reserved[i] <= before
        if cluster.reserved[i] <= cluster.now:
            del cluster.reserved[i]
            cluster.start(i)
        elif cluster.reserved[i] == np.inf:
            del cluster.reserved[i]


def quick_swap(cluster: Cluster, threshold: int) -> None:
    """The authors' rules, an arrival or the end of a small job at a time."""
    needs = [need.tolist() for _, need, _, _ in cluster.jobs]
    smallest, largest = (np.array(extreme(sorted(needs), key=sum)) for extreme in (min, max))

    def alike(who: Iterable[int], need: np.ndarray) -> list[int]:
        return [i for i in who if (cluster.need(i) == need).all()]

    def big() -> list[int]:
        return list(filter(cluster.could_fit, alike(cluster.line, largest)))

    arrived = cluster.event == "arrival"
    if cluster.draining and (not big() or (not arrived and cluster.fits(big()[0]))):
        cluster.draining = cluster.idled = False
    elif arrived and cluster.idled and alike(cluster.line[-1:], largest) and big() and not cluster.draining:
        # Servers that are busy to begin with are so with work of one server each.
        small = alike(cluster.running, smallest) or (cluster.busy and smallest.sum() == smallest[0] == 1)
        cluster.draining = bool(small) and not alike(cluster.running, largest)
    if cluster.draining:
        return
    most_servers_first(cluster, threshold)
    small_ended = not arrived and not alike(cluster.ended_now, largest)
    enough = bool((cluster.free >= np.minimum(threshold, largest)).all())
    if small_ended and not cluster.idled and enough and not alike(cluster.running, largest):
        cluster.idled, cluster.draining = True, bool(big())


def first_fit_ageing(cluster: Cluster, age: int) -> None:
    """Whoever fits, unless the head of the line does not and has waited too long."""
    while fitting := [i for i in cluster.line if cluster.fits(i)]:
        head = cluster.line[0]
        if head not in fitting and cluster.now - cluster.jobs[head][0] > age:
            return
        cluster.start(fitting[0])


def serve(cluster: Cluster, served: list[int]) -> None:
    """These and no others, as far as there is room."""
    for i in set(cluster.running) - set(served):
        cluster.stop(i)
    for i in sorted(served):
        if i not in cluster.running and cluster.fits(i):
            cluster.running[i] = cluster.now


def divisor_filling(cluster: Cluster, option: int) -> None:
    """Of all sets of jobs of the shortest beginning that has one which fills all servers, the one of the largest needs
    and of equals the earliest; where there is none, of those that need most."""
    servers, line = int(cluster.units[0]), list(filter(cluster.could_fit, cluster.line))
    sets = [()]
    for i in line[:servers]:
        sets += [(*one, i) for one in sets]
        sets = [one for one in sets if sum(map(cluster.size, one)) <= servers]
        if any(sum(map(cluster.size, one)) == servers for one in sets):
            break

    def worth(one: tuple[int, ...]) -> tuple[int, list[int], list[int]]:
        ordered = sorted(one, key=lambda i: (-cluster.size(i), i))
        return sum(map(cluster.size, one)), [cluster.size(i) for i in ordered], [-i for i in ordered]

    serve(cluster, list(max(sets, key=worth)))


def class_in(cluster: Cluster, i: int) -> int:
    assert cluster.mix is not None
    return cluster.mix.demand.tolist().index(cluster.need(i).tolist())


def balanced_splitting(cluster: Cluster, option: int) -> None:
    """Shares in whole jobs, and what is left; if the largest job needs more than that, it is put aside first."""
    mix = cluster.mix
    assert mix is not None
    servers, needs = int(mix.units[0]), mix.demand[:, 0].tolist()
    work = [Fraction(float(r * s)) * n for r, s, n in zip(mix.rate, mix.service, needs, strict=True)]
    for shared in (servers, servers - max(needs)):
        own = [math.floor(shared * w / sum(work) / n + Fraction(1, 10**9)) for w, n in zip(work, needs, strict=True)]
        helpers = servers - sum(k * n for k, n in zip(own, needs, strict=True))
        if helpers >= max(needs):
            break
    cluster.own &= set(cluster.running)
    for i in list(cluster.line):
        c = class_in(cluster, i)
        if sum(class_in(cluster, j) == c for j in cluster.own) < own[c] and cluster.fits(i):
            cluster.start(i)
            cluster.own.add(i)
    while cluster.line and cluster.fits(cluster.line[0]):
        used = len(cluster.busy) + sum(cluster.size(i) for i in cluster.running if i not in cluster.own)
        if cluster.size(cluster.line[0]) > helpers - used:
            return
        cluster.start(cluster.line[0])


def msr(cluster: Cluster, option: int, backfill: bool = False) -> None:
    """Schedules in turn; changes are made at their times, be anybody there or not."""
    mix, turns = cluster.mix, cluster.turns
    assert mix is not None
    if not turns:
        found = schedules_for(mix.units, mix.demand, mix.rate * mix.service, mix.residual)
        turns |= {"jobs": found.jobs, "mean": found.share * option, "now": 0, "changing": True, "drawn": 0}
        turns["mean"] = turns["mean"] if len(found.share) > 1 else [np.inf]

    def drawn() -> float:
        word = words(mix.seed, STREAM_POLICY, mix.replica, np.array([turns["drawn"]]))
        turns["drawn"] += 1
        return -math.log(float(long_uniform(word[0], word[1])[0]))

    if not turns["changing"] and turns["until"] <= cluster.now:
        turns["now"], turns["changing"] = (turns["now"] + 1) % len(turns["mean"]), True
    wanted = turns["jobs"][turns["now"]]
    for c in range(len(wanted)):
        running = sum(class_in(cluster, i) == c for i in cluster.running)
        for i in [i for i in cluster.line if class_in(cluster, i) == c]:
            if running < wanted[c] and cluster.fits(i):
                cluster.start(i)
                running += 1
    classes = [class_in(cluster, i) for i in cluster.running]
    if turns["changing"] and all(classes.count(c) <= wanted[c] for c in classes):
        turns["changing"] = False
        turns["until"] = cluster.now + turns["mean"][turns["now"]] * drawn()
    cluster.reserved = {} if turns["changing"] else {-1: turns["until"]}
    if backfill and not turns["changing"]:
        first_fit(cluster, option)


def msr_backfill(cluster: Cluster, option: int) -> None:
    msr(cluster, option, backfill=True)


def server_filling(cluster: Cluster, option: int) -> None:
    """The line is that of all jobs here: whoever runs has kept its place. Who needs more than there is is passed."""
    total, beginning = 0, []
    for i in filter(cluster.could_fit, cluster.line):
        if total < cluster.units[0]:
            beginning.append(i)
            total += cluster.size(i)
    left, served = int(cluster.units[0]), []
    for i in sorted(beginning, key=lambda i: (-cluster.size(i), i)):
        if cluster.size(i) <= left:
            served.append(i)
            left -= cluster.size(i)
    serve(cluster, served)


BOOK: dict[str, Callable[[Cluster, int], None]] = {
    "fcfs": fcfs,
    "first-fit": first_fit,
    "easy": easy,
    "easy-sjbf": easy_sjbf,
    "conservative": conservative,
    "most-servers-first": most_servers_first,
    "least-servers-first": least_servers_first,
    "shortest-first": shortest_first,
    "smash": smash,
    "quick-swap": quick_swap,
    "server-filling": server_filling,
    "divisor-filling": divisor_filling,
    "first-fit-ageing": first_fit_ageing,
    "msr": msr,
    "msr-backfill": msr_backfill,
    "balanced-splitting": balanced_splitting,
}


def test_every_policy_is_in_the_book() -> None:
    assert set(BOOK) >= {name for name, policy in policies().items() if not policy.digest}


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
        if name == "conservative" and line % 4 < 2:
            option = 0  # no limit, in half of the lines of both kinds
        times, _ = run_jobs(units, arrival, need, service, policy, option, guess)
        jobs = list(zip(arrival, need, service.tolist(), guess.tolist(), strict=True))
        demand, job_class = np.unique(need, axis=0, return_inverse=True)
        mix = recorded_mix(units, arrival, job_class.ravel(), demand, service, option)
        ends = Cluster(units, jobs, mix=mix).run(BOOK[name], option, count)
        np.testing.assert_allclose(arrival + times[:, 1], ends, rtol=0, atol=1e-9, err_msg=f"line {line}")


def test_conservative_with_a_long_line() -> None:
    """More than a hundred in line, most believed to take longer than they do: all reservations are moved forward."""
    rng = np.random.default_rng(12)
    for servers in (6, 24):
        count, units = 150, np.array([servers])
        need, service = rng.integers(1, servers + 1, (count, 1)), rng.exponential(1.0, count)
        guess = service * rng.choice([1.0, 1.5, 4.0], count)
        times, _ = run_jobs(units, np.zeros(count), need, service, "conservative", guess=guess)
        jobs = list(zip(np.zeros(count), need, service.tolist(), guess.tolist(), strict=True))
        ends = Cluster(units, jobs).run(conservative, 0, count)
        np.testing.assert_allclose(times[:, 1], ends, rtol=0, atol=1e-9)


def test_conservative_looks_again_at_every_end() -> None:
    """The third job keeps its reservation, 17, at the early end at 9, where the last two move from 13 to 9; their room
    lets it start at 13, when another job ends on time.

    The waits are those of pyss, which moves reservations forward at every end, too.
    """
    rows = [(2, 7, 2, 15), (3, 10, 3, 10), (5, 10, 4, 10), (7, 11, 5, 17), (8, 9, 1, 9), (8, 4, 1, 4)]
    arrival, service, need, guess = np.array(rows, float).T
    times, _ = run_jobs(np.array([5]), arrival, need[:, None].astype(int), service, "conservative", guess=guess)
    assert times[:, 0].tolist() == [0, 0, 8, 16, 1, 1]


SMALL_JOBS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 12), st.integers(1, 6), st.integers(0, 12)), min_size=2, max_size=14
)


@given(servers=st.integers(6, 9), rows=SMALL_JOBS)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_conservative_on_small_cases(servers: int, rows: list[tuple[int, int, int, int]]) -> None:
    """Job by job, with whole numbers of seconds: reservations at which nothing else happens are kept, too.

    That no reservation is ever moved to a later time, the book's version asserts.
    """
    gap, service, need, more = (np.array(column) for column in zip(*rows, strict=True))
    arrival, service, guess = np.cumsum(gap).astype(float), service.astype(float), (service + more).astype(float)
    times, _ = run_jobs(np.array([servers]), arrival, need[:, None], service, "conservative", guess=guess)
    jobs = [(arrival[i], need[i : i + 1], service[i], guess[i]) for i in range(len(rows))]
    ends = Cluster(np.array([servers]), jobs).run(conservative, 0, len(rows))
    assert (arrival + times[:, 1]).tolist() == ends


@pytest.mark.parametrize("name", list(BOOK))
def test_from_any_state(name: str) -> None:
    """Servers are busy to begin with, and five of eight are lost for a time: then there are jobs that need more."""
    shares = ((1, 0.4), (2, 0.3), (5, 0.2), (8, 0.1))
    service = {"law": "exponential", "mean": 1}
    model = loynes.load(
        {"servers": 8, "classes": [{"need": n, "probability": p, "service": service} for n, p in shares]}
    )
    table, observed, rng = job_table(model, 0.4 * model.ideal), 96, np.random.default_rng(10)
    changes = Changes(of_servers=(ServerChange(4.0, (5,), False, 0), ServerChange(25.0, (-5,), False, 1)))
    for seed in range(1, 13):
        option = 0 if name == "conservative" and seed % 2 else 2
        workload = np.sort(np.maximum(rng.exponential(4.0, 8) - 1.0, 0.0))
        events = Events(
            table, seed, STREAM_STATIONARY, np.arange(1), policies()[name], option, 1.5, jobs_observed=observed,
            each=True, workload=workload[None], changes=changes, service=np.ones(4), residual=np.ones(4),
        )  # fmt: skip
        (record,) = run_replicas(events, CpuEngine(1))
        gap, job_class, services = np.empty(2048), np.empty(2048, np.int64), np.empty(2048)
        draw(table, np.uint64(seed), 0, 0, 0, 2048, 0, gap, job_class, services)
        arrival, need = np.cumsum(gap), np.asarray(table.demand)[job_class]
        jobs = list(zip(arrival, need, services.tolist(), (1.5 * services).tolist(), strict=True))
        rate = class_probabilities(table) / table.gap_mean
        mix = Mix(table.units, table.demand, rate, np.ones(4), np.ones(4), option, seed)
        cluster = Cluster(np.array([8]), jobs, tuple(workload[workload > 0]), ((4.0, 5), (25.0, -5)), mix)
        ends = cluster.run(BOOK[name], option, observed)
        np.testing.assert_allclose(arrival[:observed] + record.observations.jobs[:observed, 1], ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", list(policies()))
def test_however_many_slots(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many jobs at once as a floor has slots, the last of them used: the same waits as with many to spare."""
    rng = np.random.default_rng(9)
    count, units = replica.CAPACITY, np.array([8])
    need, service = np.sort(rng.integers(1, 9, (count, 1)), axis=0), rng.exponential(1.0, count)
    waits = []
    for capacity in (count, 4 * count):
        monkeypatch.setattr(replica, "CAPACITY", capacity)
        waits.append(run_jobs(units, np.zeros(count), need, service, name, 0 if name == "conservative" else 2)[0])
    np.testing.assert_array_equal(*waits)
