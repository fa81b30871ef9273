"""log and exp, operation by operation as in `loynes.inputs.elementary`."""

from __future__ import annotations

import numpy as np

from loynes.inputs.elementary import (
    EXP,
    EXP_LIMIT,
    INVERSE_LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG_EVEN,
    LOG_ODD,
    MANTISSA,
    ONE_BITS,
    ROOT_BITS,
)
from loynes.kernels.cpu.compiled import compiled

_SHIFT = np.int64(ONE_BITS - ROOT_BITS)
_ROOT, _MANTISSA = np.int64(ROOT_BITS), np.int64(MANTISSA)
_E0, _E1, _E2 = LOG_EVEN
_O0, _O1, _O2, _O3 = LOG_ODD
_P0, _P1, _P2, _P3, _P4 = EXP


@compiled
def log(x):
    """log of a positive normal number; loops over it vectorise."""
    bits = np.float64(x).view(np.int64) + _SHIFT
    k = np.float64((bits >> np.int64(52)) - np.int64(1023))
    f = np.int64((bits & _MANTISSA) + _ROOT).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_E0 + w * (_E1 + w * _E2))
    odd = z * (_O0 + w * (_O1 + w * (_O2 + w * _O3)))
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + (even + odd)) + k * LN2_LOW)) - f)


@compiled
def exp(x):
    """exp of a number cut to [-700, 700]; loops over it vectorise."""
    x = min(max(x, -EXP_LIMIT), EXP_LIMIT)
    k = np.floor(x * INVERSE_LN2 + 0.5)
    high = x - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (_P0 + t * (_P1 + t * (_P2 + t * (_P3 + t * _P4))))
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    return y * np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)).view(np.float64)
