"""The oracle of M/G/1 waits, against the two queues whose waits have formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mg1 import mean_wait, percentile, wait_bounds
from support import LAWS, single


def crommelin(load: float, x: float) -> float:
    """P(wait <= x) in M/D/1 with services of length 1 (Erlang)."""
    terms = ((load * (k - x)) ** k * math.exp(-load * (k - x)) / math.factorial(k) for k in range(math.floor(x) + 1))
    return (1.0 - load) * math.fsum(terms)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_exponential_services(load: float) -> None:
    law = single({"law": "exponential", "mean": 2.0}).classes[0].service
    h, n = 0.01, 4000
    low, high = wait_bounds(law, load / 2.0, h, n)
    exact = 1.0 - load * np.exp(-(1.0 - load) * h * np.arange(n) / 2.0)
    assert np.all(low <= exact + 1e-12)
    assert np.all(exact <= high + 1e-12)
    assert np.max(high - low) < 0.01
    for q in (0.5, 0.9, 0.95, 0.99):
        least, most = percentile(law, load / 2.0, q)
        truth = max(2.0 * math.log(load / (1.0 - q)) / (1.0 - load), 0.0)
        assert least <= truth <= most
        assert most - least <= 1e-4 * truth
    assert mean_wait(load / 2.0, 2.0, 8.0) == pytest.approx(2.0 * load / (1.0 - load))


def test_fixed_services() -> None:
    law = single({"law": "deterministic", "value": 1.0}).classes[0].service
    low, high = wait_bounds(law, 0.7, 1 / 128, 1024)
    exact = np.array([crommelin(0.7, k / 128) for k in range(1024)])
    assert np.all(low <= exact + 1e-9)
    assert np.all(exact <= high + 1e-9)
    least, most = percentile(law, 0.7, 0.95)
    assert crommelin(0.7, least - 1e-9) <= 0.95 <= crommelin(0.7, most + 1e-9)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_mean_waits_of_every_law(law: str) -> None:
    """The bounds' own means hold Pollaczek's and Khinchine's; what lies beyond the grid has a share of the tail."""
    service = single(LAWS[law]).classes[0].service
    rate, h, n = 0.5 / service.mean, 0.01 * service.mean, 1 << 16
    low, high = wait_bounds(service, rate, h, n)
    exact = mean_wait(rate, service.mean, service.variance + service.mean**2)
    assert h * float(np.sum(1.0 - high)) <= exact * (1 + 1e-9)
    assert h * float(np.sum(1.0 - low)) >= exact * (1 - 2e-3)
    assert high[-1] - low[-1] < 1e-5
