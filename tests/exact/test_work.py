"""Bounds of the threshold from the work of jobs alone: held against exact chains, and exact where needs are alike."""

from __future__ import annotations

import numpy as np
import pytest

import loynes
from loynes.threshold.work import bounds


def cluster(servers: int, *classes: tuple[int, float, float], **more: object) -> loynes.Model:
    """Of needs, probabilities and mean services, exponential."""
    return loynes.load({
        "servers": servers,
        "classes": [
            {"need": n, "probability": p, "service": {"law": "exponential", "mean": m}} for n, p, m in classes
        ],
        **more,
    })  # fmt: skip


def drawn(seed: int) -> loynes.Model:
    """A small cluster with two or three classes of any needs."""
    rng = np.random.default_rng(seed)
    servers, factor = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    needs = factor * rng.integers(1, servers // factor + 1, rng.integers(2, 4))
    shares, means = rng.dirichlet(np.ones(len(needs))), rng.exponential(1.0, len(needs))
    return cluster(servers, *zip(needs.tolist(), shares.tolist(), means.tolist(), strict=True))


def between(model: loynes.Model) -> tuple[float, float, float]:
    """The exact threshold, between its bounds."""
    low, high = bounds(model)
    exact = loynes.exact(model).threshold
    assert exact is not None
    return low, exact, high


def test_exact_thresholds_lie_between_the_bounds() -> None:
    for seed in range(40):
        low, exact, high = between(drawn(seed))
        assert 0 < low <= exact * (1 + 1e-9)
        assert exact <= high * (1 + 1e-9)


def test_both_ends_are_reached() -> None:
    # A long job of need 1 comes nearly always between two short ones that need all four servers: three of them idle.
    low, exact, high = between(cluster(4, (4, 0.99, 1e-6), (1, 0.01, 1.0)))
    assert low <= exact < low + 0.02 * (high - low)
    # A short job of need 2 has next to nothing to wait for.
    low, exact, high = between(cluster(4, (1, 0.99, 1.0), (2, 0.01, 1e-3)))
    assert high - 0.02 * (high - low) < exact <= high


@pytest.mark.parametrize(("servers", "need"), [(7, 1), (10, 3), (12, 4), (1_000_000, 1)])
def test_jobs_that_need_the_same_have_an_exact_threshold_without_a_run(servers: int, need: int) -> None:
    found = loynes.stability(cluster(servers, (need, 0.25, 2.0), (need, 0.75, 0.4)), precision=1e-9)
    exact = servers // need / 0.8
    assert (found.method, found.jobs, found.replicas) == ("work", 0, 0)
    for value in (found.threshold.estimate, found.threshold.low, found.threshold.high):
        assert value == pytest.approx(exact, rel=1e-12)
    assert found.hol_loss_saturated.estimate == pytest.approx(servers % need, abs=1e-6)


def test_small_needs_on_many_servers_need_no_run() -> None:
    model = cluster(100_000, (1, 0.5, 0.5), (15, 0.4, 1.0), (40, 0.1, 3.0))
    found = loynes.stability(model, precision=0.001)
    assert found.jobs == 0
    assert found.threshold.high == model.ideal
    assert found.threshold.low == pytest.approx(model.ideal * (1.0 - 39 / 100_000), rel=1e-12)
    assert 0.0 <= found.hol_loss_saturated.low <= found.hol_loss_saturated.high <= 39.001
    assert "nothing was sampled" in found.footer
    assert type(found).from_dict(found.to_dict()) == found


def test_piles_agree_where_both_are_at_hand() -> None:
    model = cluster(60, (2, 0.7, 1.0), (6, 0.3, 2.0))
    (low, high), piled = bounds(model), loynes.stability(model, method="bracket", precision=0.02, confidence=1 - 1e-6)
    assert piled.method == "bracket"
    assert piled.jobs > 0
    assert low <= piled.threshold.low <= piled.threshold.high <= high
    assert piled.threshold.high - piled.threshold.low <= 0.021 * piled.threshold.estimate


@pytest.mark.parametrize(
    "model",
    [
        cluster(8, (1, 0.5, 1.0), (3, 0.5, 1.0), discipline="random"),
        loynes.load({
            "servers": 8,
            "classes": [{"need": 1, "specific": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}],
        }),
        loynes.load("cpu-gpu-mix"),
    ],
    ids=["random", "specific", "several kinds"],
)  # fmt: skip
def test_nothing_but_the_ideal_is_known_where_servers_may_idle_beside_a_line(model: loynes.Model) -> None:
    assert bounds(model) == (0.0, model.ideal)


def test_the_page_of_such_an_answer_does_not_speak_of_runs() -> None:
    page = loynes.stability(cluster(1000, (1, 0.5, 0.5), (2, 0.5, 1.0)), precision=0.01).report()
    assert "nothing was sampled" in page
    assert "Independent runs" not in page
    assert "Independent runs" in loynes.stability(cluster(4, (1, 0.5, 0.5), (2, 0.5, 1.0)), precision=0.1).report()
