"""log and exp are within an ulp of the truth, in NumPy and compiled, and the two are the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from loynes.inputs import elementary
from loynes.kernels.cpu import elementary as cpu
from loynes.kernels.cuda.compiled import SHARED, literal

RNG = np.random.default_rng(7)
POSITIVE = np.concatenate([RNG.random(200_000), 1 - 1e-7 * RNG.random(50_000), 2.0 ** RNG.uniform(-53, 10, 50_000)])
EXPONENTS = np.concatenate([RNG.uniform(-700, 700, 100_000), RNG.uniform(-1, 1, 100_000)])

cpu_log, cpu_exp = cpu.log, cpu.exp


@njit(error_model="numpy")
def _logs(x):
    return np.array([cpu_log(y) for y in x])


@njit(error_model="numpy")
def _exps(x):
    return np.array([cpu_exp(y) for y in x])


@pytest.mark.parametrize(
    ("ours", "compiled", "truth", "x"),
    [(elementary.log, _logs, np.log, POSITIVE), (elementary.exp, _exps, np.exp, EXPONENTS)],
)
def test_accurate_and_equal(ours, compiled, truth, x) -> None:
    exact = truth(x.astype(np.longdouble))
    ulp = np.spacing(np.abs(exact).astype(np.float64))
    assert np.max(np.abs(ours(x) - exact) / ulp) <= 1.0
    np.testing.assert_array_equal(ours(x), compiled(x))


def test_exp_is_cut() -> None:
    assert elementary.exp(np.array([-1e9, 1e9])).tolist() == elementary.exp(np.array([-700.0, 700.0])).tolist()


def test_constants_reach_the_gpu_exactly() -> None:
    """What Python hands to the CUDA sources reads back as the same number."""
    for value in SHARED.values():
        text = literal(value)
        assert (float.fromhex(text.strip("()")) if isinstance(value, float) else int(text.strip("()ul"), 0)) == value
