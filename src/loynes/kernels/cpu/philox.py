"""Philox4x32-10 over a run of job indices; word for word `loynes.inputs.philox`."""

from __future__ import annotations

import numpy as np

from loynes.inputs.philox import MULTIPLIER_0, MULTIPLIER_1, ROUNDS, WEYL_0, WEYL_1
from loynes.kernels.cpu.compiled import inlined

_M0, _M1, _W0, _W1 = (np.uint64(x) for x in (MULTIPLIER_0, MULTIPLIER_1, WEYL_0, WEYL_1))
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@inlined
def words(seed, stream, replica, first, out_0, out_1, out_2, out_3):
    """The four words of jobs first, first + 1, ...; vectorised, which needs the rounds written inside the loop."""
    for i in range(out_0.size):
        index = np.uint64(first + i)
        c0 = index & _LOW
        c1 = index >> _HALF
        c2 = np.uint64(replica)
        c3 = np.uint64(stream)
        k0 = np.uint64(seed) & _LOW
        k1 = np.uint64(seed) >> _HALF
        for _ in range(ROUNDS):
            product_0 = c0 * _M0
            product_1 = c2 * _M1
            c0 = (product_1 >> _HALF) ^ c1 ^ k0
            c1 = product_1 & _LOW
            c2 = (product_0 >> _HALF) ^ c3 ^ k1
            c3 = product_0 & _LOW
            k0 = (k0 + _W0) & _LOW
            k1 = (k1 + _W1) & _LOW
        out_0[i] = c0
        out_1[i] = c1
        out_2[i] = c2
        out_3[i] = c3
