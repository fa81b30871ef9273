"""Laws from elsewhere: data, parts of laws, scipy.stats, two moments. Against integrals, scipy, and what is drawn."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import loynes
from loynes.errors import ModelError
from loynes.inputs import jobs
from loynes.inputs.tables import PIECES, job_table
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.reference import BLOCK
from loynes.model import JobClass, Model, laws, load
from support import LAWS, SURE, single

EXPONENTIAL = {"law": "exponential", "mean": 1.0}
GAMMA = {"law": "gamma", "shape": 0.4, "mean": 1.5}
HEAVY = {"law": "lognormal", "mean": 1.0, "cv": 2.0}
MIXED: dict[str, Any] = LAWS["mixture"]

CASES: dict[str, dict[str, Any]] = {
    "truncated exponential": {"law": "truncated", "of": EXPONENTIAL, "low": 0.5, "high": 3.0},
    "far tail": {"law": "truncated", "of": EXPONENTIAL, "low": 25.0},
    "truncated small gamma": {"law": "truncated", "of": {"law": "gamma", "shape": 0.05, "mean": 1.0}, "low": 1e-6},
    "truncated lognormal": {"law": "truncated", "of": HEAVY, "high": 4.0},
    "lognormal from below": {"law": "truncated", "of": HEAVY, "low": 2.0},
    "truncated weibull": {"law": "truncated", "of": LAWS["weibull"], "low": 0.1, "high": 9.0},
    "truncated pareto": {"law": "truncated", "of": LAWS["pareto"], "low": 1.0},
    "pareto between": {"law": "truncated", "of": LAWS["pareto"], "low": 1.0, "high": 4.0},
    "truncated uniform": {"law": "truncated", "of": LAWS["uniform"], "low": 1.0, "high": 9.0},
    "truncated phase type": {"law": "truncated", "of": LAWS["phase_type"], "low": 0.3, "high": 2.0},
    "truncated mixture": {"law": "truncated", "of": MIXED, "low": 0.4, "high": 2.0},
    "truncated twice": {"law": "truncated", "of": {"law": "truncated", "of": GAMMA, "low": 0.5}, "high": 2.0},
    "truncated shifted": {"law": "truncated", "of": LAWS["shifted"], "low": 0.5, "high": 2.0},
    "truncated quantiles": {"law": "truncated", "of": LAWS["quantiles"], "low": 0.5, "high": 3.0},
    "truncated empirical": {"law": "truncated", "of": LAWS["empirical"], "low": 0.3, "high": 1.4},
    "shifted mixture": {"law": "shifted", "of": MIXED, "by": 0.25},
    "shifted small gamma": {"law": "shifted", "of": {"law": "gamma", "shape": 0.05, "mean": 1.0}, "by": 1.0},
    "shifted fit": {"law": "shifted", "of": {"law": "fit", "mean": 1.0, "cv": 3.0}, "by": 0.5},
    "atom in a table": {"law": "quantiles", "probabilities": [0.0, 0.2, 0.6, 1.0], "values": [0.0, 1.0, 1.0, 2.0]},
    "fit above 1": {"law": "fit", "mean": 3.3, "cv": 7.0},
    "fit 1": {"law": "fit", "mean": 3.3, "cv": 1.0},
    "fit erlang": {"law": "fit", "mean": 2.0, "cv": 0.5},
    "scipy beta": {"law": "scipy", "name": "beta", "args": [2.0, 0.7], "keywords": {"scale": 4.0}},
    "scipy with corners": {"law": "scipy", "name": "trapezoid", "args": [0.2, 0.5], "keywords": {"loc": 1.0}},
    "scipy triangle": {"law": "scipy", "name": "triang", "args": [0.3], "keywords": {"loc": 0.5, "scale": 3.0}},
    "scipy power": {"law": "scipy", "name": "burr12", "args": [2.0, 3.0]},
    "scipy without a good isf": {"law": "scipy", "name": "mielke", "args": [2.0, 5.5]},
    "scipy shifted": {"law": "scipy", "name": "gamma", "args": [0.3], "keywords": {"loc": 1.0}},
    "scipy discrete": {"law": "scipy", "name": "poisson", "args": [3.0]},
    "truncated scipy": {"law": "truncated", "of": LAWS["scipy"], "low": 0.5, "high": 3.0},
}  # fmt: skip


def law_of(description: dict[str, Any]) -> laws.Law:
    return single(description).classes[0].service


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("name", CASES)
def test_moments_are_integrals(name: str) -> None:
    """E[X^k] = integral of k x^(k-1) P(X > x), cut at every scale and jump."""
    law = law_of(CASES[name])
    edges = {0.0, *law.edges, *(edge for _, part in law.parts for edge in part.edges)}
    near = np.logspace(-12, 4, 65)
    ends = sorted({end for edge in edges for end in (edge, *(edge + near), *(edge - near)) if end >= 0})
    node, weight = np.polynomial.legendre.leggauss(24)
    for k, expected in ((1, law.mean), (2, law.variance + law.mean**2)):
        total = 0.0
        for a, b in itertools.pairwise(ends):
            x = 0.5 * (a + b) + 0.5 * (b - a) * node
            total += 0.5 * (b - a) * float(weight @ (k * x ** (k - 1) * law.above(x)))
        # Where scipy has only 1 - P(X <= x) for the tail, its rounding is integrated too.
        assert total == pytest.approx(expected, rel=2e-7 if name == "scipy without a good isf" else 2e-8)


@pytest.mark.parametrize("name", CASES)
def test_drawn_as_described(name: str) -> None:
    """Kolmogorov and Smirnov with a false alarm once in a million; atoms only make the test milder."""
    law, model, count = law_of(CASES[name]), single(CASES[name]), 100_000
    x = np.sort(jobs.draw(job_table(model, 1.0), 2027, 0, 0, np.arange(count)).service)
    steps = np.arange(count + 1) / count
    before = law.cdf(np.nextafter(x, -np.inf))
    above = law.cdf(np.nextafter(x, np.inf))
    last, first = np.diff(x, append=np.inf) > 0, np.diff(x, prepend=-np.inf) > 0
    distance = max(np.max((steps[1:] - above)[last]), np.max((before - steps[:-1])[first]))
    assert distance <= stats.kstwo.isf(1 - SURE, count)
    if math.isfinite(law.variance) and law.highest_moment > 4:
        z = stats.norm.isf((1 - SURE) / 2)
        assert abs(x.mean() - law.mean) <= z * math.sqrt(law.variance / count)


SMOOTH = ["truncated exponential", "far tail", "truncated small gamma", "truncated lognormal", "lognormal from below",
          "truncated weibull", "truncated phase type", "truncated twice", "scipy beta", "scipy power",
          "scipy without a good isf", "truncated scipy", "shifted small gamma", "scipy shifted"]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_tables_are_accurate(name: str) -> None:
    """Between 2e-8 below and 2e-8 above a drawn value, relatively, the distribution function passes u."""
    law, table = law_of(CASES[name]), job_table(single(CASES[name]), 1.0)
    for u, tail, sign in ((2.0 ** -np.arange(1.0, 40, 0.37), law.cdf, 1), (2.0 ** -np.arange(1.0, 40), law.above, -1)):
        x = jobs.services(table, np.zeros(len(u), np.int64), u if sign > 0 else 1.0 - u)
        low, high = tail(x * (1 - sign * 2e-8)), tail(x * (1 + sign * 2e-8))
        assert np.all(low <= u * (1 + 1e-6) + 1e-15)
        assert np.all(high >= u * (1 - 1e-6) - 1e-15)


@pytest.mark.parametrize("name", [*CASES, "empirical", "quantiles"])
def test_kernels_draw_the_same(name: str) -> None:
    other = {"need": 1, "probability": 0.5, "service": EXPONENTIAL}
    service = CASES.get(name, LAWS.get(name))
    model = load({"servers": 2, "classes": [other, {"need": 2, "probability": 0.5, "service": service}]})
    table = job_table(model, 1.0)
    block = new_block(table)
    draw_block(table, np.uint64(5), 0, 3, 7 * BLOCK, block, 0)
    expected = jobs.draw(table, 5, 0, 3, np.arange(7 * BLOCK, 8 * BLOCK))
    np.testing.assert_array_equal(block.service, expected.service)


@pytest.mark.parametrize("name", [*CASES, *LAWS])
def test_round_trips(name: str) -> None:
    model = single(CASES.get(name, LAWS.get(name)))
    assert load(tomllib.loads(model.to_toml())) == model
    assert load(json.loads(model.to_json())).hash == model.hash
    assert hash(load(model.to_dict())) == hash(model)


def test_a_large_sample() -> None:
    """A million values: sorted, merged, drawn in the order of u."""
    values = np.random.default_rng(1).lognormal(size=1_000_000).round(4)
    law = laws.Empirical(values=values)
    assert law.mean == pytest.approx(values.mean(), rel=1e-12)
    assert law.variance == pytest.approx(values.var(), rel=1e-12)
    assert len(law.values) == len(np.unique(values))
    model = Model(servers=1, classes=[JobClass(need=1, probability=1, service=law)])
    table = job_table(model, 1.0)
    assert table.recipe.tolist() == [PIECES]
    u = np.sort(np.random.default_rng(2).random(1000))
    x = jobs.services(table, np.zeros(1000, np.int64), u)
    assert np.all(np.diff(x) >= 0)
    np.testing.assert_array_equal(x, np.sort(values)[(u * 1_000_000).astype(int)])
    with pytest.raises(ModelError, match=r"service.values: has 1000001 entries, at most 1000000 are taken"):
        load({"servers": 1, "classes": [{"need": 1, "probability": 1, "service": {
            "law": "empirical", "values": [1.0] * 1_000_001}}]})  # fmt: skip


def test_values_from_a_file(tmp_path: Path) -> None:
    document = {
        "servers": 1,
        "classes": [{"need": 1, "probability": 1, "service": {"law": "empirical", "file": "x.csv"}}],
    }
    (tmp_path / "model.json").write_text(json.dumps(document))
    for content, values, weights in (
        ("3.0\n1.0\n\n3.0\n", (1.0, 3.0), (1.0, 2.0)),
        ("seconds,count\n2,5\n1,2.5 # rare\n", (1.0, 2.0), (2.5, 5.0)),
    ):
        (tmp_path / "x.csv").write_text(content)
        model = load(tmp_path / "model.json")
        assert model.classes[0].service == laws.Empirical(values=values, weights=weights)
        assert "file" not in model.to_dict()["classes"][0]["service"]
    for content, said in (
        ("", "there are no numbers in it"),
        ("1\nx\n", "line 2: 'x' is not one or two numbers"),
        ("1\n2 3\n", "line 2: '2 3' is not one or two numbers"),
        ("1\n-2\n", "line 2: a value must be at least 0"),
    ):
        (tmp_path / "x.csv").write_text(content)
        with pytest.raises(ModelError, match=r"classes\[0\].service: file = 'x.csv': " + said):
            load(tmp_path / "model.json")
    (tmp_path / "x.csv").unlink()
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ({"law": "empirical", "values": []}, "service.values: must have at least one entry"),
        ({"law": "empirical"}, "service.values: is missing"),
        ({"law": "empirical", "values": [1.0, -2.0]}, "service: values[1] = -2 must be at least 0"),
        ({"law": "empirical", "values": [1.0, float("nan")]}, "service.values[1] = nan: must be finite"),
        ({"law": "empirical", "values": [0.0]}, "values are all 0"),
        ({"law": "empirical", "values": [1.0, 2.0], "weights": [1.0]}, "must be equally many, got 2 and 1"),
        ({"law": "empirical", "values": [1.0, 2.0], "weights": [1.0, 0.0]}, "weights[1] = 0 must be above 0"),
        ({"law": "empirical", "values": [1.0], "file": "x"}, "give values (and weights) or file, not both"),
        ({"law": "quantiles", "probabilities": [0.1, 1.0], "values": [1.0, 2.0]}, "must go from 0 to 1, they go"),
        ({"law": "quantiles", "probabilities": [0, 0.5, 0.5, 1], "values": [1, 2, 3, 4]}, "probabilities[2] = 0.5"),
        ({"law": "quantiles", "probabilities": [0, 0.5, 1], "values": [1, 3, 2]}, "values[2] = 2 must be at least"),
        ({"law": "truncated", "of": EXPONENTIAL}, "service: low or high: one of them must be given"),
        ({"law": "truncated", "of": EXPONENTIAL, "low": 2, "high": 1}, "low = 2 must be below high = 1"),
        ({"law": "truncated", "of": EXPONENTIAL, "low": 40}, "lies 4.25e-18 of the law, must be at least 1e-12"),
        ({"law": "truncated", "of": LAWS["uniform"], "low": 3}, "between low and high lies 0 of the law"),
        ({"law": "truncated", "of": {"law": "exponential", "mean": -1}, "low": 1}, "service.of.mean = -1: must be"),
        ({"law": "truncated", "of": {"law": "x"}, "low": 1}, "service.of.law = 'x': must be one of"),
        ({"law": "shifted", "by": 2, "of": {"law": "mixture", "weights": [1], "laws": [{"law": "erlang", "mean": 1}]}},
         "service.of.laws[0].phases: is missing"),
        ({"law": "shifted", "of": EXPONENTIAL, "by": 0}, "service.by = 0: must be greater than 0"),
        ({"law": "fit", "mean": 1, "cv": 0.01}, "0.01 must be 0 or at least 0.03162, which takes 1000 phases"),
        ({"law": "fit", "mean": 1, "cv": 1e5}, "service.cv = 100000.0: must be less than or equal to 10000"),
        ({"law": "scipy", "name": "gama"}, "name = 'gama' is not a continuous or discrete law of scipy.stats"),
        ({"law": "scipy", "name": "gamma"}, "args: scipy law 'gamma' takes a, loc, scale, got 0"),
        ({"law": "scipy", "name": "gamma", "args": [-1.0]}, "scipy law 'gamma': scipy.stats refuses these parameters"),
        ({"law": "scipy", "name": "norm"}, "scipy law 'norm': its values begin at -inf, must be at least 0"),
        ({"law": "scipy", "name": "halfcauchy"}, "scipy law 'halfcauchy': its mean is inf, must be finite"),
        ({"law": "scipy", "name": "zipf", "args": [2.5]}, "scipy law 'zipf': has more than 1000000 values"),
        ({"law": "scipy", "name": "expon", "keywords": {"rate": 1.0}}, "scipy law 'expon' takes loc, scale"),
    ],
)  # fmt: skip
def test_bad_laws(service: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as error:
        load({"servers": 1, "classes": [{"need": 1, "probability": 1, "service": service}]})
    text = str(error.value)
    assert said in text
    assert text.startswith("model: classes[0].service")
    assert "\n" not in text


def test_frozen_laws() -> None:
    frozen = stats.gamma(2.0, scale=3)
    law = loynes.from_scipy(frozen)
    assert law == laws.Scipy(name="gamma", args=(2.0,), keywords={"scale": 3.0})
    assert loynes.from_scipy(stats.gamma(a=2, loc=0, scale=3.0)) == law
    assert JobClass(need=1, probability=1, service=frozen).service == law
    document = {"servers": 1, "classes": [{"need": 1, "probability": 1, "service": frozen}]}
    assert load(document).classes[0].service == law
    nested = JobClass(need=1, probability=1, service=laws.Truncated(of=frozen, low=1.0))
    assert nested.service.mean == pytest.approx(frozen.expect(lb=1, conditional=True), rel=1e-9)
    for wrong, said in (
        (stats.norm(), "'norm': its values begin at -inf"),
        (stats.gamma([1.0, 2.0]), "parameters must be single numbers"),
        (stats.gamma, "no frozen law of scipy.stats"),
        (stats.rv_histogram(np.histogram([1.0, 2.0]))(), "cannot be written down"),
    ):
        with pytest.raises(ModelError, match=said) as error:
            loynes.from_scipy(wrong)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("frozen", "light", "highest"),
    [
        (stats.expon(), True, math.inf),
        (stats.gamma(0.3), True, math.inf),
        (stats.chi2(3), True, math.inf),
        (stats.fatiguelife(1.0), True, math.inf),
        (stats.halfnorm(), True, math.inf),
        (stats.beta(2, 3), True, math.inf),
        (stats.weibull_min(0.99), False, math.inf),
        (stats.weibull_min(1.5), True, math.inf),
        (stats.gengamma(2.0, 0.9), False, math.inf),
        (stats.lognorm(0.3), False, math.inf),
        (stats.lomax(2.5), False, 2),
        (stats.lomax(3.0), False, 2),
        (stats.fisk(3.2), False, 3),
        (stats.invgamma(5.5), False, 5),
        (stats.mielke(2.0, 3.5), False, 3),
        (stats.poisson(4.0), True, math.inf),
        (stats.geom(0.05), True, math.inf),
        (stats.binom(10, 0.3), True, math.inf),
        (stats.zipf(6.5), False, 5),
    ],
)
def test_tails_of_scipy(frozen: Any, light: bool, highest: float) -> None:
    law = loynes.from_scipy(frozen)
    assert law.light_tail is light
    assert law.highest_moment == highest


def test_tails_of_derived_laws() -> None:
    assert law_of(CASES["truncated lognormal"]).light_tail
    assert not law_of(CASES["lognormal from below"]).light_tail
    assert law_of(CASES["pareto between"]).highest_moment == math.inf
    assert law_of(CASES["truncated pareto"]).highest_moment == 5
    shifted = laws.Shifted(of=laws.Pareto(shape=2.5, mean=1.0), by=1.0)
    assert shifted.highest_moment == 2
    assert not shifted.light_tail
    low = laws.Truncated(of=laws.Pareto(shape=1.5, mean=1.0), low=2.0)
    assert (low.mean, low.variance) == (pytest.approx(6.0), math.inf)


@pytest.mark.parametrize("cv", [0.0, 0.0317, 0.1, 0.4, 0.5, 0.70710678, 0.9, 1.0, 1.0001, 7.0, 1e4])
def test_fit_has_the_two_moments(cv: float) -> None:
    law = laws.Fit(mean=3.3, cv=cv)
    weights, parts = zip(*law.parts, strict=True)
    assert sum(weights) == pytest.approx(1.0, rel=1e-14)
    mean = math.fsum(w * x.mean for w, x in law.parts)
    square = math.fsum(w * (x.variance + x.mean**2) for w, x in law.parts)
    assert mean == pytest.approx(3.3, rel=1e-12)
    assert square == pytest.approx(3.3**2 * (1 + cv**2), rel=1e-9)
    assert law.variance == pytest.approx((3.3 * cv) ** 2)
    assert all(isinstance(x, laws.Exponential | laws.Erlang | laws.Deterministic) for x in parts)


@pytest.mark.parametrize("cv", [0.6, 2.0])
def test_fit_is_exact_too(cv: float) -> None:
    """The saturated chain of a fitted law, against the same law written out as a mixture."""
    law = laws.Fit(mean=1.0, cv=cv)
    weights, parts = zip(*law.parts, strict=True)
    found = []
    for service in (law, laws.Mixture(weights=weights, laws=parts)):
        classes = [
            JobClass(need=1, probability=0.5, service=service),
            JobClass(need=2, probability=0.5, service=laws.Exponential(mean=1.0)),
        ]
        found.append(loynes.exact(Model(servers=3, classes=classes)).threshold)
    assert found[0] == pytest.approx(found[1], rel=1e-10)


def test_quantile_moments_with_a_corner() -> None:
    """Where the trapezoidal rule does not converge, pieces do."""
    law = laws.Truncated(of=loynes.from_scipy(stats.loglaplace(3.0)), high=4.0)
    frozen = stats.loglaplace(3.0)
    kept = frozen.cdf(4.0)
    first = integrate.quad(lambda x: x * frozen.pdf(x), 0, 1)[0] + integrate.quad(lambda x: x * frozen.pdf(x), 1, 4)[0]
    assert law.mean == pytest.approx(first / kept, rel=1e-9)


def test_schema_names_the_laws() -> None:
    schema = Model.model_json_schema()
    tags = schema["$defs"]["JobClass"]["properties"]["service"]["discriminator"]["mapping"]
    assert {"empirical", "quantiles", "truncated", "shifted", "scipy", "fit"} <= set(tags)
    assert "file" in schema["$defs"]["Empirical"]["properties"]


def test_scipy_stats_stays_out() -> None:
    document = {"servers": 1, "classes": [{"need": 1, "probability": 1, "service": CASES["shifted fit"]}]}
    code = (
        "import sys, loynes; from loynes.inputs.tables import job_table; "
        f"job_table(loynes.load({document}), 1.0); print('scipy.stats' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
