"""Sums along chains whose expectations are known (see `kernels.controls`), added up while the chains run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loynes.arrays import Array
from loynes.kernels import controls as known
from loynes.kernels.controls import Controls, NoControls
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.reference import BLOCK

WORK, TIME, WORK_WORK, TIME_TIME, WORK_TIME = known.WORK, known.TIME, known.WORK_WORK, known.TIME_TIME, known.WORK_TIME
SEEN_WORK, SEEN_TIME, FAR_WORK, FAR_TIME = known.SEEN_WORK, known.SEEN_TIME, known.FAR_WORK, known.FAR_TIME
SQUARES = known.SQUARES


class Stretches(NamedTuple):
    """What the stretches of the present blocks of several replicas bring, beyond what is expected."""

    work: Array  # [replica, stretch]
    time: Array


def new_stretches(stride: int, count: int) -> Stretches:
    """Room for as many replicas."""
    work, time = np.zeros((2, count, BLOCK // stride))
    return Stretches(work, time)


@chosen_by_type
def add_jobs(controls, block, stride, stretches, own, g):
    """A replica's block is drawn: see what its stretches bring; row g of the sums is the replica's."""


@chosen_by_type
def add_stretch(controls, stretches, stretch, weight, wait, own, g):
    """An arrival is observed: its waits, by need, and what the stretch that begins with it brings."""


@add_jobs.variant(NoControls)
def _add_no_jobs(controls, block, stride, stretches, own, g):
    pass


@add_stretch.variant(NoControls)
def _add_no_stretch(controls, stretches, stretch, weight, wait, own, g):
    pass


@add_jobs.variant(Controls)
def _add_jobs(controls, block, stride, stretches, own, g):
    weight, group, squares = controls.weight, controls.group, 0.0
    for stretch in range(BLOCK // stride):
        work, time, first = -controls.work, -controls.time, stretch * stride
        for j in range(first, first + stride):
            part = weight[np.uint64(block.job_class[j])] * block.service[j]
            work += part
            squares += part * block.service[j]
            time += block.gap[j]
        stretches.work[g, stretch] = work
        stretches.time[g, stretch] = time
    if controls.groups == 1:
        own.sums[g, SQUARES] += squares
    else:
        for j in range(BLOCK):
            c = np.uint64(block.job_class[j])
            own.sums[g, SQUARES + group[c]] += weight[c] * block.service[j] * block.service[j]


@add_stretch.variant(Controls)
def _add_stretch(controls, stretches, stretch, weight, wait, own, g):
    sums, w, t = own.sums, stretches.work[g, stretch], stretches.time[g, stretch]
    y = 0.0
    for k in range(wait.size):
        y += weight[k] * wait[k]
    sums[g, WORK] += w
    sums[g, TIME] += t
    sums[g, SEEN_WORK] += y * w
    sums[g, SEEN_TIME] += y * t
    sums[g, FAR_WORK] += y * y * w
    sums[g, FAR_TIME] += y * y * t
    sums[g, WORK_WORK] += w * w
    sums[g, TIME_TIME] += t * t
    sums[g, WORK_TIME] += w * t
