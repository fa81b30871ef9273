"""Nonpreemptive Markovian service rates (Chen, Grosof and Berg 2025, nMSR): schedules in turn, computed for the mix.

A schedule says how many jobs of every class may run. A few schedules, and shares of time for them, carry more of the
mix than any others (`schedules.py`); they are run one after the other. A schedule is run for an exponential
time, whose mean is its share of a cycle. Then the next is the one to follow: jobs above its numbers run to their end,
none of them is started, and jobs of the next start as soon as they fit. Its own time begins when no class has more jobs
running than it says. Lines play no part in it: how many jobs of a class may run is a Markov chain of its own.

Why no rate below the limit is too much, if cycles are long enough: while a class has jobs in line, as many of them run
as the schedule says, but for the changes from one schedule to the next. The longer the cycle, the smaller the share of
time that changes take, so a class of which there is always somebody in line would end jobs at a rate as close to
sum_u x_u u_c / (mean service) as one likes, which is above its arrival rate; so its line is not always there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.inputs.philox import STREAM_POLICY
from loynes.kernels.cpu.philox import words
from loynes.kernels.events.floor import NOBODY, start
from loynes.kernels.events.mix import Mix
from loynes.kernels.events.policies.register import Option, policy
from loynes.kernels.events.schedules import cycle_length, schedules_for
from loynes.kernels.events.timetable import ask_again
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import (
    class_of,
    classes,
    first_of_class,
    fits,
    jobs_in_line,
    jobs_running,
    now,
    running_job,
)

# What is remembered: the schedule, whether jobs of others still run, and how many times were drawn.
SCHEDULE, CHANGING, DRAWN, REMEMBERED = range(4)


class Turns(NamedTuple):
    """Schedules, and where one replica is in the cycle."""

    jobs: Ints  # [schedule, class]
    mean: Array  # [schedule], for how long it is run
    memory: Ints
    until: Array  # [1]: when the schedule's time is up
    running: Ints  # [class], counted anew at every event
    seed: Any
    replica: int
    word: NDArray[np.uint64]  # [4, 1], room for random words


CYCLE = Option(
    "cycle", default=None, least=0, help="how long all schedules of msr take in turn, on average; by its own rule"
)


def turns_of(mix: Mix) -> Turns:
    """The schedules of a mix, before the first of them."""
    found = schedules_for(mix.units, mix.demand, mix.rate * mix.service, mix.residual)
    cycle = cycle_length(found, mix.residual, mix.mean_service) if mix.option != mix.option else mix.option
    if not cycle > 0 and len(found.share) > 1:
        raise UsageError(f"cycle {cycle:g}: must be above 0")
    memory = np.array([0, 1, 0], np.int64)
    mean = found.share * cycle if len(found.share) > 1 else np.array([np.inf])
    return Turns(
        found.jobs, mean, memory, np.array([np.inf]), np.zeros(len(mix.demand), np.int64), np.uint64(mix.seed),
        mix.replica, np.zeros((4, 1), np.uint64),
    )  # fmt: skip


@policy(
    "msr",
    rank=12,
    by_class=True,
    asks_again=True,
    priorities=False,
    prepare=turns_of,
    option=CYCLE,
    caveat="computed for this mix, and servers idle where a class has nobody in line; another mix needs another cycle",
    summary="so many jobs of every class as a schedule says; schedules, computed for the mix, take turns at random "
    "times",
    reference="Chen, Grosof and Berg 2025, arXiv 2412.08915 (nMSR)",
)
def msr(floor, turns):
    take_turns(floor, turns)


@uncounted
def take_turns(floor, turns):
    """Go on to the next schedule where it is time, and start jobs of the present one; whether its time has begun.

    Nobody is asked while the floor is empty: the changes in the meantime, which take no time, are made up for.
    """
    memory, running = turns.memory, turns.running
    running[:] = 0
    for i in range(jobs_running(floor)):
        slot = running_job(floor, i)
        if floor.jobs[slot].number != NOBODY:
            running[class_of(floor, slot)] += 1
    while memory[CHANGING] == 0 and turns.until[0] < now(floor) < np.inf:
        memory[SCHEDULE] = (memory[SCHEDULE] + 1) % turns.mean.size
        turns.until[0] += turns.mean[memory[SCHEDULE]] * _exponential(turns)
    if memory[CHANGING] == 0 and turns.until[0] <= now(floor):
        memory[SCHEDULE] = (memory[SCHEDULE] + 1) % turns.mean.size
        memory[CHANGING] = 1
    jobs = turns.jobs[memory[SCHEDULE]]
    settled = True
    for c in range(classes(floor)):
        slot = first_of_class(floor, c)
        while slot != NOBODY and running[c] < jobs[c] and fits(floor, slot):
            start(floor, slot)
            running[c] += 1
            slot = first_of_class(floor, c)
        settled &= running[c] <= jobs[c]
    if memory[CHANGING] == 1 and settled:
        memory[CHANGING] = 0
        turns.until[0] = now(floor) + turns.mean[memory[SCHEDULE]] * _exponential(turns)
    empty = jobs_running(floor) == 0 and jobs_in_line(floor) == 0
    ask_again(floor, np.inf if memory[CHANGING] == 1 or empty else turns.until[0])
    return memory[CHANGING] == 0


@uncounted
def _exponential(turns):
    """The next exponential time of mean 1: a pure function of seed, replica, and how many were drawn before."""
    word = turns.word
    words(turns.seed, STREAM_POLICY, turns.replica, turns.memory[DRAWN], word[0], word[1], word[2], word[3])
    turns.memory[DRAWN] += 1
    return -np.log((np.float64((word[0, 0] << np.uint64(20)) | (word[1, 0] >> np.uint64(12))) + 0.5) * 2.0**-52)
