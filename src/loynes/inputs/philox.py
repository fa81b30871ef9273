"""Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): four random words as a pure function of counter and key.

The house's use of it: key = the 64-bit seed, counter = (job index low, job index high, replica, stream).
The index is a signed 64-bit integer in two's complement, so the past (-1, -2, ...) and the future have numbers too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loynes.arrays import Array, Ints

MULTIPLIER_0 = 0xD2511F53
MULTIPLIER_1 = 0xCD9E8D57
WEYL_0 = 0x9E3779B9
WEYL_1 = 0xBB67AE85
ROUNDS = 10

# One stream a purpose, so that no two parts of a study ever see the same numbers by accident.
STREAM_STATIONARY = 0
STREAM_PILE = 1
STREAM_PILOT = 2
STREAM_RESPONSE = 3
STREAM_START = 4
STREAM_MAJORANT = 5
STREAM_ARRIVAL = 6
STREAM_BELIEF = 7
STREAM_POLICY = 9  # what a policy draws, by how much it has drawn
STREAM_MAJORANT_CHECK = 16  # and the few after it, one an attempt
# Added to a stream's number: the words that pick a job's servers under random assignment, four picks a word group,
# the group's number above it.
ASSIGNMENT = 0x80
GROUP_SHIFT = 8

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

Words = NDArray[np.uint64]


def philox4x32(
    counter: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike], key: tuple[int, int]
) -> tuple[Words, Words, Words, Words]:
    """Ten rounds on counters of any common shape; words come back as 32-bit values in uint64 arrays."""
    c0, c1, c2, c3 = np.broadcast_arrays(*(np.asarray(c, dtype=np.uint64) for c in counter))
    k0, k1 = key
    for _ in range(ROUNDS):
        product_0 = c0 * np.uint64(MULTIPLIER_0)
        product_1 = c2 * np.uint64(MULTIPLIER_1)
        c0, c1, c2, c3 = (
            (product_1 >> _HALF) ^ c1 ^ np.uint64(k0),
            product_1 & _LOW,
            (product_0 >> _HALF) ^ c3 ^ np.uint64(k1),
            product_0 & _LOW,
        )
        k0 = (k0 + WEYL_0) & 0xFFFFFFFF
        k1 = (k1 + WEYL_1) & 0xFFFFFFFF
    return c0, c1, c2, c3


def words(seed: int, stream: int, replica: int | Ints, index: Ints) -> tuple[Words, Words, Words, Words]:
    """The four words of the jobs at `index` of one replica, or of one replica each."""
    position = np.asarray(index, dtype=np.int64).view(np.uint64)
    counter = (position & _LOW, position >> _HALF, np.asarray(replica, np.uint64), np.uint64(stream))
    return philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))


def short_uniform(word: Words) -> Array:
    """(x + 1/2) 2^-32: from 2^-33 to 1 - 2^-33, never 0 and never 1."""
    return (word.astype(np.float64) + 0.5) * 2.0**-32


def long_uniform(high: Words, low: Words) -> Array:
    """(x + 1/2) 2^-52 with x the first 52 bits of two words: exact in float64, never 0 and never 1."""
    return (((high << np.uint64(20)) | (low >> np.uint64(12))).astype(np.float64) + 0.5) * 2.0**-52
