"""log and exp from additions, multiplications and one division, in a fixed order.

Library functions differ in their last bits from one machine and backend to the next, and do not vectorise in
compiled loops. These are within 1 ulp (tests/exact), and every backend repeats them operation by operation, so
that a job is the same number everywhere. The argument reductions and coefficients are those of Sun's fdlibm (1993).
"""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array

LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
INVERSE_LN2 = 1.44269504088896338700e00
LOG_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
LOG_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)
EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
ONE_BITS = 0x3FF0000000000000
# Bits of sqrt(1/2), to 20 bits: mantissas are taken from [sqrt(1/2), sqrt(2)).
ROOT_BITS = 0x3FE6A09E00000000
MANTISSA = 0x000FFFFFFFFFFFFF
# Beyond this exp would leave the range of normal numbers; services never do.
EXP_LIMIT = 700.0


def log(x: Array) -> Array:
    """Natural logarithm of positive normal numbers."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64) + (ONE_BITS - ROOT_BITS)
    k = ((bits >> 52) - 1023).astype(np.float64)
    f = ((bits & MANTISSA) + ROOT_BITS).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (LOG_EVEN[0] + w * (LOG_EVEN[1] + w * LOG_EVEN[2]))
    odd = z * (LOG_ODD[0] + w * (LOG_ODD[1] + w * (LOG_ODD[2] + w * LOG_ODD[3])))
    half = 0.5 * f * f
    return np.asarray(k * LN2_HIGH - ((half - (s * (half + (even + odd)) + k * LN2_LOW)) - f))


def exp(x: Array) -> Array:
    """Exponential, for arguments cut to [-700, 700]."""
    x = np.minimum(np.maximum(np.asarray(x, dtype=np.float64), -EXP_LIMIT), EXP_LIMIT)
    k = np.floor(x * INVERSE_LN2 + 0.5)
    high = x - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    scale = ((k.astype(np.int64) + 1023) << 52).view(np.float64)
    return np.asarray(y * scale)
