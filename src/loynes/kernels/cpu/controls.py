"""Sums along chains whose expectations are known (see `kernels.controls`), added up while the chains run."""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array
from loynes.kernels import controls
from loynes.kernels.controls import Controls, NoControls
from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.reference import BLOCK

SURPLUS, SEEN, SQUARE, SERVICES = controls.SURPLUS, controls.SEEN, controls.SQUARE, controls.SERVICES


def new_surplus(stride: int, count: int) -> Array:
    """Room for the stretches of a block of as many replicas: [replica, stretch]."""
    return np.zeros((count, BLOCK // stride))


@chosen_by_type
def add_jobs(controls, block, stride, surplus, own, g):
    """Replica g's block is drawn: see what its stretches bring; row g of the sums is the replica's."""


@chosen_by_type
def add_stretch(controls, surplus, stretch, weight, wait, own, g):
    """An arrival is observed: its waits, by need, and the surplus of the stretch that begins with it."""


@add_jobs.variant(NoControls)
def _add_no_jobs(controls, block, stride, surplus, own, g):
    pass


@add_stretch.variant(NoControls)
def _add_no_stretch(controls, surplus, stretch, weight, wait, own, g):
    pass


@add_jobs.variant(Controls)
def _add_jobs(controls, block, stride, surplus, own, g):
    weight, group, squares = controls.weight, controls.group, 0.0
    for stretch in range(BLOCK // stride):
        work, time, first = -controls.expected, 0.0, stretch * stride
        for j in range(first, first + stride):
            part = weight[np.uint64(block.job_class[j])] * block.service[j]
            work += part
            squares += part * block.service[j]
            time += block.gap[j]
        surplus[g, stretch] = work - controls.passing * time
    if controls.groups == 1:
        own.sums[g, SERVICES] += squares
    else:
        for j in range(BLOCK):
            c = np.uint64(block.job_class[j])
            own.sums[g, SERVICES + group[c]] += weight[c] * block.service[j] * block.service[j]


@add_stretch.variant(Controls)
def _add_stretch(controls, surplus, stretch, weight, wait, own, g):
    x, y = surplus[g, stretch], 0.0
    for k in range(wait.size):
        y += weight[k] * wait[k]
    own.sums[g, SURPLUS] += x
    own.sums[g, SEEN] += y * x
    own.sums[g, SQUARE] += x * x
