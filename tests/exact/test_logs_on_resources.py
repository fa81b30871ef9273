"""Logs on several resources: every question runs them as replay does."""

from __future__ import annotations

import numpy as np
import pytest

import loynes
from loynes.errors import UsageError
from loynes.traces.trace import Trace

UNITS = {"cpu": 24, "gpu": 4}


def log() -> Trace:
    rng = np.random.default_rng(5)
    count = 600
    submit = np.sort(rng.random(count)) * 28 * 86400.0
    gpu = rng.choice([0, 1, 2], count, p=[0.6, 0.3, 0.1])
    cpu = rng.integers(1, 9, count) + 2 * gpu
    service = rng.exponential(12_000.0, count)
    demand = {"cpu": cpu.astype(np.int64), "gpu": gpu.astype(np.int64)}
    return Trace(submit - submit[0], cpu.astype(np.int64), service, np.full(count, np.nan), demand=demand)


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_the_log_itself_is_its_replay(policy: str) -> None:
    found = loynes.evaluate(log(), resources=UNITS, policy=policy, resamples=2)
    replayed = loynes.replay(log(), resources=UNITS, policy=policy)
    assert found.overall.wait.mean.estimate == pytest.approx(replayed.overall.wait.mean.estimate, rel=1e-12)
    assert set(found.system.resources) == set(UNITS)
    assert "24 cpu, 4 gpu under" in found.title


def test_plans_and_sweeps_of_a_resource() -> None:
    plan = loynes.plan(
        log(), resources={"cpu": 60, "gpu": 2}, vary="gpu", slo="mean(wait) <= 8000", resamples=4, probability=0.6
    )
    assert plan.vary == "gpu"
    assert plan.answer >= 2
    sweep = loynes.sweep(log(), resources=UNITS, vary={"cpu": [20, 24, 40]}, resamples=3)
    means = [case.result.overall.wait.mean.estimate for case in sweep.cases]
    assert means == sorted(means, reverse=True)
    assert [case.result.resources["cpu"] for case in sweep.cases] == [20, 24, 40]


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="resource 'tpu': arrays does not tell of it; it tells of: cpu, gpu"):
        loynes.evaluate(log(), resources={"tpu": 4})
    with pytest.raises(UsageError, match="servers and unit are for one kind alone"):
        loynes.evaluate(log(), resources=UNITS, servers=3)
    with pytest.raises(UsageError, match="vary 'servers': must be one of cpu, gpu, scale"):
        loynes.plan(log(), resources=UNITS, slo="mean(wait) <= 1")
    with pytest.raises(UsageError, match="max-need 2: say --max-need-of, one of cpu, gpu"):
        loynes.evaluate(log(), resources=UNITS, max_need=2)
