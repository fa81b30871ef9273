"""Run times that a scheduler predicts itself, from what it has seen of a user's jobs.

The predictions of Tsafrir, Etsion and Feitelson 2007: a job is believed to take the mean of the last two run times of
its user's jobs that have ended when it is submitted, and never more than its limit, what was requested; where fewer
than two have ended, as long as was requested. A job that outlives its prediction is believed to take longer from then
on (CORRECTIONS). The scheduler notices when it next looks, at an arrival or an end, as in the simulator of Gaussier,
Glesser, Reis and Trystram 2015. No limit is below the run time, so neither is the last correction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Array, Ints
from loynes.inputs.philox import STREAM_BELIEF, short_uniform, words
from loynes.kernels.events.believed import expect_later_end
from loynes.kernels.events.floor import NOBODY, RUNNING, SURPRISED
from loynes.kernels.events.maintenance import expect_no_use, expect_use
from loynes.kernels.events.promise import forget_promise
from loynes.kernels.events.timetable import CHANGED
from loynes.kernels.events.uncounted import uncounted

# What is believed of a job that has outlived its prediction. Steps: the first prediction and a minute more, then 5, 15
# and 30 minutes, 1, 2, 5, 10, 20, 50 and 100 hours more (Tsafrir et al. 2007); the limit at once; twice the prediction,
# again and again (Gaussier, Glesser, Reis and Trystram 2015); or that it ends at any moment.
BY_STEPS, TO_THE_LIMIT, DOUBLED, ANY_MOMENT = range(4)
CORRECTIONS = ("steps", "requested", "doubling", "floor")
_MINUTES = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)
_MORE = np.array([60.0 * minutes for minutes in _MINUTES])


def guessed(service: Array, inflation: float, overestimate: float, seed: int, replica: int, first: int) -> Array:
    """What is believed of the jobs of a replica from the first-th on: the truth times a factor, too long at random.

    A factor is uniform between `inflation` and that and `overestimate` (the f-model: Zotkin and Keleher 1999; Mu'alem
    and Feitelson 2001), a pure function of seed, replica and job.
    """
    if overestimate == 0.0:
        return inflation * service
    word, *_ = words(seed, STREAM_BELIEF, replica, first + np.arange(len(service)))
    return (inflation + overestimate * short_uniform(word)) * service


class Beliefs(NamedTuple):
    """What predictions are made of, a value a job: whose it is, and how long it may take at most."""

    user: Ints  # from 0 on
    limit: Array
    correction: int = BY_STEPS


class PredictedArrivals(NamedTuple):
    """Jobs in order of arrival, from job 0 on, as `Arrivals` has them, and what is known of their users so far."""

    arrival: Array
    job_class: Ints
    service: Array
    guess: Array  # for users of whom too little is known
    row: Ints
    user: Ints
    limit: Array
    first: Array  # [job], the prediction when it came
    corrected: Ints  # [job], how often it was corrected
    last: Array  # [user, 2], the last run time, and the one before
    ended: Ints  # [user], how many jobs
    correction: int


def predicted(arrivals: Any, beliefs: Beliefs) -> PredictedArrivals:
    """Arrivals whose run times are to be predicted; there may be more of them than beliefs, of nobody's."""
    count, users = len(arrivals.arrival), int(beliefs.user.max(initial=-1)) + 2
    user, limit = np.full(count, users - 1), np.full(count, np.inf)
    user[: len(beliefs.user)], limit[: len(beliefs.limit)] = beliefs.user, beliefs.limit
    limit = np.maximum(limit, arrivals.service)
    return PredictedArrivals(
        arrivals.arrival,
        arrivals.job_class,
        arrivals.service,
        arrivals.guess,
        arrivals.row,
        user=user.astype(np.int64),
        limit=limit,
        first=np.zeros(count),
        corrected=np.zeros(count, np.int64),
        last=np.zeros((users, 2)),
        ended=np.zeros(users, np.int64),
        correction=beliefs.correction,
    )


@uncounted
def predict(arrivals, i):
    """How long a job that comes now is believed to take."""
    user, believed = arrivals.user[i], arrivals.guess[i]
    if arrivals.ended[user] >= 2:
        believed = min(0.5 * (arrivals.last[user, 0] + arrivals.last[user, 1]), arrivals.limit[i])
    arrivals.first[i] = believed
    return believed


@uncounted
def learn(floor, slot, arrivals):
    """A job has ended."""
    number = floor.jobs[slot].number
    if number == NOBODY:
        return
    user = arrivals.user[number]
    arrivals.last[user, 1] = arrivals.last[user, 0]
    arrivals.last[user, 0] = floor.jobs[slot].service
    arrivals.ended[user] += 1


@uncounted
def correct(floor, arrivals):
    """Whoever runs and has outlived what was believed is believed to take longer. Timetables are made anew then."""
    time = floor.clock[0]
    for i in range(floor.counts[RUNNING]):
        slot = floor.jobs[i].heap
        number = floor.jobs[slot].number
        while floor.jobs[slot].started + floor.jobs[slot].guess <= time and number != NOBODY:
            believed, limit = floor.jobs[slot].guess, arrivals.limit[number]
            if believed >= limit or arrivals.correction == ANY_MOMENT:
                break
            longer, times = limit, arrivals.corrected[number]
            if arrivals.correction == DOUBLED:
                longer = 2.0 * believed
            elif arrivals.correction == BY_STEPS and times < _MORE.size:
                longer = arrivals.first[number] + _MORE[times]
            arrivals.corrected[number] = times + 1
            expect_no_use(floor.maintenance, floor, slot, 1)
            floor.jobs[slot].guess = min(longer, limit)
            expect_use(floor.maintenance, floor, slot)
            floor.counts[SURPRISED] = CHANGED
            expect_later_end(floor.ends, floor, slot, floor.counts[RUNNING])
            forget_promise(floor.promise)
