"""Schedules: which jobs run at once, how many of each class; and the shares of time that carry most of a mix.

A schedule u, u_c jobs of class c, is possible if sum_c u_c demand_c <= units. With shares x_u of time, class c gets
sum_u x_u u_c servers' worth of running jobs; it offers a_c = rate_c mean service_c. The linear program

    maximise t  such that  sum_u x_u u_c >= t a_c for all c,  sum_u x_u = 1,  x >= 0

has as its value the factor by which all rates can grow before no policy can carry them: whatever a policy does, the
shares of time its running jobs make up satisfy these inequalities with t = 1 if all jobs are served. Possible schedules
are too many to list, so they are made as needed: with the prices y_c of the inequalities, sum_c y_c a_c = 1, a schedule
helps if sum_c y_c u_c is above the present value, and the best is found by an integer program (a knapsack, with as many
kinds of weight as there are resources).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from loynes.arrays import Array, Ints

# A schedule has to promise this much more, relatively, to be taken up; shares below the second are none.
WORTH, NO_SHARE = 1e-9, 1e-12
# Of the class that offers most, every class counts for at least this share.
LEAST = 1e-6
MOST_ROUNDS = 1000
# A single schedule that leaves this share of what could be spared is preferred.
WORTH_CHANGES = 0.5


class Schedules(NamedTuple):
    """Schedules and the shares of time they are run for, in an order in which each follows the one before."""

    jobs: Ints  # [schedule, class]
    share: Array  # [schedule]
    growth: float  # by which factor rates could grow


def schedules_for(units: Ints, demand: Ints, offered: Array, residual: Array) -> Schedules:
    """Schedules to run in turn: the best there are, or a single one that leaves half as much to spare as they do.

    Where jobs are small there often is one, and no time is lost on changes. `residual` says how long running jobs of a
    class still run.
    """
    best = best_schedules(units, demand, offered)
    alone = single_schedule(units, demand, offered)
    enough = alone is not None and alone.growth - 1.0 >= WORTH_CHANGES * (best.growth - 1.0) > 0
    return alone if alone is not None and enough else in_turn(best, residual)


def single_schedule(units: Ints, demand: Ints, offered: Array) -> Schedules | None:
    """The schedule that alone carries most: jobs in proportion to what classes offer, rounded up, as long as they fit.

    None if there is no schedule with jobs of every class.
    """
    known = offered > 0
    if not known.any() or (known @ demand > units).any():
        return None
    # More jobs of any class than this do not fit; steps are taken where a class gets one more.
    most = np.array([_most(units, need) for need in demand])
    steps = np.unique(np.concatenate([np.arange(1, n + 1) / a for n, a in zip(most, offered, strict=True) if a > 0]))
    low, high = 0, len(steps)  # the first that does not fit is searched for by bisection
    while low < high:
        middle = (low + high) // 2
        fit = (_rounded_up(steps[middle] * offered) @ demand <= units).all()
        low, high = (middle + 1, high) if fit else (low, middle)
    whole = _filled(units, demand, _rounded_up(steps[low - 1] * offered) if low else known.astype(np.int64))
    return Schedules(whole[None], np.ones(1), float((whole[known] / offered[known]).min()))


def _rounded_up(numbers: Array) -> Ints:
    """Whole numbers of jobs; what is one but for rounding stays it."""
    return np.asarray(np.ceil(numbers * (1.0 - 1e-12)), np.int64)


def best_schedules(units: Ints, demand: Ints, offered: Array) -> Schedules:
    """The solution of the linear program for jobs that need `demand`, [class, kind], of which classes offer so much.

    A basic solution has at most as many schedules as classes. A class that offers next to nothing counts for a
    millionth of the one that offers most: it gets some time, too.
    """
    largest = float(offered.max(initial=0.0))
    wanted = np.maximum(offered / largest, LEAST) if largest > 0 else np.ones(len(offered))
    # Replicas, and rates of one mix, ask for the same again: equal but for rounding.
    found = _solved(tuple(units.tolist()), tuple(map(tuple, demand.tolist())), tuple(np.round(wanted, 12).tolist()))
    return found if largest <= 0 else found._replace(growth=found.growth / largest)


@functools.lru_cache(maxsize=64)
def _solved(units: tuple[int, ...], demand: tuple[tuple[int, ...], ...], wanted: tuple[float, ...]) -> Schedules:
    from scipy.optimize import linprog

    room, needs, classes = np.array(units), np.array(demand), len(wanted)
    most = np.array([_most(room, need) for need in needs])
    columns = list(
        np.unique([_filled(room, needs, np.where(np.arange(classes) == c, most, 0)) for c in range(classes)], axis=0)
    )
    for _ in range(MOST_ROUNDS):
        count, jobs = len(columns), np.array(columns, np.float64)
        found = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.column_stack([-jobs.T, wanted]),
            b_ub=np.zeros(classes),
            A_eq=np.append(np.ones(count), 0.0)[None, :],
            b_eq=np.ones(1),
            method="highs-ds",
        )
        assert found.x is not None  # all of the time for one schedule is always possible
        assert found.fun is not None
        share, growth, price = found.x[:-1], -float(found.fun), -found.ineqlin.marginals
        best = _best_at(price, room, needs, most)
        if price @ best <= growth * (1.0 + WORTH):
            break
        columns.append(_filled(room, needs, best))
    kept = share > NO_SHARE
    return Schedules(np.array(columns)[kept], share[kept] / share[kept].sum(), growth)


def _most(units: Ints, need: Ints) -> int:
    """How many jobs of one class run at once."""
    return int(min((unit // one for unit, one in zip(units.tolist(), need.tolist(), strict=True) if one), default=1))


def _best_at(price: Array, units: Ints, needs: Ints, most: Ints) -> Ints:
    """The possible schedule that is worth most at these prices."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    room = LinearConstraint(needs.T.astype(np.float64), ub=units.astype(np.float64))
    found = milp(
        -np.maximum(price, 0.0), constraints=room, integrality=np.ones(len(most), np.int64), bounds=Bounds(0, most)
    )
    assert found.x is not None  # nobody at all is always possible
    return np.asarray(np.rint(found.x), np.int64)


def _filled(units: Ints, needs: Ints, jobs: Ints) -> Ints:
    """A schedule with as many more jobs as there is room for, the largest first: nobody fits into it any more."""
    jobs = jobs.copy()
    left = units - jobs @ needs
    for c in np.argsort(-needs.sum(axis=1), kind="stable"):
        more = _most(left, needs[c])
        jobs[c] += more
        left = left - more * needs[c]
    return np.asarray(jobs, np.int64)


def drain_times(jobs: Ints, residual: Array) -> Array:
    """[from, to]: about how long it takes until no more jobs of any class run than the next schedule has.

    Of n running jobs of a class the first to end takes 1/n of the mean they have left, the next 1/(n - 1), and so on:
    exactly so for exponential services.
    """
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(jobs.max(initial=0)) + 1))])
    fewer = np.maximum(harmonic[jobs][:, None, :] - harmonic[jobs][None, :, :], 0.0)
    return np.asarray((fewer * residual).max(axis=2))


def in_turn(schedules: Schedules, residual: Array) -> Schedules:
    """The same schedules in a cycle, each followed by the one of those left that it makes way for soonest."""
    takes, left = drain_times(schedules.jobs, residual), list(range(1, len(schedules.share)))
    order = [0]
    while left:
        order.append(min(left, key=lambda other: (takes[order[-1], other], other)))
        left.remove(order[-1])
    return Schedules(schedules.jobs[order], schedules.share[order], schedules.growth)


def cycle_length(schedules: Schedules, residual: Array, service: float) -> float:
    """For how long schedules are run in a cycle, in all.

    In a cycle of length T about D is lost until jobs of the schedules before have ended. Of the capacity that is to
    spare, a share s of the rates, D / T goes away, and lines, which grow while others have their turn, are about
    (T + mean service) / (s - D / T). That is least at T = D / s + sqrt((D / s)^2 + D (mean service) / s). Where nothing
    is to spare there is no best length; s is 0.01 then.
    """
    takes = drain_times(schedules.jobs, residual)
    lost = float(takes[np.arange(len(takes)), np.roll(np.arange(len(takes)), -1)].sum())
    turn = lost / max(schedules.growth - 1.0, 0.01)
    return turn + float(np.sqrt(turn * (turn + service)))
