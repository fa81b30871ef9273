"""Mergeable summaries of waits: exact sums, and a histogram whose bins are at most 0.8% wide.

A bin is an interval of equal leading bits of wait / unit: 128 bins an octave, from 2^-20 to 2^28 units; smaller waits
(and no wait at all) share bin 0, larger ones the last. No logarithm is needed to find it.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.inputs.tables import JobTable, Needs

BITS = 7
LOWEST_OCTAVE = -20
HIGHEST_OCTAVE = 28
BINS = (HIGHEST_OCTAVE - LOWEST_OCTAVE) << BITS
BIN_SHIFT = 52 - BITS
BIN_OFFSET = (1023 + LOWEST_OCTAVE) << BITS


class Tally(NamedTuple):
    """Sums over observed arrivals, one row a replica (or a group of them), one column a distinct need."""

    per_unit: float  # 1 / unit
    looks: Ints  # [replica]
    wait: Array  # [replica, need], sum of waits
    square: Array  # [replica, need], sum of squared waits
    none: Ints  # [replica, need], arrivals that need not wait
    loss: Array  # [replica, kind], sum of the expected HOL loss of the arrival
    sums: Array  # [replica, column], what controls asked for (`kernels.controls`)
    bins: NDArray[np.uint32]  # [replica, need, bin]


def new_tally(replicas: int, needs: int, unit: float, kinds: int = 1, weighted: bool = False, sums: int = 0) -> Tally:
    """An empty tally; `weighted` where arrivals count differently for different classes; so many columns of sums."""
    counted, binned = (np.float64, np.float64) if weighted else (np.int64, np.uint32)
    return Tally(
        1.0 / unit,
        np.zeros(replicas, np.int64),
        np.zeros((replicas, needs)),
        np.zeros((replicas, needs)),
        np.zeros((replicas, needs), counted),
        np.zeros((replicas, kinds)),
        np.zeros((replicas, sums)),
        np.zeros((replicas, needs, BINS), binned),
    )


def tally_columns(table: JobTable, needs: Needs) -> int:
    """A column of waits for every need; of sessions, whose services hang together with waits, one of responses, too."""
    together = needs.phase_weight.size > 0 and table.arrivals.repeat >= 0
    return len(needs.need) * (2 if together else 1)


def columns_of(tally: Tally, columns: slice) -> Tally:
    """Some columns of a tally, not copied."""
    kept = {name: getattr(tally, name)[:, columns] for name in ("wait", "square", "none", "bins")}
    return tally._replace(**kept)


def sum_of(tallies: list[Tally]) -> Tally:
    """One tally of all that several have seen, row by row."""
    columns = zip(*(tally[1:] for tally in tallies), strict=True)
    return Tally._make([tallies[0].per_unit, *(functools.reduce(np.add, column) for column in columns)])


def bin_edges(unit: float) -> Array:
    """The BINS + 1 edges: the first is 0, the last stands for everything above."""
    code = (np.arange(BINS + 1, dtype=np.int64) + BIN_OFFSET) << BIN_SHIFT
    edges = code.view(np.float64) * unit
    edges[0] = 0.0
    return np.asarray(edges)


class Heap(NamedTuple):
    """What a pile gathers, one row a replica."""

    base: Array  # [replica], height of the bottom
    loss: Array  # [replica, kind], sum of the expected HOL loss of observed jobs
    jobs: Ints  # [replica, class], jobs piled
    service: Array  # [replica, class], sum of their services
    blocked: Array  # [replica, blocker], sum of the longest services that its jobs had to wait for
    longest: Array  # [replica, blocker], the longest such service since its last job


def new_heap(replicas: int, classes: int, blockers: int, kinds: int = 1) -> Heap:
    return Heap(
        np.zeros(replicas),
        np.zeros((replicas, kinds)),
        np.zeros((replicas, classes), np.int64),
        np.zeros((replicas, classes)),
        np.zeros((replicas, blockers)),
        np.zeros((replicas, blockers)),
    )


class Blockers(NamedTuple):
    """Classes that cannot start while jobs of certain others run."""

    of_class: Ints  # class -> blocker, or -1
    waits_for: Array  # [class, blocker], 1 where the blocker has to wait for the class, else 0
