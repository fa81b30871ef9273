"""Exact answers against formulas, against each other, against higher precision, and against the sandwich."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import loynes
from loynes.errors import UnstableError, UsageError
from loynes.markov import closed, queue, saturated, waits
from loynes.markov.phases import Stages
from loynes.markov.states import Blocked, Crews, count_crews, count_states
from loynes.model import Coxian, Erlang, PhaseType
from support import LAWS, SURE, single

ONE_OR_ALL = (3.7523494, 8.5944007, 14.932306, 23.490975, 35.586642, 53.857604, 84.464384, 145.89301, 330.57994)
EXPONENTIAL = {"law": "exponential", "mean": 1.0}
HYPER = {"law": "hyperexponential", "probabilities": [0.3, 0.7], "means": [2.0, 0.4]}
ERLANG = {"law": "erlang", "phases": 2, "mean": 1.5}


def mix(servers: int, *classes: tuple[int, float, dict[str, Any]]) -> loynes.Model:
    entries = [{"need": a, "probability": p, "service": law} for a, p, law in classes]
    return loynes.load({"servers": servers, "classes": entries})


SMALL = {
    "two classes": mix(4, (1, 0.7, EXPONENTIAL), (3, 0.3, {"law": "exponential", "mean": 2.0})),
    "erlang": mix(3, (1, 0.5, ERLANG), (2, 0.5, EXPONENTIAL)),
    "hyperexponential": mix(4, (1, 0.6, HYPER), (4, 0.4, EXPONENTIAL)),
    "phase_type": mix(3, (1, 0.5, LAWS["phase_type"]), (3, 0.5, ERLANG)),
    "coxian": mix(5, (2, 0.8, LAWS["coxian"]), (4, 0.2, EXPONENTIAL)),
    "three classes": mix(6, (1, 0.5, HYPER), (2, 0.3, EXPONENTIAL), (5, 0.2, ERLANG)),
}


def states_of(model: loynes.Model) -> Blocked:
    stages = Stages.of(model)
    assert not isinstance(stages, str)
    return Blocked.of(Crews.of(stages))


def test_states_are_counted_before_they_are_built() -> None:
    for model in (*SMALL.values(), loynes.load("five-class-exponential"), loynes.load("one-or-all")):
        states = states_of(model)
        ways = count_crews(states.crews.stages)
        assert count_states(states.crews.stages, ways) == len(states)
        assert ways.sum() == len(states.crews)
    assert len(states_of(loynes.load("five-class-exponential"))) == 842
    assert len(states_of(loynes.load("one-or-all"))) == 259


@pytest.mark.parametrize(
    ("name", "known"), [("five-class-exponential", 1.80086), ("one-or-all", 20.44807), ("two-class-200", 2.66667)]
)
def test_thresholds_two_ways(name: str, known: float) -> None:
    """Power iteration and a sparse factorisation agree to twelve digits; so does the closed form, if there is one."""
    model = loynes.load(name)
    states = states_of(model)
    one, two = saturated.solve(states), saturated.solve_sparse(states)
    assert one.threshold == pytest.approx(known, abs=5e-6)
    assert one.threshold == pytest.approx(two.threshold, rel=1e-12)
    assert one.busy == pytest.approx(two.busy, rel=1e-10)
    # A class leaves as often as it comes, and busy servers are what these jobs take: both come out, neither is put in.
    np.testing.assert_allclose(one.throughput / one.threshold, states.crews.stages.probability, rtol=1e-10)
    assert one.busy[0] / model.servers == pytest.approx(one.threshold / model.ideal, rel=1e-11)
    formula = closed.threshold(model)
    if formula is not None:
        assert formula.value == pytest.approx(one.threshold, rel=1e-12)


@pytest.mark.parametrize("mean", [0.002, 1.0])
def test_two_classes_in_saturation(mean: float) -> None:
    document = loynes.load("two-class-200").to_dict()
    document["classes"][1]["service"]["mean"] = mean
    found = loynes.exact(document)
    threshold, lost = {0.002: (203.0369, 78.1779), 1.0: (2.66667, 65.3333)}[mean]
    assert found.threshold == pytest.approx(threshold, rel=5e-6)
    assert found.hol_loss_saturated == pytest.approx(lost, abs=5e-5)


def test_five_class_phase_types() -> None:
    """25,263 states, and 324,780: exact, and inside the sampled bracket; refused where the limit is smaller."""
    found = loynes.exact("five-class-hyperexponential")
    assert found.states == 25263
    bracket = loynes.stability("five-class-hyperexponential", precision=0.01, confidence=SURE).threshold
    assert bracket.low <= found.threshold <= bracket.high
    assert found.threshold == pytest.approx(1.50551047273, rel=1e-10)
    with pytest.raises(UsageError, match="would have 324780 states, more than max-states 100000"):
        loynes.exact("five-class-erlang", max_states=100_000)
    with pytest.raises(UsageError, match=r"would have 4\.69345e\+21 states"):
        loynes.exact("borg-cell-b")
    with pytest.raises(UsageError, match="bounded_pareto service, which is not of phase type"):
        loynes.exact("five-class-pareto")


@pytest.mark.parametrize("tenth", range(1, 10))
def test_one_or_all(tenth: int) -> None:
    """Mean waits to all printed digits."""
    model = loynes.load("one-or-all")
    found = queue.solve(queue.Queue(states_of(model), 0.1 * tenth * 20.448071665897064))
    wait = found.mean_jobs / found.queue.rate - model.mean_service
    assert f"{wait:.8g}" == f"{ONE_OR_ALL[tenth - 1]:.8g}"
    assert queue.error(found) < 1e-10


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("load", [0.3, 0.85])
def test_identities(name: str, load: float) -> None:
    """Probabilities sum to 1, Little's law holds, busy servers are right, and means come out the same two ways."""
    model = SMALL[name]
    found = loynes.exact(model, load=load)
    assert found.rate is not None
    assert found.overall is not None
    assert found.mean_jobs is not None
    solved = queue.solve(queue.Queue(states_of(model), found.rate))
    assert solved.free.sum() + solved.blocked.sum() == pytest.approx(1.0, abs=1e-13)
    assert queue.error(solved) < 1e-13
    # P(wait > 0) from the free crews that a job meets, and from the waits that end.
    known = waits.Waits(solved)
    np.testing.assert_allclose(known.exceeds(0.0), 1.0 - known.no_wait, rtol=1e-12)
    # Little's law: the mean wait from the number of jobs, against the mean of the wait itself.
    first, _ = known.moments()
    probability = np.array([c.probability for c in model.classes])
    assert first[-1] == pytest.approx(probability @ first[:-1], rel=1e-13)
    assert found.mean_jobs == pytest.approx(found.rate * (first[-1] + model.mean_service), rel=1e-12)
    assert math.fsum(found.jobs_in_system) == pytest.approx(1.0, abs=1e-8)
    assert sum(n * p for n, p in enumerate(found.jobs_in_system)) == pytest.approx(found.mean_jobs, rel=1e-6)


# Variances at load 0.85, by a recursion over the jobs ahead that later versions do without.
RECURSION = {
    "two classes": (97.407004753, 102.82135493),
    "erlang": (21.8242803, 23.100408419),
    "hyperexponential": (64.765819827, 67.01072139),
    "phase_type": (78.944895503, 81.946318808),
    "coxian": (70.253279592, 74.60938789),
    "three classes": (37.203382015, 38.574971689, 39.692368968),
}


@pytest.mark.parametrize("name", SMALL)
def test_variances_by_another_way(name: str) -> None:
    found = loynes.exact(SMALL[name], load=0.85)
    assert [one.variance for one in found.classes.values()] == pytest.approx(RECURSION[name], rel=1e-10)


@pytest.mark.usefixtures("without_response_percentiles")
@pytest.mark.parametrize("name", SMALL)
def test_against_the_sandwich(name: str) -> None:
    """Means, variances, tails and P(no wait) of every class, and HOL loss, lie in the sampled intervals."""
    model = SMALL[name]
    exact = loynes.exact(model, load=0.7, exceeds=(0.0, 2.0))
    sampled = loynes.evaluate(model, rate=exact.rate, precision=0.03, exceeds=(0.0, 2.0), confidence=SURE)
    assert exact.hol_loss is not None
    pairs = [(exact.hol_loss, sampled.system.hol_loss)]
    assert exact.overall is not None
    everyone = [(exact.overall, sampled.overall), *((exact.classes[c], sampled.classes[c]) for c in sampled.classes)]
    for mine, theirs in everyone:
        assert mine.variance is not None
        pairs += [(mine.mean, theirs.wait.mean), (mine.variance, theirs.wait.variance), (mine.no_wait, theirs.no_wait)]
        pairs += [(mine.exceeds[x], theirs.exceeds[x]) for x in (0.0, 2.0)]
    for truth, interval in pairs:
        assert interval.low <= truth <= interval.high, (truth, interval)


def test_known_queues() -> None:
    """M/M/3 (Erlang C), M/E3/1 and M/H2/1 (Pollaczek-Khinchine), through the chain and through the formula."""
    for model, rate in ((single(EXPONENTIAL, 3), 2.0), (single(ERLANG), 0.5), (single(HYPER), 0.9)):
        formula = closed.wait(model, rate)
        assert formula is not None
        found = queue.solve(queue.Queue(states_of(model), rate))
        mean = found.mean_jobs / rate - model.mean_service
        assert mean == pytest.approx(formula.mean, rel=1e-12)
        assert waits.Waits(found).no_wait[0] == pytest.approx(formula.no_wait, rel=1e-12)
    mm3 = waits.Waits(queue.solve(queue.Queue(states_of(single(EXPONENTIAL, 3)), 2.0)))
    first, second = mm3.moments()
    assert second[0] - first[0] ** 2 == pytest.approx(4 / 9 * (2 - 4 / 9), rel=1e-12)
    for x in (0.1, 1.0, 5.0, 10.0):
        assert mm3.exceeds(x)[0] == pytest.approx(4 / 9 * math.exp(-x), rel=1e-13)


def test_closed_forms_of_thresholds() -> None:
    """Each against the chain, or for deterministic services against the sampled bracket."""
    for model in (
        mix(7, (1, 0.3, EXPONENTIAL), (2, 0.3, EXPONENTIAL), (7, 0.4, EXPONENTIAL)),
        mix(9, (4, 0.5, EXPONENTIAL), (6, 0.5, EXPONENTIAL)),
        mix(5, (1, 0.9, EXPONENTIAL), (5, 0.1, ERLANG)),
        mix(5, (1, 0.6, HYPER), (1, 0.4, ERLANG)),
    ):
        formula = closed.threshold(model)
        assert formula is not None
        assert formula.value == pytest.approx(saturated.solve(states_of(model)).threshold, rel=1e-11)
    fixed = {"law": "deterministic", "value": 1.0}
    model = mix(4, (1, 0.8, fixed), (4, 0.2, LAWS["lognormal"]))
    formula = closed.threshold(model)
    assert formula is not None
    assert "deterministic" in formula.name
    bracket = loynes.stability(model, precision=0.005, confidence=SURE).threshold
    assert bracket.low <= formula.value <= bracket.high
    assert closed.threshold(SMALL["two classes"]) is None


def test_near_saturation() -> None:
    """Needs 1 and 2 on two servers at load 0.999: against fifty digits. Even closer, an answer is right or refused."""
    small, big = 0.7, 0.3
    model = mix(2, (1, small, EXPONENTIAL), (2, big, {"law": "exponential", "mean": 2.0}))
    threshold = loynes.exact(model).threshold
    for load in (0.9, 0.999, 0.99999):
        found = loynes.exact(model, rate=load * threshold)
        assert found.mean_wait == pytest.approx(float(in_fifty_digits(small, big, load * threshold)), rel=1e-9)
    with pytest.raises(UsageError, match="where too few digits would be right"):
        loynes.exact(model, rate=threshold * (1 - 1e-7))


def in_fifty_digits(small: float, big: float, rate: float) -> Any:
    """The mean wait of that model from its own little chain, written out by hand.

    With three jobs or more the phases are: 0, two small ones in service and a small head; 1, two small, big head; 2,
    one small, big head; 3, a big one, small head; 4, a big one, big head.
    """
    with mpmath.workdps(50):
        p, q, lam, mu, nu = (mpmath.mpf(x) for x in (small, big, rate, 1.0, 0.5))
        up = lam * mpmath.eye(5)
        down = mpmath.zeros(5)
        for head, first in ((0, p), (1, q)):
            down[0, head] += 2 * mu * first  # a small one leaves, the small head starts, the next is shown
            # From a big one: a small head starts; the next is shown: small fits (and one more is shown), big blocks.
            down[3, head] += nu * p * first
            down[4, 3 + head] += nu * first
        down[1, 2] += 2 * mu
        down[3, 2] += nu * q
        for head, first in ((3, p), (4, q)):
            down[2, head] += mu * first
        within = mpmath.zeros(5)
        for i in range(5):
            within[i, i] = -lam - sum(down[i, j] for j in range(5))
        # Levels 0, 1 and 2 (and 3, the first alike). Level 1: one small; one big. Level 2: two small; one small and a
        # big head; a big one and a head of either class.
        size = {0: 1, 1: 2, 2: 4, 3: 5}
        local = {m: mpmath.zeros(size[m]) for m in (0, 1, 2)}
        rise = {m: mpmath.zeros(size[m], size[m + 1]) for m in (0, 1, 2)}
        sink = {m: mpmath.zeros(size[m], size[m - 1]) for m in (1, 2, 3)}
        rise[0][0, 0], rise[0][0, 1] = lam * p, lam * q
        sink[1][0, 0], sink[1][1, 0] = mu, nu
        rise[1][0, 0], rise[1][0, 1], rise[1][1, 2], rise[1][1, 3] = lam * p, lam * q, lam * p, lam * q
        sink[2][0, 0], sink[2][1, 1], sink[2][2, 0], sink[2][3, 1] = 2 * mu, mu, nu, nu
        rise[2][0, 0], rise[2][0, 1], rise[2][1, 2], rise[2][2, 3], rise[2][3, 4] = lam * p, lam * q, lam, lam, lam
        sink[3][0, 0], sink[3][1, 1] = 2 * mu, 2 * mu
        sink[3][2, 2], sink[3][2, 3] = mu * p, mu * q
        sink[3][3, 0], sink[3][3, 1] = nu * p, nu * q
        sink[3][4, 2], sink[3][4, 3] = nu * p, nu * q
        for m in (0, 1, 2):
            for i in range(size[m]):
                out = lam + (sum(sink[m][i, j] for j in range(size[m - 1])) if m else 0)
                local[m][i, i] = -out
        inverse = (-within) ** -1
        ups, downs = inverse * up, inverse * down
        first, ways, one = downs.copy(), ups.copy(), mpmath.eye(5)
        for _ in range(40):
            both = (one - ups * downs - downs * ups) ** -1
            ups, downs = both * ups * ups, both * downs * downs
            first, ways = first + ways * downs, ways * ups
        fall = up * (-(within + up * first)) ** -1
        later, factors = rise[2] * (-(within + fall * down)) ** -1, []
        factors.append(later)
        for m in (2, 1):
            later = rise[m - 1] * (-(local[m] + later * sink[m + 1])) ** -1
            factors.append(later)
        levels = [mpmath.matrix([[1]])]
        for factor in reversed(factors):
            levels.append(levels[-1] * factor)
        rest = (one - fall) ** -1
        ones = mpmath.ones(5, 1)
        alike = levels[3] * rest
        total = sum(mpmath.fsum(pi) for pi in levels[:3]) + (alike * ones)[0]
        jobs = sum(m * mpmath.fsum(pi) for m, pi in enumerate(levels[:3]))
        jobs += 3 * (alike * ones)[0] + (levels[3] * fall * rest * rest * ones)[0]
        return jobs / total / lam - (p / mu + q / nu)


def test_unstable_and_bad_input() -> None:
    with pytest.raises(UnstableError, match=r"the threshold is 1\.800855359"):
        loynes.exact("five-class-exponential", rate=1.81)
    with pytest.raises(UsageError, match="not both"):
        loynes.exact("five-class-exponential", rate=1.0, load=0.5)
    for wrong in ({"rate": -1.0}, {"load": 0.0}, {"rate": math.nan}, {"exceeds": (-1.0,)}, {"max_states": 0}):
        with pytest.raises(UsageError, match="must be"):
            loynes.exact("five-class-exponential", **wrong)
    with pytest.raises(UsageError, match=r"would take .* GiB"):
        loynes.exact("five-class-hyperexponential", rate=1.0)


def test_fewer_digits_where_fewer_are_right() -> None:
    """Near the threshold, rounding of the model's own numbers costs digits: these are not shown."""
    found = loynes.exact(SMALL["two classes"], load=0.99999, exceeds=(1.0, 1e8))
    assert found.digits is not None
    assert 8 <= found.digits <= 11
    assert len(f"{found.mean_wait:.15g}".replace(".", "")) <= found.digits + 1
    # A thousand times as far out, an error of the decay rate weighs a thousand times as much.
    near, far = (repr(found.classes["need-1"].exceeds[x]).split("e")[0].replace(".", "") for x in (1.0, 1e8))
    assert len(far) < len(near)


def test_json_and_tables() -> None:
    found = loynes.exact(SMALL["two classes"], load=0.5, exceeds=(1.0,))
    data = json.loads(found.to_json())
    assert {"threshold", "hol_loss_saturated", "states", "rate", "mean_wait", "no_wait"} <= set(data)
    assert data["classes"]["need-3"]["exceeds"]["1"] == found.classes["need-3"].exceeds[1.0]
    assert "wait > 1" in str(found.class_summary)
    assert "mean wait" in str(found.summary)
    assert found.load == pytest.approx(0.5)


def test_other_questions_use_it() -> None:
    """`evaluate --load` and `check` take the exact threshold where it is at hand, and say so."""
    result = loynes.evaluate("one-or-all", load=0.3, samples=1000, method="forward", burn_in=64)
    assert result.rate == pytest.approx(0.3 * 20.448071665897064, rel=1e-12)
    assert result.threshold.low == result.threshold.high
    assert result.details["threshold"].startswith("exact: needs 1 and s")
    assert loynes.check("five-class-exponential").to_dict()["threshold"]["value"] == pytest.approx(
        1.800855359, rel=1e-9
    )
    assert loynes.check("borg-cell-b").to_dict()["threshold"] is None
    with pytest.warns(loynes.LoynesWarning, match="above the threshold"):
        warned = loynes.check({**loynes.load("one-or-all").to_dict(), "arrivals": {"process": "poisson", "rate": 21.0}})
    assert "above the threshold 20.448" in warned.warnings[0]


@pytest.mark.parametrize("name", ["phase_type", "coxian"])
def test_phase_type_laws(name: str) -> None:
    """Distribution functions against the matrix exponential; quantiles invert them; moments by integration."""
    from scipy.integrate import quad
    from scipy.linalg import expm

    law = single(LAWS[name]).classes[0].service
    assert isinstance(law, PhaseType | Coxian)
    initial, generator = law.as_phases()
    x = np.array([0.0, 1e-9, 0.01, 0.5, 2.0, 30.0])
    plain = [1.0 - float(initial @ expm(generator * value) @ np.ones(len(initial))) for value in x]
    np.testing.assert_allclose(law.cdf(x), plain, atol=1e-14)
    assert law.mean == pytest.approx(quad(lambda t: 1.0 - float(law.cdf(t)), 0, 200)[0], rel=1e-7)
    second = quad(lambda t: 2.0 * t * (1.0 - float(law.cdf(t))), 0, 200)[0]
    assert law.variance == pytest.approx(second - law.mean**2, rel=1e-6)
    logit = np.linspace(-30, 12, 43)
    again = law.cdf(np.exp(law.log_quantile(logit)))
    np.testing.assert_allclose(again, 1.0 / (1.0 + np.exp(-logit)), rtol=1e-9)


def test_erlang_two_ways() -> None:
    """As a law of its own and as a phase_type: the same quantiles, and the same threshold to the last digits."""
    rate = 3 / 0.8
    generator = [[-rate, rate, 0.0], [0.0, -rate, rate], [0.0, 0.0, -rate]]
    other = {"law": "phase_type", "initial": [1.0, 0.0, 0.0], "generator": generator}
    one, two = (mix(3, (1, 0.5, law), (2, 0.5, EXPONENTIAL)) for law in (LAWS["erlang"], other))
    assert loynes.exact(one).threshold == pytest.approx(loynes.exact(two).threshold, rel=1e-12)
    logit = np.linspace(-37, 37, 101)
    erlang, phased = (model.classes[0].service for model in (one, two))
    assert isinstance(erlang, Erlang)
    assert isinstance(phased, PhaseType)
    np.testing.assert_allclose(erlang.log_quantile(logit), phased.log_quantile(logit), atol=1e-13)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ({"law": "phase_type", "initial": [1.0], "generator": [[0.0]]}, "must be below 0"),
        ({"law": "phase_type", "initial": [0.5, 0.5], "generator": [[-1.0, 1.0], [1.0, -1.0]]}, "never ends"),
        ({"law": "phase_type", "initial": [0.5, 0.4], "generator": [[-1.0, 0.5], [0.5, -1.0]]}, "must sum to 1"),
        ({"law": "phase_type", "initial": [1.0], "generator": [[-1.0, 0.5]]}, "1 rows of 1 numbers"),
        ({"law": "phase_type", "initial": [1.0, 0.0], "generator": [[-1.0, -0.5], [0.0, -1.0]]}, "at least 0"),
        ({"law": "phase_type", "initial": [1.0, 0.0], "generator": [[-1.0, 2.0], [0.0, -1.0]]}, "must be at most 0"),
        ({"law": "coxian", "rates": [1.0, 2.0], "continue": []}, "one probability less than there are rates"),
        ({"law": "coxian", "rates": [1.0, 2.0], "continue": [1.5]}, "less than or equal to 1"),
    ],
)
def test_bad_phases(law: dict[str, Any], said: str) -> None:
    with pytest.raises(loynes.ModelError, match=said.replace("(", r"\(")):
        single(law)


def test_every_subset_of_phases_is_a_crew() -> None:
    """Crews are all count vectors that fit, each once, and moves between them find the right one."""
    crews = states_of(SMALL["three classes"]).crews
    needs = crews.stages.stage_need[:, 0]
    every = [k for k in itertools.product(*(range(6 // int(a) + 1) for a in needs)) if np.dot(k, needs) <= 6]
    assert sorted(map(tuple, crews.count.tolist())) == sorted(every)
    here = np.flatnonzero((crews.count[:, 0] > 0) & (crews.used[:, 0] <= 6))
    moved = crews.changed(here, 0, 1)
    expected = crews.count[here].copy()
    expected[:, 0] -= 1
    expected[:, 1] += 1
    np.testing.assert_array_equal(crews.count[moved], expected)
