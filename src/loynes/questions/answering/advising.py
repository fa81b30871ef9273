"""Which policies apply to a cluster, and what speaks most against each there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import half_width, mean_of
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.kernels.events.loop import KINDS, SPAN
from loynes.kernels.events.policies import Policy, policies
from loynes.kernels.events.replica import ReplicaRecord
from loynes.model import Model
from loynes.questions.answering.events import event_task, run_until
from loynes.questions.answering.limits import spread_of_work
from loynes.questions.answering.orders import Order, PolicyLike, order_of
from loynes.questions.answering.two_starts import burst_of

NO_RUN_TIMES = "needs run times"
# A long line: of so many standard deviations of the work of all jobs that come then, and at most so many jobs; and the
# longest that timetables are made of. A part of the jobs is left out, until a policy has sorted the line.
SURELY, LONGEST_LINE, LONGEST_TIMETABLE, SORTED = 4.0, 20_000, 2_000, 0.25
# How sure it is to be that a policy is unstable, of every policy.
SURE = 0.999


def orders_for(
    given: Sequence[PolicyLike],
    numbers: Mapping[str, float | None],
    inflation: float,
    kinds: int,
    *,
    quotas: bool = False,
    users: bool = False,
    restarts: bool = False,
    priorities: bool = False,
) -> list[Order]:
    """The policies that are named, or all that apply where there are so many kinds of servers, and perhaps quotas,
    priorities, or jobs that begin anew when they are stopped, which some policies do not know, or limits of users,
    which those do not know either that are computed for the mix of jobs; fcfs comes first."""
    if given:
        named = [order_of(one, numbers, inflation, strictly=False) for one in given]
        if len({one.policy for one in named}) < len(named):
            raise UsageError("policies: name none twice")
        for one in named:
            if kinds > 1 and one.rule.identical_servers_only:
                raise UsageError(f"policy {one.policy!r}: is for identical servers")
            if refusal := one.rule.refuses(quotas=quotas, restarts=restarts, priorities=priorities):
                raise UsageError(refusal)
    else:
        known = [
            one
            for one in policies().values()
            if not one.refuses(quotas=quotas or users, restarts=restarts, priorities=priorities)
        ]
        known = [one for one in known if not (users and one.prepare is not None)]
        apply = [one for one in known if kinds == 1 or not one.identical_servers_only]
        named = [order_of(one, numbers, inflation, strictly=False) for one in apply]
    first = [one for one in named if one.policy == "fcfs"] or [order_of("fcfs", {})]
    return [*first, *(one for one in named if one.policy != "fcfs")]


def caveat_of(rule: Policy, found: Sequence[str] = (), promised: Sequence[str] = ()) -> str:
    """What speaks most against a policy: what was found here; that it stops jobs; what it does not promise for such
    needs; or else what holds everywhere."""
    general = rule.caveat or (NO_RUN_TIMES if rule.believes_run_times else "")
    stops = general if rule.keeps_place else ""
    return next((text for text in (*found, stops, *promised) if text), general)


def piles_up(model: Model, replicas: list[ReplicaRecord], jobs: int) -> bool:
    """Whether work grew between the middle and the end of runs of so many jobs, at both of which it was looked at, by
    more than chance explains.

    Right at what a policy can carry work grows, too, like a Brownian motion reflected at 0: of the work that comes in
    the second half a share of 2 sqrt(2 / pi) (1 - sqrt(1/2)) spread / sqrt(jobs) is left, where the spread is the root
    mean square of the work that a job brings over its mean. Twice that is taken for growth, as blocking adds to it.
    """
    kinds = len(model.kinds)
    left = np.array([one.moments[:, 2 + 2 * kinds : 2 + 3 * kinds] for one in replicas])  # [replica, moment, kind]
    if np.isnan(left).any():
        return True  # the line had grown too long before the end
    work = np.array(model.works)
    grown = (left[:, 1] - left[:, 0])[:, work > 0] / (0.5 * jobs * work[work > 0])
    worst = grown[:, int(np.argmax(grown.mean(axis=0)))]
    by_chance = 2.0 * math.sqrt(2.0 / math.pi) * (1.0 - math.sqrt(0.5)) * spread_of_work(model) / math.sqrt(jobs)
    return bool(worst.mean() - half_width(worst, 0.99) > 2.0 * by_chance)


def falls_behind(
    model: Model, order: Order, rate: float, *, jobs: int, replicas: int, seed: int, context: Context
) -> bool:
    """Whether a policy carries less than comes once the line is long, by more than chance explains.

    The line is made by a burst, after which jobs come as ever; it is longer than the work of so many jobs varies. While
    it lasts, a policy that can carry the rate carries at least as much on average, and where it is soon gone as much.
    What is carried is told by busy servers, on average over time, divided by the work that a job brings (`limits`), of
    the resource that lags most. A policy that makes a timetable of the whole line is not asked where it is very long.
    """
    before = int(SORTED * jobs)
    line = int(min(SURELY * spread_of_work(model) * math.sqrt(before + jobs), LONGEST_LINE))
    if order.rule.timetable and line > LONGEST_TIMETABLE:
        return False
    events = event_task(
        model, rate, order, seed=seed, replicas=np.arange(replicas), burn_in=line + before, jobs_observed=jobs,
        to_the_end=False, limit=1 << (4 * (line + before + jobs) + 4 * model.servers).bit_length(),
    )  # fmt: skip
    burst = burst_of(line, rate, model.mean_service)
    records, stopped = run_until(replace(events, changes=burst), context.engine)
    if stopped:
        raise Stopped
    time, work = np.array([one.observations.time for one in records]), np.array(model.works)
    used = np.flatnonzero(work > 0)
    if not time[:, SPAN].all():
        return False  # a job or two, which all ended at once: nothing was seen
    carried = time[:, KINDS + 2 * used] / time[:, [SPAN]] / work[used]
    lags = carried[:, int(np.argmin(carried.mean(axis=0)))]
    return mean_of(lags, SURE).high < rate
