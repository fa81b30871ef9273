"""Thresholds against exact and printed values; brackets at confidence 1 - 1e-6 (support.SURE)."""

from __future__ import annotations

import numpy as np
import pytest

import loynes
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.stationary.backward import initial_length
from loynes.threshold import bracket
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Pairs, Piles
from support import LAWS, SURE, assert_holds, single


def test_five_class_exponential() -> None:
    """The exact value is that of the saturated Markov chain, 842 states."""
    found = loynes.stability("five-class-exponential", precision=0.001, confidence=SURE)
    assert_holds(1.80086, found.threshold, 0.0005)
    assert_holds(20 * (1 - 1.80086 / found.ideal), found.hol_loss, 0.03)
    assert found.max_utilization.estimate == pytest.approx(1.80086 / 2.106816, rel=0.002)


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [
        ("five-class-erlang", 1.84, 0.005),
        ("five-class-pareto", 1.72, 0.005),
        ("five-class-hyperexponential", 1.50, 0.005),
    ],
)
def test_five_class_others(name: str, printed: float, digits: float) -> None:
    """Values the paper prints, to its digits and our error."""
    found = loynes.stability(name, precision=0.01, confidence=SURE)
    assert found.threshold.low - digits <= printed <= found.threshold.high + digits
    assert found.threshold.relative <= 0.005


def test_five_classes_that_grow_with_the_cluster() -> None:
    """So many times the servers for every job, and of them: the same pile, and no more jobs for it."""
    small, large = (_grown("five-class-exponential", times) for times in (256, 8192))
    assert_holds(1.80086, small.threshold, 0.01)
    assert (large.threshold, large.jobs) == (small.threshold, small.jobs)
    assert large.hol_loss.estimate == pytest.approx(32 * small.hol_loss.estimate, rel=1e-12)


def _grown(name: str, times: int) -> loynes.Threshold:
    model = loynes.load(name)
    classes = [{**c.model_dump(include={"probability", "service"}), "need": times * c.need} for c in model.classes]
    grown = loynes.load({"servers": times * model.servers, "classes": classes})
    return loynes.stability(grown, precision=0.01, confidence=SURE)


def test_cell_b() -> None:
    """The paper prints 2.38, found to 1%; a long run of ours gives 2.364 (docs/agreement.md)."""
    found = loynes.stability("borg-cell-b", precision=0.05, confidence=SURE)
    assert found.threshold.low <= 2.38 * 1.01
    assert found.threshold.high >= 2.38 * 0.99
    assert found.threshold.low <= 2.3608
    assert found.threshold.high >= 2.3708
    assert found.threshold.relative <= 0.025


@pytest.mark.parametrize("method", ["bracket", "regenerative", "doubling"])
def test_one_or_all(method: str) -> None:
    """259 states: 20.44807. The default takes the regenerative formula, as the big jobs need all servers."""
    found = loynes.stability("one-or-all", precision=0.01, confidence=SURE, method=method)
    assert_holds(20.44807, found.threshold, 0.005 if method != "doubling" else 0.05)
    assert loynes.stability("one-or-all", precision=0.1).method == "regenerative"


@pytest.mark.parametrize(
    ("name", "printed"), [("five-class-exponential", 0.95), ("five-class-pareto", 0.92), ("borg-cell-b", 0.85)]
)
def test_random_assignment(name: str, printed: float) -> None:
    """The paper's appendix, found to 1% there; in saturation every idle server is lost to blocking."""
    found = loynes.stability(name, precision=0.02, confidence=SURE, discipline="random")
    assert found.threshold.low <= 1.01 * printed
    assert found.threshold.high >= 0.99 * printed
    assert_holds(found.model.servers * (1 - found.max_utilization.estimate), found.hol_loss, 0.1)


def test_random_assignment_of_jobs_that_need_all() -> None:
    """There is nothing to choose: the same as in order."""
    model = {"servers": 3, "classes": [{"need": 3, "probability": 1, "service": LAWS["gamma"]}]}
    blind, ordered = (loynes.stability(model, discipline=d, method="bracket") for d in ("random", "fcfs"))
    for end in ("estimate", "low", "high"):  # in order, the work of the jobs bounds it, too: the same but for rounding
        assert getattr(blind.threshold, end) == pytest.approx(getattr(ordered.threshold, end), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "length"), [("one-or-all", 1024), ("one-or-all", 8192), ("five-class-pareto", 64), ("borg-cell-b", 16384)]
)
def test_controls_have_expectation_zero(name: str, length: int) -> None:
    """Counts, services and longest services waited for, over so many replicas that an error would show."""
    model = loynes.load(name)
    mix, replicas = Mix.of(model), 2048
    piles = Piles(job_table(model, None), needs_of(model), mix, seed=8, replicas=replicas, engine=CpuEngine())
    piles.extend(length)
    controls = piles.state().controls(mix)
    error = controls.std(axis=0, ddof=1) / np.sqrt(replicas)
    # Lengths at which rare classes have been seen often enough; 6 standard errors, as they are far from normal.
    assert np.all(np.abs(controls.mean(axis=0)) <= 6 * error + 1e-15)


def test_longest_waited_for() -> None:
    """Two classes, deterministic: a blocker waits 2 if a small job came since its last one, else 0."""
    service = {"law": "deterministic", "value": 2.0}
    small = {"need": 1, "probability": 0.75, "service": service}
    whole = {"need": 4, "probability": 0.25, "service": service}
    mix = Mix.of(loynes.load({"servers": 4, "classes": [small, whole]}))
    # Both classes are blockers of each other; the larger need comes first.
    by_job = [(0.25 * 0.75 if i else 0.0) for i in range(50)]
    np.testing.assert_allclose(mix.longest_waited_for(50), [2 * sum(by_job)] * 2, rtol=1e-12)
    place, cycle = mix.longest_in_a_cycle(1)
    assert place == 0
    assert cycle == pytest.approx(1.5)


@pytest.mark.parametrize(("mean", "threshold", "loss"), [(0.002, 203.0369, 78.1779), (1, 2.66667, 65.3333)])
def test_two_classes_in_saturation(mean: float, threshold: float, loss: float) -> None:
    """Exact by the saturated chain; in saturation every idle server is lost to blocking."""
    model = loynes.load("two-class-200").to_dict()
    model["classes"][1]["service"]["mean"] = mean
    found = loynes.stability(model, precision=0.002, confidence=SURE)
    assert_holds(threshold, found.threshold, 0.001)
    assert_holds(loss, found.hol_loss, 0.04)


@pytest.mark.parametrize("law", ["exponential", "deterministic", "gamma"])
def test_needs_of_one_block_nothing(law: str) -> None:
    """G/G/s: the threshold is the ideal, and nothing is lost."""
    model = single(LAWS[law], 7)
    found = loynes.stability(model, precision=0.01, confidence=SURE)
    assert found.threshold.low <= model.ideal
    assert found.threshold.high == pytest.approx(model.ideal, rel=0.01)
    assert found.hol_loss.high == 0


def test_jobs_that_need_all() -> None:
    """One class, need = servers: a single-server queue, threshold 1 / mean service."""
    model = {"servers": 5, "classes": [{"need": 5, "probability": 1, "service": LAWS["uniform"]}]}
    assert_holds(0.8, loynes.stability(model, precision=0.01, confidence=SURE).threshold, 0.005)


def test_two_classes_that_need_all() -> None:
    """Cycles end with either of them: the regenerative formula and the bracket agree, and hold the exact value."""
    service = {"law": "exponential", "mean": 1.0}
    shares = ((1, 0.7), (4, 0.2), (4, 0.1))
    model = loynes.load(
        {"servers": 4, "classes": [{"need": a, "probability": p, "service": service} for a, p in shares]}
    )
    exact = loynes.exact(model).threshold
    for method in ("regenerative", "bracket"):
        assert_holds(exact, loynes.stability(model, precision=0.005, confidence=SURE, method=method).threshold, 0.01)


@pytest.mark.parametrize(
    "law",
    [
        {"law": "hyperexponential", "probabilities": [0.9999, 0.0001], "means": [1.0, 1e4]},
        {"law": "bounded_pareto", "low": 1.0, "high": 1e6, "shape": 1.5},
    ],
)
def test_controls_reach_as_far_as_the_laws(law: dict[str, object]) -> None:
    """The longest service waited for, of laws that reach thousands of means: against a plain sum over its quantiles."""
    small = {"need": 1, "probability": 0.9, "service": law}
    whole = {"need": 4, "probability": 0.1, "service": {"law": "exponential", "mean": 1.0}}
    model = loynes.load({"servers": 4, "classes": [small, whole]})
    mix = Mix.of(model)
    found = mix.longest_in_a_cycle(1)
    assert found is not None
    x = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 2_000_000)])
    r = 0.9 * (1.0 - model.classes[0].service.cdf(x))
    assert found[1] == pytest.approx(np.trapezoid(r / (0.1 + r), x), rel=1e-5)


@pytest.mark.parametrize("servers", [100, 400])
def test_piles_on_profiles_hold_a_known_threshold_with_fewer_jobs(
    servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Need 1 alone: the threshold is the number of servers, of which these piles are not told."""
    model = single({"law": "exponential", "mean": 1.0}, servers)
    table = job_table(model, None)
    piled = {}
    for closer in (bracket.CLOSER, 0.0):  # from profiles; never
        monkeypatch.setattr(bracket, "CLOSER", closer)
        piles = Piles(table, needs_of(model), Mix.of(model), seed=3, replicas=32, engine=CpuEngine())
        found = bracket.bracket(
            piles, initial_length(table), regenerative=False, precision=0.01, confidence=SURE, max_jobs=1e8,
            progress=lambda done, text: None,
        )  # fmt: skip
        assert found.precise
        assert_holds(float(servers), found.threshold, 0.011)
        piled[closer] = found.jobs
    assert piled.pop(0.0) > 3 * piled.popitem()[1]


def test_a_pair_of_piles_has_the_top_of_one_and_the_bottom_of_the_other_of_the_same_jobs() -> None:
    model = single({"law": "exponential", "mean": 1.0}, 50)
    piles = Piles(job_table(model, None), needs_of(model), Mix.of(model), seed=3, replicas=4, engine=CpuEngine())
    piles.extend(640)
    start = np.linspace(0.0, 2.0, 50)
    upper, lower = piles.others(start), piles.others(0.5 * start)
    pair = Pairs(piles.others(start), piles.others(0.5 * start))
    for length in (640, 1280):
        for one in (upper, lower, pair):
            one.extend(length)
        state = pair.state()
        assert np.array_equal(state.top, (upper.workload() - start).max(axis=1))
        assert np.array_equal(state.bottom, (lower.workload() - 0.5 * start).min(axis=1))
        assert np.array_equal(state.service, lower.state().service)
        assert (state.bottom <= state.top).all()
    assert pair.jobs == 2 * 4 * 1280
    # Jobs that the first piles, from which profiles come, have not seen.
    flat = piles.others(None)
    flat.extend(640)
    assert not np.isin(flat.state().service, piles.state().service).any()
