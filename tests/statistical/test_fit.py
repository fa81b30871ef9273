"""Models fitted to logs that were generated from known models: they must find those again, and pass the test; a log
whose jobs wait for each other must not find any."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import TraceError, UsageError
from loynes.inputs.arrivals import start_places
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load
from loynes.traces.burstiness import burstiness
from loynes.traces.modelling import law_table
from loynes.traces.read import read_trace

CLASSES = [
    {"need": need, "probability": p, "service": {"law": "exponential", "mean": mean}}
    for need, p, mean in ((1, 0.5, 1.0), (4, 0.3, 2.0), (16, 0.2, 0.7))
]
ARRIVALS: dict[str, dict[str, Any]] = {
    "poisson": {"process": "poisson"},
    "renewal": {"process": "renewal", "gap": {"law": "erlang", "phases": 4, "mean": 1.0}},
    "mmpp": {"process": "mmpp", "generator": [[-0.05, 0.05], [0.1, -0.1]], "rates": [1.0, 5.0]},
}


def log_of(model: Model, rate: float, jobs: int, seed: int) -> dict[str, np.ndarray]:
    """A log of the model's own jobs."""
    table = job_table(model, rate)
    block, x = new_block(table), int(start_places(table.arrivals, seed, 0, np.array([0]))[0])
    columns: dict[str, list[np.ndarray]] = {"gap": [], "need": [], "service": []}
    for first in range(0, jobs, BLOCK):
        x = draw_block(table, np.uint64(seed), 0, 0, first, block, x)
        for name, column in columns.items():
            column.append(getattr(block, name).copy())
    found = {name: np.concatenate(column) for name, column in columns.items()}
    return found | {"submit": np.concatenate([[0.0], np.cumsum(found.pop("gap"))[:-1]])}


@pytest.mark.parametrize("name", sorted(ARRIVALS))
def test_known_models_are_found_again(name: str) -> None:
    """The threshold to 2%, the mean wait to the error that is stated: a 99% interval of the log's own mean, which the
    model's must not leave; seeds are fixed. These logs span hours, so that there are no weeks to test a model on: the
    burstiness of their gaps chooses."""
    model = load({"servers": 32, "arrivals": ARRIVALS[name], "classes": CLASSES})
    threshold = loynes.stability(model, precision=0.005).threshold.estimate
    rate = 0.7 * threshold
    truth = loynes.evaluate(model, rate=rate, precision=0.02).overall.wait.mean.estimate
    found = loynes.fit(log_of(model, rate, 150_000, seed=1), servers=32, confidence=0.99)
    assert found.process == name
    assert (found.accepted, found.candidates) == (False, ())
    assert found.why == "the log is too short to test a model on: it takes four whole days in each of its halves"
    assert found.policy == "fcfs"
    assert found.model.rate == pytest.approx(rate, rel=0.03)
    assert loynes.stability(found.model, precision=0.005).threshold.estimate == pytest.approx(threshold, rel=0.02)
    assert found.modelled is not None
    stated = found.replayed["all jobs"]
    assert stated.low <= truth <= stated.high
    assert abs(found.modelled["all jobs"].estimate - truth) <= stated.half_width
    assert found.agrees
    assert load(found.model.to_dict()) == found.model


# Ten weeks, about 150 jobs a day on 32 servers, half of them busy: as they like, by day, or large ones by turns.
DAY = 86400.0
LONG = [
    {"need": need, "probability": p, "service": {"law": "exponential", "mean": mean}}
    for need, p, mean in ((1, 0.6, 3500.0), (4, 0.3, 4000.0), (8, 0.1, 3000.0))
]
WEEKS: dict[str, dict[str, Any]] = {
    "poisson": {"process": "poisson", "rate": 150 / DAY},
    "periodic": {"process": "periodic", "cycle": DAY, "rates": [20 / DAY] * 10 + [450 / DAY] * 8 + [20 / DAY] * 6},
    "phases": {
        "process": "mmpp", "generator": [[-8 / DAY, 8 / DAY], [4 / DAY, -4 / DAY]],
        "rates": [300 / DAY, 75 / DAY], "mix": [[0.3, 0.4, 0.3], [0.9, 0.1, 0.0]],
    },
}  # fmt: skip


def weeks_of(name: str, seed: int) -> dict[str, np.ndarray]:
    classes = [{k: v for k, v in one.items() if name != "phases" or k != "probability"} for one in LONG]
    model = load({"servers": 32, "arrivals": WEEKS[name], "classes": classes})
    assert model.rate is not None
    return log_of(model, model.rate, int(70 * DAY * model.rate), seed)


@pytest.mark.parametrize(("name", "taken"), [("poisson", "poisson"), ("periodic", "periodic"), ("phases", "phases4")])
def test_the_simplest_that_passes_is_taken(name: str, taken: str) -> None:
    """Simpler ones are tried, and fall short by far: cycles and phases make waits several times as long."""
    log = weeks_of(name, seed=1)
    found = loynes.fit(log, servers=32)
    assert found.accepted
    assert found.process == taken
    *simpler, last = found.candidates
    assert last.process == taken
    assert len(last.checks) == len(last.whole) == 4
    assert all(check.passed for check in (*last.checks, *last.whole))
    for one in simpler:
        assert one.why or one.checks[0].model.estimate < 0.5 * one.checks[0].log.estimate
    assert [one.why for one in simpler if one.process == "batch"] in ([], ["no two of its jobs come at the same time"])
    assert found.agrees
    assert found.why == ""
    assert found.model.work * len(log["need"]) == pytest.approx(float(log["need"] @ log["service"]), rel=0.05)


def test_a_model_that_is_asked_for_is_tested_alone() -> None:
    log = weeks_of("periodic", seed=1)
    found = loynes.fit(log, servers=32, arrivals="poisson", law="exponential")
    assert [one.process for one in found.candidates] == ["poisson"]
    assert found.accepted is False
    assert found.agrees is False
    none = loynes.fit(log, servers=32, arrivals="poisson", compare=False)
    assert (none.accepted, none.candidates, none.modelled, none.why) == (None, (), None, "not asked for")
    with pytest.raises(TraceError, match="no two of its jobs come at the same time"):
        loynes.fit(log, servers=32, arrivals="batch", compare=False)


def closed_loop(jobs: int, seed: int) -> dict[str, np.ndarray]:
    """Users who submit their next job some time after their last one ended: nobody adds to a long line."""
    rng = np.random.default_rng(seed)
    free, floor = np.zeros(32), 0.0
    coming = [(float(when), user) for user, when in enumerate(rng.uniform(0.0, DAY, 24))]
    heapq.heapify(coming)
    rows = []
    for _ in range(jobs):
        submit, user = heapq.heappop(coming)
        need, service = int(rng.choice([1, 4, 8], p=[0.5, 0.3, 0.2])), float(rng.exponential(9000.0))
        floor = max(floor, submit, float(free[need - 1]))
        free[:need] = floor + service
        free.sort()
        rows.append((submit, need, service, floor - submit))
        heapq.heappush(coming, (floor + service + float(rng.exponential(1800.0)), user))
    return dict(zip(("submit", "need", "service", "wait"), np.array(rows).T, strict=True))


def test_users_who_submit_what_fits_have_no_model() -> None:
    """Their line is never longer than there are users; the line of jobs that come as they like is, at 90% of work."""
    log = closed_loop(9000, seed=1)
    found = loynes.fit(log, servers=32)
    assert found.policy == "fcfs"
    assert found.accepted is False
    assert len(found.candidates) == 9
    assert not any(one.accepted for one in found.candidates)
    assert all(one.whole[0].model.estimate > 3.0 * one.whole[0].log.estimate for one in found.candidates if one.checks)
    assert found.agrees is False
    assert found.title.startswith("no model was accepted: take the log itself, loynes evaluate LOG")
    # The log itself tells what happened.
    itself = loynes.evaluate(loynes.read_trace(log), servers=32, resamples=2)
    assert itself.overall.wait.mean.estimate == pytest.approx(log["wait"].mean())


def test_recorded_arrivals_and_other_laws() -> None:
    model = load({"servers": 32, "arrivals": ARRIVALS["mmpp"], "classes": CLASSES})
    log = log_of(model, 3.0, 20_000, seed=2)
    kept = loynes.fit(log, servers=32, arrivals="trace", law="fit", compare=False)
    assert kept.process == "trace"
    assert kept.modelled is None
    assert kept.model.rate == pytest.approx(burstiness(read_trace(log)).rate)
    for c in kept.model.classes:
        mine = log["service"][log["need"] == c.need]
        assert c.service.mean == pytest.approx(mine.mean())
        assert c.service.variation == pytest.approx(mine.std() / mine.mean())


def test_many_needs_become_few_classes_with_the_same_work() -> None:
    rng = np.random.default_rng(3)
    need = rng.integers(1, 200, 5000)
    log = {"submit": np.cumsum(rng.exponential(50.0, 5000)), "need": need, "service": rng.exponential(10.0, 5000)}
    found = loynes.fit(log, servers=400, classes=6, compare=False)
    assert len(found.model.classes) == 6
    assert found.model.work == pytest.approx(float(need @ log["service"]) / 5000, rel=0.01)


def test_long_data_are_summarised() -> None:
    values = np.random.default_rng(4).pareto(1.6, 50_000)
    law = law_table(values, "empirical")
    assert len(law["values"]) <= 1000
    assert np.average(law["values"], weights=law["weights"]) == pytest.approx(values.mean())
    assert max(law["values"]) == values.max()


def test_day_and_night_are_seen() -> None:
    rng = np.random.default_rng(5)
    hours = np.sort(rng.uniform(0.0, 2000.0, 60_000))
    cycle = np.sort(hours + 3.0 * np.sin(2.0 * np.pi * hours / 24.0))
    assert burstiness(read_trace({"submit": cycle - cycle[0], "need": [1] * 60_000, "service": [1.0] * 60_000})).cycle


def test_bad_requests() -> None:
    log = {"submit": [0.0, 1.0, 2.0], "need": [1, 1, 2], "service": [1.0, 1.0, 1.0]}
    for options, error, said in (
        ({"servers": 2}, TraceError, "3 jobs are too few"),
        ({}, UsageError, "does not say how many"),
        ({"servers": 2, "law": "normal"}, UsageError, "law 'normal': must be one of"),
        ({"servers": 2, "arrivals": "bursty"}, UsageError, "arrivals 'bursty': must be one of"),
        ({"servers": 2, "classes": 0}, UsageError, "classes 0: must be"),
    ):
        with pytest.raises(error, match=said):
            loynes.fit(log, **options)


def test_batches_are_found() -> None:
    rng = np.random.default_rng(6)
    starts = np.cumsum(rng.exponential(30.0, 1000))
    log = {"submit": np.repeat(starts, 20), "need": rng.choice([1, 4], 20_000, p=[0.8, 0.2])}
    found = loynes.fit(log | {"service": rng.exponential(1.0, 20_000)}, servers=8)
    assert found.process == "batch"
    assert found.agrees
    with pytest.raises(TraceError, match="all its jobs were submitted at the same time"):
        loynes.fit({"submit": [0.0] * 200, "need": [1] * 200, "service": [1.0] * 200}, servers=8)
