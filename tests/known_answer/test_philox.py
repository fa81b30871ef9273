"""Random words are Random123's, on every backend, from one file of published answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loynes.inputs import philox
from loynes.kernels.cpu import philox as cpu

ANSWERS = [
    [int(word, 16) for word in line.split()]
    for line in Path(__file__).with_name("philox4x32-10.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_reference(answer: list[int]) -> None:
    assert [int(w) for w in philox.philox4x32(tuple(answer[:4]), tuple(answer[4:6]))] == answer[6:]


@pytest.mark.parametrize("answer", ANSWERS)
def test_cpu(answer: list[int]) -> None:
    c0, c1, c2, c3, k0, k1, *expected = answer
    index = np.uint64(c1 << 32 | c0).astype(np.int64)  # the counter's low half is the job index in two's complement
    out = np.zeros((4, 8), np.uint64)
    cpu.words(np.uint64(k1 << 32 | k0), c3, c2, index, *out)
    assert [int(w) for w in out[:, 0]] == expected


def test_there_are_answers() -> None:
    assert len(ANSWERS) == 3


@pytest.mark.parametrize("first", [0, -64, -(2**40), 2**40, 2**31 - 32])
def test_cpu_equals_reference(first: int) -> None:
    out = np.zeros((4, 64), np.uint64)
    cpu.words(0x0123456789ABCDEF, 3, 17, first, *out)
    expected = philox.words(0x0123456789ABCDEF, 3, 17, np.arange(first, first + 64))
    np.testing.assert_array_equal(out, np.array(expected))


def test_uniforms_stay_inside() -> None:
    ends = np.array([0, 2**32 - 1], np.uint64)
    assert philox.short_uniform(ends).tolist() == [2.0**-33, 1 - 2.0**-33]
    assert philox.long_uniform(ends, ends).tolist() == [2.0**-53, 1 - 2.0**-53]
