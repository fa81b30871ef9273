"""What observed arrivals count, where classes depend on the arrival process (weighing.cuh)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.inputs.tables import Needs
from loynes.kernels.cuda.compiled import Shape
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.cuda.walked import WEIGHING

# Bits of a sum of weights, as a whole number.
SUM_BITS = 62


def weighed_by(shape: Shape, needs: Needs) -> Shape:
    """The shape that observes as these needs ask for."""
    return replace(shape, arriving=replace(shape.arriving, weighed=needs.phase_weight.size > 0))


class Weights:
    """The weights of a kernel's observations, and the types of its counts.

    Bins of many rows are summed in any order, so weights are made whole numbers of 2^-bits, as small as the sum of all
    of them allows: then the order does not matter.
    """

    def __init__(self, kernel: Kernel, needs: Needs, looked: NDArray[Any], columns: int, looks: int) -> None:
        """For at most so many looks into one bin; losses are computed from rows of `looked`, one a phase."""
        cp = cupy()
        self.looked = cp.asarray(looked)
        self.count: Any = np.uint32
        self.bin: Any = np.uint32
        if not kernel.shape.arriving.weighed:
            return
        self.count, self.bin = np.float64, np.uint64
        more = needs.phase_weight
        self._bits = SUM_BITS - math.ceil(math.log2(max(float(more.max()) * looks, 1.0)))
        counted = np.round(np.ldexp(more, self._bits)).astype(np.uint64)
        first, of_class = (column.astype(np.int32) for column in (first_columns(needs), needs.of_class))
        self._held = [cp.asarray(array) for array in (more, counted, first, of_class)]
        pointers = (array.data.ptr for array in self._held)
        kernel.fill("weighing", np.array((*pointers, len(needs.need), columns, looked[0].size), WEIGHING).tobytes())

    def counts(self, bins: NDArray[Any]) -> NDArray[Any]:
        """Bins as tallies have them."""
        return np.ldexp(bins.astype(np.float64), -self._bits) if self.bin is np.uint64 else bins


def first_columns(needs: Needs) -> Ints:
    """Where the columns of each distinct need begin, and where the last ones end: those of one need are neighbours."""
    rows = np.hstack([needs.need[:, None], needs.demand])
    begins = np.flatnonzero(np.any(np.diff(rows, axis=0), axis=1)) + 1
    return np.concatenate([[0], begins, [len(rows)]]).astype(np.int64)
