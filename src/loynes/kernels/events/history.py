"""A stationary start: the jobs before a perfect sample, so that who runs and who is in line is known, too.

A perfect sample is the workload after its last n jobs, whatever there was before them. These very jobs, first come,
first served from an empty floor, leave the whole state: running jobs, and the line.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import JobTable
from loynes.kernels.events.floor import NOBODY, RUNNING, SPARE, Floor, larger, rebase, rejoin, with_kept
from loynes.kernels.events.loop import Arrivals, draw_history, new_observations, run_events, trail_back
from loynes.kernels.events.pace import Pace
from loynes.kernels.events.policies import find_policy
from loynes.kernels.events.predictions import guessed

CHUNK = 1 << 14
# Nobody has the number -1; the last job before job 0 is -2.
NUMBERED = -1


def run_history(
    floor: Floor,
    table: JobTable,
    seed: int,
    replica: int,
    place: int,
    length: int,
    inflation: float,
    overestimate: float,
    pace: Pace,
) -> Floor:
    """The floor at time 0, after the last `length` jobs (whole blocks) before job 0; arrivals are at `place` then."""
    demand, kinds = np.ascontiguousarray(table.demand, dtype=np.int64), len(table.units)
    trail = trail_back(table, np.uint64(seed), STREAM_STATIONARY, replica, length, place)
    gap, service, job_class = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.int64)
    # First come, first served needs neither; without them it is the loop of that policy, compiled before.
    kept, floor = floor, floor._replace(promise=(), ends=(), blocks=())
    fcfs, nothing, state = find_policy("fcfs"), np.empty(0), np.empty((0, 2 + 3 * kinds))
    observations = new_observations(len(table.need), kinds, 1.0)

    def arrive(arrivals: Arrivals, number: int, until: float) -> None:
        nonlocal floor
        i, count = 0, len(arrivals.arrival)
        while i < count and floor.clock[0] < until:
            i = run_events(
                pace, fcfs, 1, floor, arrivals, i, count, until, demand, number + NUMBERED, 0, 0, False, observations,
                nothing, state,
            )  # fmt: skip
            if floor.counts[SPARE] == 0:
                floor = larger(floor)

    when = 0.0
    for first in range(-length, 0, CHUNK):
        count = min(CHUNK, -first)
        draw_history(table, np.uint64(seed), STREAM_STATIONARY, replica, first, count, trail, gap, job_class, service)
        times = when + np.concatenate([[0.0], np.cumsum(gap[:count])])
        when = float(times[-1])
        own = service[:count]
        guess = guessed(own, inflation, overestimate, seed, replica, first)
        arrive(Arrivals(times[:-1], job_class[:count], own, guess, np.full(count, NOBODY)), first, np.inf)
    # A job that never comes lets others end until then.
    never = np.array([np.inf])
    arrive(Arrivals(never, np.zeros(1, np.int64), never, never, np.full(1, NOBODY)), 0, when)
    rebase(floor, when)
    return with_kept(floor, kept)


def put_running_in_line(floor: Floor) -> None:
    """Running jobs enter the line, too, for a policy under which they keep their place in it."""
    for slot in floor.jobs["heap"][: floor.counts[RUNNING]].tolist():
        if floor.jobs["number"][slot] != NOBODY:
            rejoin(floor, slot)
