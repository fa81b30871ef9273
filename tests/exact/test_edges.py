"""Corners: extreme scales, empty observations, rare branches, odd names, and results that must survive saving."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesWarning, ModelError, UsageError
from loynes.execution.context import Context
from loynes.inputs.tables import job_table
from loynes.kernels.cpu import compiled
from loynes.model import Model, laws, load
from loynes.questions.answering.evaluating import cpu_seconds
from loynes.questions.answering.long_chains import PILOT_SAMPLES
from loynes.questions.answering.methods import Methods
from loynes.questions.answering.orders import order_of
from loynes.questions.answering.replaying import classes_of
from loynes.questions.answering.thresholds import judged_rate
from loynes.stationary.backward import initial_length
from loynes.traces.trace import Trace
from support import LAWS, single


def scaled(name: str, factor: float) -> Model:
    document = load(name).to_dict()
    for entry in document["classes"]:
        entry["service"]["mean"] *= factor
    return load(document)


@pytest.mark.parametrize("factor", [2.0**-50, 2.0**60])
def test_time_units_do_not_matter(factor: float) -> None:
    """Powers of two scale every number exactly, so everything must come out scaled, bit for bit or nearly so."""
    base, other = (loynes.stability(scaled("five-class-exponential", k), precision=0.01) for k in (1.0, factor))
    assert other.threshold.estimate * factor == pytest.approx(base.threshold.estimate, rel=1e-12)
    assert other.threshold.low * factor == pytest.approx(base.threshold.low, rel=1e-9)
    assert other.variance_reduction == pytest.approx(base.variance_reduction, rel=1e-6)
    one, two = (loynes.evaluate(scaled("five-class-exponential", k), rate=1.3 / k, samples=3000) for k in (1.0, factor))
    assert two.overall.wait.p95.estimate == pytest.approx(one.overall.wait.p95.estimate * factor, rel=1e-9)
    assert two.system.hol_loss.estimate == pytest.approx(one.system.hol_loss.estimate, rel=1e-9)


def test_few_observations_leave_percentiles_open() -> None:
    with pytest.warns(LoynesWarning, match="is expected only"):
        result = loynes.evaluate("five-class-exponential", rate=0.9, samples=2, replicas=2, burn_in=0, method="forward")
    assert result.overall.wait.p99.high == math.inf
    assert result.overall.response.p99.high == math.inf


def test_no_burn_in_leaves_as_many_replicas_as_usual() -> None:
    none, one = (
        loynes.evaluate("five-class-exponential", rate=0.9, samples=5000, burn_in=jobs, method="forward").replicas
        for jobs in (0, 1)
    )
    assert none == one > 1


def test_how_long_the_cpu_would_take() -> None:
    """Jobs grow as the square of what is left to the threshold, and of the precision; or with the samples."""
    table = job_table(load("five-class-exponential"), 0.9)
    first = cpu_seconds(table, 0.8, 0.02, None, 0.99)
    assert cpu_seconds(table, 0.9, 0.02, None, 0.99) == pytest.approx(4 * first)
    assert cpu_seconds(table, 0.8, 0.01, None, 0.99) == pytest.approx(4 * first)
    few, many = (cpu_seconds(table, 0.8, 0.02, samples, 0.99) for samples in (1000, 3000))
    assert many == pytest.approx(3 * few)


def test_pilots_take_a_quarter_of_all_jobs_at_most() -> None:
    allowed: Any = SimpleNamespace(table=job_table(load("five-class-exponential"), 0.9), max_jobs=2**40)
    longest = Methods.longest_pilot.fget(allowed)  # type: ignore[attr-defined]
    assert 2**40 / 4 - PILOT_SAMPLES < PILOT_SAMPLES * longest <= 2**40 / 4


def test_exact_answers_end_before_the_threshold() -> None:
    """Where too few digits would be right; and they tell resources apart only where there are several."""
    with pytest.raises(UsageError, match="is within 1e-06 of the threshold"):
        loynes.exact("one-or-all", load=1 - 5e-7)
    assert loynes.exact("one-or-all").resources == {}


def test_classes_of_many_needs_are_powers_of_two() -> None:
    needs = np.arange(41)
    jobs = Trace(np.arange(41.0), needs, np.full(41, 60.0), np.full(41, np.nan), {})
    names, code = classes_of(jobs, None)
    assert names == [f"need {text}" for text in ("0", "1", "2", "3-4", "5-8", "9-16", "17-32", "33-64")]
    assert [names[code[n]] for n in (0, 1, 2, 3, 4, 5, 32, 33)] == [
        f"need {text}" for text in ("0", "1", "2", "3-4", "3-4", "5-8", "17-32", "33-64")
    ]


def test_orders_say_what_is_not_as_usual() -> None:
    assert "inflation" not in order_of("easy", {}).label
    assert "inflation 2" in order_of("easy", {}, 2.0).label


def test_windows_of_a_replay() -> None:
    """One of four servers is busy for the whole minute, a second for the first half of it."""
    jobs = {"submit": [0.0, 0.0], "need": [1, 1], "service": [60.0, 30.0]}
    series = loynes.replay(jobs, servers=4, windows=2).series
    assert series.busy_servers == pytest.approx((2.0, 1.0))
    assert series.utilization == pytest.approx((0.5, 0.25))


def test_waits_too_rare_to_see() -> None:
    """At 1% load nobody waits: the run ends, says so, and does not claim certainty."""
    with pytest.warns(LoynesWarning, match="no observed arrival had to wait"):
        result = loynes.evaluate(single(LAWS["exponential"], 100), load=0.01)
    assert result.overall.wait.mean.estimate == 0
    assert result.overall.no_wait.estimate == 1
    assert 0.9 < result.overall.no_wait.low < 1
    assert result.overall.wait.mean.high == math.inf


def test_rare_branches_count_as_rare() -> None:
    """A law that is long once in a thousand needs as long a past as a class that is."""
    law = {"law": "hyperexponential", "probabilities": [0.999, 0.001], "means": [0.5, 500.0]}
    assert initial_length(job_table(single(law), 0.5)) == 4096
    assert initial_length(job_table(single(LAWS["exponential"]), 0.5)) == 64


def test_a_load_below_one_is_never_unstable() -> None:
    for seed in range(3):
        judged = judged_rate(load("five-class-exponential"), None, 0.999, seed=seed, context=Context())
        assert judged.rate / judged.threshold.estimate == pytest.approx(0.999)


def test_probabilities_that_sum_to_slightly_more() -> None:
    rest = {"need": 1, "service": LAWS["exponential"]}
    model = load({"servers": 3, "classes": [rest | {"probability": 1.0}, rest | {"probability": 5e-10}]})
    cut = job_table(model, 1.0).class_cut
    assert cut[0] < cut[1] == 2**32
    assert initial_length(job_table(model, 1.0)) == 2**22


def test_classes_of_one_need() -> None:
    """Two classes of the same need see the same waits; their responses differ."""
    half = {"need": 2, "probability": 0.5}
    model = load(
        {"servers": 4, "classes": [half | {"service": LAWS["exponential"]}, half | {"service": LAWS["uniform"]}]}
    )
    result = loynes.evaluate(model, load=0.7, samples=20_000)
    first, second = result.classes.values()
    assert first.wait == second.wait
    assert first.response.mean.estimate - second.response.mean.estimate == pytest.approx(1.3 - 1.25)


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.0 + 1e-13, 2.0, 2.5, 40.0, 310.0])
@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0000001), (10.0, 1e6), (1e-9, 1.0)])
def test_bounded_pareto_moments(shape: float, low: float, high: float) -> None:
    """Against quadrature of the quantile function, where differences of powers would cancel or overflow."""
    law = laws.BoundedPareto(low=low, high=high, shape=shape)
    node, weight = np.polynomial.legendre.leggauss(200)
    y = 0.5 * (node + 1) * math.log(high / low)  # x = low e^y has density proportional to e^(-shape y)
    density = weight * np.exp(-shape * y)
    mean = low * float(density @ np.exp(y) / density.sum())
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.variance >= 0


def test_odd_names_are_shown_as_they_are(capsys: Any) -> None:
    from loynes.cli import output

    model = load({"name": "[bold]x", "servers": 1, "classes": [{"name": "[/x] ü", "need": 1, "probability": 1,
                                                                "service": LAWS["exponential"]}]})  # fmt: skip
    output.tables(loynes.check(model).summary)
    shown = capsys.readouterr().out
    assert "[/x] ü" in shown
    assert "[bold]x" in shown


def test_infinite_values_survive_saving(tmp_path: Path) -> None:
    with pytest.warns(LoynesWarning):
        result = loynes.evaluate(single({"law": "pareto", "shape": 1.5, "mean": 1.0}), rate=0.3, samples=500)
    assert result.overall.response.variance.estimate == math.inf
    result.save(tmp_path / "r.json")
    assert loynes.read_result(tmp_path / "r.json") == result


def test_stability_says_when_variance_is_infinite() -> None:
    with pytest.warns(LoynesWarning, match="no finite variance"):
        found = loynes.stability(single({"law": "pareto", "shape": 1.5, "mean": 1.0}, 4), precision=0.05)
    assert any("no finite variance" in text for text in found.warnings)


def test_files_from_other_systems(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + load("one-or-all").to_toml().encode())
    assert load(tmp_path / "bom.toml") == load("one-or-all")
    (tmp_path / "two_4_exp.txt").write_text("(1, 0.5, 1)\n(1, 0.5, 2)\n")
    assert [c.name for c in load(tmp_path / "two_4_exp.txt").classes] == ["need-1", "need-1-2"]
    for name, content in (("deep.json", "[" * 20_000), ("long.toml", "servers = " + "9" * 5_000)):
        (tmp_path / name).write_text(content)
        with pytest.raises(ModelError):
            load(tmp_path / name)
    with pytest.raises(ModelError):
        load("x" * 5_000)


@pytest.mark.parametrize(
    "service",
    [
        {"law": "exponential", "mean": 1e200},
        {"law": "exponential", "rate": 10**400},
        {"law": "lognormal", "mean": 1, "cv": 1e160},
        {"law": "weibull", "shape": 0.02, "mean": 1},
    ],
)
def test_values_out_of_reach_are_refused(service: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"classes\[0\].service"):
        load({"servers": 1, "classes": [{"need": 1, "probability": 1, "service": service}]})


def test_kernels_compile_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr(compiled, "_Cache", refuse)
    assert compiled.compiled(lambda x: x + 1)(2) == 3


def test_schema_takes_the_other_ways_to_say_it() -> None:
    definition = Model.model_json_schema()["$defs"]["Exponential"]
    assert {"mean", "rate"} <= set(definition["properties"])
    assert definition["oneOf"] == [{"required": ["mean"]}, {"required": ["rate"]}]
