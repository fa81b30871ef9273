"""Waits against textbook queues and the exact values of one-or-all.

Every interval has confidence 1 - 1e-6 (support.SURE) and a bound on its width, so a check can fail both by being wrong
and by being vague. Percentile intervals are checked too, so their construction is part of the claim.
"""

from __future__ import annotations

import math

import pytest

import loynes
from loynes.errors import LoynesWarning
from support import LAWS, SURE, assert_holds, single

EXPONENTIAL = {"law": "exponential", "mean": 1.0}
METHODS = ["sandwich", "perfect", "forward", "backward"]


def erlang_c(servers: int, offered: float) -> float:
    """Probability of waiting in M/M/c."""
    blocking = 1.0
    for k in range(1, servers + 1):
        blocking = offered * blocking / (k + offered * blocking)
    return blocking / (1 - offered / servers * (1 - blocking))


@pytest.mark.parametrize("method", METHODS)
def test_mm1(method: str) -> None:
    """Everything M/M/1 has a formula for, by every method; a backward sample's bias is far below these intervals."""
    result = loynes.evaluate(
        single(EXPONENTIAL),
        rate=0.5,
        method=method,
        samples=200_000,
        confirmations=2 if method == "backward" else None,
        exceeds=(0, 1, 4.0),
        confidence=SURE,
    )
    only = result.classes["only"]
    for waits in (only, result.overall):
        assert_holds(1.0, waits.wait.mean, 0.06)
        assert_holds(3.0, waits.wait.variance, 0.2)
        assert_holds(0.5, waits.no_wait, 0.03)
        for x in (0.0, 1.0, 4.0):
            assert_holds(0.5 * math.exp(-0.5 * x), waits.exceeds[x], 0.12)
        assert_holds(2.0, waits.response.mean, 0.03)
        assert_holds(4.0, waits.response.variance, 0.2)
        for q, name in ((0.9, "p90"), (0.95, "p95"), (0.99, "p99")):
            assert_holds(2 * math.log(0.5 / (1 - q)), getattr(waits.wait, name), 0.12)
            assert_holds(2 * -math.log(1 - q), getattr(waits.response, name), 0.08)
        assert_holds(2 * math.log(2), waits.response.p50, 0.06)
        assert waits.wait.p50.low == 0
        assert waits.wait.p50.high < 0.2
    assert_holds(1.0, result.system.jobs_in_system, 0.03)
    assert_holds(0.5, result.system.jobs_waiting, 0.06)
    assert result.system.busy_servers.estimate == 0.5
    assert result.system.hol_loss.high == 0


@pytest.mark.usefixtures("means_only")
@pytest.mark.parametrize(("servers", "load"), [(2, 0.8), (10, 0.9), (50, 0.9), (200, 0.95)])
def test_mmc(servers: int, load: float) -> None:
    # With many servers and needs of 1 the majorant is loose and its burn-in long: the largest case goes from empty.
    method = "sandwich" if servers < 200 else "forward"
    result = loynes.evaluate(
        single(EXPONENTIAL, servers), rate=load * servers, samples=1_500_000, confidence=SURE, method=method
    )
    waiting = erlang_c(servers, load * servers)
    assert_holds(waiting / (servers * (1 - load)), result.overall.wait.mean, 0.12)
    assert_holds(1 - waiting, result.overall.no_wait, 0.05)
    assert result.system.hol_loss.high == 0


@pytest.mark.usefixtures("means_only")
@pytest.mark.parametrize("law", sorted(LAWS))
def test_mg1(law: str) -> None:
    """Pollaczek and Khinchine: mean wait = rate E[S^2] / (2 (1 - load)), for every law."""
    model = single(LAWS[law])
    service = model.classes[0].service
    rate = 0.6 / service.mean
    # Heavy tails have no certificate; the chain from empty has long forgotten it here.
    method = "sandwich" if service.light_tail else "forward"
    result = loynes.evaluate(model, rate=rate, samples=1_000_000, confidence=SURE, method=method)
    second = service.variance + service.mean**2
    assert_holds(rate * second / (2 * (1 - 0.6)), result.overall.wait.mean, 0.03)
    assert_holds(0.4, result.overall.no_wait, 0.02)


@pytest.mark.usefixtures("means_only")
def test_md1_busy() -> None:
    """M/D/1 at load 0.9, where the wait is long: load / (2 (1 - load)) services."""
    result = loynes.evaluate(single(LAWS["deterministic"]), rate=0.9 / 0.7, samples=6_000_000, confidence=SURE)
    assert_holds(0.7 * 0.9 / 0.2, result.overall.wait.mean, 0.06)


ONE_OR_ALL = {1: 3.7523494, 2: 8.5944007, 4: 23.490975, 5: 35.586642, 7: 84.464384}


@pytest.mark.usefixtures("means_only")
@pytest.mark.parametrize("tenth", [1, 4, 7])
def test_one_or_all(tenth: int) -> None:
    """The exact mean waits of 256 servers with needs 1 and 256, at low, middle and high load."""
    result = loynes.evaluate("one-or-all", rate=tenth * 0.1 * 20.448071666, precision=0.08, confidence=SURE)
    assert_holds(ONE_OR_ALL[tenth], result.overall.wait.mean, 0.085)


@pytest.mark.usefixtures("means_only")
@pytest.mark.parametrize("tenth", [2, 5])
def test_backward_is_a_lower_bound(tenth: int) -> None:
    """Sub-perfect samples lie below or at the truth: the interval may not lie above the exact value."""
    result = loynes.evaluate(
        "one-or-all", rate=tenth * 0.1 * 20.448071666, method="backward", samples=4_000, confidence=SURE
    )
    assert result.overall.wait.mean.low <= ONE_OR_ALL[tenth]
    assert result.details["length"]["min"] >= 8192
    assert sum(result.details["doublings"].values()) == 4_000


def test_missing_moments_are_said() -> None:
    model = single({"law": "pareto", "shape": 2.5, "mean": 1.0})
    with pytest.warns(LoynesWarning, match="finite moments only up to 2"):
        result = loynes.evaluate(model, rate=0.3, samples=1000, method="forward")
    assert any("cannot be trusted" in text for text in result.warnings)
    with pytest.warns(LoynesWarning, match="mean wait may be infinite"):
        loynes.evaluate(single({"law": "pareto", "shape": 1.5, "mean": 1.0}), rate=0.3, samples=1000, method="forward")
