"""Several resources: sampled answers against exact chains, and disciplines against each other.

Intervals are at 99.9% unless said otherwise; seeds are fixed, so a test that passes keeps passing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import loynes
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.model import Model, load
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Piles

pytestmark = pytest.mark.usefixtures("means_only")


def model_of(units: dict[str, int], *classes: tuple[dict[str, int], float, float]) -> Model:
    """Classes as (need, probability, mean service), exponential."""
    listed = [
        {"need": need, "probability": p, "service": {"law": "exponential", "mean": mean}} for need, p, mean in classes
    ]
    return load({"resources": units, "classes": listed})


SMALL = {
    "two kinds": model_of({"cpu": 8, "gpu": 2}, ({"cpu": 1}, 0.6, 1.0), ({"cpu": 4, "gpu": 1}, 0.4, 2.0)),
    "apart": model_of({"a": 3, "b": 4}, ({"a": 1}, 0.5, 1.0), ({"b": 2}, 0.3, 2.0), ({"a": 3, "b": 4}, 0.2, 0.5)),
    "three kinds": model_of(
        {"cpu": 6, "gpu": 2, "disk": 3},
        ({"cpu": 1, "disk": 1}, 0.5, 0.7),
        ({"cpu": 2, "gpu": 1}, 0.3, 1.5),
        ({"cpu": 5, "gpu": 2, "disk": 1}, 0.2, 1.0),
    ),
    "memory": model_of(
        {"cpu": 4, "memory": 40}, ({"cpu": 1, "memory": 3}, 0.7, 1.0), ({"cpu": 1, "memory": 30}, 0.3, 1.0)
    ),
    "one scarce": model_of({"cpu": 50, "gpu": 3}, ({"cpu": 1, "gpu": 1}, 0.8, 1.0), ({"cpu": 1, "gpu": 3}, 0.2, 1.0)),
}


@pytest.mark.parametrize("name", SMALL)
def test_threshold(name: str) -> None:
    model = SMALL[name]
    exact = loynes.exact(model)
    found = loynes.stability(model, precision=0.01, confidence=0.999)
    assert found.threshold.low <= exact.threshold <= found.threshold.high
    for kind, loss in found.resources.items():
        assert loss.low <= exact.resources[kind]["hol_loss_saturated"] <= loss.high


@pytest.mark.parametrize("method", ["sandwich", "perfect"])
@pytest.mark.parametrize("name", SMALL)
def test_waits(name: str, method: str) -> None:
    model = SMALL[name]
    exact = loynes.exact(model, load=0.7)
    # A perfect sample costs a past of its own; the sandwich is cheap.
    precision = 0.03 if method == "sandwich" else 0.05
    found = loynes.evaluate(model, load=0.7, method=method, precision=precision, confidence=0.999)
    assert found.overall.wait.mean.relative <= 1.1 * precision
    for c in model.classes:
        mean = found.classes[c.label].wait.mean
        assert mean.low <= exact.classes[c.label].mean <= mean.high, c.label
    for kind, resource in found.system.resources.items():
        assert resource.hol_loss.low <= exact.resources[kind]["hol_loss"] <= resource.hol_loss.high, kind
        assert resource.busy.estimate == pytest.approx(exact.resources[kind]["busy"])


def test_a_scarce_resource_alone_decides() -> None:
    """Where CPUs are never scarce, the answer is that of a cluster of the GPUs alone."""
    alone = load({"servers": 3, "classes": [
        {"need": n, "probability": p, "service": {"law": "exponential", "mean": 1.0}} for n, p in ((1, 0.8), (3, 0.2))
    ]})  # fmt: skip
    assert loynes.exact(SMALL["one scarce"]).threshold == pytest.approx(loynes.exact(alone).threshold, rel=1e-10)
    assert loynes.exact(SMALL["one scarce"], load=0.8).mean_wait == pytest.approx(
        loynes.exact(alone, load=0.8).mean_wait, rel=1e-9
    )


def test_random_assignment_two_ways() -> None:
    """Servers drawn by name, and places drawn in the ordered vector: one law of the pile's growth."""
    model = load("five-class-exponential").with_discipline("random")
    table, needs, mix = job_table(model, None), needs_of(model), Mix.of(model)
    growth = []
    for by_name in (True, False):
        piles = Piles(table, needs, mix, seed=5 + by_name, replicas=64, engine=CpuEngine())
        assert piles._task.random
        piles._task = replace(piles._task, random=by_name)
        piles.extend(1 << 14)
        growth.append(piles.state().top / (1 << 14))
    apart = np.mean(growth[0]) - np.mean(growth[1])
    sure = np.sqrt(np.var(growth[0], ddof=1) / 64 + np.var(growth[1], ddof=1) / 64)
    assert abs(apart) < 4.5 * sure


def test_order_of_disciplines() -> None:
    """Overtaking can only help here, drawing at random only hurt."""
    model = load("cpu-gpu-mix")
    waits = {
        d: loynes.evaluate(model, rate=1.2, precision=0.05, discipline=d).overall.wait.mean
        for d in ("fcfs", "reserving", "random")
    }
    assert waits["reserving"].high < waits["fcfs"].low
    assert waits["fcfs"].high < waits["random"].low


def test_specific_servers_wait_longer() -> None:
    """One server, any or a certain one; with as many as there are, the same."""

    def wait(need: int, own: int, servers: int = 4) -> loynes.Estimate:
        model = load({"servers": servers, "classes": [
            {"need": need, "specific": own, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}
        ]})  # fmt: skip
        return loynes.evaluate(model, rate=0.5, precision=0.02).overall.wait.mean

    assert wait(1, 0).high < wait(0, 1).low
    assert wait(4, 0).estimate == pytest.approx(wait(0, 4).estimate, rel=1e-12)  # the same jobs, summed otherwise


def test_one_certain_server() -> None:
    """Out of turn, four queues with a server each; in turn, a job also waits for those ahead of it to start.

    In turn, the pile grows by E[start of the next job] a job: a new job starts with the one ahead unless it wants a
    server that is busy then, and so on; no formula, but less than four queues take, and more than one server alone.
    """
    model = load({"servers": 4, "classes": [
        {"need": 0, "specific": 1, "probability": 1.0, "service": {"law": "exponential", "mean": 1.0}}
    ]})  # fmt: skip
    apart = loynes.stability(model, discipline="reserving", precision=0.02).threshold
    in_turn = loynes.stability(model, precision=0.02).threshold
    assert apart.low <= 4.0 <= apart.high * 1.0001
    assert in_turn.low > 1.0
    assert in_turn.high < 0.8 * apart.low
    waits = loynes.evaluate(model, rate=2.0, precision=0.02, confidence=0.999, discipline="reserving").overall.wait.mean
    assert waits.low <= 1.0 <= waits.high  # M/M/1 at load 1/2
