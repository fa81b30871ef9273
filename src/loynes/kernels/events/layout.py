"""A cluster of nodes and the rules of sharing it, as arrays: what the event loop reads of `[[nodes]]` and of classes.

A job is so many tasks that start together and end together. Each task takes its units on one node; the units of one
task are never spread over nodes. Without a `Layout` every kind of server is one pool.
"""

from __future__ import annotations

from typing import NamedTuple

from loynes.arrays import Ints

# How a task's node is chosen among those with enough free units.
PACK, SPREAD, FIRST_FIT = range(3)
PLACEMENTS = ("pack", "spread", "first-fit")
# What a job does to running jobs of lower priority: nothing; or it stops them, and they begin anew or go on later.
NEVER, RESTART, RESUME = range(3)
PREEMPTIONS = ("never", "restart", "resume")


class Layout(NamedTuple):
    """Nodes and the tasks that run on them."""

    capacity: Ints  # [node, kind], units a node has
    group: Ints  # [node], the entry of [[nodes]] that it belongs to
    tasks: Ints  # [class], how many tasks a job is made of
    task_need: Ints  # [class, kind], units of one task
    per_node: Ints  # [class], most tasks of one job on one node; 0 where there is no limit
    allowed: Ints  # [class, group], 1 where jobs of the class may run on nodes of that entry
    placement: int


class Rules(NamedTuple):
    """Who goes first, and how much anybody may hold at once."""

    priority: Ints  # [class], larger goes first
    preemption: int
    holder: Ints  # [class], the quota that its jobs count against, -1 for none
    quota: Ints  # [holder, kind], units that are its own; -1 where there is no limit
    cohort: Ints  # [holder], holders of one cohort lend what they do not use; -1 for no lending
    borrow: Ints  # [holder, kind], most units it may hold beyond its quota; -1 where there is no limit
