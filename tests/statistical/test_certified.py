"""Certificates, sandwiches and perfect samples: what they promise, against queues whose answers are known.

Intervals have confidence 1 - 1e-6 (support.SURE) with fixed seeds; see support for the chance of a false alarm.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesWarning, UnstableError
from loynes.execution import chunks, context
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.backends import engine_of
from loynes.kernels.cpu import engine
from loynes.model import Model, load
from loynes.stationary.certificate import Certificate
from loynes.stationary.perfect import ceiling, perfect_samples
from loynes.threshold.controls import Mix
from loynes.threshold.piles import Piles
from loynes.threshold.profile import heights_of
from support import LAWS, SURE, assert_holds, single

EXPONENTIAL = {"law": "exponential", "mean": 1.0}


def certified(model: str | loynes.Model, *, rate: float | None = None, load: float | None = None) -> Certificate:
    found = loynes.certify(model, rate=rate, load=load)
    assert found, found.why
    assert found.certificate is not None
    return found.certificate


@pytest.mark.parametrize(
    ("name", "load"),
    [("five-class-exponential", 0.2), ("five-class-exponential", 0.9), ("one-or-all", 0.9), ("five-class-pareto", 0.8),
     ("five-class-hyperexponential", 0.9), ("five-class-erlang", 0.95), ("two-class-200", 0.7)],
)  # fmt: skip
def test_certificates(name: str, load: float) -> None:
    """Every light-tailed built-in model has one, and fresh blocks with another seed agree with its bounds."""
    check_bounds(name, certified(name, load=load))


def test_certificate_of_cell_b() -> None:
    check_bounds("borg-cell-b", certified("borg-cell-b", rate=1.18))


def check_bounds(name: str, found: Certificate) -> None:
    assert found.drift < 0
    assert found.block % 64 == 0
    model = loynes.load(name)
    start = heights_of(found.profile, model.servers) if found.profile else np.zeros(model.servers)
    tables = (job_table(model, None), needs_of(model), Mix.of(model))
    piles = Piles(*tables, seed=99, replicas=1024, stream=3, start=start, engine=engine.CpuEngine())
    piles.extend(found.block)
    values = np.exp(found.theta * (piles.workload() - start).max(axis=1) - found.log_mgf)
    assert values.mean() - 5 * values.std() / math.sqrt(len(values)) <= 1
    assert "Assumed" in str(found)


def test_the_bound_holds_for_a_known_queue() -> None:
    """M/M/1 at load 0.8: the wait decays with 0.2, so theta cannot be larger, and should not be far smaller."""
    found = certified(single(EXPONENTIAL), rate=0.8)
    assert 0.05 < found.theta < 0.2


@pytest.mark.parametrize("law", ["pareto", "lognormal", "weibull"])
def test_heavy_tails_have_one(law: str) -> None:
    """Their long services are set apart, in words, too."""
    model = single(LAWS[law])
    found = loynes.certify(model, rate=0.5 / model.mean_service)
    assert found.certificate is not None
    assert found.certificate.long is not None
    assert found.certificate.long.thresholds.keys() == {"only"}
    assert 0 < found.certificate.long.rho < 1
    for words in ("Services are long from a threshold on (only", "M/G/1 queue", "services have a finite mean"):
        assert words in str(found)


@pytest.mark.usefixtures("means_only")
def test_sessions_have_none() -> None:
    """And where there is none, answers say that they are lower bounds."""
    model = load(Path(__file__).parents[1] / "recorded" / "models" / "sessions.toml")
    none = loynes.certify(model, load=0.5)
    assert none.certificate is None
    assert not none
    assert "jobs of a session are alike" in str(none)
    for method, fallback in (("sandwich", "forward"), ("perfect", "backward")):
        with pytest.warns(LoynesWarning, match="a lower bound only"):
            result = loynes.evaluate(model, load=0.5, method=method, samples=2000)
        assert result.method == fallback
        assert result.certificate is None
        assert "jobs of a session are alike" in json.loads(result.to_json())["why"]
        assert any("lower bound" in text for text in result.to_dict()["warnings"])


@pytest.mark.parametrize(("p", "length", "load"), [(1e-8, 1e5, 0.5), (1e-6, 1e5, 0.9), (1e-5, 1e4, 0.9)])
def test_services_too_rare_to_see_are_bounded_by_their_law(p: float, length: float, load: float) -> None:
    """A single server, services 1 or once in a blue moon huge: the true log-mgf is known, and below the bound."""
    fixed = [{"law": "deterministic", "value": value} for value in (1.0, length)]
    model = single({"law": "mixture", "weights": [1 - p, p], "laws": fixed})
    rate = load / model.mean_service
    for seed in range(1, 6):
        found = loynes.certify(model, rate=rate, seed=seed).certificate
        if found is not None:
            # Blocks have no service that is set apart as long.
            rare = 0.0 if found.long is not None and found.long.thresholds["only"] < length else p
            mgf = (1 - rare) * math.exp(found.theta) + rare * math.exp(found.theta * length)
            allowance = 0.0 if found.long is None else found.theta * found.long.allowance
            truth = found.block * math.log(mgf)
            assert truth <= found.log_mgf
            assert truth + found.block * (allowance - math.log1p(found.theta / rate)) < 0


@pytest.mark.usefixtures("means_only")
def test_rare_branches_are_waited_for() -> None:
    """A service long once in 10,000: a run that has not seen it would be sure of half the true mean wait."""
    law = {"law": "hyperexponential", "probabilities": [0.9999, 0.0001], "means": [1.0, 150.0]}
    model = single(law)
    rate, service = 0.5, model.classes[0].service
    exact = rate * (service.variance + service.mean**2) / (2 * (1 - rate * service.mean))
    for seed in (1, 2, 3):
        result = loynes.evaluate(model, rate=rate, precision=0.1, confidence=SURE, seed=seed)
        assert result.overall.wait.mean.low <= exact <= result.overall.wait.mean.high
    with pytest.warns(LoynesWarning, match="is expected only"):
        loynes.evaluate(model, rate=rate, samples=100, replicas=2, burn_in=64, method="forward")


@pytest.mark.usefixtures("means_only")
def test_never_seen_is_not_never() -> None:
    """Looks along a chain are not independent: an event that none saw may still be likelier than 1 / looks."""
    with pytest.warns(LoynesWarning, match="had not met"):
        result = loynes.evaluate(
            single(EXPONENTIAL), rate=0.99, replicas=32, burn_in=20_000, samples=32_000, exceeds=(700.0,), seed=2
        )
    assert result.overall.exceeds[700.0].high >= 0.99 * math.exp(-7)


@pytest.mark.usefixtures("means_only")
def test_near_the_threshold() -> None:
    """Inside the threshold's own uncertainty the result says so; beyond it the rate is refused with the bracket."""
    bracket = loynes.stability("five-class-pareto", precision=0.001).threshold
    with pytest.raises(UnstableError, match=r"is unstable: the threshold is 1\.\d+, in \[1\.\d+, 1\.\d+\]"):
        loynes.evaluate("five-class-pareto", rate=bracket.high * 1.01)
    with pytest.raises(UnstableError, match=r"is unstable: the threshold is 1\.800855359 \(exact"):
        loynes.evaluate("five-class-exponential", rate=1.801)
    with pytest.warns(LoynesWarning) as seen:
        result = loynes.evaluate("five-class-pareto", rate=bracket.estimate * 0.9999, samples=500, max_jobs=1e7)
    assert [str(w.message) for w in seen] == list(result.warnings)
    assert "inside the threshold's own uncertainty" in result.warnings[0]
    assert "it may be unstable" in result.warnings[0]
    assert "a lower bound only" in result.warnings[1]


@pytest.mark.usefixtures("means_only")
def test_short_runs_from_empty_are_biased_and_the_sandwich_is_not() -> None:
    """One-or-all at load 0.9, an eighth of the built-in model: as many servers, jobs between two big ones, and time of
    a big one. From empty, a short run is far too low and does not know it."""
    smaller = ["servers=32", "classes.big.need=32", "classes.big.service.mean=5.0"]
    model = load("one-or-all", [*smaller, "classes.small.probability=0.992", "classes.big.probability=0.008"])
    exact = loynes.exact(model, load=0.9)
    assert exact.mean_wait is not None
    short = loynes.evaluate(model, rate=exact.rate, method="forward", burn_in=0, samples=128 * 64)
    assert short.overall.wait.mean.high < 0.6 * exact.mean_wait
    with pytest.warns(LoynesWarning, match="had not met"):
        result = loynes.evaluate(model, rate=exact.rate, burn_in=3776, samples=128 * 64)
    wait = result.overall.wait.mean
    assert wait.low < exact.mean_wait < wait.high
    assert result.certificate is not None
    assert result.certificate.distance is not None
    assert result.certificate.distance.estimate > 0.5
    # The same after a burn-in that the pilot finds long enough: narrow, and right.
    result = loynes.evaluate(model, rate=exact.rate, precision=0.2, replicas=32, confidence=SURE)
    assert_holds(exact.mean_wait, result.overall.wait.mean, 0.22)
    assert result.certificate is not None
    assert result.certificate.distance is not None
    assert result.certificate.distance.estimate < 0.1


@pytest.mark.usefixtures("means_only")
def test_the_bracket_closes() -> None:
    """Longer burn-ins: the lower end rises, the upper end falls, and both hold the exact value at every length."""
    widths = []
    for burn_in in (64, 512, 4096):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LoynesWarning)  # that pairs have not met
            result = loynes.evaluate(single(EXPONENTIAL), rate=0.9, burn_in=burn_in, samples=20_000, replicas=64)
        assert result.overall.wait.mean.low <= 9.0 <= result.overall.wait.mean.high
        widths.append(result.overall.wait.mean.half_width)
    assert widths[0] > widths[1] > widths[2]


def three_classes(discipline: str = "fcfs") -> loynes.Model:
    """Small enough for an exact chain."""
    shares = ((1, 0.6, 1.0), (2, 0.3, 0.8), (4, 0.1, 0.5))
    classes = [
        {"need": need, "probability": p, "service": {"law": "exponential", "mean": mean}} for need, p, mean in shares
    ]
    return loynes.load({"servers": 4, "classes": classes, "discipline": discipline})


@pytest.mark.usefixtures("means_only")
def test_variances_and_losses_of_pairs_apart() -> None:
    """They do not grow with the workload, and yet the exact ones lie in their brackets however short the burn-in;
    classes have the exact variance of the wait plus that of the service."""
    model, load = three_classes(), 0.8
    exact = loynes.exact(model, load=load)
    assert exact.overall is not None
    assert exact.overall.variance is not None
    assert exact.hol_loss is not None
    widths = []
    for burn_in in (0, 64, 256, 4096):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LoynesWarning)  # that pairs have not met
            found = loynes.evaluate(
                model, load=load, burn_in=burn_in, samples=20_000, replicas=64, confidence=SURE, seed=5
            )
        assert found.system.hol_loss.low <= exact.hol_loss <= found.system.hol_loss.high
        for own, waits in zip(
            (exact.overall, *exact.classes.values()), (found.overall, *found.classes.values()), strict=True
        ):
            assert own.variance is not None
            assert waits.wait.variance.low <= own.variance <= waits.wait.variance.high
        for c, own, waits in zip(model.classes, exact.classes.values(), found.classes.values(), strict=True):
            assert own.variance is not None
            variance = waits.response.variance
            assert variance.low <= own.variance + c.service.variance <= variance.high
        widths.append((found.overall.wait.variance.half_width, found.system.hol_loss.half_width))
        apart = found.details.get("apart", 0)
        assert (apart > 0) == (burn_in < 4096)
        text = f"{apart} of 64: all numbers are bracketed"
        assert found.between == (text if apart else "")
        assert (("pairs of chains apart", text) in found.certificate_summary.rows) == (apart > 0)
        assert found.to_dict()["details"].get("hulls") == ([] if apart else None)
    assert widths[0] > widths[2] > widths[3]


def test_losses_out_of_turn_are_no_brackets() -> None:
    """Where servers are drawn at random, results say so, in every form."""
    with pytest.warns(LoynesWarning, match="had not met"):
        found = loynes.evaluate(three_classes("random"), rate=0.5, burn_in=0, samples=2000, replicas=32)
    assert found.details["hulls"] == ["hol_loss"]
    assert found.between == f"{found.details['apart']} of 32: all numbers are bracketed but hol loss"
    assert "all numbers are bracketed but hol loss" in found.report()
    assert loynes.Evaluation.from_dict(json.loads(found.to_json())).between == found.between


def test_perfect_samples_of_mm1() -> None:
    """The workload an arrival meets in M/M/1: 0 with 1 - load, else exponential; distances at 1e-6."""
    model, load, count = single(EXPONENTIAL), 0.7, 20_000
    found = certified(model, rate=load)
    (batch,) = perfect_samples(
        model, job_table(model, load), found, count, delta=1e-9, seed=7, engine=engine.CpuEngine()
    )
    wait = np.sort(batch.workload[:, 0])
    truth = 1.0 - load * np.exp(-(1.0 - load) * wait)
    steps = np.arange(count + 1) / count
    busy = wait > 0
    distance = max(np.max((steps[1:] - truth)[busy]), np.max((truth - steps[:-1])[busy]))
    assert distance <= 2.7 / math.sqrt(count)
    assert_holds(1 - load, loynes.estimate.proportion_of(int(np.sum(~busy)), count, SURE), 0.1)


@pytest.mark.usefixtures("means_only")
def test_perfect_where_backward_is_biased() -> None:
    """one-or-all at load 0.6: sub-perfect samples are too low; perfect ones are not."""
    result = loynes.evaluate("one-or-all", rate=12.268843, method="perfect", samples=600, confidence=SURE)
    assert_holds(53.857604, result.overall.wait.mean, 0.4)
    assert result.certificate is not None
    assert result.certificate.distance is not None
    assert result.certificate.distance.high == 1e-9


def test_the_ceiling_bounds_the_majorant() -> None:
    certificate = Certificate(theta=0.01, block=64, log_mgf=0.5, drift=-0.1, blocks=1024)
    model = single(EXPONENTIAL)
    assert math.exp(-0.01 * ceiling(model, certificate, 1e-6)) * math.exp(0.5) == pytest.approx(0.5e-6)


def test_results_do_not_depend_on_cutting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole answer, certificate and pilot included, is the same for any stretch of jobs, watched or not, and
    number of cores."""
    found = []
    for cut, cores in ((1 << 19, 2), (1 << 10, 1), (1 << 12, 5)):
        for module in (engine, chunks):
            monkeypatch.setattr(module, "CUT", cut)
        monkeypatch.setattr(engine, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(context, "engine_of", engine_of.__wrapped__)
        watched = {} if cores == 1 else {"progress": lambda share, text: None}
        for method in ("sandwich", "perfect"):
            result = loynes.evaluate("five-class-exponential", rate=1.2, method=method, samples=5000, **watched)
            found.append(result.to_dict() | {"seconds": 0})
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3] == found[5]


def test_certificates_survive_saving(tmp_path: Path) -> None:
    result = loynes.evaluate("five-class-exponential", rate=1.2, samples=2000)
    assert result.certificate is not None
    assert {"theta", "block", "burn_in", "distance"} <= set(result.to_dict()["certificate"])
    result.save(tmp_path / "r.json")
    assert loynes.read_result(tmp_path / "r.json") == result


def heavy(shape: float, **more: Any) -> Model:
    return load(single({"law": "pareto", "shape": shape, "mean": 1.0}).to_dict() | more)


@pytest.mark.parametrize(
    ("arrivals", "exact"), [({}, 2.1), ({"process": "renewal", "gap": {"law": "exponential", "mean": 1.0}}, 2.1)]
)
def test_a_mean_without_a_variance_is_bracketed(arrivals: dict[str, Any], exact: float, tmp_path: Path) -> None:
    """M/G/1, Pareto of shape 2.5, load 0.7: 0.7 x 1.8 / 0.6 by Pollaczek and Khinchine; by Kingman's bound, too."""
    with pytest.warns(LoynesWarning, match="means are bracketed by cutting services"):
        result = loynes.evaluate(heavy(2.5, arrivals=arrivals), load=0.7, samples=200_000, seed=4)
    wait = result.overall.wait.mean
    assert wait.low < exact < wait.high
    assert 0.7 * exact < wait.low
    assert wait.high < 1.8 * exact
    assert wait.low <= wait.estimate <= wait.high
    assert result.system.jobs_waiting == wait.scaled(0.7)
    assert result.classes["only"].wait.mean == wait
    assert result.overall.wait.variance.high == math.inf
    assert not any("cannot be trusted" in text for text in result.warnings)
    assert result.details["cut"]["sides"] == "both"
    assert "bracketed by cutting services" in str(result.certificate_summary)
    (tmp_path / "result.json").write_text(result.to_json(), encoding="utf-8")
    assert loynes.read_result(tmp_path / "result.json") == result


@pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")
def test_a_mean_that_is_infinite_has_no_upper_end(tmp_path: Path) -> None:
    result = loynes.evaluate(heavy(1.5), load=0.4, samples=20_000, replicas=32, burn_in=4096)
    wait = result.overall.wait.mean
    assert wait.low > 0
    assert wait.high == math.inf
    assert result.details["cut"]["sides"] == "lower"
    data = json.loads(result.to_json())
    assert data["overall"]["wait"]["mean"]["high"] is None
    assert data["details"]["cut"]["slack"] is None
    (tmp_path / "result.json").write_text(result.to_json(), encoding="utf-8")
    assert loynes.read_result(tmp_path / "result.json") == result


@pytest.mark.usefixtures("means_only")
@pytest.mark.filterwarnings("ignore:class")
def test_two_needs_between_cuts() -> None:
    """Two classes on four servers: every mean of the long run as it is lies in the bracket of a short one."""
    classes = [
        {"name": "small", "need": 1, "probability": 0.8, "service": {"law": "pareto", "shape": 2.6, "mean": 1.0}},
        {"name": "wide", "need": 3, "probability": 0.2, "service": {"law": "exponential", "mean": 1.0}},
    ]
    model = load({"servers": 4, "classes": classes})
    short = loynes.evaluate(model, rate=1.0, samples=40_000, seed=1)
    long = loynes.evaluate(model, rate=1.0, samples=400_000, seed=2, method="forward", burn_in=4096)
    for one, other in [
        (short.overall, long.overall),
        *((short.classes[n], long.classes[n]) for n in ("small", "wide")),
    ]:
        assert one.wait.mean.low < other.wait.mean.estimate < one.wait.mean.high
        assert one.response.mean.low < other.response.mean.estimate < one.response.mean.high
    assert short.system.hol_loss.low <= long.system.hol_loss.estimate <= short.system.hol_loss.high
    assert short.classes["small"].wait.mean.high < short.classes["wide"].wait.mean.high


@pytest.mark.filterwarnings("ignore:.*class")
def test_differences_without_a_variance_are_left_as_they_are() -> None:
    """Only evaluate brackets by cutting; what is paired says that its intervals cannot be trusted."""
    found = loynes.compare(heavy(2.5), change=["servers=2"], rate=0.5, samples=2000, replicas=16)
    assert "cut" not in found.a.details
    assert sum("cannot be trusted" in text for text in found.warnings) == 2
