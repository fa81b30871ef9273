"""What rare and long services can add to a pile, the queue above them, and blocks that start from a profile."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loynes
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.cpu.engine import CpuEngine
from loynes.model import Model, load
from loynes.stationary import long_services
from loynes.stationary.rare import RARE, RareLaws, RareServices
from loynes.threshold import profile
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Piles
from mg1 import geometric_sum
from support import LAWS, single

Job = tuple[int, float]


def pile(servers: int, jobs: list[Job], start: np.ndarray | None = None) -> np.ndarray:
    """The heights of all servers, ascending, from flat or from these."""
    heights = np.zeros(servers) if start is None else np.sort(start)
    for need, service in jobs:
        heights = reference.clamp_step(heights, need, service, 0.0)
    return heights


def two_values(short: float, rare: float, share: float) -> dict[str, Any]:
    return {"law": "empirical", "values": [short, rare], "weights": [1.0 - share, share]}


def classes_of(servers: int, *classes: tuple[int, float, dict[str, Any]]) -> Model:
    return load({"servers": servers, "classes": [{"need": n, "probability": p, "service": s} for n, p, s in classes]})


# ---- what one job can do ---------------------------------------------------------------------------------------------


def test_a_job_may_raise_a_pile_by_more_than_its_length() -> None:
    jobs = [(1, 10.0), (2, 1.0), (1, 10.0)]
    assert pile(2, jobs).max() == 21.0
    assert pile(2, [jobs[0], jobs[2]]).max() == 10.0


@st.composite
def piled(draw: st.DrawFn) -> tuple[int, list[Job], np.ndarray, float]:
    """Servers, jobs, heights to start from, and the longest service and distance of those heights; all whole, so that
    sums are exact."""
    servers = draw(st.integers(1, 9))
    longest = draw(st.integers(1, 1000))
    times = st.integers(0, longest).map(float)
    jobs = draw(st.lists(st.tuples(st.integers(1, servers), times), min_size=1, max_size=25))
    return servers, jobs, np.array(draw(st.lists(times, min_size=servers, max_size=servers))), float(longest)


@given(piled(), st.data())
def test_a_longer_service_raises_a_pile_by_no_more(given_: tuple[int, list[Job], np.ndarray, float], data: Any) -> None:
    servers, jobs, start, _ = given_
    which, by = data.draw(st.integers(0, len(jobs) - 1)), float(data.draw(st.integers(0, 5000)))
    longer = [(need, service + by * (i == which)) for i, (need, service) in enumerate(jobs)]
    before, after = pile(servers, jobs, start), pile(servers, longer, start)
    assert np.all(before <= after)
    assert np.all(after <= before + by)


@given(piled(), st.data())
def test_a_joining_job_raises_a_pile_by_its_length_and_another(
    given_: tuple[int, list[Job], np.ndarray, float], data: Any
) -> None:
    """The longest service, or as much as the heights were apart at the start."""
    servers, jobs, start, longest = given_
    place, need = data.draw(st.integers(0, len(jobs))), data.draw(st.integers(1, servers))
    length = float(data.draw(st.integers(0, 5000)))
    joined = [*jobs[:place], (need, length), *jobs[place:]]
    before, after = pile(servers, jobs, start), pile(servers, joined, start)
    assert np.ptp(before) <= longest
    assert np.all(before <= after)
    assert np.all(after <= before + longest + length)


# ---- factors of rare services ----------------------------------------------------------------------------------------


def blocks_of(model: Model, block: int) -> list[tuple[float, np.ndarray, np.ndarray, float]]:
    """Every block of so many jobs: its probability, its jobs by class, whether each is long, its pile's height.

    Services have one value, or two of which the second is the longer."""
    kinds = []
    for c, own in enumerate(model.classes):
        values = getattr(own.service, "values", None) or [own.service.mean]
        weights = getattr(own.service, "weights", None) or [1.0]
        total = sum(weights)
        kinds += [
            (own.probability * w / total, c, i > 0, (own.need, v))
            for i, (v, w) in enumerate(zip(values, weights, strict=True))
        ]
    found = []
    for jobs in itertools.product(kinds, repeat=block):
        probability = math.prod(p for p, _, _, _ in jobs)
        count = np.bincount([c for _, c, _, _ in jobs], minlength=len(model.classes))
        long = np.array([rare for _, _, rare, _ in jobs])
        found.append((probability, count, long, float(pile(model.servers, [job for _, _, _, job in jobs]).max())))
    return found


def mgf(model: Model, block: int, theta: float) -> float:
    return math.fsum(p * math.exp(theta * top) for p, _, _, top in blocks_of(model, block))


def bound(model: Model, block: int, theta: float, rare: RareServices) -> float:
    """The mean of exp(theta Y) over blocks without long services, with the factors of what they do not show."""
    blocks = [own for own in blocks_of(model, block) if not own[2].any()]
    seen = math.fsum(p for p, _, _, _ in blocks)
    values = [p / seen * math.exp(theta * top + float(rare.log_factor(n[None])[0])) for p, n, _, top in blocks]
    return math.fsum(values)


THETA, BLOCK, SHARE = 0.8, 3, 1e-4


def blocking() -> Model:
    """Two servers. Two long jobs of need 1 run side by side, unless one of need 2 comes between them: blocks with such
    a job are high, and it is these jobs that are long once in a while."""
    return classes_of(
        2,
        (2, 0.2, two_values(0.001, 10.0, SHARE)),
        (1, 0.02, {"law": "deterministic", "value": 10.0}),
        (1, 0.78, {"law": "deterministic", "value": 0.001}),
    )


def test_rare_services_of_a_class_that_is_seen() -> None:
    model = blocking()
    cost = SHARE * math.expm1(THETA * 10.0)
    truth, exact = mgf(model, BLOCK, THETA), RareServices(np.log1p([cost, 0.0, 0.0]), 0.0)
    assert truth <= bound(model, BLOCK, THETA, exact) <= 1.5 * truth
    # So many jobs that the rare value is just too rare to be counted on; a few of the usual ones count as rare, too.
    rare = RareLaws(job_table(model, None)).at(THETA, RARE / (0.2 * SHARE))
    assert rare.of_job == 0.0
    assert rare.of_class[0] == pytest.approx(exact.of_class[0], rel=1e-3)
    assert np.all(rare.of_class[1:] >= 0.0)
    assert truth <= bound(model, BLOCK, THETA, rare)
    # The factor outside of the average, as if long services had nothing to do with the rest, is too small.
    apart = bound(model, BLOCK, THETA, RareServices(np.zeros(3), 0.0)) * (1.0 + 0.2 * cost) ** BLOCK
    assert apart < 0.97 * truth


def test_jobs_of_a_class_that_is_not_seen() -> None:
    p = 1e-6
    model = classes_of(
        2, (1, 1.0 - p, {"law": "deterministic", "value": 10.0}), (2, p, {"law": "deterministic", "value": 1.0})
    )
    rare = RareLaws(job_table(model, None)).at(THETA, RARE / p / 10.0)
    exact = p / (1.0 - p) * math.exp(THETA * 11.0)
    assert rare.of_job == pytest.approx(math.log1p(exact), rel=1e-3)
    blocks = blocks_of(model, 2)
    unseen_by = [(q, n, top) for q, n, _, top in blocks if n[1] == 0]
    sampled = math.fsum(q * math.exp(THETA * top + 2 * rare.of_job) for q, _, top in unseen_by)
    assert mgf(model, 2, THETA) <= sampled
    # Three jobs, of which the middle one may be the rare one: its own length would not be enough.
    truth = mgf(model, 3, THETA)
    whole = math.fsum(q * math.exp(THETA * top) for q, n, _, top in blocks_of(model, 3) if n[1] == 0)
    assert truth <= whole * math.exp(3 * rare.of_job)


def test_a_class_that_is_not_seen_may_block() -> None:
    """Three servers and jobs that run side by side: a short job that needs all of them doubles the pile."""
    p = 1e-6
    model = classes_of(
        3, (1, 1.0 - p, {"law": "deterministic", "value": 10.0}), (3, p, {"law": "deterministic", "value": 1.0})
    )
    rare = RareLaws(job_table(model, None)).at(THETA, 1.0 / p)
    truth = mgf(model, 3, THETA)
    short = math.fsum(q * math.exp(THETA * top) for q, n, _, top in blocks_of(model, 3) if n[1] == 0)
    assert truth <= short * math.exp(3 * rare.of_job)
    assert truth > short / (1.0 - p) ** 3 * (1.0 + p * math.expm1(THETA * 1.0)) ** 3


# ---- services set apart ----------------------------------------------------------------------------------------------

HEAVY: dict[str, dict[str, Any]] = {
    "lognormal": {"law": "lognormal", "mean": 1.0, "cv": 3.0},
    "pareto": {"law": "pareto", "shape": 2.5, "mean": 0.7},
    "weibull": {"law": "weibull", "shape": 0.4, "mean": 1.5},
}


def heavy_classes() -> Model:
    """Three heavy classes, and one whose services are never long."""
    laws = [*HEAVY.values(), {"law": "uniform", "low": 0.5, "high": 1.5}]
    return classes_of(4, *((need, 0.25, law) for need, law in zip((1, 2, 4, 1), laws, strict=True)))


def chosen(model: Model, rate: float, eligible: list[bool]) -> tuple[Any, long_services.Residuals, Any]:
    table = job_table(model, rate)
    long = long_services.choose(table, model, 0.3 / rate, np.array(eligible))
    assert long is not None
    return long, long_services.residuals_of(model, table, long), table


@pytest.mark.parametrize("eligible", [[True, True, True, False], [True] * 4])
def test_long_services_lie_above_every_class(eligible: list[bool]) -> None:
    """P(r > x) is at least P(service > x, it is long), for every class and x, as services are drawn: to 2^-52. And not
    much more than the largest of them."""
    model = heavy_classes()
    long, residuals, table = chosen(model, 0.4, eligible)
    assert residuals.rho == pytest.approx(long.rho)
    assert 0.0 < residuals.rho < long_services.MOST_RHO
    x, tail = long_services.Laws(table, np.array(eligible)).long(np.array(list(long.thresholds.values())))
    assert x[0] == 0.0
    assert np.all(np.diff(tail) <= 0)
    assert residuals.share == tail[0] == pytest.approx(long.share)
    most = np.zeros(500)
    at = np.concatenate([[0.0], np.geomspace(1e-3, 0.99 * x[-1], 499)])
    step = tail[np.searchsorted(x, at, side="right") - 1]
    for c in (own for own in model.classes if own.label in long.thresholds):
        own = c.service.above(np.maximum(at, long.thresholds[c.label]))
        assert np.all(own <= step + 2.0**-52)
        most = np.maximum(most, own)
    assert float(np.sum(most)) >= 0.8 * float(np.sum(step))


def test_a_class_that_never_exceeds_its_threshold() -> None:
    """Where hardly anything may be long, the threshold of a bounded law is its largest value: it has no long part."""
    model = heavy_classes()
    table = job_table(model, 0.4)
    laws = long_services.Laws(table, np.ones(4, np.bool_))
    thresholds = laws.thresholds(1e-17)
    assert thresholds[3] == pytest.approx(1.5)
    _, tail = laws.long(thresholds)
    x_of_three, tail_of_three = long_services.Laws(table, np.array([True, True, True, False])).long(thresholds[:3])
    assert np.array_equal(tail, tail_of_three)
    residuals = long_services.Residuals(x_of_three[:1], tail[:0], 0.1)
    assert residuals.rho == residuals.share == residuals.level(1e-9) == 0.0
    assert np.all(residuals.sample(1, 2, 10) == 0.0)


def test_short_services_keep_to_their_thresholds() -> None:
    model = heavy_classes()
    long, _, _ = chosen(model, 0.4, [True, True, True, False])
    short = long_services.short_services(model, long)
    for before, after in zip(model.classes, short.classes, strict=True):
        if before.label in long.thresholds:
            assert float(after.service.above(long.thresholds[before.label])) == 0.0
            assert after.service.light_tail
            assert after.service.mean < before.service.mean
        else:
            assert after == before
    # A law that reaches its threshold and no further stays what it is.
    law = {"law": "deterministic", "value": 2.0}
    fixed = single(law)
    never = loynes.stationary.certificate.LongServices({"only": 2.0}, 0.0, 0.1, 0.0)
    assert long_services.short_services(fixed, never).classes[0].service.mean == 2.0


def test_the_queue_above_long_services() -> None:
    """A service r = 5 or 12 comes now and then, one chance every time 1: the wait, exactly, lies below G."""
    values, share, allowance = {5: 0.02, 12: 0.01}, 0.03, 1.0
    x, tail = np.array([0.0, 5.0, 12.0]), np.array([0.03, 0.01])
    residuals = long_services.Residuals(x, tail, allowance)
    assert residuals.share == pytest.approx(share)
    assert residuals.mean == pytest.approx(sum(v * p for v, p in values.items()))
    assert residuals.rho == pytest.approx(-math.log(0.97) * residuals.mean / 0.03)
    # The wait is a whole number: by the recursion of its masses, until nothing moves any more.
    wait = np.zeros(600)
    wait[0] = 1.0
    for _ in range(20_000):
        with_service = (1.0 - share) * wait
        for value, p in values.items():
            with_service[value:] += p * wait[:-value]
        after = np.append(with_service[1:], 0.0)
        after[0] += with_service[0]
        if np.max(np.abs(after - wait)) < 1e-17:
            break
        wait = after
    exceeded = 1.0 - np.cumsum(wait)
    # Of G the residual services rounded down to a grid, by their exact probabilities: it is above this.
    grid = np.arange(600 * 8) / 8
    mass = -np.diff(residuals.exceeds(np.append(grid, 600.0)))
    below = 1.0 - np.cumsum(geometric_sum(residuals.rho, mass))
    assert np.all(exceeded[:200] <= below[:1600:8] + 1e-12)
    assert exceeded[20] >= 0.5 * below[160]


def test_levels_bound_the_sums_of_residuals() -> None:
    """And their mean is that of a geometric number of residual services."""
    _, residuals, _ = chosen(heavy_classes(), 0.4, [True, True, True, False])
    sums = residuals.sample(3, 5, 200_000)
    one = np.trapezoid(residuals.exceeds(residuals.x), residuals.x)
    assert abs(np.mean(sums > 0) - residuals.rho) <= 5.0 * math.sqrt(residuals.rho / len(sums))
    cut = min(1000.0 * residuals.rho, float(residuals.x[-1]))
    assert 0.0 < float(np.mean(np.minimum(sums, cut))) <= residuals.rho / (1.0 - residuals.rho) * one
    for probability in (0.3, 0.1, 0.01, 1e-3, 1e-4):
        level = residuals.level(probability)
        assert np.mean(sums > level) <= probability + 5.0 * math.sqrt(probability / len(sums))
        assert level <= residuals.level(probability / 2)
    assert np.isfinite(residuals.level(1e-12))
    assert np.all(residuals.inverse(residuals.exceeds(residuals.x)) == pytest.approx(residuals.x))


def test_light_laws_have_no_far_reaching_classes() -> None:
    model = classes_of(2, (1, 0.5, LAWS["erlang"]), (2, 0.5, {"law": "lognormal", "mean": 1.0, "cv": 4.0}))
    assert long_services.far_reaching(job_table(model, None)).tolist() == [False, True]


# ---- profiles --------------------------------------------------------------------------------------------------------


def test_heights_of_a_profile() -> None:
    """Knots at 7, 3, 1 and 0 servers from the top, straight in between, and 0 at the bottom."""
    assert profile.heights_of((1.0, 2.0), 3).tolist() == [0.0, 1.0, 2.0]
    assert profile.heights_of((2.0, 4.0, 10.0), 6).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 10.0]
    assert profile.heights_of((3.0,), 2).tolist() == [0.0, 3.0]
    assert profile.heights_of((), 1).tolist() == [0.0]


@pytest.mark.parametrize("servers", [2, 3, 5, 8, 9, 50])
def test_profiles_of_one_shape_are_that_shape(servers: int) -> None:
    """Piles that are all alike, straight between the knots, at whatever height: nothing sticks out."""
    model = single(LAWS["exponential"], servers)
    piles = Piles(job_table(model, None), needs_of(model), Mix.of(model), seed=1, replicas=8, engine=CpuEngine())
    knots = len(profile._knots(servers))
    shape = profile.heights_of(tuple(float(3 * i + 1) for i in range(knots)), servers)
    piles._state.heights[:] = np.arange(8.0)[:, None] + shape
    found = profile.profile_of(piles)
    assert found == pytest.approx([3.0 * i + 1.0 for i in range(knots)])
    assert profile.heights_of(found, servers) == pytest.approx(shape)


def test_flat_piles_have_no_profile() -> None:
    for model in (single(LAWS["exponential"], 1), single(LAWS["exponential"], 4)):
        piles = Piles(job_table(model, None), needs_of(model), Mix.of(model), seed=1, replicas=8, engine=CpuEngine())
        assert profile.profile_of(piles) == ()


def test_a_certificate_with_a_profile() -> None:
    """M/M/50 at load 0.95: fresh blocks agree with its bound, and piles from the profile rise less than flat ones."""
    model = single({"law": "exponential", "mean": 1.0}, 50)
    found = loynes.certify(model, load=0.95).certificate
    assert found is not None
    assert found.profile
    start = profile.heights_of(found.profile, 50)
    assert np.all(np.diff(start) >= 0)
    options: dict[str, Any] = {"seed": 77, "replicas": 1024, "engine": CpuEngine()}
    piles = Piles(job_table(model, None), needs_of(model), Mix.of(model), start=start, **options)
    piles.extend(found.block)
    rise = (piles.workload() - start).max(axis=1)
    values = np.exp(found.theta * rise - found.log_mgf)
    assert values.mean() - 5.0 * values.std() / math.sqrt(len(values)) <= 1.0
    # From flat a pile of the same jobs is lower, server by server, and from the profile at most that much higher.
    flat = Piles(job_table(model, None), needs_of(model), Mix.of(model), **options)
    flat.extend(found.block)
    assert rise.mean() < flat.state().top.mean()
    assert np.all(flat.workload() <= piles.workload())
    assert np.all(piles.workload() <= flat.workload() + start[-1])
