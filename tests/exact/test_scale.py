"""Very many classes or servers, rates close to the threshold: the same answers, or a plain word, at little cost."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.inputs.tables import job_table
from loynes.markov import closed
from loynes.markov.phases import Stages
from loynes.markov.states import chain_size
from loynes.stationary import majorant
from loynes.stationary.block_bounds import Gaps
from loynes.stationary.rare import RareLaws


def many(classes: int, servers: int = 8, need: int = 1) -> loynes.Model:
    """So many classes that are all alike."""
    alike = {"need": need, "probability": 1.0 / classes, "service": {"law": "exponential", "mean": 1.0}}
    return loynes.load({"servers": servers, "classes": [alike] * classes})


@pytest.mark.parametrize("needs", [{1: 0.5, 2: 0.5}, {1: 0.25, 3: 0.5, 7: 0.25}, {2: 0.5, 5: 0.5}])
def test_jobs_that_fit_are_counted_alike_by_jobs_by_servers_and_in_fractions(needs: dict[int, float]) -> None:
    servers = 12
    law = np.zeros(servers + 1)
    law[list(needs)] = list(needs.values())
    by_servers = closed._server_by_server(law)
    assert math.isclose(by_servers, closed._job_by_job(law), rel_tol=1e-14)
    # All orders of needs until the next does not fit.
    exact, unfinished = Fraction(0), {0: Fraction(1)}
    for jobs in range(1, servers + 2):
        following: dict[int, Fraction] = {}
        for used, chance in unfinished.items():
            for need, p in needs.items():
                if used + need <= servers:
                    following[used + need] = following.get(used + need, Fraction(0)) + chance * Fraction(p)
                else:
                    exact += chance * Fraction(p) / (jobs - 1)
        unfinished = following
    assert math.isclose(by_servers, float(exact), rel_tol=1e-14)


def test_a_chain_of_many_servers_is_counted_at_once_and_declined_with_its_size() -> None:
    mean = [{"need": n, "probability": 0.5, "service": {"law": "exponential", "mean": float(n)}} for n in (1, 2)]
    model = loynes.load({"servers": 100_000, "classes": mean})
    stages = Stages.of(model)
    assert not isinstance(stages, str)
    # Crews: i jobs of need 1, j of need 2, i + 2 j <= 100,000.
    crews = sum(100_000 - 2 * j + 1 for j in range(50_001))
    assert chain_size(stages) == crews
    with pytest.raises(UsageError, match=r"would have 2\.50\d*e\+09 states"):
        loynes.exact(model)


def test_more_stages_than_states_are_declined_before_their_matrix_is_made() -> None:
    model = many(20_000)
    why = Stages.of(model, 5_000)
    assert why == "services have more than 5000 stages together, and the saturated chain as many states"
    assert [c.label for c in model.classes[:3]] == ["need-1", "need-1-2", "need-1-3"]
    assert "yes" in loynes.check(model).methods["sandwich"]


def test_a_changed_copy_of_a_model_forgets_what_was_derived() -> None:
    model = loynes.load("one-or-all")
    before = model.works, model.ideal, model.hash, model.mean_service
    slower = [c.model_copy(update={"service": loynes.load("two-class-200").classes[0].service}) for c in model.classes]
    changed = model.model_copy(update={"classes": tuple(slower)})
    again = loynes.load(changed.to_dict())
    assert (changed.works, changed.ideal, changed.hash) == (again.works, again.ideal, again.hash)
    assert before == (model.works, model.ideal, model.hash, model.mean_service)
    assert changed.works != model.works


def test_classes_that_need_the_same_are_seen_together_where_they_are_many() -> None:
    one, hundred = (RareLaws(job_table(many(classes), None)) for classes in (1, 100))
    # Of a hundred classes each is expected ten times only: alone, none would have been seen.
    alone, together = one.at(0.1, 1000.0), hundred.at(0.1, 1000.0)
    assert together.of_job == 0.0
    assert together.of_class.shape == (100,)
    assert math.isclose(together.of_class[7], alone.of_class[0], rel_tol=0.02)
    counts = np.full((1, 100), 3)
    assert math.isclose(together.log_factor(counts)[0], alone.log_factor(np.array([[300]]))[0], rel_tol=0.02)
    few = RareLaws(job_table(many(64), None)).at(0.1, 1000.0)
    assert few.of_job == math.inf


def test_a_certificate_that_is_judged_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = loynes.certify(many(2, need=3), load=0.6, seed=3)
    monkeypatch.setattr(majorant, "MANY_JOBS", 1)
    assert loynes.certify(many(2, need=3), load=0.6, seed=3).certificate == whole.certificate is not None


class Watcher:
    """Keeps what is said, and counts jobs."""

    def __init__(self) -> None:
        self.jobs, self.notices = 0, list[str]()

    def __call__(self, share: float, text: str) -> None: ...

    def simulated(self, jobs: int) -> None:
        self.jobs += jobs

    def notice(self, text: str) -> None:
        self.notices.append(text)


def test_no_certificate_near_the_threshold_is_foreseen_and_said_at_once() -> None:
    watcher, most = Watcher(), 4e6
    options: dict[str, Any] = {"load": 0.9999, "max_jobs": most, "seed": 2, "progress": watcher}
    none = loynes.certify("five-class-exponential", **options)
    assert none.certificate is None
    assert "would be needed" in none.why
    assert "--max-jobs" in none.why
    assert watcher.jobs < 0.1 * most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoynesWarning)
        answer = loynes.evaluate("five-class-exponential", **options)
    assert any("a lower bound only" in text for text in answer.warnings)
    assert answer.method == "forward"
    assert none.why in watcher.notices[0]


def test_no_theta_is_none_and_not_what_rounding_makes_of_it() -> None:
    model, threshold = loynes.load("five-class-exponential"), loynes.exact("five-class-exponential").threshold
    context = Context("cpu")
    for rate, fits in ((0.5 * threshold, True), (1.05 * threshold, False)):
        gaps, bound = Gaps(job_table(model, rate)), Estimate.exact(threshold)
        search = majorant._Search(model, rate, gaps, bound, 1, 1e9, context)
        piles = search._piles(64, 99, ())
        piles.extend(512)
        theta = search._largest_theta(search._blocks(piles))
        assert (theta is not None and theta > 0) == fits


def test_very_many_classes_get_waits_by_need_and_no_percentiles_of_responses() -> None:
    model = many(1100, servers=2)
    with pytest.warns(LoynesWarning, match="percentiles of responses are left out: 1100 classes"):
        answer = loynes.evaluate(model, load=0.5, precision=0.05, seed=1)
    one = loynes.evaluate(many(1, servers=2), load=0.5, precision=0.05, seed=1)
    first = next(iter(answer.classes.values()))
    assert first.wait == answer.classes[model.classes[-1].label].wait
    assert math.isnan(first.response.p99.estimate)
    assert math.isfinite(first.response.mean.estimate)
    exact = loynes.exact(many(1, servers=2), load=0.5).overall
    assert exact is not None
    for found in (answer, one):
        assert abs(found.overall.wait.mean.estimate - exact.mean) < 3 * found.overall.wait.mean.half_width
