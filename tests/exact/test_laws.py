"""Laws' moments and distribution functions against numerical integration, and the quantile tables against both."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from loynes.inputs import jobs
from loynes.inputs.tables import job_table
from loynes.model import laws, load
from support import LAWS, single


def law_of(name: str) -> laws.Law:
    return single(LAWS[name]).classes[0].service


def test_every_law_is_tested() -> None:
    assert LAWS.keys() == laws.LAWS.keys()


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("name", sorted(LAWS))
def test_moments_match_the_distribution_function(name: str) -> None:
    law = law_of(name)
    # E[X^k] = integral of k x^(k-1) P(X > x), cut into pieces at every scale and at every jump.
    ends = sorted({0.0, *law.edges, *np.logspace(-8, 6, 57)})
    for k, expected in ((1, law.mean), (2, law.variance + law.mean**2)):
        total = math.fsum(
            integrate.quad(lambda x, k=k: k * x ** (k - 1) * (1 - float(law.cdf(x))), a, b, epsabs=0, epsrel=1e-11)[0]
            for a, b in itertools.pairwise(ends)
            if float(law.cdf(a)) < 1
        )
        assert total == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    "name", sorted(LAWS.keys() - {"mixture", "hyperexponential", "deterministic", "empirical", "fit"})
)
def test_services_are_quantiles(name: str) -> None:
    """Services of continuous laws that are not mixtures invert the distribution function."""
    law = law_of(name)
    table = job_table(single(LAWS[name]), 1.0)
    u = np.concatenate([2.0 ** np.arange(-50.0, -1.0), np.linspace(0.01, 0.99, 999), 1 - 2.0 ** np.arange(-30.0, -1.0)])
    x = jobs.services(table, np.zeros(len(u), np.int64), u)
    inner = law.of if isinstance(law, laws.Shifted) else law
    falling = isinstance(inner, laws.Exponential | laws.Pareto | laws.Weibull)  # written with -ln u
    p = 1 - law.cdf(x) if falling else law.cdf(x)
    np.testing.assert_allclose(p, u, rtol=2e-8, atol=1e-14)


@pytest.mark.parametrize("shape", [0.05, 0.4, 1.0, 3.0, 40.0, 1000.0])
def test_table_is_accurate(shape: float) -> None:
    """The tabulated gamma quantile is within 2e-8 of scipy's, relative, over the whole range of u."""
    table = job_table(single({"law": "gamma", "shape": shape, "mean": shape}), 1.0)
    u = np.concatenate([2.0 ** -np.arange(1.0, 50, 0.37), np.linspace(0.001, 0.999, 2000)])
    near_one = 1 - 2.0 ** -np.arange(1.0, 50, 0.37)
    for p, exact in ((u, stats.gamma.ppf(u, shape)), (near_one, stats.gamma.isf(1 - near_one, shape))):
        x = jobs.services(table, np.zeros(len(p), np.int64), p)
        usable = exact > 1e-250
        np.testing.assert_allclose(x[usable], exact[usable], rtol=2e-8)


def test_scipy_agrees() -> None:
    x = np.linspace(0, 12, 200)
    pairs = [
        (law_of("weibull"), stats.weibull_min(0.7, scale=1.2 / math.gamma(1 + 1 / 0.7))),
        (law_of("lognormal"), stats.lognorm(math.sqrt(math.log(2.44)), scale=1 / math.sqrt(2.44))),
        (law_of("gamma"), stats.gamma(0.4, scale=1.5 / 0.4)),
        (law_of("pareto"), stats.pareto(5.5, scale=1.1 * 4.5 / 5.5)),
        (law_of("uniform"), stats.uniform(0.5, 1.5)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), atol=1e-13)
        assert ours.mean == pytest.approx(theirs.mean(), rel=1e-12)
        assert ours.variance == pytest.approx(theirs.var(), rel=1e-12)


def test_highest_moment_and_tail() -> None:
    assert law_of("pareto").highest_moment == 5
    assert laws.Pareto(shape=2.0, mean=1).highest_moment == 1
    assert laws.Pareto(shape=1.5, mean=1).variance == math.inf
    assert law_of("lognormal").highest_moment == math.inf
    mixed = laws.Mixture(weights=(0.5, 0.5), laws=(laws.Exponential(mean=1), laws.Pareto(shape=2.5, mean=1)))
    assert mixed.highest_moment == 2
    assert not mixed.light_tail
    assert laws.Weibull(shape=1.0, mean=1).light_tail
    assert not laws.Weibull(shape=0.9, mean=1).light_tail


def test_other_ways_to_say_it() -> None:
    assert laws.Exponential.model_validate({"rate": 4}) == laws.Exponential(mean=0.25)
    assert laws.Pareto.model_validate({"shape": 3, "low": 2}).mean == pytest.approx(3.0)


def test_the_papers_mixes() -> None:
    """Coefficients of variation that the paper prints for its four five-class mixes."""
    for name, printed in (("exponential", 1.78), ("erlang", 1.34), ("hyperexponential", 10.22), ("pareto", 4.01)):
        model = load(f"five-class-{name}")
        mix = laws.Mixture(
            weights=tuple(c.probability for c in model.classes), laws=tuple(c.service for c in model.classes)
        )
        assert mix.variation == pytest.approx(printed, abs=0.005)
        assert model.ideal == pytest.approx(2.11, abs=0.005)
