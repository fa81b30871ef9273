"""Services whose tails are heavier than exponential: certified, and held against theory.

Intervals have confidence 1 - 1e-6 (support.SURE) with fixed seeds, and a bound on their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loynes
from mg1 import mean_wait, percentile
from support import SURE, assert_holds, single

pytestmark = pytest.mark.usefixtures("without_response_percentiles")

LOGNORMAL = {"law": "lognormal", "mean": 1.0, "cv": 2.0}
PARETO = {"law": "pareto", "shape": 3.5, "mean": 1.0}
WEIBULL = {"law": "weibull", "shape": 0.5, "mean": 1.0}
MIXTURE = {
    "law": "mixture",
    "weights": [0.9, 0.1],
    "laws": [{"law": "uniform", "low": 0.2, "high": 0.8}, {"law": "lognormal", "mean": 4.0, "cv": 1.5}],
}
# Two hundred usual lengths, and one job that ran sixty times as long.
OUTLIER = {"law": "empirical", "values": [*(0.01 * k for k in range(1, 201)), 60.0]}
LOAD = 0.7


def certified(found: loynes.Evaluation) -> None:
    """A sandwich of short services and what long ones bring."""
    assert found.method == "sandwich"
    assert found.certificate is not None
    assert found.certificate.long is not None
    assert found.certificate.drift < 0


@pytest.mark.filterwarnings("ignore:.*the interval of the wait's variance cannot be trusted")
@pytest.mark.parametrize(
    ("law", "width"),
    [(LOGNORMAL, 0.15), (PARETO, 0.1), (WEIBULL, 0.2), (MIXTURE, 0.15), (OUTLIER, 0.3)],
    ids=["lognormal", "pareto", "weibull", "mixture", "outlier"],
)
def test_waits_of_one_server(law: dict[str, Any], width: float) -> None:
    """M/G/1: the mean by Pollaczek and Khinchine, how many do not wait, and percentiles of the whole distribution."""
    model = single(law)
    service = model.classes[0].service
    rate = LOAD / service.mean
    found = loynes.evaluate(model, rate=rate, samples=400_000, confidence=SURE)
    if law is not OUTLIER:
        certified(found)
    assert found.method == "sandwich"
    wait = found.overall.wait
    assert_holds(mean_wait(rate, service.mean, service.variance + service.mean**2), wait.mean, width)
    assert_holds(1.0 - LOAD, found.overall.no_wait, 0.05)
    for q, estimate in ((0.5, wait.p50), (0.9, wait.p90), (0.95, wait.p95)):
        assert_holds(sum(percentile(service, rate, q)) / 2.0, estimate, 1.5 * width)
    low, high = percentile(service, rate, 0.99)
    assert wait.p99.low <= high
    assert low <= wait.p99.high


def test_perfect_samples() -> None:
    found = loynes.evaluate(
        single(LOGNORMAL), rate=0.5, method="perfect", samples=5_000, delta=1e-6, confidence=SURE, seed=2
    )
    assert found.method == "perfect"
    assert found.certificate is not None
    assert found.certificate.long is not None
    assert_holds(mean_wait(0.5, 1.0, 5.0), found.overall.wait.mean, 0.25)
    assert_holds(0.5, found.overall.no_wait, 0.1)


def test_five_classes() -> None:
    """Every class has lognormal services: the built-in model with another law, lower and upper chains met."""
    model = loynes.load("five-class-exponential").to_dict()
    for c in model["classes"]:
        c["service"] = {"law": "lognormal", "mean": c["service"]["mean"], "cv": 3.0}
    found = loynes.evaluate(loynes.load(model), load=0.5, samples=20_000, replicas=64, confidence=SURE)
    certified(found)
    assert found.certificate is not None
    assert found.certificate.distance is not None
    assert found.certificate.distance.estimate < 0.1
    assert 0.0 < found.overall.wait.mean.low <= found.overall.wait.mean.high


def lognormal_classes(**given: Any) -> loynes.Model:
    classes = [
        {"need": need, "service": {"law": "lognormal", "mean": mean, "cv": 2.0}} for need, mean in ((1, 1.0), (2, 1.5))
    ]
    for c, p in zip(classes, given.pop("probabilities", ()), strict=False):
        c["probability"] = p
    return loynes.load({"servers": 2, "classes": classes} | given)


def test_two_resources() -> None:
    """A job of either resource, of all of both: a typed model; upper and lower chains agree where pairs have met."""
    classes = [
        {"need": {"cpu": 1}, "probability": 0.7, "service": {"law": "lognormal", "mean": 1.0, "cv": 2.0}},
        {"need": {"cpu": 2, "gpu": 1}, "probability": 0.3, "service": {"law": "lognormal", "mean": 1.0, "cv": 3.0}},
    ]
    model = loynes.load({"resources": {"cpu": 4, "gpu": 2}, "classes": classes})
    certified(loynes.evaluate(model, rate=1.0, precision=0.3, confidence=SURE))


def test_other_arrivals() -> None:
    """A modulated process, batches, and a cycle whose slots have classes of their own: all have a certificate."""
    mmpp = {"process": "mmpp", "generator": [[-0.1, 0.1], [0.2, -0.2]], "rates": [0.5, 2.0]}
    size = {"law": "empirical", "values": [1.0, 3.0]}
    batches = {"process": "batch", "size": size, "of": {"process": "poisson", "rate": 0.2}}
    cycle = {"process": "periodic", "cycle": 24.0, "rates": [0.5, 1.5], "mix": [[0.9, 0.1], [0.3, 0.7]]}
    of_phases = mmpp | {"mix": [[0.9, 0.1], [0.4, 0.6]]}
    both = {"probabilities": (0.7, 0.3)}
    for arrivals, shares in ((mmpp, both), (batches, both), (cycle, {}), (of_phases, {})):
        found = loynes.evaluate(
            lognormal_classes(arrivals=arrivals, **shares), load=0.4, precision=0.3, confidence=SURE
        )
        certified(found)


def test_batches_of_lognormal_services() -> None:
    """M^X/G/1: the first of a batch waits for what is there, the others for those before them, too."""
    arrivals = {"process": "batch", "size": {"law": "empirical", "values": [1.0, 3.0]}}
    model = loynes.load(
        single(LOGNORMAL).to_dict() | {"arrivals": arrivals | {"of": {"process": "poisson", "rate": 0.2}}}
    )
    found = loynes.evaluate(model, rate=0.6, samples=400_000, confidence=SURE)
    certified(found)
    # Batches of 1 and 3: mean 2, second moment 5. A batch is one service of M/G/1, of second moment 2 x 4 + 5.
    batch = mean_wait(0.3, 2.0, 2.0 * 4.0 + 5.0)
    assert_holds(batch + (5.0 - 2.0) / (2.0 * 2.0), found.overall.wait.mean, 0.15)


def test_pairs_start_above() -> None:
    """Upper starts have long services in them: some reach further than the exponential part alone would."""
    from loynes.kernels.cpu.engine import CpuEngine
    from loynes.stationary.sandwich import Pairs

    model = single(PARETO)
    found = loynes.certify(model, rate=LOAD).certificate
    assert found is not None
    pairs = Pairs(model, LOAD, found, seed=1, replicas=4096, engine=CpuEngine())
    exact = [sum(percentile(model.classes[0].service, LOAD, q)) / 2.0 for q in (0.5, 0.9, 0.99)]
    assert np.all(np.quantile(pairs.high[:, 0], [0.5, 0.9, 0.99]) > exact)
    assert np.all(pairs.low == 0.0)
