"""Policies where something is known: stationary starts stay so, published orderings, and what no order can lose.

Intervals have a confidence of 1 - 1e-6 where a truth is compared.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scipy.integrate import quad

import loynes
from loynes.execution import journal
from loynes.execution.context import Context
from loynes.kernels.events.policies import policies
from loynes.questions.answering.limits import carried
from loynes.questions.answering.orders import order_of
from loynes.results.records.simulation import Simulation
from support import assert_holds

SURE = 1 - 1e-6
MODEL = "five-class-exponential"


def test_from_stationary_nothing_changes(tmp_path: Path) -> None:
    """Waits, jobs waiting and in the system, busy servers: the exact means at any time; from empty, not at first."""
    model = {
        "servers": 8,
        "classes": [
            {"name": "small", "need": 1, "probability": 0.8, "service": {"law": "exponential", "mean": 1}},
            {"name": "big", "need": 8, "probability": 0.2, "service": {"law": "exponential", "mean": 0.5}},
        ],
    }
    exact = loynes.exact(model, load=0.7)
    ask: dict[str, Any] = {"rate": exact.rate, "at": [0, 5, 50], "replicas": 2000, "confidence": SURE, "seed": 4}
    found = loynes.simulate(model, start="stationary", **ask)
    assert exact.mean_wait is not None
    assert exact.rate is not None
    busy = exact.rate * loynes.load(model).work
    jobs = exact.rate * exact.mean_wait, exact.rate * (exact.mean_wait + loynes.load(model).mean_service)
    known = {"wait": exact.mean_wait, "jobs_waiting": jobs[0], "jobs_in_system": jobs[1], "busy_servers": busy,
             "hol_loss": exact.hol_loss}  # fmt: skip
    for name, truth in known.items():
        for moment in found.moments:
            value = getattr(moment, name)
            assert truth is not None
            assert value.low <= truth <= value.high
            assert value.half_width < 0.25 * truth
    empty = loynes.simulate(model, **ask).moments[0]
    for name in ("wait", "jobs_waiting", "jobs_in_system", "hol_loss"):
        assert getattr(empty, name).high < (known[name] or 0)
    # Workloads from a file are a start too.
    loynes.sample(model, tmp_path / "w.csv", rate=exact.rate, samples=200)
    again = loynes.simulate(model, start=tmp_path / "w.csv", **(ask | {"replicas": 200, "at": [0], "horizon": 1}))
    assert again.moments[0].wait.low > 0
    with pytest.raises(loynes.UsageError, match="has workloads of 8 servers"):
        loynes.simulate(MODEL, rate=1.0, start=tmp_path / "w.csv")


def test_fcfs_agrees_with_the_recurrence() -> None:
    """Mean wait, HOL loss over time, and jobs waiting (Little) against the exact values."""
    exact = loynes.exact("one-or-all", load=0.3)
    found = loynes.simulate("one-or-all", load=0.3, start="stationary", jobs=100_000, confidence=SURE)
    assert exact.mean_wait is not None
    assert found.overall.wait.mean.low <= exact.mean_wait <= found.overall.wait.mean.high
    assert exact.hol_loss is not None
    assert found.system.hol_loss.low <= exact.hol_loss <= found.system.hol_loss.high


def test_queues_that_are_solved() -> None:
    """Jobs of one server: whoever starts first, the mean wait is Erlang's; the shortest first, on one server, is
    Phipps's (1956)."""
    alike = {"servers": 4, "classes": [{"need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}]}
    exact = loynes.exact(alike, rate=3.0).mean_wait
    ask: dict[str, Any] = {"jobs": 100_000, "replicas": 8, "confidence": SURE}
    for policy in policies():
        if policy != "shortest-first":
            found = loynes.simulate(alike, policy=policy, rate=3.0, **ask).overall.wait.mean
            assert exact is not None
            assert found.low <= exact <= found.high
    one = alike | {"servers": 1}
    rate = 0.7

    def shorter(x: float) -> float:
        """How busy those shorter than x keep the server."""
        return rate * (1.0 - math.exp(-x) * (1.0 + x))

    wait = rate * quad(lambda x: math.exp(-x) / (1.0 - shorter(x)) ** 2, 0.0, math.inf)[0]
    found = loynes.simulate(one, policy="shortest-first", rate=rate, **ask).overall.wait.mean
    assert found.low <= wait <= found.high


def test_server_filling_loses_nothing() -> None:
    """Needs that are powers of two: stable at 95% of the ideal, where strict order is far from it (Grosof et al.)."""
    classes = [
        {"name": f"n{need}", "need": need, "probability": p, "service": {"law": "exponential", "mean": 1}}
        for need, p in ((1, 0.5), (2, 0.2), (4, 0.2), (8, 0.1))
    ]
    model = loynes.load({"servers": 8, "classes": classes})
    assert loynes.exact(model).threshold < 0.9 * model.ideal
    found = loynes.simulate(model, policy="server-filling", rate=0.95 * model.ideal, jobs=100_000, replicas=8)
    assert not found.warnings
    assert found.system.utilization.low > 0.94
    # All servers are busy, or all jobs are: nothing idles while somebody could not be served for want of order.
    assert found.system.hol_loss.high < 1.0


@pytest.mark.parametrize(("rate", "jobs", "published"), [(0.9, 50_000, 0.979), (1.4, 100_000, 4.229)])
def test_published_mean_waits_of_quick_swap(rate: float, jobs: int, published: float) -> None:
    """What the program of its authors gives for the five classes; they are estimates, too, but published without their
    errors, which are not counted. Draining whenever servers idle while a job of the largest need waits gives 2.1 and
    7.3."""
    found = loynes.simulate(MODEL, policy="quick-swap", rate=rate, jobs=jobs, replicas=16, confidence=SURE)
    assert_holds(published, found.overall.wait.mean, 0.25)


def test_published_orderings() -> None:
    """Backfilling beats strict order, and most servers first carries rates that strict order cannot."""
    ask: dict[str, Any] = {"load": 0.8, "jobs": 100_000, "replicas": 8}
    wait = {
        p: loynes.simulate(MODEL, policy=p, **ask).overall.wait.mean
        for p in ("fcfs", "easy", "conservative", "first-fit")
    }
    assert wait["easy"].high < wait["fcfs"].low
    assert wait["conservative"].high < wait["fcfs"].low
    assert wait["first-fit"].high < wait["fcfs"].low
    # 1.9 is above the threshold of first come, first served, 1.80086.
    with pytest.raises(loynes.UnstableError):
        loynes.simulate(MODEL, rate=1.9)
    most = loynes.simulate(MODEL, policy="most-servers-first", rate=1.9, jobs=100_000, replicas=8)
    assert not most.warnings
    one = loynes.simulate(MODEL, policy="smash", window=1, **ask)
    assert one.overall.wait.mean == wait["fcfs"]


def test_a_burst_and_a_failure() -> None:
    """Waits follow the scenario and return; the fluid limit says how much work a burst leaves."""
    model = {
        "servers": 10,
        "classes": [{"name": "one", "need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}],
        "scenario": [{"from": 50, "until": 100, "rate_factor": 4.0}, {"from": 400, "lost": "50%", "how": "failed"}],
    }
    # Five jobs a unit of time on ten servers: twenty in the burst, of which ten are served. 500 are left at its end,
    # and gone 100 later; from 400 on, half of the servers are just not enough.
    found = loynes.simulate(model, rate=5.0, horizon=600, at=[40, 75, 100, 150, 390, 600], replicas=200, seed=2)
    waiting = {m.time: m.jobs_waiting for m in found.moments}
    assert waiting[40].high < 1
    for time, fluid in ((75, 250), (100, 500), (150, 250)):
        assert abs(waiting[time].estimate - fluid) < 30
    assert waiting[390].high < 5
    busy = {m.time: m.busy_servers for m in found.moments}
    assert busy[390].estimate == pytest.approx(5.0, abs=0.8)
    assert busy[600].high <= 5.0
    assert waiting[600].low > 3
    wait = {m.time: m.wait for m in found.moments}
    last = wait[100]
    assert last is not None
    assert last.estimate == pytest.approx(50.0, abs=4.0)  # 500 jobs, ten a unit of time
    for moment in found.moments:
        assert moment.wait is not None
        assert moment.wait_p50 is not None
        assert moment.wait_p95 is not None
        assert moment.wait_p50.low <= moment.wait_p50.estimate <= moment.wait_p95.estimate <= moment.wait_p95.high
    again = Simulation.from_dict(json.loads(found.to_json()))
    assert again.to_json() == found.to_json()
    assert "rate x4" in str(found.scenario_summary)


def test_nobody_comes() -> None:
    """Where nobody comes there is no wait, and that can be said."""
    model = {
        "servers": 2,
        "classes": [{"need": 1, "probability": 1, "service": {"law": "exponential", "mean": 1}}],
        "scenario": [{"from": 10, "until": 200, "rate_factor": 0.0}],
    }
    found = loynes.simulate(model, rate=1.0, horizon=250, at=[5, 100, 220], replicas=20)
    assert [m.wait is None for m in found.moments] == [False, True, False]
    assert found.moments[1].jobs_in_system.estimate == 0
    assert Simulation.from_dict(json.loads(found.to_json())).moments == found.moments


def test_policies_on_the_same_jobs(tmp_path: Path) -> None:
    """One table: differences are paired, rates too high have none, and limits hold what is known exactly."""
    classes = [
        {"need": need, "probability": p, "service": {"law": "exponential", "mean": 1}}
        for need, p in ((1, 0.7), (4, 0.3))
    ]
    model = {"servers": 4, "classes": classes}
    ask: dict[str, Any] = {"loads": [0.6, 1.1], "jobs": 20_000, "replicas": 8}
    found = loynes.compare_policies(model, ["fcfs", "easy"], **ask, folder=tmp_path / "run")
    first, easy, above, carried = found.points
    assert first.difference is None
    assert easy.difference is not None
    assert easy.result is not None
    assert first.result is not None
    means = [one.overall.wait.mean for one in (easy.result, first.result)]
    assert easy.difference.estimate == pytest.approx(means[0].estimate - means[1].estimate)
    assert easy.difference.half_width < means[1].half_width
    assert above.why == "more than it can carry"
    assert carried.result is not None
    threshold = loynes.exact(model).threshold
    assert found.limits["fcfs"].rate.estimate == pytest.approx(threshold)
    assert found.limits["easy"].source.startswith("estimate")
    assert found.limits["easy"].rate.low > 1.1 * threshold
    assert "estimate" in str(found.limits_summary)
    # The folder has it all, and two workers find the same.
    read = loynes.read_result(tmp_path / "run")
    assert read.tidy == found.tidy
    assert read.limits == found.limits
    assert json.loads(read.to_json())["points"][2]["why"] == above.why
    with ThreadPoolExecutor(2) as pool:
        spread = loynes.compare_policies(model, ["fcfs", "easy"], **ask, limits=False, executor=pool)
    assert [p.result.overall for p in spread.points if p.result] == [p.result.overall for p in found.points if p.result]
    for wrong, said in (
        ({"policies": ["fcfs", "fcfs"]}, "none twice"),
        ({"policies": ["fcfs"], "loads": [0.5]}, "name at least two"),
        ({"policies": ["fcfs", "easy"], "loads": [0.5], "rates": [1.0]}, "not both"),
        ({"policies": ["fcfs", "easy"], "limits": False}, "nothing to compare at"),
        ({"policies": ["fcfs", "easy"], "loads": "0.5,x"}, "must be numbers"),
    ):
        with pytest.raises(loynes.UsageError, match=said):
            loynes.compare_policies(MODEL, **wrong)


def test_the_limit_of_strict_order_is_found_by_watching() -> None:
    """Saturated runs, asked where the truth is known. That of several kinds of servers is the scarcest one's."""
    for name in (MODEL, "two-class-200", "cpu-gpu-mix"):
        model = loynes.load(name)
        found = carried(model, order_of("fcfs", {}), precision=0.1, confidence=SURE, seed=1, context=Context()).rate
        assert found.low <= loynes.exact(model).threshold <= found.high
        assert found.high - found.low <= 0.1 * found.estimate
    classes = [
        {"name": f"n{need}", "need": need, "probability": p, "service": {"law": "exponential", "mean": 1}}
        for need, p in ((1, 0.5), (2, 0.2), (4, 0.2), (8, 0.1))
    ]
    powers = loynes.load({"servers": 8, "classes": classes})
    filled = carried(powers, order_of("server-filling", {}), seed=1, context=Context()).rate
    assert filled.high == powers.ideal
    assert filled.low > 0.97 * powers.ideal


def test_a_stopped_simulation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted after some replicas, resumed: the same result as without, to the last byte."""
    monkeypatch.setattr(journal, "EVERY", 0.0)
    ask: dict[str, Any] = {"policy": "easy", "rate": 1.2, "jobs": 2000, "replicas": 40}
    whole = loynes.simulate(MODEL, **ask)

    def stop(share: float, text: str) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loynes.simulate(MODEL, **ask, folder=tmp_path / "run", progress=stop)
    assert list((tmp_path / "run" / "journal").glob("*.npz"))
    shares: list[float] = []
    again = loynes.resume(tmp_path / "run", progress=lambda share, text: shares.append(share))
    assert min(shares[1:]) > 0.25  # the first replicas are not done again
    without = {name: value for name, value in whole.to_dict().items() if name != "seconds"}
    assert {name: value for name, value in again.to_dict().items() if name != "seconds"} == without
    (tmp_path / "run" / "result.json").unlink()
    (tmp_path / "run" / "journal").mkdir()
    with pytest.raises(loynes.UsageError, match="unfinished run of another question"):
        loynes.simulate(MODEL, **(ask | {"rate": 1.3}), folder=tmp_path / "run")


def test_wrong_questions() -> None:
    for wrong, said in (
        ({"policy": "lottery"}, "must be one of fcfs, first-fit, easy"),
        ({"policy": "easy", "window": 3}, "means nothing to policy 'easy'"),
        ({"policy": "fcfs", "inflation": 2.0}, "means nothing"),
        ({"policy": "easy", "inflation": 0.5}, "inflation 0.5: must be at least 1"),
        ({"start": "nowhere.csv"}, "must be empty, stationary, or a"),
        ({"at": [-1]}, "at least 0"),
        ({"at": [10], "horizon": 5}, "after the horizon"),
        ({"horizon": -1}, "above 0"),
        ({"jobs": 1, "burn_in": 0, "replicas": 2}, "too few jobs"),
        ({"horizon": 10, "jobs": 5}, "mean nothing with a horizon"),
    ):
        with pytest.raises(loynes.UsageError) as error:
            loynes.simulate(MODEL, rate=1.0, **wrong)
        assert said in str(error.value)
    changing = loynes.load(MODEL, ["scenario=[{from=1, lost=2}]"])
    with pytest.raises(loynes.UsageError, match="say until when"):
        loynes.simulate(changing, rate=1.0)
    with pytest.warns(loynes.LoynesWarning, match="scenario is left out"):
        loynes.evaluate(changing, rate=0.5, samples=1000)
