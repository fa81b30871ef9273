"""What can be changed of a model, and what is said of the effects."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import loynes
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.inputs.jobs import draw
from loynes.inputs.tables import job_table
from loynes.model import load
from loynes.model.laws.stretched import Stretched
from loynes.questions.answering import levers
from loynes.questions.answering.levers import Variant
from loynes.questions.answering.objectives import target_of
from loynes.results.records.sensitivity import Effect, Sensitivity, by_size
from support import LAWS, single

CPU_GPU = {
    "resources": {"cpu": 8, "gpu": 2},
    "classes": [
        {"name": "a", "need": {"cpu": 2}, "probability": 0.5, "service": LAWS["exponential"]},
        {"name": "b", "need": {"cpu": 3, "gpu": 2}, "probability": 0.5, "service": LAWS["erlang"]},
    ],
}


@pytest.mark.parametrize("name", LAWS)
def test_stretched_laws(name: str) -> None:
    """Drawn from the same words, a stretched service is the service times the factor; and so are its figures."""
    factor = 1.7
    given = single(LAWS[name])
    law = given.classes[0].service
    longer = Stretched(of=law, factor=factor)
    changed = given.model_copy(update={"classes": (given.classes[0].model_copy(update={"service": longer}),)})
    ours, theirs = (draw(job_table(m, 0.1), 3, 0, 0, np.arange(512)).service for m in (changed, given))
    np.testing.assert_allclose(ours, factor * theirs, rtol=1e-11)
    assert longer.mean == pytest.approx(factor * law.mean)
    assert longer.variance == pytest.approx(factor**2 * law.variance)
    x = np.linspace(0.05, 4.0, 40)
    np.testing.assert_allclose(longer.cdf(factor * x), law.cdf(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(longer.above(factor * x), law.above(x), rtol=1e-9, atol=1e-12)
    assert (longer.light_tail, longer.highest_moment) == (law.light_tail, law.highest_moment)
    assert longer.edges == pytest.approx([factor * edge for edge in law.edges])
    assert levers.has_atoms(law) == levers.has_atoms(longer) == (name in ("deterministic", "mixture", "empirical"))


def test_shares() -> None:
    given = load("five-class-exponential")
    for position, lever in enumerate(levers.share_levers(Variant(given, 1.0), "percent", 0.02)[0]):
        for side, variant in ((-1, lever.low), (1, lever.high)):
            p = [c.probability for c in variant.model.classes]
            before = [c.probability for c in given.classes]
            assert sum(p) == pytest.approx(1.0, abs=1e-12)
            assert p[position] == pytest.approx(before[position] * (1 + side * lever.step))
            rest = {round(p[k] / before[k], 12) for k in range(5) if k != position}
            assert len(rest) == 1
            assert abs(rest.pop() - 1) <= 0.02 + 1e-12
        assert lever.factor * 2 * lever.step == pytest.approx(0.01)


def test_a_share_near_one() -> None:
    """It is changed less, so that something is left of the others; and nearer still it has no effect to be told."""
    mostly = load("one-or-all", ["classes.small.probability=0.95", "classes.big.probability=0.05"])
    first, _ = levers.share_levers(Variant(mostly, 1.0), "percent", 0.04)[0]
    assert first.step == pytest.approx(0.04 * 0.05 / 0.95)
    assert first.high.model.classes[1].probability == pytest.approx(0.048)
    (other,), (why,) = levers.share_levers(Variant(load("one-or-all"), 1.0), "percent", 0.04)
    assert other.of == "big"
    assert "hardly any others" in why


def test_needs_and_servers() -> None:
    base = Variant(load(CPU_GPU), 1.0)
    needs, too_wide = levers.need_levers(base)
    assert [(one.name, one.change) for one in needs] == [("need of a (cpu)", "+1"), ("need of b (cpu)", "+1")]
    assert needs[1].high.model.demand(needs[1].high.model.classes[1]) == (4, 2)
    assert too_wide == ["b needs all gpu already"]
    servers, too_few = levers.server_levers(base)
    assert [(one.name, one.change) for one in servers] == [("cpu", "+1"), ("cpu", "-1"), ("gpu", "+1")]
    assert [one.high.model.units for one in servers] == [(9, 2), (7, 2), (8, 3)]
    assert too_few == ["jobs that need all 2 gpu could not run with one fewer"]
    plain, _ = levers.server_levers(Variant(load("five-class-exponential"), 1.0))
    assert [one.words for one in plain] == ["one server more", "one server fewer"]
    assert [one.high.model.servers for one in plain] == [21, 19]


def test_units() -> None:
    base = Variant(load("five-class-exponential"), 2.0)
    rate = levers.rate_lever(base, "unit", 0.01)
    assert (rate.factor, rate.change) == (pytest.approx(0.5 / 0.02), "+1")
    first, *_ = levers.length_levers(base, "unit", 0.01)
    assert first.factor == pytest.approx((1 / 0.5) / 0.02)
    (share, *_), _ = levers.share_levers(base, "unit", 0.01)
    assert (share.factor, share.change) == (pytest.approx((0.01 / 0.5) / 0.02), "+0.01")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mean(wait[T9])", "no class 'T9'"),
        ("p97(wait)", r"of waits there are .*p95\(wait\)"),
        ("speed", "'speed' is not known; there are .*hol_loss"),
        ("utilization[T1]", "of the whole cluster"),
    ],
)
def test_targets_that_are_none(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        target_of(text, [c.label for c in load("five-class-exponential").classes])


def test_targets() -> None:
    given = load("five-class-exponential")
    assert target_of(" P( wait[T1] > 2.5 ) ", [c.label for c in given.classes]).exceeds == (2.5,)
    assert target_of("variance(wait)", []).metric.name == "wait.variance"  # no bound, so it need not be monotone


def effect(name: str, value: float, half: float, reverse: str = "", **more: object) -> Effect:
    given = Effect(name, "rate", "", "+1%", f"more {name}", reverse, Estimate(value, value - half, value + half),
                   "derivative")  # fmt: skip
    return replace(given, **more)  # type: ignore[arg-type]


def told(*effects: Effect, grows: int = 1) -> Sensitivity:
    return Sensitivity(
        subject="it", model=None, rate=1.0, threshold=Estimate.exact(2.0), objective="mean(wait)", label="mean wait",
        grows=grows, base=Estimate(4.0, 3.9, 4.1), effects=by_size(list(effects)), per="percent", confidence=0.99,
        replicas=2, jobs=3, backend="cpu",
    )  # fmt: skip


def test_the_most_effective() -> None:
    worse, better = effect("need", 3.0, 0.1), effect("speed", -1.0, 0.1)
    both, unsure = effect("rate", 2.0, 0.1, reverse="less rate"), effect("luck", -9.0, 10.0)
    beyond = effect("gone", math.inf, 0.0, effect=Estimate.exact(math.inf), note="unstable")
    assert told(worse, better, unsure).statement == "more speed would lower the mean wait most: by 1.00 ±0.10 (25%)"
    assert told(worse, better, both, beyond).statement.startswith("less rate would lower the mean wait most: by 2.00")
    assert told(worse, both, grows=-1).statement.startswith("more need would raise")
    assert told(worse, better, unsure, grows=0).statement.startswith("more need would raise")
    assert "can be told from none" in told(unsure).statement
    result = told(worse, better, both, unsure, beyond)
    assert [one.lever for one in result.effects] == ["gone", "luck", "need", "rate", "speed"]
    assert result.summary.rows[0][2] == "unstable"


def test_a_result_without_a_model_reads_back() -> None:
    result = told(effect("rate", 2.0, 0.1), effect("gone", 1.0, 0.0, effect=Estimate.exact(math.inf)))
    again = Sensitivity.from_dict(json.loads(result.to_json()))
    assert again.to_json() == result.to_json()
    assert again.effects == result.effects
    assert "<h1>" in result.report()


def test_effects_in_a_table() -> None:
    """In percent of the objective as it is; a difference says how far to both sides it goes."""
    result = told(effect("rate", 2.0, 0.1, method="difference", step=0.0144), effect("gone", math.inf, 0.0))
    first, second = result.summary.rows
    assert first[2:] == ("unstable", "-", "derivative")
    assert second[3:] == ("+50", "difference (±1.4%)")


def test_an_unstable_change_has_no_finite_effect() -> None:
    result = loynes.sensitivity("five-class-exponential", load=0.75, samples=3000, replicas=16)
    assert result.model is not None
    there = {(one.lever, one.change): one for one in result.effects}
    assert there["servers", "-1"].note == "unstable"
    assert math.isinf(there["servers", "-1"].effect.estimate)
    fewer = levers.server_levers(Variant(result.model, result.rate))[0][1].high
    with pytest.raises(loynes.UnstableError):
        loynes.exact(fewer.model, rate=fewer.rate)
