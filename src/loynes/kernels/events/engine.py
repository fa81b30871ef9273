"""Replicas of the event-driven simulation, each on a core of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.arrivals import POISSON, start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.threads import run_lines
from loynes.kernels.events.floor import larger, new_floor
from loynes.kernels.events.loop import POLICIES, Seen, draw, events, new_seen, occupy
from loynes.kernels.reference import BLOCK, whole_blocks

# Jobs that are drawn at a time, and slots to begin with.
CHUNK = 1 << 14
CAPACITY = 1 << 10
# A line longer than this will not be served any more.
MOST_PRESENT = 1 << 22
# Jobs that may arrive until the last that is observed has ended, as a multiple of those that are.
AFTERWARDS = 4

Array = NDArray[np.float64]


@dataclass
class Simulated:
    """What one replica saw, and its state at the moments asked for."""

    seen: Seen
    moments: Array  # [moment, 2 + kinds]: jobs waiting, in the system, busy servers by kind
    arrived: int
    overrun: bool  # the line grew without end


@dataclass(frozen=True)
class Plan:
    """What every replica is to do."""

    table: JobTable
    policy: str
    option: int
    inflation: float  # a scheduler's guess of a run time over the truth
    seed: int
    burn_in: int
    jobs: int
    unit: float
    at: Array
    workload: Array | None  # one row a replica, to begin with
    each: bool = False  # keep every job's wait


def simulate(
    plan: Plan, replicas: int, done: Callable[[], None] | None = None, workers: int | None = None
) -> list[Simulated]:
    """Independent replicas; replica r has the jobs that replica r of the recurrence has."""
    found: list[Simulated | None] = [None] * replicas

    def task(replica: int) -> None:
        found[replica] = _replica(plan, replica)

    def lines() -> Iterator[Iterator[Callable[[], None]]]:
        for replica in range(replicas):
            yield iter([partial(task, replica)])

    run_lines(lines(), workers, done)
    return [one for one in found if one is not None]


def _replica(plan: Plan, replica: int) -> Simulated:
    table, kinds = plan.table, len(plan.table.units)
    floor = new_floor(CAPACITY, np.asarray(table.units, np.int64))
    while len(floor.jobs) <= 2 * table.servers:
        floor = larger(floor)
    if plan.workload is not None:
        occupy(floor, plan.workload[replica])
    last = plan.burn_in + plan.jobs
    seen = new_seen(len(table.need), kinds, plan.unit, plan.jobs if plan.each else 0)
    place = int(start_places(table.arrivals, plan.seed, STREAM_STATIONARY, np.array([replica]))[0])
    state = np.full((len(plan.at), 2 + kinds), np.nan)
    demand = np.ascontiguousarray(table.demand, dtype=np.int64)
    gap, job_class, service = np.empty(CHUNK), np.empty(CHUNK, np.int64), np.empty(CHUNK)
    when, number, code = 0.0, 0, POLICIES[plan.policy]
    horizon = plan.at[-1] if len(plan.at) else 0.0
    # Time 0 of a stationary start is any time, and the next job comes a gap later; else the first comes then.
    later = plan.workload is not None and table.arrivals.process == POISSON
    limit = last + max(AFTERWARDS * plan.jobs, 1 << 20)
    while True:
        count = min(CHUNK, max(whole_blocks(last - number), 4 * BLOCK))
        place = draw(
            table, np.uint64(plan.seed), STREAM_STATIONARY, replica, number, count, place, gap, job_class, service
        )
        arrival = when + np.concatenate([[0.0], np.cumsum(gap[:count])])
        when = float(arrival[-1])
        arrival = arrival[1:] if later else arrival[:-1]
        done = 0
        while done < count:
            part = slice(done, count)
            done += int(
                events(code, plan.option, floor, arrival[part], job_class[part], service[part],
                       plan.inflation * service[part], demand, number + done, plan.burn_in, last, seen, plan.at, state)
            )  # fmt: skip
            if done < count:
                if len(floor.jobs) >= MOST_PRESENT:
                    return Simulated(seen, state, number + done, True)
                floor = larger(floor)
        number += count
        complete = seen.done >= plan.jobs and number >= last
        if (complete and when > horizon) or number >= limit:
            return Simulated(seen, state, number, not complete)


def run_jobs(
    units: NDArray[np.int64],
    arrival: Array,
    need: NDArray[np.int64],
    service: Array,
    policy: str,
    option: int = 1,
    inflation: float = 1.0,
) -> Array:
    """Given jobs (need: [job, kind]) on an empty floor, until the last has ended: wait and response of each."""
    count = len(arrival)
    demand, job_class = np.unique(np.ascontiguousarray(need, dtype=np.int64), axis=0, return_inverse=True)
    seen = new_seen(len(demand), len(units), 1.0, count)
    floor = new_floor(CAPACITY, np.asarray(units, np.int64))
    # One more job, at the end of time, lets all others end.
    arrivals, services = np.append(arrival, np.inf), np.append(service, 0.0).astype(np.float64)
    classes = np.append(job_class.ravel(), 0).astype(np.int64)
    nothing, state = np.empty(0), np.empty((0, 2 + len(units)))
    done = 0
    while done <= count:
        done += int(
            events(POLICIES[policy], option, floor, arrivals[done:], classes[done:], services[done:],
                   inflation * services[done:], demand, done, 0, count, seen, nothing, state)
        )  # fmt: skip
        if done <= count:
            floor = larger(floor)
    return np.asarray(seen.jobs[:, :2])
