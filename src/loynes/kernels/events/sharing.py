"""Who goes first, and how much anybody may hold: priorities and quotas. Without rules nothing of this is compiled.

Priorities: the line is in order of priority, and among equals of arrival; wherever a policy speaks of the order of
arrival, that is the order.

Quotas: units that the jobs of a holder may have at once. A job that would exceed them is held back: it keeps its place,
and others pass it, as under Slurm's limits and in Kueue's queues. Holders of a cohort may borrow, up to a limit, what
the others' quotas leave unused: all of them together never hold more than their quotas together. What is lent comes
back when the borrower's jobs end, and not before, so that a holder may have to wait for its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Ints
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.layout import NEVER, RESUME, Rules
from loynes.kernels.events.uncounted import uncounted

NOBODY = -1
NO_LIMIT = -1


class Sharing(NamedTuple):
    """Rules, and what holds at the moment."""

    level: Ints  # [class], 0 goes first
    last: Ints  # [level], the last of it in line, or NOBODY
    newest: Ints  # [1], the job that came last if it is in line, or NOBODY
    resumes: bool  # a job that was stopped for another goes on where it was
    holder: Ints  # [class]
    quota: Ints  # [holder, kind]
    cohort: Ints  # [holder]
    borrow: Ints  # [holder, kind]
    held: Ints  # [holder, kind]
    together: Ints  # [cohort, kind], all quotas
    held_together: Ints  # [cohort, kind], of kinds for which the holder has a quota


class PreemptiveSharing(Sharing):
    """The same, and a job stops others of lower priority."""


def new_sharing(rules: Rules | None) -> Any:
    """Nobody is there; the empty tuple where there are no rules."""
    if rules is None:
        return ()
    values, level = np.unique(-np.asarray(rules.priority), return_inverse=True)
    quota, borrow = (np.ascontiguousarray(part, np.int64) for part in (rules.quota, rules.borrow))
    cohort = np.asarray(rules.cohort, np.int64)
    together = np.zeros((int(cohort.max(initial=NO_LIMIT)) + 1, quota.shape[1]), np.int64)
    for holder in np.flatnonzero(cohort >= 0):
        together[cohort[holder]] += np.maximum(quota[holder], 0)
    kind = Sharing if rules.preemption == NEVER else PreemptiveSharing
    return kind(
        level.ravel().astype(np.int64), np.full(len(values), NOBODY), np.full(1, NOBODY), rules.preemption == RESUME,
        np.asarray(rules.holder, np.int64), quota, cohort, borrow, np.zeros_like(quota), together,
        np.zeros_like(together),
    )  # fmt: skip


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def ahead_of_newcomer(sharing, floor, tail, c):
    """Behind whom a job of a class that arrives enters the line, which ends with `tail`."""


@ahead_of_newcomer.variant(type(None))
def _the_last(sharing, floor, tail, c):
    return tail


@ahead_of_newcomer.variant(Sharing, PreemptiveSharing)
def _the_last_of_its_level(sharing, floor, tail, c):
    level = sharing.level[c]
    while level >= 0 and sharing.last[level] == NOBODY:
        level -= 1
    return NOBODY if level < 0 else sharing.last[level]


@_chosen
def note_arrival(sharing, slot):
    """A job has come."""


@note_arrival.variant(type(None))
def _note_no_arrival(sharing, slot):
    pass


@note_arrival.variant(Sharing, PreemptiveSharing)
def _keep_newest(sharing, slot):
    sharing.newest[0] = slot


@_chosen
def newest_in_line(sharing, tail):
    """The job that came last of those in line; where there are priorities, if that is still in line."""


@newest_in_line.variant(type(None))
def _newest_is_last(sharing, tail):
    return tail


@newest_in_line.variant(Sharing, PreemptiveSharing)
def _kept_newest(sharing, tail):
    return sharing.newest[0]


@_chosen
def note_entry(sharing, floor, slot):
    """A job has entered the line."""


@note_entry.variant(type(None))
def _note_no_entry(sharing, floor, slot):
    pass


@note_entry.variant(Sharing, PreemptiveSharing)
def _note_last_entered(sharing, floor, slot):
    level, behind = sharing.level[floor.jobs[slot].job_class], floor.jobs[slot].after
    if behind == NOBODY or sharing.level[floor.jobs[behind].job_class] != level:
        sharing.last[level] = slot


@_chosen
def note_leaving(sharing, floor, slot):
    """A job is about to leave the line."""


@note_leaving.variant(type(None))
def _note_no_leaving(sharing, floor, slot):
    pass


@note_leaving.variant(Sharing, PreemptiveSharing)
def _note_last_left(sharing, floor, slot):
    level, ahead = sharing.level[floor.jobs[slot].job_class], floor.jobs[slot].before
    if sharing.newest[0] == slot:
        sharing.newest[0] = NOBODY
    if sharing.last[level] == slot:
        alike = ahead != NOBODY and sharing.level[floor.jobs[ahead].job_class] == level
        sharing.last[level] = ahead if alike else NOBODY


@_chosen
def goes_before(sharing, floor, slot, other):
    """Whether a job's place in line is before another's."""


@goes_before.variant(type(None))
def _arrived_before(sharing, floor, slot, other):
    return floor.jobs[slot].number < floor.jobs[other].number


@goes_before.variant(Sharing, PreemptiveSharing)
def _has_priority(sharing, floor, slot, other):
    mine, its = sharing.level[floor.jobs[slot].job_class], sharing.level[floor.jobs[other].job_class]
    return mine < its or (mine == its and floor.jobs[slot].number < floor.jobs[other].number)


@_chosen
def above(sharing, floor, slot, other):
    """By how many levels a job's priority is higher than another's; below 0 if it is lower."""


@above.variant(type(None))
def _all_are_alike(sharing, floor, slot, other):
    return 0


@above.variant(Sharing, PreemptiveSharing)
def _levels_above(sharing, floor, slot, other):
    return sharing.level[floor.jobs[other].job_class] - sharing.level[floor.jobs[slot].job_class]


@_chosen
def hold(sharing, floor, slot, sign):
    """A job takes its units (sign 1), or gives them back (-1)."""


@hold.variant(type(None))
def _hold_nothing(sharing, floor, slot, sign):
    pass


@hold.variant(Sharing, PreemptiveSharing)
def _hold_of_quota(sharing, floor, slot, sign):
    count_held(sharing, floor, slot, sign)


@uncounted
def count_held(sharing, floor, slot, sign):
    holder = sharing.holder[floor.jobs[slot].job_class]
    if holder < 0 or floor.jobs[slot].number == NOBODY:
        return
    cohort = sharing.cohort[holder]
    for k in range(floor.free.size):
        units = sign * floor.need[slot, k]
        sharing.held[holder, k] += units
        if cohort >= 0 and sharing.quota[holder, k] != NO_LIMIT:
            sharing.held_together[cohort, k] += units


@_chosen
def within_quota(sharing, floor, slot):
    """Whether a job's holder may have what it needs, beside what it has."""


@within_quota.variant(type(None))
def _no_quota(sharing, floor, slot):
    return True


@within_quota.variant(Sharing, PreemptiveSharing)
def _within_quota(sharing, floor, slot):
    return may_hold(sharing, floor, slot)


@uncounted
def may_hold(sharing, floor, slot):
    holder = sharing.holder[floor.jobs[slot].job_class]
    if holder < 0:
        return True
    cohort, may = sharing.cohort[holder], True
    for k in range(floor.free.size):
        quota, need = sharing.quota[holder, k], floor.need[slot, k]
        if quota == NO_LIMIT or need == 0:
            continue
        after = sharing.held[holder, k] + need
        if cohort < 0:
            may &= after <= quota
        else:
            may &= sharing.borrow[holder, k] == NO_LIMIT or after <= quota + sharing.borrow[holder, k]
            may &= sharing.held_together[cohort, k] + need <= sharing.together[cohort, k]
    return may


@_chosen
def from_here(sharing, floor, slot):
    """The first job in line from one on that is not held back by its quota, or NOBODY."""


@from_here.variant(type(None))
def _itself(sharing, floor, slot):
    return slot


@from_here.variant(Sharing, PreemptiveSharing)
def _not_held_back(sharing, floor, slot):
    while slot != NOBODY and floor.jobs[slot].place == NOBODY and not may_hold(sharing, floor, slot):
        slot = floor.jobs[slot].after
    return slot


@_chosen
def unless_held_back(sharing, floor, slot):
    """A job, or NOBODY if it is held back by its quota, or there is none."""


@unless_held_back.variant(type(None))
def _anyway(sharing, floor, slot):
    return slot


@unless_held_back.variant(Sharing, PreemptiveSharing)
def _unless_held_back(sharing, floor, slot):
    return slot if slot != NOBODY and may_hold(sharing, floor, slot) else NOBODY


@_chosen
def leaves_quota(sharing, floor, slot, head):
    """Whether the head of the line still has its quota where another job runs beside it."""


@leaves_quota.variant(type(None))
def _leaves_all(sharing, floor, slot, head):
    return True


@leaves_quota.variant(Sharing, PreemptiveSharing)
def _leaves_enough(sharing, floor, slot, head):
    count_held(sharing, floor, slot, 1)
    enough = may_hold(sharing, floor, head)
    count_held(sharing, floor, slot, -1)
    return enough


@_chosen
def counts_stops(sharing):
    """Whether jobs may be stopped and go on, so that a wait is all the time in which they did not run."""


@counts_stops.variant(type(None))
def _counts_no_stops(sharing):
    return False


@counts_stops.variant(Sharing)
def _never_stopped(sharing):
    return False


@counts_stops.variant(PreemptiveSharing)
def _may_resume(sharing):
    return sharing.resumes


@_chosen
def has_rules(sharing):
    """Whether there are priorities or quotas."""


@has_rules.variant(type(None))
def _has_none(sharing):
    return False


@has_rules.variant(Sharing, PreemptiveSharing)
def _has_some(sharing):
    return True
