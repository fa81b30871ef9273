"""Waits and thresholds under arrivals whose rate repeats: against Kolmogorov's equations, and runs of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import loynes
from loynes.inputs.arrivals import start_places
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.model import Model, load
from loynes.stationary.backward import backward_samples
from support import SURE, assert_holds

pytestmark = pytest.mark.usefixtures("means_only")

ONE = {"law": "exponential", "mean": 1.0}
CYCLE, RATES = 20.0, (0.2, 1.3, 0.9, 0.0)
DAY = {"process": "periodic", "cycle": CYCLE, "rates": list(RATES)}


def single(arrivals: dict[str, Any]) -> Model:
    return load({"servers": 1, "arrivals": arrivals, "classes": [{"need": 1, "probability": 1.0, "service": ONE}]})


def queue_in_cycles(most: int = 150) -> tuple[float, float, float]:
    """M_t/M/1 in its periodic state, by Kolmogorov's equations for up to `most` jobs: the mean wait of arriving jobs,
    the part of them that do not wait, and the mean number of jobs in the system over time.

    Given the time, an arrival finds what there is (Poisson arrivals see time averages); of n jobs each takes 1 on
    average, the first too, as services forget how long they have lasted.
    """
    size, length = most + 1, CYCLE / len(RATES)
    moves, sums = [], []
    for rate in RATES:
        q = np.diag(np.full(most, rate), 1) + np.diag(np.ones(most), -1)
        q -= np.diag(q.sum(axis=1))
        # The upper right part of the exponential is the integral of the moves over the slot.
        both = expm(np.block([[q, np.eye(size)], [np.zeros((size, 2 * size))]]) * length)
        moves.append(both[:size, :size])
        sums.append(both[:size, size:])
    law = np.zeros(size)
    law[0] = 1.0
    for _ in range(400):
        for move in moves:
            law = law @ move
    found, time = np.zeros(size), np.zeros(size)
    for rate, move, integral in zip(RATES, moves, sums, strict=True):
        found += rate * (law @ integral)
        time += law @ integral
        law = law @ move
    found, time = found / found.sum(), time / time.sum()
    assert found[-1] < 1e-12
    jobs = np.arange(size)
    return float(found @ jobs), float(found[0]), float(time @ jobs)


def test_one_server_against_kolmogorov_s_equations() -> None:
    """Sandwich, perfect samples and events; and Little's law between the two averages."""
    model, (wait, none, jobs) = single(DAY), queue_in_cycles()
    assert jobs == pytest.approx(0.6 * (wait + 1.0), rel=1e-9)
    assert model.rate == pytest.approx(0.6)
    found = loynes.evaluate(model, precision=0.02, confidence=SURE, seed=5)
    assert found.certificate is not None
    assert_holds(wait, found.overall.wait.mean, 0.03)
    assert_holds(none, found.overall.no_wait, 0.03)
    perfect = loynes.evaluate(model, method="perfect", samples=12_000, confidence=SURE, seed=6)
    assert_holds(wait, perfect.overall.wait.mean, 0.1)
    events = loynes.simulate(model, policy="fcfs", jobs=60_000, replicas=32, confidence=SURE, seed=7)
    assert_holds(wait, events.overall.wait.mean, 0.05)
    assert_holds(jobs, events.system.jobs_in_system, 0.05)


def test_constant_rates_are_poisson() -> None:
    model = single({"process": "periodic", "cycle": 3.0, "rates": [1.0, 1.0, 1.0]})
    found = loynes.evaluate(model, rate=0.7, precision=0.02, confidence=SURE, seed=3)
    assert found.certificate is not None
    assert_holds(0.7 / 0.3, found.overall.wait.mean, 0.03)


def test_classes_alone_make_the_threshold_without_a_mix() -> None:
    classes = [{"need": n, "probability": 0.5, "service": {"law": "uniform", "low": 0.0, "high": 2.0}} for n in (1, 3)]
    found = [
        loynes.stability(load({"servers": 4, "classes": classes} | arrivals), precision=0.02).threshold
        for arrivals in ({}, {"arrivals": DAY})
    ]
    assert found[0] == found[1]


def by_turns(cycle: float) -> Model:
    """Small jobs in one half of the cycle, big ones, of which there fits one at a time, in the other."""
    classes = [{"name": "small", "need": 1, "service": ONE}, {"name": "big", "need": 3, "service": ONE}]
    arrivals = {"process": "periodic", "cycle": cycle, "rates": [1.0, 1.0], "mix": [[1.0, 0.0], [0.0, 1.0]]}
    return load({"servers": 4, "arrivals": arrivals, "classes": classes})


def test_threshold_of_long_and_of_short_cycles() -> None:
    """Small jobs alone pile up by 1 / 4 each, big ones by 1. In long cycles a pile of both grows by the average, and
    the threshold is 1.6; a change of slots costs at most what is then running, log 4 + 1/2 services or so, in 1600
    jobs. In short ones jobs are mixed as if independent, small ones run beside big ones, and the threshold is that of
    such jobs, exactly."""
    long = loynes.stability(by_turns(2000.0), precision=0.01, confidence=SURE, seed=2).threshold
    assert long.low <= 1.6
    assert long.high >= 1.6 * (1.0 - 2.0 / 1600.0)
    assert 2.0 * long.relative <= 0.0101
    mixed = load({"servers": 4, "classes": [{"need": n, "probability": 0.5, "service": ONE} for n in (1, 3)]})
    short = loynes.stability(by_turns(1e-3), precision=0.01, confidence=SURE, seed=2).threshold
    assert_holds(loynes.exact(mixed).threshold, short, 0.0101)
    assert long.high < short.low


MIXED: dict[str, Any] = {
    "servers": 4,
    "arrivals": {"process": "periodic", "cycle": 30.0, "rates": [0.3, 1.5, 0.6],
                 "mix": [[0.9, 0.1], [0.3, 0.7], [1.0, 0.0]]},
    "classes": [{"name": "small", "need": 1, "service": ONE},
                {"name": "big", "need": 3, "service": {"law": "exponential", "mean": 0.5}}],
}  # fmt: skip


def simulated(cycles: int, scale: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Arrival times and classes, by thinning: shares nothing with the steps of ours."""
    arrivals = MIXED["arrivals"]
    cycle, own = 30.0, scale * np.array(arrivals["rates"])
    times = np.sort(rng.uniform(0.0, cycles * cycle, rng.poisson(own.max() * cycles * cycle)))
    slot = (times % cycle // (cycle / 3)).astype(int)
    kept = rng.random(len(times)) < own[slot] / own.max()
    big = np.array([row[1] for row in arrivals["mix"]])
    return times[kept], (rng.random(int(kept.sum())) < big[slot[kept]]).astype(np.int64)


def waits_of(times: np.ndarray, kinds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Four servers' free times, in turn."""
    free, before, waits = [0.0] * 4, 0.0, np.empty(len(times))
    service = rng.exponential(np.where(kinds == 1, 0.5, 1.0))
    for n, (now, kind) in enumerate(zip(times, kinds, strict=True)):
        need = 3 if kind else 1
        free.sort()
        start = max(now, before, free[need - 1])
        free[:need] = [start + service[n]] * need
        waits[n], before = start - now, start
    return waits


def test_classes_that_depend_on_the_slot() -> None:
    """Both classes' mean waits, of chains from both sides, perfect and backward samples, against 30 runs of 500 cycles,
    at 5 standard errors of both together: below one false alarm in 100,000. And no more workloads than the certificate
    allows lie beyond a level, whatever the slot."""
    model = load(MIXED)
    assert [c.probability for c in model.classes] == pytest.approx([(0.27 + 0.45 + 0.6) / 2.4, (0.03 + 1.05) / 2.4])
    rng, means = np.random.default_rng(8), []
    for _ in range(30):
        times, kinds = simulated(500, 1.0, rng)
        waits, later = waits_of(times, kinds, rng), times > 600.0
        means.append([waits[later & (kinds == k)].mean() for k in (0, 1)])
    expected, error = np.mean(means, axis=0), np.std(means, axis=0, ddof=1) / math.sqrt(len(means))
    chains = loynes.evaluate(model, precision=0.02, seed=4)
    perfect = loynes.evaluate(model, method="perfect", samples=8000, seed=4)
    samples = loynes.evaluate(model, method="backward", samples=8000, initial_length=4096, seed=4)
    for found in (chains, perfect, samples):
        for k, one in enumerate(found.classes.values()):
            mean = one.wait.mean
            assert abs(mean.estimate - expected[k]) <= 5.0 * math.hypot(error[k], mean.half_width / 2.576)
    certificate = chains.certificate
    assert certificate is not None
    assert certificate.flat
    assert certificate.drift < 0
    table, replicas = job_table(model, model.rate), np.arange(4000)
    (found,) = backward_samples(table, 4000, seed=9, initial=1024, engine=CpuEngine())
    slots = start_places(table.arrivals, 9, STREAM_STATIONARY, replicas) % 3
    for level in (5.0, 10.0, 20.0):
        bound = min(1.0, math.exp(certificate.log_mgf - certificate.theta * level))
        for slot in range(3):
            beyond = found.workload[slots == slot].max(axis=1) > level
            assert beyond.mean() <= bound + 5.0 * math.sqrt(bound / len(beyond))


def test_no_certificate_of_cycles_that_are_too_long() -> None:
    model = load(MIXED | {"arrivals": MIXED["arrivals"] | {"cycle": 1e6}})
    found = loynes.certify(model, max_jobs=1e7)
    assert not found
    assert "too small to sample cycles of 8e+05 jobs" in found.why


def test_threshold_of_an_order_that_depends_on_the_rate() -> None:
    """At the threshold the pile of jobs in the order of that rate grows as fast as time passes: 20 piles of 600 cycles
    of a run of our own, at 5 standard errors."""
    found = loynes.stability(load(MIXED), precision=0.02, seed=3).threshold
    rng, growth = np.random.default_rng(5), []
    for _ in range(20):
        times, kinds = simulated(600, found.estimate / 0.8, rng)
        growth.append(waits_of(np.zeros(len(times)), kinds, rng)[-1] / (600 * 30.0))
    error = np.std(growth, ddof=1) / math.sqrt(len(growth))
    assert abs(np.mean(growth) - 1.0) <= 5.0 * error + found.relative


def test_exact_answers_are_refused_where_slots_bring_classes() -> None:
    with pytest.raises(loynes.UsageError, match="classes that do not depend on the arrival process"):
        loynes.exact(load(MIXED))
    with pytest.raises(loynes.UsageError, match="they are for Poisson arrivals"):
        loynes.exact(single(DAY), rate=0.5)
    assert loynes.exact(single(DAY)).threshold == pytest.approx(1.0)
